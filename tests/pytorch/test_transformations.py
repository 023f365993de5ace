"""Reductions of tensors under torch.func: mapped axes, forward mode, and both of each other, beside dense PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

torch = pytest.importorskip("torch")
ct = pytest.importorskip("clmapreduce.torch")

pytestmark = pytest.mark.drawn

FORMULA = "Exp(-g * SqDist(x, y)) * b"
ALIASES = ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)", "g = Pm(1)"]
TOLERANCE = 1e-10
"""Sums of at most 9 terms of size 10 or less, differentiated twice: 10^4 units of 1.1e-16; a system's residual is 1e-13."""
MAPPED = {
    "x": (0, None, None, None), "columns": (None, 0, 0, None), "all": (0, 0, 0, 0), "g": (None, None, None, 0),
    "inner axes": (1, None, 2, None),
}  # fmt: skip
Function = Callable[..., Any]


def distances(x: Any, y: Any, g: Any) -> Any:
    return -g * (x.unsqueeze(-2) - y.unsqueeze(-3)).square().sum(-1)


def lazy(x: Any, y: Any, g: Any) -> Any:
    return -ct.Pm(g) * (ct.Vi(x) - ct.Vj(y)).square().sum()


REDUCTIONS: dict[str, tuple[Function, Function]] = {
    "sum": (lambda x, y, g, how: lazy(x, y, g).exp().sum(1, **how), lambda x, y, g: distances(x, y, g).exp().sum(1, keepdim=True)),
    "sum over i": (lambda x, y, g, how: lazy(x, y, g).exp().sum(0, **how), lambda x, y, g: distances(x, y, g).exp().sum(0)[:, None]),
    "logsumexp": (lambda x, y, g, how: lazy(x, y, g).logsumexp(1, **how), lambda x, y, g: distances(x, y, g).logsumexp(1, True)),
    "weighted": (lambda x, y, g, how: lazy(x, y, g).logsumexp(1, other=ct.Vj(y * y), **how), lambda x, y, g: (distances(x, y, g).exp() @ (y * y)).log()),
    "softmax": (lambda x, y, g, how: lazy(x, y, g).sumsoftmaxweight(ct.Vj(y), 1, **how), lambda x, y, g: distances(x, y, g).softmax(1) @ y),
    "mean": (lambda x, y, g, how: lazy(x, y, g).mean(1, **how), lambda x, y, g: distances(x, y, g).mean(1, keepdim=True)),
    "std": (lambda x, y, g, how: lazy(x, y, g).std(1, **how), lambda x, y, g: distances(x, y, g).std(1, keepdim=True, correction=0)),
    "max": (lambda x, y, g, how: lazy(x, y, g).max(1, **how), lambda x, y, g: distances(x, y, g).amax(1, keepdim=True)),
    "Kmin": (lambda x, y, g, how: lazy(x, y, g).Kmin(3, 1, **how), lambda x, y, g: distances(x, y, g).topk(3, 1, largest=False).values),
}  # fmt: skip


@pytest.fixture
def how(context: cm.Context, mode: str) -> dict[str, Any]:
    if not context.device.fp64:
        pytest.skip("results are compared in float64")
    return {"context": context, "mode": mode}


