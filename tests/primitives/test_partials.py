"""Partials: the Fenwick layout and every prefix query, in both modes on every device."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from support.oracles import PRIME, SIZES, assert_near, assert_same, factors, into_poison, tolerance, values

import clmapreduce as cm
from clmapreduce.calls.options import Options

pytestmark = pytest.mark.drawn


def fenwick(x: np.ndarray) -> np.ndarray:
    """The layout by definition: entry i sums the values i − lowbit(i) + 1 … i, one-based."""
    return np.array([0] + [int(x[i - (i & -i) : i].sum()) for i in range(1, x.size + 1)])


def test_the_layout_and_all_prefixes(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (0, *SIZES):
        x = rng.integers(-1000, 1000, length).astype("i4")
        partials = cm.Partials("sum")(x, context=context, mode=mode)
        assert len(partials) == length
        assert_same(partials.prefix(mode=mode), np.concatenate([[0], np.cumsum(x, dtype="i8")]))
        if length <= 1025:
            assert_same(partials.values, fenwick(x))


def test_queries(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.random(PRIME)
    partials = cm.Partials("sum")(x, context=context, mode=mode)
    queries = rng.integers(0, PRIME + 1, (3, 50))
    sums = np.concatenate([[0.0], np.cumsum(x, dtype=np.longdouble)]).astype(np.float64)
    assert_near(partials.prefix(queries, mode=mode), sums[queries], 64 * 2.0**-53 * sums[queries], "2-d")
    one = partials.prefix(PRIME, mode=mode)
    assert np.ndim(one) == 0
    assert abs(one - sums[-1]) <= 64 * 2.0**-53 * sums[-1]
    assert_same(partials.prefix(np.zeros(0, int)), np.zeros(0))
    out = np.full(4, np.nan)
    assert partials.prefix([0, 1, 2, 3], out=out) is out
    assert_near(out, sums[:4], 4 * 2.0**-53 * sums[:4])
    with pytest.raises(cm.ShapeError, match=rf"{PRIME + 1}\) at position 1"):
        partials.prefix([0, PRIME + 1, -1])
    with pytest.raises(cm.DTypeError, match="integers"):
        partials.prefix([0.5])


def test_products_extrema_and_order(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = factors(rng, "i8", 5003)
    assert_same(cm.Partials("product")(x, context=context, mode=mode).prefix()[1:], np.cumprod(x))
    assert_same(cm.Partials("maximum")(x, context=context, mode=mode).prefix()[1:], np.maximum.accumulate(x))
    fields = [("a", "i8"), ("b", "i8")]
    affine = cm.Operator(
        lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]},
        np.array((1, 0), dtype=fields)[()],
        commutative=False,
    )
    maps = np.zeros(2001, fields)
    maps["a"], maps["b"] = rng.integers(0, 2, 2001) * 2 - 1, rng.integers(-9, 9, 2001)
    result = cm.Partials(affine)(maps, context=context, mode=mode).prefix()
    a, b = 1, 0
    for i in range(2001):
        a, b = a * int(maps["a"][i]), b * int(maps["a"][i]) + int(maps["b"][i])
        assert (result["a"][i + 1], result["b"][i + 1]) == (a, b)


def test_a_fused_map_and_device_arrays(context: cm.Context, mode: str) -> None:
    pipeline = cm.Map(lambda: cm.index + 1) >> cm.Partials("sum")
    partials = pipeline(length=1000, context=context, mode=mode)
    assert_same(partials.prefix([10, 1000]), np.array([55, 500500]))
    device_array = cm.Partials("sum")(cm.array(np.arange(100), context), mode=mode)
    answer = device_array.prefix([100])
    assert isinstance(answer, cm.DeviceArray)
    assert answer.to_numpy()[0] == 4950
    assert "length=100" in repr(device_array)


def test_floating_sums_at_every_size(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """A prefix merges at most 17 entries, each a tree of its values: no error grows with the length."""
    for length in SIZES:
        x = values(rng, "f4", length)
        partials = cm.Partials("sum")(x, context=context, mode=mode)
        totals = np.append(0.0, np.cumsum(x, dtype=np.longdouble))
        magnitudes = np.append(0.0, np.cumsum(np.abs(x), dtype=np.longdouble))
        assert_near(partials.prefix(mode=mode), totals, tolerance("f4", totals, magnitudes, length, fp64=context.facts.fp64))


def test_nan_stays_where_it_is(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 17, 1025, PRIME):
        x = rng.uniform(0.5, 2, length).astype(np.float32)
        at = int(rng.integers(length))
        x[at] = np.nan
        for name in ("sum", "minimum", "logsumexp"):
            partials = cm.Partials(name)(x, context=context, mode=mode)
            entries = np.arange(length + 1)
            covers = (entries - (entries & -entries) <= at) & (at < entries)
            np.testing.assert_array_equal(np.isnan(partials.values), covers, err_msg=f"{name}, {length}, {at}")
            np.testing.assert_array_equal(np.isnan(partials.prefix(mode=mode)), entries > at, err_msg=f"{name}, {length}")


def test_places(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 17, 1025, 5003):
        x = rng.integers(0, 50, length).astype(np.int32)
        partials = cm.Partials("argmin")(x, context=context, mode=mode)
        best = np.array([int(np.argmin(x[: i + 1])) for i in range(length)])
        assert_same(partials.prefix(np.arange(1, length + 1), mode=mode), best, length)


def test_one_tile_is_the_oracle_of_many(context: cm.Context, rng: np.random.Generator) -> None:
    for length in (1, 2, 17, 1025):
        x = rng.integers(-1000, 1000, length)
        partials = cm.Partials("sum")(x, context=context, mode="sequential", tiles=1)
        assert_same(partials.values, fenwick(x))
        assert_same(partials.prefix(), np.append(0, np.cumsum(x)))


@pytest.mark.parametrize("code", ["i1", "u1", "i4", "u4", "i8", "u8", ">i4"])
def test_queries_of_every_integer_dtype(code: str, context: cm.Context) -> None:
    partials = cm.Partials("sum")(np.arange(101), context=context)
    queries = np.array([0, 100, 7, 7, 64], code)
    assert_same(partials.prefix(queries), np.array([0, 4950, 21, 21, 2016]))
    assert_same(partials.prefix(queries[::-2]), np.array([2016, 21, 0]))
    assert_same(partials.prefix(queries[1]), np.int64(4950))
    assert_same(partials.prefix(cm.array(queries, context)), np.array([0, 4950, 21, 21, 2016]))


def test_queries_that_are_out_of_range_or_no_integers_touch_nothing(context: cm.Context, mode: str) -> None:
    partials = cm.Partials("sum")(np.arange(100), context=context, mode=mode)
    out = np.full(2, 7)
    for wrong in ([0, 101], [-1, 0], np.array([2**63, 1], np.uint64), [2**40, 0]):
        with pytest.raises(cm.ShapeError, match=r"outside 0 … 100"):
            partials.prefix(wrong, out=out, mode=mode)
    for wrong in ([0.0, 1.0], [True, False], ["0", "1"], [None, 0]):
        with pytest.raises(cm.DTypeError):
            partials.prefix(wrong, out=out, mode=mode)
    for wrong in (np.zeros(3, int), np.zeros(2, np.float32), np.zeros((2, 1), int)):
        with pytest.raises((cm.ShapeError, cm.DTypeError)):
            partials.prefix([0, 1], out=wrong, mode=mode)
    assert (out == 7).all()


def test_queries_into_out(context: cm.Context, mode: str) -> None:
    partials = cm.Partials("sum")(np.arange(100), context=context, mode=mode)
    result = into_poison(lambda out: partials.prefix([[1, 2], [3, 100]], out=out, mode=mode), (2, 2), np.int64)
    assert_same(result, np.array([[0, 1], [3, 4950]]))
    device_array = cm.array(np.zeros(3, np.int64), context)
    assert partials.prefix([100, 0, 50], out=device_array, mode=mode) is device_array
    assert_same(device_array.to_numpy(), np.array([4950, 0, 1225]))
    with pytest.raises(cm.ModeError, match="out="):
        (cm.Map(lambda x: x) >> cm.Partials("sum"))._prepare([np.ones(3)], Options(out=np.zeros(4)))


def test_partials_outlive_their_values(context: cm.Context, mode: str) -> None:
    partials = [cm.Partials("sum")(cm.array(np.arange(5003) * k, context), mode=mode) for k in range(12)]
    gc.collect()
    for k, each in enumerate(partials):
        assert int(each.prefix(5003)) == k * 5003 * 5002 // 2
