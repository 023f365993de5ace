"""Pairs by cells: what is left out does not matter, on every device, against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.far_points import clusters, distances, points, squares
from support.matrix_units import units_everywhere
from support.pair_plans import cells_plan, form_of
from support.plans import FACTS

import clmapreduce as cm
from clmapreduce.device.plans.executable import Executable
from clmapreduce.domain.dense import Pairwise
from clmapreduce.modes import ComputeMode
from clmapreduce.planning import passes
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.schemes.common import gates
from clmapreduce.schemes.pairs.cells import plan as cells

pytestmark = [pytest.mark.drawn(seldom="pocl"), pytest.mark.usefixtures("looks_for_cells")]

ROWS, COLUMNS = 700, 2_900
EPS = float(np.finfo("f4").eps)


def log_sum_exp(exponents: Any) -> Any:
    top = exponents.max(1, keepdims=True)
    return top + np.log(np.exp(exponents - top).sum(1, keepdims=True))


Reduce = Callable[[Any, Any, dict[str, Any]], Any]
SUMS: dict[str, tuple[Reduce, Callable[[Any], Any]]] = {
    "Gaussian": (lambda d, b, how: ((-d).exp() * b).sum(1, **how), lambda s: np.exp(-s)),
    "with a parameter": (lambda d, b, how: ((-d / 0.7).exp() * b * 0.5).sum(1, **how), lambda s: 0.5 * np.exp(-s / 0.7)),
    "Laplacian": (lambda d, b, how: ((-d.sqrt()).exp() * b).sum(1, **how), lambda s: np.exp(-np.sqrt(s))),
    "Matern": (
        lambda d, b, how: ((1 + d.sqrt()) * (-d.sqrt()).exp() * b).sum(1, **how),
        lambda s: (1 + np.sqrt(s)) * np.exp(-np.sqrt(s)),
    ),
    "two widths": (
        lambda d, b, how: (((-d).exp() - 3 * (-2 * d).exp()) * b).sum(1, **how),
        lambda s: np.exp(-s) - 3 * np.exp(-2 * s),
    ),
}  # fmt: skip
OTHERS: dict[str, tuple[Reduce, Callable[[Any], Any]]] = {
    "logsumexp": (lambda d, b, how: (-d).logsumexp(1, **how), lambda s: log_sum_exp(-s)),
    "nearest": (lambda d, b, how: d.argmin(1, **how), lambda s: s.argmin(1)[:, None]),
    "five nearest": (lambda d, b, how: d.argKmin(5, dim=1, **how), lambda s: np.argsort(s, 1, kind="stable")[:, :5]),
    "least": (lambda d, b, how: d.sqrt().min(1, **how), lambda s: np.sqrt(s.min(1))[:, None]),
    "greatest": (lambda d, b, how: (1 - d).max(1, **how), lambda s: 1 - s.min(1)[:, None]),
}  # fmt: skip


@pytest.mark.parametrize("dim", [2, 5, 20])
@pytest.mark.parametrize("name", [*SUMS, *OTHERS])
def test_clusters_are_computed_by_cells(
    name: str, dim: int, alone: cm.Context, rng: np.random.Generator
) -> None:  # fmt: skip
    check(name, clusters(rng, ROWS, dim), clusters(rng, COLUMNS, dim), alone, rng)


@pytest.mark.parametrize("cloud", ["normal", "clusters", "more clusters than cells", "one cluster", "outliers", "grid"])
@pytest.mark.parametrize("name", [*SUMS, *OTHERS])
def test_any_points(name: str, cloud: str, context: cm.Context, rng: np.random.Generator) -> None:
    dim = int(rng.choice([2, 3, 18]))
    x, y = (points(rng, cloud, count, dim) for count in (ROWS, COLUMNS))
    check(name, x, y, context, rng)


@pytest.mark.parametrize("cloud", ["normal", "clusters", "one cluster", "outliers"])
@pytest.mark.parametrize("name", ["Gaussian", "Laplacian", "logsumexp"])
def test_groups_that_gave_up(
    name: str, cloud: str, alone: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Matrix units compute what is near; cells, or other launches, what these leave."""
    boxes = units_everywhere(monkeypatch)
    context = alone if cloud == "clusters" else cm.Context(alone.device)
    if cloud != "clusters":
        monkeypatch.setattr(cells, "gated", gates.gated)
    x, y = (points(rng, cloud, count, 20) for count in (ROWS, COLUMNS))
    check(name, x, y, context, rng, 16 * 2.0**-22)  # sixteen sums of 22 bits
    assert boxes