def tensors(rng: np.random.Generator, *shapes: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple(torch.from_numpy(rng.uniform(0.5, 1.5, shape)) for shape in shapes)


def assert_same(ours: Any, exact: Any) -> None:
    torch.testing.assert_close(ours, exact, rtol=TOLERANCE, atol=TOLERANCE)


def dense(x: Any, y: Any, b: Any, g: Any) -> Any:
    return torch.exp(-g[..., None] * (x.unsqueeze(-2) - y.unsqueeze(-3)).square().sum(-1)) @ b


@pytest.mark.parametrize("axes", MAPPED.values(), ids=MAPPED)
@pytest.mark.parametrize("batches", [((), (), (), ()), ((2,), (), (4, 1), ())], ids=str)
def test_a_mapped_axis_is_a_batch(axes: Any, batches: Any, how: Any, rng: np.random.Generator) -> None:
    shapes = [(*batch, *shape) for batch, shape in zip(batches, [(6, 3), (5, 3), (5, 2), (1,)], strict=True)]
    shapes = [s if axis is None else (*s[:axis], 3, *s[axis:]) for s, axis in zip(shapes, axes, strict=True)]
    operands = tensors(rng, *shapes)
    reduction = ct.Genred(FORMULA, ALIASES, axis=1)
    assert_same(torch.vmap(lambda *t: reduction(*t, **how), axes)(*operands), torch.vmap(dense, axes)(*operands))
    ours, expected = (
        torch.vmap(torch.func.grad(lambda *t, f=f: f(*t).square().sum(), (0, 1, 2, 3)), axes)(*operands)
        for f in (lambda *t: reduction(*t, **how), dense)
    )
    assert_same(ours, expected)


def test_two_mapped_axes_of_different_tensors(how: Any, rng: np.random.Generator) -> None:
    x, y, b, g = tensors(rng, (2, 6, 3), (4, 5, 3), (5, 2), (1,))
    reduction = ct.Genred(FORMULA, ALIASES, axis=1)

    def outer(f: Function) -> Any:
        return torch.vmap(torch.vmap(lambda x, y: f(x, y, b, g), (None, 0)), (0, None))(x, y)

    ours = outer(lambda *t: reduction(*t, **how))
    assert ours.shape == (2, 4, 6, 2)
    assert_same(ours, outer(dense))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_forward_mode_agrees_with_dense_pytorch(name: str, how: Any, rng: np.random.Generator) -> None:
    ours, exact = REDUCTIONS[name]
    shapes = ((7, 2), (9, 2), (1,))
    points, directions = tensors(rng, *shapes), tensors(rng, *shapes)
    both = [torch.func.jvp(f, points, directions) for f in (lambda *t: ours(*t, how), exact)]
    assert_same(*both)
    for place in range(3):  # the others have no direction
        f = [lambda t, f=f, place=place: f(*points[:place], t, *points[place + 1 :]) for f in (lambda *t: ours(*t, how), exact)]
        assert_same(*(torch.func.jvp(one, points[place : place + 1], directions[place : place + 1]) for one in f))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_jacobians_and_hessians_agree_with_dense_pytorch(name: str, how: Any, rng: np.random.Generator) -> None:
    ours, exact = REDUCTIONS[name]
    points = tensors(rng, (3, 2), (4, 2), (1,))
    for transformed in (torch.func.jacfwd, torch.func.jacrev):
        assert_same(*(transformed(f, (0, 1, 2))(*points) for f in (lambda *t: ours(*t, how), exact)))
    assert_same(*(torch.func.hessian(lambda *t, f=f: f(*t).square().sum(), (0, 2))(*points) for f in (lambda *t: ours(*t, how), exact)))


@pytest.mark.parametrize("name", ["sum", "softmax", "std", "max"])
def test_gradcheck_in_forward_mode(name: str, how: Any, rng: np.random.Generator) -> None:
    points = [t.requires_grad_() for t in tensors(rng, (3, 2), (4, 2), (1,))]
    reduction = REDUCTIONS[name][0]
    assert torch.autograd.gradcheck(lambda *t: reduction(*t, how), points, check_forward_ad=True, check_backward_ad=False)


def test_systems_are_mapped_and_have_derivatives_in_both_modes(how: Any, rng: np.random.Generator) -> None:
    x, b, g = tensors(rng, (7, 3), (4, 7, 2), (4, 1))
    b.requires_grad_()
    solver = ct.KernelSolve(FORMULA, ALIASES, "b", axis=1)

    def solved(x: Any, b: Any, g: Any) -> Any:
        return solver(x, x, b, g, alpha=0.5, eps=1e-14, **how)

    def exact(x: Any, b: Any, g: Any) -> Any:
        kernel = torch.exp(distances(x, x, g)) + 0.5 * torch.eye(7, dtype=torch.float64)
        return torch.linalg.solve(kernel, b)

    axes = (None, 0, 0)
    assert_same(torch.vmap(solved, axes)(x, b, g), torch.vmap(exact, axes)(x, b, g))
    one = (x, b[0].detach(), g[0])
    directions = tensors(rng, (7, 3), (7, 2), (1,))
    assert_same(torch.func.jvp(solved, one, directions), torch.func.jvp(exact, one, directions))
    assert_same(torch.func.jvp(lambda b: solved(x, b, g[0]), one[1:2], directions[1:2]), torch.func.jvp(lambda b: exact(x, b, g[0]), one[1:2], directions[1:2]))
    assert_same(torch.func.jacrev(solved, (0, 1, 2))(*one), torch.func.jacrev(exact, (0, 1, 2))(*one))


def test_a_formula_that_nothing_moves_has_zeros(how: Any, rng: np.random.Generator) -> None:
    (x, y) = tensors(rng, (5, 2), (6, 2))
    x.requires_grad_()

    def steps(x: Any) -> Any:
        return (ct.Vi(x) - ct.Vj(y)).sign().sum(1, **how)

    (gradient,) = torch.autograd.grad(steps(x).sum(), x)
    assert gradient.shape == x.shape and not gradient.any()
    value, change = torch.func.jvp(steps, (x.detach(),), (torch.ones_like(x),))
    assert_same(value, (x.detach()[:, None] - y).sign().sum(1))
    assert change.shape == value.shape and not change.any()
    with pytest.raises(cm.FormulaError, match="no gradient"):
        torch.func.jvp(lambda x: ct.Vi(x).prod(0, **how), (x.detach(),), (torch.ones_like(x),))
