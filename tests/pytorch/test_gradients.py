"""Reductions of tensors beside dense float64 PyTorch: values, gradients, and gradients of these."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.child_processes import with_library

import clmapreduce as cm

torch = pytest.importorskip("torch")
ct = pytest.importorskip("clmapreduce.torch")

pytestmark = pytest.mark.drawn

FORMULA = "Exp(-g * SqDist(x, y)) * b"
ALIASES = ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)", "g = Pm(1)"]
TOLERANCE = 1e-10
"""A sum of 257 terms whose exponents reach 50 loses 307 units of 1.1e-16 of Σ|terms|, at most 10^3 here: 3.5e-11. A system's
condition is at most 35, its residual 1e-13.
"""
Reduce = Callable[..., Any]
REDUCTIONS: dict[str, tuple[Reduce, Reduce]] = {
    "sum": (lambda k, y, **how: k.sum(1, **how), lambda k, y: k.sum(1, keepdim=True)),
    "sum over i": (lambda k, y, **how: k.sum(0, **how), lambda k, y: k.sum(0)[:, None]),
    "mean": (lambda k, y, **how: k.mean(1, **how), lambda k, y: k.mean(1, keepdim=True)),
    "var": (lambda k, y, **how: k.var(1, **how), lambda k, y: k.var(1, keepdim=True, correction=0)),
    "logsumexp": (lambda k, y, **how: k.logsumexp(1, **how), lambda k, y: k.logsumexp(1, keepdim=True)),
    "weighted": (lambda k, y, **how: k.logsumexp(1, weight=ct.Vj(y * y), **how), lambda k, y: (k.exp() @ (y * y)).log()),
    "softmax": (lambda k, y, **how: k.sumsoftmaxweight(ct.Vj(y), 1, **how), lambda k, y: k.softmax(1) @ y),
    "softmax and logarithm": (
        lambda k, y, **how: torch.cat(k.sumsoftmaxweight_logsumexp(ct.Vj(y), 1, **how), 1),
        lambda k, y: torch.cat([k.softmax(1) @ y, k.logsumexp(1, keepdim=True)], 1),
    ),
    "max": (lambda k, y, **how: k.max(1, **how), lambda k, y: k.amax(1, keepdim=True)),
    "min over i": (lambda k, y, **how: k.min(0, **how), lambda k, y: k.amin(0)[:, None]),
    "Kmin": (lambda k, y, **how: k.Kmin(3, 1, **how), lambda k, y: k.topk(3, 1, largest=False).values),
    "vectors": (lambda k, y, **how: (k * ct.Vj(y)).max(1, **how), lambda k, y: (k[..., None] * y).amax(1)),
}  # fmt: skip


@pytest.fixture
def how(context: cm.Context, mode: str) -> dict[str, Any]:
    if not context.device.fp64:
        pytest.skip("gradients are compared in float64")
    return {"context": context, "mode": mode}


def tensor(rng: np.random.Generator, *shape: int) -> Any:
    return torch.from_numpy(rng.standard_normal(shape)).requires_grad_()


def inputs(rng: np.random.Generator, rows: int, cols: int, batch: tuple[int, ...] = ()) -> list[Any]:
    g = torch.from_numpy(rng.uniform(0.5, 1, 1)).requires_grad_()
    return [tensor(rng, *batch, rows, 3), tensor(rng, cols, 3), tensor(rng, *batch, cols, 2), g]


def dense(x: Any, y: Any, b: Any, g: Any) -> Any:
    return torch.exp(-g * (x.unsqueeze(-2) - y.unsqueeze(-3)).square().sum(-1)) @ b


def assert_same_gradients(ours: Any, exact: Any, tensors: list[Any], rng: np.random.Generator) -> None:
    weights = torch.from_numpy(rng.standard_normal(tuple(exact.shape)))
    torch.testing.assert_close(ours, exact, rtol=TOLERANCE, atol=TOLERANCE)
    gradients = torch.autograd.grad(ours, tensors, weights)
    for one, expected in zip(gradients, torch.autograd.grad(exact, tensors, weights), strict=True):
        torch.testing.assert_close(one, expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (7, 5), (33, 257), (4, 0)])
def test_genred_agrees_with_dense_pytorch(rows: int, cols: int, batch: Any, how: Any, rng: np.random.Generator) -> None:
    tensors = inputs(rng, rows, cols, batch)
    ours = ct.Genred(FORMULA, ALIASES, axis=1)(*tensors, **how)
    assert_same_gradients(ours, dense(*tensors), tensors, rng)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_lazy_reductions_agree_with_dense_pytorch(name: str, how: Any, rng: np.random.Generator) -> None:
    x, y, _, g = inputs(rng, 19, 23)
    ours, exact = REDUCTIONS[name]
    kernel = -g * (x[:, None] - y[None]).square().sum(-1)
    lazy = -ct.Pm(g) * (ct.Vi(x) - ct.Vj(y)).square().sum()
    assert_same_gradients(ours(lazy, y, **how), exact(kernel, y), [x, y, g], rng)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_gradients_of_gradients(name: str, how: Any, rng: np.random.Generator) -> None:
    x, y, _, g = inputs(rng, 4, 5)
    ours = REDUCTIONS[name][0]

    def reduce(x: Any, y: Any, g: Any) -> Any:
        return ours(-ct.Pm(g) * (ct.Vi(x) - ct.Vj(y)).square().sum(), y, **how)

    assert torch.autograd.gradcheck(reduce, (x, y, g))
    assert torch.autograd.gradgradcheck(reduce, (x, y, g))


def test_solutions_agree_with_dense_pytorch(how: Any, rng: np.random.Generator) -> None:
    x, b, g = tensor(rng, 17, 3), tensor(rng, 17, 2), torch.tensor([0.7], dtype=torch.float64, requires_grad=True)
    solver = ct.KernelSolve(FORMULA, ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)", "g = Pm(1)"], "b", axis=1)
    ours = solver(x, x, b, g, alpha=0.5, eps=1e-13, **how)
    kernel = torch.exp(-g * (x[:, None] - x[None]).square().sum(-1)) + 0.5 * torch.eye(17, dtype=torch.float64)
    assert_same_gradients(ours, torch.linalg.solve(kernel, b), [x, b, g], rng)


def test_ranges_choose_the_pairs_of_gradients(how: Any, rng: np.random.Generator) -> None:
    tensors = x, y, b, g = inputs(rng, 12, 10)
    mask = np.kron(np.array([[True, False], [True, True]]), np.ones((6, 5), bool))
    blocks = np.array([[0, 6], [6, 12]], np.int32), np.array([1, 3], np.int32), np.array([[0, 5], [0, 5], [5, 10]], np.int32)
    other = np.array([[0, 5], [5, 10]], np.int32), np.array([2, 3], np.int32), np.array([[0, 6], [6, 12], [6, 12]], np.int32)
    ours = ct.Genred(FORMULA, ALIASES, axis=1)(*tensors, ranges=(*blocks, *other), **how)
    kernel = torch.exp(-g * (x[:, None] - y[None]).square().sum(-1)) * torch.from_numpy(mask)
    assert_same_gradients(ours, kernel @ b, list(tensors), rng)


@pytest.mark.parametrize("reentrant", [True, False])
def test_checkpoints_give_the_same_gradients(reentrant: bool, how: Any, rng: np.random.Generator) -> None:
    from torch.utils.checkpoint import checkpoint

    tensors = inputs(rng, 9, 8)
    reduction = ct.Genred(FORMULA, ALIASES, axis=1)
    ours = checkpoint(lambda *t: reduction(*t, **how), *tensors, use_reentrant=reentrant)
    ours.sum().backward()
    exact = torch.autograd.grad(dense(*tensors).sum(), tensors)
    for one, expected in zip(tensors, exact, strict=True):
        torch.testing.assert_close(one.grad, expected, rtol=TOLERANCE, atol=TOLERANCE)


def test_no_grad_dtypes_and_what_is_refused(how: Any, rng: np.random.Generator) -> None:
    tensors = [t.detach().float().requires_grad_() for t in inputs(rng, 6, 5)]
    reduction = ct.Genred(FORMULA, ALIASES, axis=1)
    assert reduction(*tensors, **how).dtype is torch.float32 and reduction(*tensors, **how).requires_grad
    with torch.no_grad():
        assert not reduction(*tensors, **how).requires_grad
    places = ct.generic_argkmin("SqDist(x, y)", "a = Vi(2)", "x = Vi(3)", "y = Vj(3)")(*tensors[:2], **how)
    assert places.dtype is torch.int64 and not places.requires_grad
    with pytest.raises(cm.DTypeError, match="no tensor"):
        reduction(tensors[0].detach().numpy(), *tensors[1:], **how)
    with pytest.raises(cm.ModeError, match="out="):
        reduction(*tensors, out=torch.empty(6, 2), **how)
    with pytest.raises(cm.ArgumentError, match="one module"):
        ct.Vi(tensors[0]) + cm.Vj(tensors[1].detach().numpy())
    with pytest.raises(cm.FormulaError, match="no gradient"):
        ct.Vi(tensors[0]).prod(0, **how).sum().backward()


def test_tensors_are_planned_as_arrays_are(how: Any, rng: np.random.Generator) -> None:
    x, y, b, g = inputs(rng, 6, 5)
    arrays = [t.detach().numpy() for t in (x, y, b, g)]
    theirs, ours = (module.Genred(FORMULA, ALIASES, axis=1) for module in (cm, ct))
    assert ours.explain(x, y, b, g, **how) == theirs.explain(*arrays, **how)
    assert ours.source(x, y, b, g, **how) == theirs.source(*arrays, **how)
    lazy = ct.Vi(x).sqdist(ct.Vj(y)).sum(1, call=False)
    assert lazy.explain(**how) == cm.Vi(arrays[0]).sqdist(cm.Vj(arrays[1])).sum(1, call=False).explain(**how)


def test_the_library_does_not_import_pytorch() -> None:
    text = "import sys, clmapreduce; assert 'torch' not in sys.modules"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", text], cwd=root, env=with_library(), check=False).returncode == 0


def test_tables_have_gradients(how: dict[str, Any], rng: np.random.Generator) -> None:
    table = torch.tensor(rng.standard_normal((4, 5)), requires_grad=True)
    i, j = (rng.integers(0, n, (m, 1)) for n, m in ((4, 30), (5, 41)))
    x, y = (torch.tensor(rng.standard_normal((n, 2)), requires_grad=True) for n in (30, 41))
    places = ct.Vi(torch.tensor(i, dtype=torch.float64)), ct.Vj(torch.tensor(j, dtype=torch.float64))
    weight = torch.tensor(rng.standard_normal((30, 1)))
    values = []
    for mode in ("clamp", "check"):
        lazy = cm.Table(table, mode)[places] * (-(ct.Vi(x) - ct.Vj(y)).sqnorm2()).exp()
        values.append((weight * lazy.sum(1, **how)).sum())
    dense = table[i, j[:, 0]] * torch.exp(-((x[:, None] - y) ** 2).sum(-1))
    expected = torch.autograd.grad((weight * dense.sum(1, keepdim=True)).sum(), (table, x, y))
    for value in values:
        for mine, exact in zip(torch.autograd.grad(value, (table, x, y)), expected, strict=True):
            assert (mine - exact).abs().max() < TOLERANCE
    with pytest.raises(cm.PlaceError):
        (cm.Table(table, "check")[ct.Vi(torch.full((30, 1), 9.0, dtype=torch.float64)), places[1]]).sum(1, **how)