def check(
    name: str, x: Any, y: Any, context: cm.Context, rng: np.random.Generator, products: float = 0.0
) -> None:  # fmt: skip
    """products: what an exponent is off by, as a share of itself, where matrix units compute it."""
    b = rng.standard_normal((len(y), 1)).astype("f4")
    how: dict[str, Any] = {"context": context, "mode": "parallel"}
    reduce, expected = (SUMS | OTHERS)[name]
    result = reduce(distances(x, y), cm.Vj(b), how)
    between = squares(x, y)
    if name in SUMS:
        terms = expected(between)
        parts = np.abs(terms) + 4 * np.exp(-between) * (name == "two widths")  # of which terms are differences
        # Half a last bit for every step to an exponent: a difference counts twice, then its square, sums over
        # coordinates, a product with a parameter that took two steps; and 0.7 for the exponential's own product.
        exponent = products + EPS * (x.shape[1] + 8) / 2
        # Three deviations of a chain of 256 sums.
        bound = (parts * (24 * EPS + exponent * between)) @ np.abs(b) + 1e-30
        assert np.all(np.abs(result - terms @ b) <= bound)
    elif name in ("nearest", "five nearest"):
        chosen = np.take_along_axis(between, result.astype(int), 1)
        best = np.take_along_axis(between, expected(between), 1)
        np.testing.assert_allclose(chosen, best, rtol=1e-5)
        if np.array_equal(x, np.round(x)):  # distances are exact, many are equal, and the first columns win
            assert np.array_equal(result, expected(between))
    else:
        np.testing.assert_allclose(result, expected(between), rtol=1e-5 + products, atol=1e-5)


def test_halves_and_several_numbers(alone: cm.Context, rng: np.random.Generator) -> None:
    """Rows of other types and lengths are moved as well, and parameters of coordinates count in distances."""
    x, y = (clusters(rng, n, 3).astype("f2") for n in (ROWS, COLUMNS))
    b, s = rng.standard_normal((COLUMNS, 3)).astype("f2"), rng.standard_normal((ROWS, 1)).astype("f2")
    w = np.array([0.5, 1, 2], "f2")
    kernel = (-((cm.Vi(x) - cm.Vj(y)) ** 2 * cm.Pm(w)).sum(-1)).exp()
    result = (kernel * cm.Vj(b) * cm.Vi(s)).sum(1, context=alone, mode="parallel")
    terms = np.exp(-(np.square(x.astype("f8")[:, None] - y) * w.astype("f8")).sum(-1))
    expected = s * (terms @ b.astype("f8"))
    np.testing.assert_allclose(result.astype("f8"), expected, atol=2e-3 * np.abs(expected).max())


def test_sums_of_differences(alone: cm.Context, rng: np.random.Generator) -> None:
    """As gradients have them: terms are products with coordinates of rows and of columns."""
    x, y = clusters(rng, ROWS, 3), clusters(rng, COLUMNS, 3)
    kernel = (-distances(x, y)).exp() * (cm.Vi(x) - cm.Vj(y))
    result = kernel.sum(1, context=alone, mode="parallel")
    differences = x.astype("f8")[:, None] - y
    terms = np.exp(-squares(x, y))[:, :, None] * differences
    steps = 24 + 6 * squares(x, y)  # as in `check`
    bound = (np.abs(terms) * (EPS * steps)[:, :, None]).sum(1) + 1e-30
    assert np.all(np.abs(result - terms.sum(1)) <= bound)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e38])
@pytest.mark.parametrize("where", ["row", "column", "weight"])
def test_numbers_that_are_none(where: str, bad: float, context: cm.Context, rng: np.random.Generator) -> None:
    """What a number does that is infinite, or none, or overflows: the same as without cells."""
    x, y, b = clusters(rng, ROWS, 3), clusters(rng, COLUMNS, 3), rng.standard_normal((COLUMNS, 1)).astype("f4")
    {"row": x, "column": y, "weight": b}[where][int(rng.integers(ROWS))] = bad
    how: dict[str, Any] = {"context": context, "mode": "parallel"}
    result = ((-distances(x, y)).exp() * cm.Vj(b)).sum(1, **how)
    with np.errstate(all="ignore"):
        apart = np.square(x[:, None] - y).sum(-1)
        terms = np.exp(-apart.astype("f8")) * b[:, 0]
    expected = np.where((apart > 200)[:, :] & np.isfinite(b[:, 0]), 0, terms).sum(1, keepdims=True)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-5)
    nearest = distances(x, y).argmin(1, **how)
    with np.errstate(invalid="ignore"):
        least = np.fmin.reduce(apart, 1)
    some = np.isfinite(least)
    np.testing.assert_allclose(apart[np.arange(ROWS), nearest[:, 0]][some], least[some], rtol=1e-6)


def test_equally_near_columns_of_several_cells(alone: cm.Context, rng: np.random.Generator) -> None:
    """Lists keep the order of columns."""
    sites = np.stack([16 * np.arange(12), np.zeros(12)], 1).astype("f4")  # each is a cell, and many columns
    y, x = sites[np.arange(COLUMNS) % 12], sites[np.arange(ROWS) % 11] + np.array([8, 0], "f4")  # midway
    check("five nearest", x, y, alone, rng)
    check("nearest", x, y, alone, rng)


