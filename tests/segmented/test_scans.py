"""segmented_scan and scan_by_key beside NumPy's scans of each segment, in both modes on every device."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_near, assert_same, into_poison, scan_tolerance

import clmapreduce as cm
from clmapreduce.segmented.prefixes.scan import FEW

pytestmark = pytest.mark.drawn

ACCUMULATES = {"sum": np.add, "product": np.multiply, "minimum": np.minimum, "maximum": np.maximum, "any": np.logical_or, "all": np.logical_and}


def drawn_offsets(rng: np.random.Generator, length: int) -> np.ndarray:
    """Segments of every kind of length, some empty, at the ends too."""
    inner = np.sort(rng.integers(0, length + 1, rng.integers(0, 2 + length // int(rng.choice([1, 7, 300])))))
    return np.concatenate([[0], inner, [length]]).astype(rng.choice(["i4", "i8"]))


def each_segment(x: np.ndarray, offsets: np.ndarray, function: Any) -> np.ndarray:
    parts = [function(x[a:b]) for a, b in itertools.pairwise(offsets) if b > a]
    return np.concatenate(parts) if parts else function(x[:0])


@pytest.mark.parametrize("name", ACCUMULATES)
def test_prefixes_of_every_segment_are_numpys(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (0, 1, 2, 31, 33, 1000, 40_009):
        x = rng.integers(-3, 4, length).astype(rng.choice(["i4", "u1", "i8"]))
        offsets = drawn_offsets(rng, length)
        wide = {"i": "i8", "u": "u8"}[x.dtype.kind] if name in ("sum", "product") else bool if name in ("any", "all") else x.dtype
        expected = each_segment(x.astype(wide), offsets, ACCUMULATES[name].accumulate)
        for v, o in itertools.product((x, cm.array(x, context)), (offsets, cm.array(offsets, context))):
            result = cm.segmented_scan(v, o, name, context=context, mode=mode)
            assert isinstance(result, cm.DeviceArray) == (isinstance(v, cm.DeviceArray) or isinstance(o, cm.DeviceArray))
            assert_same(np.asarray(result), expected, length)


@pytest.mark.parametrize("exclusive", [False, True])
def test_long_lines(exclusive: bool, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Where one byte an element says whether a segment begins; the last segments are empty."""
    length = FEW + 4_001
    x = rng.integers(-3, 4, length)
    for segments in (0, 1, 500, 40_000):
        inner = np.sort(rng.integers(0, length + 1, segments))
        offsets = np.concatenate([[0, 0], inner, [length] * 4])
        expected = each_segment(x, offsets, lambda part: np.cumsum(part) - part * exclusive)
        for values in (x, cm.array(x, context)):
            result = cm.segmented_scan(values, offsets, exclusive=exclusive, context=context, mode=mode)
            assert_same(np.asarray(result), expected, segments)
        lowest = cm.segmented_scan(x, offsets, "argmin", context=context, mode=mode) if segments > 100 else None
        if lowest is not None:
            places = each_segment(x, offsets, lambda part: np.maximum.accumulate(first_places(part)))
            assert_same(lowest, places, segments)


def first_places(part: np.ndarray) -> np.ndarray:
    """The place of each element that is less than all before it, else 0."""
    before = np.concatenate([[part[0] + 1], np.minimum.accumulate(part)[:-1]])
    return np.where(part < before, np.arange(len(part)), 0)


def test_exclusive_scans_begin_with_the_identity(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 33, 10_007):
        x, offsets = rng.integers(-9, 9, length), drawn_offsets(rng, length)
        result = cm.segmented_scan(x, offsets, exclusive=True, context=context, mode=mode)
        assert_same(result, each_segment(x, offsets, lambda part: np.cumsum(part) - part), length)
        lowest = cm.segmented_scan(x.astype("f4"), offsets, "maximum", exclusive=True, context=context, mode=mode)
        expected = each_segment(x.astype("f4"), offsets, lambda part: np.append(np.float32(-np.inf), np.maximum.accumulate(part)[:-1]))
        assert_same(lowest, expected, length)


