"""Repeated single calls on device arrays of the same shapes: the short way, the same bits, the same errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.device.plans.cache import Caches
from clmapreduce.schemes.segments.boxes import TeamBox
from clmapreduce.schemes.segments.team import Teams
from clmapreduce.segmented.single_call import RepeatedCall

pytestmark = pytest.mark.drawn
SEGMENTS, COUNT = 5000, 30_000


@pytest.fixture(params=[False, True], ids=["as chosen", "teams"])
def short_ways(
    request: pytest.FixtureRequest, context: cm.Context, monkeypatch: pytest.MonkeyPatch
) -> list[RepeatedCall]:
    """The calls that went the short way, after all caches were emptied."""
    monkeypatch.setattr(context, "_caches", Caches())
    if request.param:
        monkeypatch.setattr(Teams, "default", lambda _: TeamBox(most=4096, join_block=32))
    calls: list[RepeatedCall] = []
    plain = RepeatedCall.run

    def counting(self: RepeatedCall) -> Any:
        calls.append(self)
        return plain(self)

    monkeypatch.setattr(RepeatedCall, "run", counting)
    return calls


def random_segments(rng: np.random.Generator) -> tuple[Any, Any]:
    offsets = np.sort(rng.integers(0, COUNT + 1, SEGMENTS + 1)).astype("i4")
    offsets[0], offsets[-1] = 0, COUNT
    return offsets, rng.standard_normal(COUNT).astype("f4")


@pytest.mark.parametrize(
    ("op", "more"),
    [("sum", {}), ("sum", {"init": 2.5}), ("argmin", {}), ("maximum", {"init": 0.25, "empty": -9.0})],
    ids=["sum", "init", "argmin", "maximum"],
)
def test_reductions(
    op: str, more: dict[str, Any], context: cm.Context, short_ways: list[RepeatedCall], rng: np.random.Generator
) -> None:
    """Other offsets and values each time; those of one call, and of a plan, from the host as from the device."""
    for k in range(4):
        offsets, x = random_segments(rng)
        expected = cm.segmented_reduce(x, offsets, op, context=context, mode="parallel", **more)
        device_arrays = [cm.array(v, context) for v in (x, offsets)]
        plan = cm.SegmentPlan(device_arrays[1], COUNT, mode="parallel")
        out = cm.array(np.full(SEGMENTS, -77, expected.dtype), context)
        for target in (None, out):
            result = cm.segmented_reduce(*device_arrays, op, mode="parallel", out=target, **more)
            assert target is None or result is target
            np.testing.assert_array_equal(result.to_numpy(), expected)
        for _ in range(2):
            np.testing.assert_array_equal(plan.reduce(device_arrays[0], op, mode="parallel", **more).to_numpy(), expected)
        assert len(short_ways) == 2 * k + 1


def test_products(context: cm.Context, short_ways: list[RepeatedCall], rng: np.random.Generator) -> None:
    for k in range(3):
        indptr, data = random_segments(rng)
        columns = rng.integers(0, 700, COUNT).astype("i4")
        x = rng.standard_normal(700).astype("f4")
        expected = cm.spmv((indptr, columns, data), x, context=context, mode="parallel")
        *matrix, vector = (cm.array(v, context) for v in (indptr, columns, data, x))
        for _ in range(2):
            result = cm.spmv(tuple(matrix), vector, mode="parallel")
            np.testing.assert_array_equal(result.to_numpy(), expected)
        assert len(short_ways) == 2 * k + 1


def test_wrong_input_raises_on_the_short_way(
    context: cm.Context, short_ways: list[RepeatedCall], rng: np.random.Generator
) -> None:
    offsets, x = random_segments(rng)
    values, good = cm.array(x, context), cm.array(offsets, context)
    out = cm.array(np.full(SEGMENTS, 7, "f4"), context)
    expected = cm.segmented_reduce(values, good, mode="parallel").to_numpy()
    falls = offsets.copy()
    at = int(np.flatnonzero(np.diff(offsets) > 0)[700])
    falls[at], falls[at + 1] = offsets[at + 1], offsets[at]
    for target in (None, out):
        for _ in range(2):
            with pytest.raises(cm.ShapeError, match=rf"offsets\[{at + 1}\] is {falls[at + 1]}, less than"):
                cm.segmented_reduce(values, cm.array(falls, context), mode="parallel", out=target)
    np.testing.assert_array_equal(out.to_numpy(), np.full(SEGMENTS, 7, "f4"))
    assert len(short_ways) == 4
    np.testing.assert_array_equal(cm.segmented_reduce(values, good, mode="parallel").to_numpy(), expected)
    far = np.full(COUNT, 5, "i4")
    far[-3] = 5000
    matrix = (good, cm.array(np.full(COUNT, 5, "i4"), context), values)
    cm.spmv(matrix, cm.array(x[:5000], context), mode="parallel")
    with pytest.raises(cm.ShapeError, match=rf"indices\[{COUNT - 3}\] is 5000"):
        cm.spmv((good, cm.array(far, context), values), cm.array(x[:5000], context), mode="parallel")
    assert len(short_ways) == 6


def test_targets_that_do_not_fit_are_refused(
    context: cm.Context, short_ways: list[RepeatedCall], rng: np.random.Generator
) -> None:
    offsets, x = random_segments(rng)
    values, device_offsets = cm.array(x, context), cm.array(offsets, context)
    sums = cm.segmented_reduce(values, device_offsets, mode="parallel").to_numpy()
    other = cm.array(sums, cm.Context(context.device))
    wrong_calls: list[tuple[Any, type[Exception]]] = [
        (other, cm.DeviceError), (cm.array(sums[1:], context), cm.ShapeError),
        (cm.array(sums.astype("f8"), context), cm.DTypeError), (np.zeros(3, "f4"), cm.ShapeError),
    ]  # fmt: skip
    for out, error in wrong_calls:
        with pytest.raises(error, match="out "):
            cm.segmented_reduce(values, device_offsets, mode="parallel", out=out)
    same = cm.array(x[:SEGMENTS], context)  # read and written at once
    ends = cm.array(np.minimum(offsets, SEGMENTS).astype("i4"), context)
    expected = cm.segmented_reduce(same, ends, mode="parallel").to_numpy()
    np.testing.assert_array_equal(cm.segmented_reduce(same, ends, mode="parallel", out=same).to_numpy(), expected)
    assert not short_ways


@pytest.mark.drawn(seldom="pocl")
def test_calls_of_other_kinds_have_entries_of_their_own(
    context: cm.Context, short_ways: list[RepeatedCall], rng: np.random.Generator
) -> None:
    """Equal numbers of other types, other operators, dtypes and maps; calls on records are not cached."""
    offsets, x = random_segments(rng)
    device_offsets = cm.array(offsets, context)
    for values in (x, (x * 100).astype("i4"), (x * 100).astype("i8")):
        device_values = cm.array(values, context)
        for more in ({"init": 1}, {"init": True}, {"op": "maximum"}, {"map": "a * a"}, {"map": "a + 1"}):
            expected = cm.segmented_reduce(values, offsets, context=context, mode="parallel", **more)
            for _ in range(2):
                result = cm.segmented_reduce(device_values, device_offsets, mode="parallel", **more)
                np.testing.assert_array_equal(result.to_numpy(), expected)