def test_points_that_are_all_the_same(context: cm.Context) -> None:
    x = np.full((ROWS, 4), 7, "f4")
    how: dict[str, Any] = {"context": context, "mode": "parallel"}
    assert np.all(distances(x, x).argmin(1, **how) == 0)
    assert np.all((-distances(x, x)).exp().sum(1, **how) == ROWS)


@pytest.mark.parametrize(
    ("text", "op", "suits"),
    [
        ("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,1)", "Sum", True),
        ("Exp(-Sqrt(SqDist(Vi(0,30),Vj(1,30))*Pm(2,1)))", "Sum", True),
        ("-SqDist(Vi(0,3),Vj(1,3))", "LogSumExp", True),
        ("SqDist(Vi(0,3),Vj(1,3))", "ArgMin", True),
        ("-SqDist(Vi(0,3),Vj(1,3))-Vj(2,1)", "LogSumExp", False),  # columns have exponents of their own
        ("Rsqrt(Pm(2,1)+SqDist(Vi(0,3),Vj(1,3)))", "Sum", False),  # never 0, and a root that may be of nothing
        ("Exp(Vi(0,3)|Vj(1,3))", "Sum", False),  # no distance
        ("Exp(-SqDist(Vi(0,3),Vj(1,3)))*(Vi(0,3)|Vj(1,3))", "Sum", False),  # two sums over coordinates
        ("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)", "Sum", True),
        ("Exp(-SqDist(Vi(0,30),Vj(1,30)))*(Vi(0,30)-Vj(1,30))", "Sum", True),
        ("Exp(Vi(0,3)|Vj(1,3))*Vj(2,40)", "Sum", False),
    ],
)
def test_what_suits(text: str, op: str, suits: bool) -> None:
    plan = cells_plan(form_of(text, op), 10_000, 9_000, FACTS["nvidia"])
    assert (plan is not None) is suits
    if plan is not None:
        assert "by cells" in plan.why
        late = [stage.spec.kernel for stage in plan.stages if stage.redo == "cell_gates"]
        assert late[0] == "cmr_cell_labels" and late[-1] == "cmr_cell_moves"


@pytest.mark.parametrize(
    ("dim", "op", "count", "pays"),
    [
        (3, "Sum", 90_000, False), (3, "Sum", 100_000, True), (8, "Sum", 100_000, True), (8, "Sum", 50_000, False),
        (40, "LogSumExp", 100_000, True), (50, "Sum", 50_000, True), (3, "ArgMin", 100_000, True), (3, "ArgMin", 50_000, False),
    ],
)  # fmt: skip
def test_what_pays(dim: int, op: str, count: int, pays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a launch gives up early, cells cost little; else a sample is looked at before."""
    monkeypatch.setattr(passes, "pays_cells", cells.pays_cells)
    text = f"SqDist(Vi(0,{dim}),Vj(1,{dim}))"
    text = {"Sum": f"Exp(-{text})*Vj(2,1)", "LogSumExp": f"-{text}"}.get(op, text)
    domain = Pairwise(count, count, 1, count * dim)
    for device in ("nvidia", "intel"):
        setting = passes.Setting(domain, ComputeMode.PARALLEL, FACTS[device])
        plan = passes_of(form_of(text, op)).plan(setting, (np.dtype("f4" if op != "ArgMin" else "i8"),))
        kernels = [stage.spec.kernel for stage in plan.stages]
        assert ("cmr_cell_pivots" in kernels) is (pays and device == "nvidia")
        if pays and device == "nvidia":
            assert (kernels[0] == "cmr_cell_pivots") is (dim != 8)


@pytest.mark.parametrize("resident", [False, True])
def test_cells_without_room(
    resident: bool, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Their lists take more memory than is left; then pairs are computed without them, and again in repeated calls."""
    alone = cm.Context(context.device)
    x, y = clusters(rng, ROWS, 3), clusters(rng, COLUMNS, 3)
    own = [cm.array(values, alone) if resident else values for values in (x, y)]

    def call() -> Any:
        return np.asarray((-distances(*own)).exp().sum(1, context=alone, mode="parallel"))

    arena = alone.queue.arena
    alone.wait()
    arena.trim()
    room = 64 << 10 if resident else 128 << 10  # a place on a list for each column takes 16 words
    monkeypatch.setenv("CLMR_MEMORY_LIMIT", str(arena.reserved_bytes - arena.idle_bytes + room))
    with monkeypatch.context() as only:
        only.setattr(Executable, "lean", None)
        with pytest.raises(cm.DeviceMemoryError):
            call()
    between = squares(x, y)
    terms = np.exp(-between)
    bound = (terms * (EPS * (24 + 6 * between))).sum(1, keepdims=True)  # as in `check`
    for _ in range(3):
        assert np.all(np.abs(call() - terms.sum(1, keepdims=True)) <= bound)