def test_sums_of_floats_keep_their_digits(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, offsets = rng.standard_normal(30_011).astype("f4"), drawn_offsets(rng, 30_011)
    totals, sizes = (each_segment(a.astype("f8"), offsets, np.cumsum) for a in (x, np.abs(x)))
    assert_near(cm.segmented_scan(x, offsets, context=context, mode=mode), totals, scan_tolerance(np.float32, totals, sizes, x.size))


def test_operators_of_ones_own_and_places(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, offsets = rng.integers(-50, 50, 3001), drawn_offsets(rng, 3001)
    last = cm.Operator(lambda a, b: cm.where(b != 0, b, a), 0, commutative=False)

    def filled(part: np.ndarray) -> np.ndarray:
        places = np.maximum.accumulate(np.where(part != 0, np.arange(len(part)), -1))
        return np.where(places < 0, 0, part[places])

    sparse = np.where(rng.random(3001) < 0.3, x, 0)
    assert_same(cm.segmented_scan(sparse, offsets, last, context=context, mode=mode), each_segment(sparse, offsets, filled))
    firsts = each_segment(x, offsets, lambda part: np.array([np.argmin(part[: k + 1]) for k in range(len(part))], np.int64))
    assert_same(cm.segmented_scan(x, offsets, "argmin", context=context, mode=mode), firsts)


def test_runs_of_keys(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (0, 1, 2, 33, 5003):
        keys, x = np.sort(rng.integers(0, 1 + length // 9, length)), rng.integers(-9, 9, length)
        offsets = np.append(np.flatnonzero(np.diff(keys, prepend=-1)), length)
        for exclusive in (False, True):
            expected = each_segment(x, offsets, lambda part, e=exclusive: np.cumsum(part) - part * e)
            for k, v in ((keys, x), (cm.array(keys, context), cm.array(x, context))):
                result = cm.scan_by_key(k, v, exclusive=exclusive, context=context, mode=mode)
                assert_same(np.asarray(result), expected, length)
    same = cm.scan_by_key(np.arange(10.0), np.ones(10), equal=lambda a, b: (a < 5) == (b < 5), context=context, mode=mode)
    assert_same(same, np.tile(np.arange(1.0, 6), 2))


def test_out_is_written_completely(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, offsets = rng.integers(-9, 9, 1009), drawn_offsets(rng, 1009)
    expected = each_segment(x, offsets, np.cumsum)
    result = into_poison(lambda out: cm.segmented_scan(x, offsets, out=out, context=context, mode=mode), x.shape, np.int64)
    assert_same(result, expected)
    device = cm.empty(x.shape, np.int64, context=context)
    assert cm.segmented_scan(cm.array(x, context), offsets, out=device, mode=mode) is device
    assert_same(device.to_numpy(), expected)


X = np.ones(5)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: cm.segmented_scan(X, [0, 3], context=c), cm.ShapeError, r"offsets\[1\] is 3"),
        (lambda c: cm.segmented_scan(X, [0, 4, 2, 5], context=c), cm.ShapeError, "never decrease"),
        (lambda c: cm.segmented_scan(np.ones((5, 2)), [0, 5], context=c), cm.ShapeError, "one dimension"),
        (lambda c: cm.segmented_scan(X, [0, 5], "total", context=c), cm.ModeError, "unknown"),
        (lambda c: cm.segmented_scan(X, [0, 5], "argmax", exclusive=True, context=c), cm.ShapeError, "identity"),
        (lambda c: cm.segmented_scan(X, [0, 5], exclusive=2, context=c), cm.ArgumentError, "exclusive"),
        (lambda c: cm.segmented_scan(np.zeros(5, [("a", "f4")]), [0, 5], context=c), cm.DTypeError, "records"),
        (lambda c: cm.scan_by_key(X, np.ones(4), context=c), cm.ShapeError, "must agree"),
        (lambda c: cm.scan_by_key(np.ones((5, 1)), X, context=c), cm.ShapeError, "one dimension"),
    ],
)
def test_wrong_input(call: Any, error: type[Exception], words: str, context: cm.Context) -> None:
    with pytest.raises(error, match=words):
        call(context)
