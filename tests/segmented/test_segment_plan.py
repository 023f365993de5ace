"""SegmentPlan: bit for bit what one call gives, checked and planned once."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same, values
from support.random_segments import offsets_of, random_lengths

import clmapreduce as cm
from clmapreduce.segmented import check, geometry


@pytest.fixture(params=[False, True], ids=["direct", "sources"])
def geometry_of(request: pytest.FixtureRequest, rng: np.random.Generator) -> tuple[np.ndarray, int, Any]:
    """(offsets, count, sources)."""
    lengths = np.array([*random_lengths(rng, 400, 12), 0, 3000])
    count = 4000 if request.param else int(lengths.sum())
    return offsets_of(lengths), count, rng.integers(0, count - lengths + 1) if request.param else None


@pytest.mark.drawn
@pytest.mark.parametrize("columns", [1, 3])
@pytest.mark.parametrize(
    ("op", "more"),
    [("sum", {}), ("argmin", {"empty": -7}), ("maximum", {"init": 2.0})],
    ids=["sum", "argmin", "maximum"],
)
def test_plans_give_the_bits_of_one_call(
    geometry_of: Any,
    op: str,
    more: dict[str, Any],
    columns: int,
    context: cm.Context,
    mode: str,
    rng: np.random.Generator,
) -> None:
    offsets, count, sources = geometry_of
    plan = cm.SegmentPlan(offsets, count, sources, context=context, mode=mode)
    x = values(rng, "f4", count if columns == 1 else (count, columns))
    expected = cm.segmented_reduce(x, offsets, op, sources=sources, context=context, mode=mode, **more)
    for array in (x, cm.array(x, context)):
        result = plan.reduce(array, op, mode=mode, **more)
        assert isinstance(result, cm.DeviceArray) == isinstance(array, cm.DeviceArray)
        assert_same(result, expected)


@pytest.mark.drawn
def test_plans_of_several_arrays(geometry_of: Any, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets, count, sources = geometry_of
    plan = cm.SegmentPlan(offsets, count, sources, context=context, mode=mode)
    x, wide = values(rng, "f4", count), values(rng, "f4", (count, 3))
    expected = cm.segmented_reduce((x, wide), offsets, map="a * b", context=context, mode=mode, sources=sources)
    assert_same(plan.reduce((x, wide), map="a * b", mode=mode), expected)
    out = np.empty_like(expected)
    assert plan.reduce((x, wide), map="a * b", mode=mode, out=out) is out
    assert_same(out, expected)


def test_later_calls_check_and_plan_nothing(
    geometry_of: Any, context: cm.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    offsets, count, sources = geometry_of
    plan = cm.SegmentPlan(offsets, count, sources, context=context)
    x = cm.array(np.ones(count, "f4"), context)
    first = plan.reduce(x).to_numpy()

    def refuse(*arguments: Any, **more: Any) -> Any:
        raise AssertionError("made again")

    for module, name in ((check, "check_offsets"), (geometry, "geometry"), (geometry, "expanded")):
        monkeypatch.setattr(module, name, refuse)
    monkeypatch.setattr("clmapreduce.segmented.call.choose", refuse)
    monkeypatch.setattr("clmapreduce.segmented.reduce.geometry", refuse)
    assert_same(plan.reduce(x), first)


def test_plans_keep_their_own_offsets(context: cm.Context, mode: str) -> None:
    offsets = np.array([0, 2, 2, 5])
    plan = cm.SegmentPlan(offsets, 5, context=context)
    offsets[:] = 0
    assert_same(plan.reduce(np.arange(5), mode=mode), np.array([1, 0, 9]))


def test_plans_describe_themselves(context: cm.Context, mode: str) -> None:
    plan = cm.SegmentPlan([0, 2, 2, 5], 5, context=context)
    assert repr(plan).startswith("SegmentPlan(3 segments of 5 values; 32 bytes kept on ")
    assert (plan.segments, plan.count, plan.context) == (3, 5, context)
    text = plan.explain(np.zeros(5, "f4"), mode=mode)
    assert f"mode {mode}" in text and "cmr_segmented" in text
    assert "__kernel" in plan.source(np.zeros(5, "f4"), "maximum", mode=mode)
    other_plan = cm.SegmentPlan([0, 2, 2, 5], 9, [3, 0, 6], context=context)
    assert "3 segments of 9 values, 5 elements through sources" in repr(other_plan)
    nothing = cm.SegmentPlan([0], 0, context=context)
    assert "no launch" in nothing.explain(np.zeros(0, "f4")) and nothing.source(np.zeros(0, "f4")) == ""
    assert_same(nothing.reduce(np.zeros((0, 2), "f4")), np.zeros((0, 2), "f4"))


def test_values_that_do_not_fit(context: cm.Context) -> None:
    plan = cm.SegmentPlan([0, 2, 5], 5, context=context)
    with pytest.raises(cm.ShapeError, match="values has length 6, the segments are made for 5"):
        plan.reduce(np.zeros(6))
    with pytest.raises(cm.DeviceError):
        plan.reduce(cm.array(np.zeros(5, "f4"), cm.Context(context.device)))
    for count, error in ((-1, cm.ShapeError), (2.5, cm.DTypeError), (True, cm.DTypeError)):
        with pytest.raises(error, match="count is"):
            cm.SegmentPlan([0, 2, 5], count, context=context)  # type: ignore[arg-type]


@pytest.mark.drawn
def test_cache_entries_differ_by_arguments(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_of([5, 0, 70, 9])
    plan = cm.SegmentPlan(offsets, 84, context=context)
    shapes = [((84,), "f4"), ((84,), "i4"), ((84, 3), "f4")]
    calls: list[dict[str, Any]] = [{}, {"init": 2}, {"init": 3}, {"op": "maximum"}, {"map": "v * 2"}]
    for _ in range(2):
        for shape, dtype in shapes:
            x = rng.integers(-9, 9, shape).astype(dtype)
            for more in calls:
                assert_same(
                    plan.reduce(cm.array(x, context), mode=mode, **more), plan.reduce(x, mode=mode, **more), more
                )
    assert len(plan._calls) == len(shapes) * len(calls)
    record = np.array((1.0, 2), [("a", "f4"), ("b", "i4")])
    pairs = cm.Operator(
        lambda p, q: {"a": p["a"] + q["a"], "b": q["b"]}, record[()], record.dtype, commutative=False, check=False
    )
    records = np.full(84, record)
    for array in (records, cm.array(records, context)):
        result = plan.reduce(array, pairs, init=record[()], mode=mode)
        assert_same(np.asarray(result)["b"], np.full(4, 2, "i4"))


def test_a_plan_takes_its_calls_along(context: cm.Context) -> None:
    """The context that holds its cache holds neither it nor its arrays."""
    own = cm.Context(context.device)
    plan = cm.SegmentPlan([0, 2, 5], 5, context=own)
    x = cm.array(np.ones(5, "f4"), own)
    for _ in range(2):
        np.testing.assert_array_equal(plan.reduce(x).to_numpy(), [2, 3])
    assert len(plan._calls) == 1
    reference, offsets = weakref.ref(plan), weakref.ref(plan._geometry.offsets)
    del plan
    gc.collect()
    assert reference() is None and offsets() is None


@pytest.mark.drawn
def test_cache_entries_with_an_array_for_the_results(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """The same one again, one that is read as well, and some that do not fit; nothing is prepared twice for those."""
    rows = 90
    indptr = np.arange(0, 4 * rows + 1, 4, dtype="i4")
    plan = cm.SpmvPlan(
        (indptr, rng.integers(0, rows, 4 * rows), values(rng, "f4", 4 * rows)), context=context, mode=mode
    )
    x, out = (cm.array(values(rng, "f4", rows), context) for _ in range(2))
    for _ in range(3):
        expected = plan.apply(x.to_numpy(), mode=mode)
        assert plan.apply(x, mode=mode, out=out) is out
        assert_same(out.to_numpy(), expected)
        x = cm.array(values(rng, "f4", rows), context)
    for _ in range(3):  # in place: every row reads x
        expected = plan.apply(x.to_numpy(), mode=mode)
        assert plan.apply(x, mode=mode, out=x) is x
        assert_same(x.to_numpy(), expected)
    assert len(plan._calls) == 1
    for wrong, error in ((values(rng, "f4", rows + 1), cm.ShapeError), (values(rng, "i4", rows), cm.DTypeError)):
        with pytest.raises(error, match="out has"):
            plan.apply(x, mode=mode, out=cm.array(wrong, context))
    other = cm.Context(context.device)
    with pytest.raises(cm.DeviceError, match="out lives on"):
        plan.apply(x, mode=mode, out=cm.array(values(rng, "f4", rows), other))
    host = np.full(rows, np.nan, "f4")
    assert plan.apply(x, mode=mode, out=host) is host
    assert_same(host, plan.apply(x.to_numpy(), mode=mode))
