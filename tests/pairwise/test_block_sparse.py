"""Every reduction over blocks of pairs against dense NumPy in float64 under the expanded mask: axes, batches, dtypes, every
device, both modes.

By default combinations are drawn, new ones in every run; `-m sweep` takes them all.
"""

from __future__ import annotations

import gc
import weakref
from itertools import product
from typing import Any

import numpy as np
import pytest
from support.dense_pairs import HALVES, NAMES, Case

import clmapreduce as cm
from clmapreduce.device import context as context_module
from clmapreduce.domain import dense, sparse

pytestmark = pytest.mark.drawn

SIZES = [(1, 1), (67, 300), (300, 67)]
MODES = ["sequential", "parallel"]
BATCHES = [((2,), ()), ((2, 1), (1, 3)), ((), (2,))]


def random_case(rng: np.random.Generator, name: str, context: cm.Context) -> Case:
    """A case of this reduction, the rest by chance."""
    code = str(rng.choice(["f4", "f8", *HALVES] if context.facts.fp64 else ["f4", *HALVES]))
    dim = int(rng.choice([1, 3] if code == "f2" else [1, 3, 3, 20]))  # sums of 20 products leave float16
    return Case(
        name, dim, code, int(rng.integers(2)), str(rng.choice(["auto", "auto", "2D"])), sparse=True
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_reductions(name: str, context: cm.Context, rng: np.random.Generator) -> None:
    random_case(rng, name, context).check(rng, context, str(rng.choice(MODES)), SIZES)


@pytest.mark.parametrize("name", ["Sum", "LogSumExpWeight", "KMin_ArgKMin"])
def test_batches(name: str, context: cm.Context, rng: np.random.Generator) -> None:
    """Every element of a batch meets the same blocks."""
    batch = BATCHES[int(rng.integers(len(BATCHES)))]
    backend = str(rng.choice(["auto", "2D"]))
    Case(name, batch=batch, axis=int(rng.integers(2)), backend=backend, sparse=True).check(
        rng, context, str(rng.choice(MODES)), [(40, 90)]
    )


def test_indices_of_64_bits(
    context: cm.Context, mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What only arrays of 2³¹ elements ask for."""
    monkeypatch.setattr(dense, "NARROW_LIMIT", 1)
    dim, name = int(rng.choice([3, 20])), str(rng.choice(["Sum", "Min_ArgMin"]))
    Case(name, dim, backend=str(rng.choice(["auto", "2D"])), sparse=True).check(rng, context, mode, [(67, 300)])


@pytest.mark.parametrize("backend", ["auto", "2D"])
def test_long_values(backend: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Sums of vectors of 40 numbers, each a sum of its own; with softmax's weights in two passes."""
    x, y, _, mask, ranges = problem(rng, 50, 300)
    b = rng.normal(size=(300, 40)).astype("f4")
    distances = squares(x, y)
    how: dict[str, Any] = {"context": context, "mode": mode, "backend": backend, "ranges": ranges}
    lazy = ((cm.Vi(x) - cm.Vj(y)) ** 2).sum()
    product = (-lazy).exp().__matmul__(b, **how)
    np.testing.assert_allclose(product, np.where(mask, np.exp(-distances), 0) @ b, atol=1e-4)
    power = np.where(mask, np.exp(-distances), 0)
    with np.errstate(invalid="ignore"):
        expected = np.where(mask.any(1)[:, None], (power @ b) / power.sum(1)[:, None], 0)
    np.testing.assert_allclose((-lazy).sumsoftmaxweight(cm.Vj(b), dim=1, **how), expected, atol=1e-4)


# ---------------------------------------------------------------------------------------------------------- front ends
def problem(rng: np.random.Generator, m: int = 50, n: int = 70) -> tuple[Any, Any, Any, Any, cm.Ranges]:
    """x, y, b, a mask and its ranges."""
    keep = rng.random((5, 6)) < 0.5
    cuts = [
        np.sort(rng.integers(0, size + 1, (count, 2)).reshape(-1)).reshape(-1, 2) for size, count in ((m, 5), (n, 6))
    ]
    mask = np.zeros((m, n), bool)
    for k, meets in enumerate(keep):
        for j in np.flatnonzero(meets):
            mask[slice(*cuts[0][k]), slice(*cuts[1][j])] = True
    x, y, b = (rng.normal(size=shape) for shape in ((m, 3), (n, 3), (n, 2)))
    return x.astype("f4"), y.astype("f4"), b.astype("f4"), mask, cm.Ranges.from_matrix(*cuts, keep)


def squares(x: Any, y: Any) -> Any:
    return ((x[:, None].astype(float) - y[None]) ** 2).sum(-1)


def test_every_front_end_takes_ranges(context: cm.Context, rng: np.random.Generator) -> None:
    x, y, b, mask, ranges = problem(rng)
    kernel = np.where(mask, np.exp(-squares(x, y)), 0)
    lazy = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum()).exp()
    text, aliases = "Exp(-SqDist(x, y)) * b", ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)"]
    genred = cm.Genred(text, aliases, "Sum", axis=1)
    gaussian = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum()).exp()
    gaussian.ranges = ranges.arrays()
    results = [
        (lazy * cm.Vj(b)).sum(dim=1, ranges=ranges, context=context), gaussian.__matmul__(b, context=context),
        genred(x, y, b, ranges=ranges, context=context), genred(x, y, b, ranges=ranges.arrays(), context=context),
        genred(*(cm.array(z, context) for z in (x, y, b)), ranges=ranges).to_numpy(),
    ]  # fmt: skip
    for result in results:
        np.testing.assert_allclose(result, kernel @ b, atol=1e-4)
    a = x[:, :2].copy()
    np.testing.assert_allclose(gaussian.T.__matmul__(a, context=context), kernel.T @ a, atol=1e-4)
    np.testing.assert_allclose(gaussian.sum(axis=0, context=context)[:, 0], kernel.sum(0), atol=1e-4)


