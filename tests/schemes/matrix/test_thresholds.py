"""Bars from a sample of columns: their bounds, when they are used, and that they exclude no result."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.pair_plans import DISTANCE, layout_of, pair_plan
from support.plans import FACTS, PARALLEL

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.plan import Plan, Stage
from clmapreduce.planning.mode import FEW_ROWS
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_CPU, MatrixBox
from clmapreduce.schemes.pairs.matrix.few import FewNumbers
from clmapreduce.vector import OPERATIONS, Variable

pytestmark = pytest.mark.drawn(seldom="pocl")

X, Y = Variable(0, 3, 0), Variable(1, 3, 1)
SQUARES = OPERATIONS["SqDist"](X, Y)
EPS = float(np.finfo("f4").eps)
LOOK, BARS, MAIN = (f"kernel/matrix/pairwise_matrix{end}" for end in ("_sample", "_bars", "_filter"))


def box_of(context: cm.Context) -> MatrixBox:
    return MATRIX_CPU if context.facts.kind == "cpu" else MatrixBox(128, 2, 128, sample=4)


def more(context: cm.Context) -> int:
    """How many times the columns that a CPU looks at another device needs."""
    return 1 if context.facts.kind == "cpu" else 8


def call_of(k: int, least: bool = True) -> PairCall:
    """The `k` least squared distances and their places; or the greatest, as the least of their negation."""
    name = "Max_ArgMax" if not least else "Min_ArgMin" if k == 1 else "KMin_ArgKMin"
    return PairCall(SQUARES, PAIR_REDUCTIONS[name], 1, options=PairOptions(k=k if k > 1 else None))


def templates(plan: Plan) -> list[str]:
    return [stage.spec.template for stage in plan.stages]


def run(call: PairCall, x: Any, y: Any, context: cm.Context, looks: bool = True, **numbers: int) -> Any:
    """Values and places. numbers: of the box."""
    box = replace(box_of(context), **numbers)
    prepared = prepare_pairs(call, {X: x, Y: y}, Options("parallel", context), box)
    assert isinstance(prepared, Prepared)
    assert templates(prepared.executable.plan)[:3] == [LOOK, BARS, MAIN] if looks else [MAIN]
    return prepared.run()


def whole(rng: np.random.Generator, count: int, most: int, dim: int = 3) -> Any:
    """Points of small whole numbers, whose squared distances float32 holds as they are; many are the same."""
    return rng.integers(-most, most + 1, (count, dim)).astype("f4")


def best_of(x: Any, y: Any, k: int, least: bool) -> tuple[Any, Any]:
    """Values and places by float64; what is not finite is never chosen."""
    with np.errstate(invalid="ignore"):
        values = np.square(x[..., :, None, :].astype("f8") - y[..., None, :, :]).sum(-1)
    none = np.inf if least else -np.inf
    values = np.where(np.isfinite(values), values, none)
    order = np.argsort(values if least else -values, -1, kind="stable")[..., :k]
    best = np.take_along_axis(values, order, -1)
    return best, np.where(np.isfinite(best), order, 0)


@pytest.mark.parametrize(("k", "least"), [(1, True), (1, False), (3, True), (10, True)])
def test_nothing_is_excluded(context: cm.Context, rng: np.random.Generator, k: int, least: bool) -> None:
    """Values and places to the last bit, ties to the lower place, for all points: in columns of the sample and in
    others, and rows of all kinds of groups.
    """
    call = call_of(k, least)
    for rows, columns, most in ((1, 700, 3), (17, 1003, 9), (70, 700, 300), (150, 1300, 1)):
        columns *= more(context)
        rows += 0 if context.facts.kind == "cpu" else FEW_ROWS  # fewer have another scheme where columns are many
        x, y = whole(rng, rows, most), whole(rng, columns, most)
        kinds = {"plain": (x, y), "shifted": (x + 1000, y + 1000), "the same": (x, np.repeat(y[:1], columns, 0))}
        kinds["clusters"] = (x, y + np.where(rng.random((columns, 1)) < 0.5, np.float32(1000), np.float32(0)))
        kinds["a far half"] = (
            x,
            y + np.where(np.arange(columns)[:, None] < columns // 2, np.float32(1000), np.float32(0)),
        )
        by_distance = np.argsort(np.square(y - x[0]).sum(1))  # every bar is passed at once, or by few
        kinds |= {"ascending": (x, y[by_distance]), "descending": (x, y[by_distance[::-1]])}
        for kind, (xs, ys) in kinds.items():
            values, places = run(call, xs, ys, context)
            best, order = best_of(xs, ys, k, least)
            np.testing.assert_array_equal(places, order, f"{kind} {rows} {columns}")
            np.testing.assert_array_equal(values, best.astype("f4"), f"{kind} {rows} {columns}")


@pytest.mark.parametrize("k", [16, 40, 100])
def test_all_columns_are_the_sample(context: cm.Context, rng: np.random.Generator, k: int) -> None:
    """Where many are kept."""
    for rows, columns, most in ((1, 700, 3), (70, 1100, 300), (150, 1300, 1)):
        columns *= more(context) * (3 if k == 100 else 1)
        rows += 0 if context.facts.kind == "cpu" else FEW_ROWS
        x, y = whole(rng, rows, most), whole(rng, columns, most)
        for kind, (xs, ys) in {"plain": (x, y), "shifted": (x + 1000, y + 1000)}.items():
            values, places = run(call_of(k), xs, ys, context, sample=1)
            best, order = best_of(xs, ys, k, True)
            np.testing.assert_array_equal(places, order, f"{kind} {rows} {columns}")
            np.testing.assert_array_equal(values, best.astype("f4"), f"{kind} {rows} {columns}")


@pytest.mark.parametrize(("k", "least"), [(1, True), (1, False), (3, True)])
def test_numbers_that_are_none(context: cm.Context, rng: np.random.Generator, k: int, least: bool) -> None:
    """Infinities and NaN in rows, in columns that are looked at and in those that are not; up to all of them."""
    call = call_of(k, least)
    x, y = whole(rng, 70, 9), whole(rng, 700 * more(context), 9)
    for share in (0.002, 0.2, 1.0):
        for stride in (1, 4):
            ys, xs = y.copy(), x.copy()
            for points, every in ((ys, stride), (xs, 7)):
                odd = np.flatnonzero(rng.random(len(points)) < share)
                odd = odd[odd % every == 0]
                points[odd, rng.integers(0, 3, len(odd))] = rng.choice([np.nan, -np.nan, np.inf, -np.inf], len(odd))
            with np.errstate(invalid="ignore"):
                infinite = np.isposinf(np.square(xs[:, None] - ys[None]).sum(-1)).any(1)
            fine = slice(None) if least else ~infinite  # the greatest may be infinite: by comparison then
            values, places = run(call, xs, ys, context)
            best, order = best_of(xs, ys, k, least)
            np.testing.assert_array_equal(places[fine], order[fine])
            np.testing.assert_array_equal(values[fine], best[fine].astype("f4"))
            assert least or np.isposinf(values[infinite]).all()


def test_batches(context: cm.Context, rng: np.random.Generator) -> None:
    """Every element of a batch has bars of its own."""
    x = whole(rng, 6 * 50, 9).reshape(2, 3, 50, 3) + (1000 * np.arange(2, dtype="f4"))[:, None, None, None]
    y = whole(rng, 3 * 600 * more(context), 9).reshape(3, -1, 3)
    for k in (1, 3):
        values, places = run(call_of(k), x, y, context)
        best, order = best_of(x, y, k, True)
        np.testing.assert_array_equal(places, order)
        np.testing.assert_array_equal(values, best.astype("f4"))


@pytest.mark.parametrize("name", ["Min", "Max", "KMin"])
def test_what_bars_promise(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """At least k columns are as good as the bar, and the bar is not much worse than the best of the sample."""
    side, k = 1 if name != "Max" else -1, 10 if name == "KMin" else 1
    box, columns = box_of(context), 1024 * more(context)

    def first_launches(static: Plan, layout: Any, domain: Any, mode: Any, facts: Any) -> Plan:
        plan = FewNumbers(layout, domain, mode, facts).plan(box)
        assert templates(plan)[:2] == [LOOK, BARS]
        return replace(plan, stages=tuple(as_output(stage) for stage in plan.stages[:2]), finish_on_host=False)

    # Rows too far from all others have no bar, nor have rows that lie close together and far from a column: the two of
    # a CPU's last group are far apart.
    x, y = (np.clip(0.7 * rng.normal(size=(n, 3)), -1.4, 1.4).astype("f4") for n in (50, columns))
    x[-2:] = [[-1], [1]]
    call = PairCall(SQUARES, PAIR_REDUCTIONS[name], 1, options=PairOptions(k=k if k > 1 else None))
    for far in (0, 1000):
        y[columns // 2 :] += far
        prepared = prepare_pairs(call, {X: x, Y: y}, Options("parallel", context), look=first_launches)
        assert isinstance(prepared, Prepared)
        bars = side * prepared.run()[0].reshape(-1)[:50].astype("f8")
        values = side * np.square(x[:, None].astype("f8") - y[None]).sum(-1)
        best = np.sort(values, 1)[:, k - 1]
        assert np.all(bars >= best - 4 * EPS * np.abs(best))
        if not far:  # the sample lies in more buckets than ten of the forty best are likely to share
            sample = np.sort(values[:, :: box.sample], 1)[:, 0 if k == 1 else 4 * k]
            assert np.all(bars <= sample + 1e-4 * np.abs(values).max())


def as_output(stage: Stage) -> Stage:
    """A stage that writes bars to the first output."""

    def with_output(names: Any) -> Any:
        return tuple("out0" if name == "scratch2" else name for name in names)

    return replace(stage, arguments=with_output(stage.arguments), reads=with_output(stage.reads), writes=with_output(stage.writes))


def test_where_bars_are_looked_for() -> None:
    """Where there are columns and buckets enough for k results, unless the box turns them off."""

    def looks(
        columns: int, op: str = "ArgMin", sample: int = 8, sparse: bool = False, rows: int = 1000, **how: Any
    ) -> bool:
        layout, box = layout_of(DISTANCE, op, **how), MatrixBox(256, 2, 256, sample=sample)
        return LOOK in templates(pair_plan(layout, rows, columns, PARALLEL, FACTS["nvidia"], box=box, sparse=sparse))

    assert looks(100_000) and looks(2048) and not looks(2047)
    assert not looks(100_000, sample=0) and not looks(100_000, sparse=True)
    assert looks(100_000, "KMin", sample=1, k=128) and not looks(100_000, "KMin", sample=1, k=129)
    assert looks(100_000, rows=10**8) and not looks(100_000, rows=10**9)  # gigabytes of buckets
    assert not looks(2048, "KMin", k=10) and looks(8 * 256 * 3, "KMin", k=10)
