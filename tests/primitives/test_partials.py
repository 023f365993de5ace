"""Partials: the Fenwick layout and every prefix query, in both modes on every device."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import PRIME, SIZES, assert_near, assert_same, factors

import clmapreduce as cm


def fenwick(x: np.ndarray) -> np.ndarray:
    """The layout by definition: entry i sums the values i − lowbit(i) + 1 … i, one-based."""
    return np.array([0] + [int(x[i - (i & -i) : i].sum()) for i in range(1, x.size + 1)])


def test_the_layout_and_all_prefixes(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (0, *SIZES):
        x = rng.integers(-1000, 1000, length).astype("i4")
        kept = cm.Partials("sum")(x, context=context, mode=mode)
        assert len(kept) == length
        assert_same(kept.prefix(mode=mode), np.concatenate([[0], np.cumsum(x, dtype="i8")]))
        if length <= 1025:
            assert_same(kept.values, fenwick(x))


def test_queries(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.random(PRIME)
    kept = cm.Partials("sum")(x, context=context, mode=mode)
    queries = rng.integers(0, PRIME + 1, (3, 50))
    sums = np.concatenate([[0.0], np.cumsum(x, dtype=np.longdouble)]).astype(np.float64)
    assert_near(kept.prefix(queries, mode=mode), sums[queries], 64 * 2.0**-53 * sums[queries], "2-d")
    one = kept.prefix(PRIME, mode=mode)
    assert np.ndim(one) == 0
    assert abs(one - sums[-1]) <= 64 * 2.0**-53 * sums[-1]
    assert_same(kept.prefix(np.zeros(0, int)), np.zeros(0))
    out = np.full(4, np.nan)
    assert kept.prefix([0, 1, 2, 3], out=out) is out
    assert_near(out, sums[:4], 4 * 2.0**-53 * sums[:4])
    with pytest.raises(cm.ShapeError, match=rf"{PRIME + 1}\) at position 1"):
        kept.prefix([0, PRIME + 1, -1])
    with pytest.raises(cm.DTypeError, match="integers"):
        kept.prefix([0.5])


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
    got = cm.Partials(affine)(maps, context=context, mode=mode).prefix()
    a, b = 1, 0
    for i in range(2001):
        a, b = a * int(maps["a"][i]), b * int(maps["a"][i]) + int(maps["b"][i])
        assert (got["a"][i + 1], got["b"][i + 1]) == (a, b)


def test_a_fused_map_and_device_arrays(context: cm.Context, mode: str) -> None:
    pipeline = cm.Map(lambda: cm.index + 1) >> cm.Partials("sum")
    kept = pipeline(length=1000, context=context, mode=mode)
    assert_same(kept.prefix([10, 1000]), np.array([55, 500500]))
    held = cm.Partials("sum")(cm.array(np.arange(100), context), mode=mode)
    answer = held.prefix([100])
    assert isinstance(answer, cm.DeviceArray)
    assert answer.to_numpy()[0] == 4950
    assert "length=100" in repr(held)