def test_gradients_meet_the_same_pairs(context: cm.Context, rng: np.random.Generator) -> None:
    x, y, _, mask, ranges = problem(rng)
    kernel = np.where(mask, np.exp(-squares(x, y)), 0)
    lazy = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum()).exp()
    lazy.ranges = ranges
    terms = -2 * kernel[..., None] * (x[:, None].astype(float) - y[None])
    by_x = lazy.grad(cm.Vi(x), 1).sum(dim=1, context=context)
    np.testing.assert_allclose(by_x, terms.sum(1), atol=1e-4)
    by_y = lazy.grad(cm.Vj(y), 1).sum(dim=0, context=context)
    np.testing.assert_allclose(by_y, -terms.sum(0), atol=1e-4)


def test_systems_of_blocks_are_solved(context: cm.Context, rng: np.random.Generator) -> None:
    x, _, _, _, _ = problem(rng)
    labels = np.repeat(np.arange(5), 10)
    ranges = cm.Ranges.from_clusters(labels)
    kernel = np.where(labels[:, None] == labels, np.exp(-squares(x, x)), 0)
    b = rng.normal(size=(50, 1)).astype("f4")
    solver = cm.KernelSolve("Exp(-SqDist(x, y)) * b", ["x = Vi(3)", "y = Vj(3)", "b = Vj(1)"], "b", axis=1)
    result = solver(x, x, b, alpha=0.5, ranges=ranges, context=context)
    np.testing.assert_allclose(result, np.linalg.solve(kernel + 0.5 * np.eye(50), b), atol=1e-4)


def test_plans_are_made_once(context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks are cut, and tables sent, by the first call alone; and caches end with the ranges."""
    x, y, b, _, ranges = problem(rng)
    calls: list[str] = []
    for place, name in ((sparse, "_work"), (context_module, "SentTable")):
        plain = getattr(place, name)
        monkeypatch.setattr(place, name, lambda *args, plain=plain, name=name: calls.append(name) or plain(*args))
    formula = cm.Genred("Exp(-SqDist(x, y)) * b", ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)"], "Sum", axis=1)
    on_device = [cm.array(z, context) for z in (x, y, b)]
    first = formula(*on_device, ranges=ranges).to_numpy()
    earlier_calls = list(calls)
    assert "_work" in earlier_calls and "SentTable" in earlier_calls
    for _ in range(2):
        np.testing.assert_array_equal(formula(*on_device, ranges=ranges).to_numpy(), first)
        np.testing.assert_allclose(formula(x, y, b, ranges=ranges, context=context), first, rtol=1e-6)
    assert calls == earlier_calls
    reference = weakref.ref(ranges.half(1, 50, 70))
    del ranges
    gc.collect()
    assert reference() is None


def test_ranges_that_do_not_fit(rng: np.random.Generator) -> None:
    x, y, b, _, ranges = problem(rng)
    lazy = (cm.Vi(x) - cm.Vj(y)).sqnorm2()
    with pytest.raises(cm.ShapeError):
        lazy.sum(dim=1, ranges=cm.Ranges.band(50, 71, 3))
    with pytest.raises(cm.ShapeError, match="ranges"):
        lazy.sum(dim=1, ranges=17)
    lazy.ranges = ranges
    with pytest.raises(cm.ModeError, match="all rows and columns"):
        lazy[:10, :]
    with pytest.raises(cm.ModeError, match="meet in one formula"):
        lazy.logsumexp(dim=1, weight=_with(cm.Vj(b), cm.Ranges.band(50, 70, 3)))


def _with(lazy: Any, ranges: cm.Ranges) -> Any:
    lazy.ranges = ranges
    return lazy


# ------------------------------------------------------------------------------------------------------------- sweeps
@pytest.mark.sweep
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("dim", [1, 3, 20])
@pytest.mark.parametrize("name", NAMES)
def test_every_combination(name: str, dim: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for code, axis, backend in product(["f4", "f8"], [0, 1], ["auto", "1D", "2D"]):
        if code == "f4" or context.facts.fp64:
            Case(name, dim, code, axis, backend, sparse=True).check(
                rng, context, mode, [*SIZES, (400, 1500), (33, 3000)]
            )
    for batch in BATCHES:
        Case(name, dim, batch=batch, sparse=True).check(rng, context, mode, [(31, 31), (7, 193)])
