"""Reductions of maps: products, masks, chains, the index and the nearest place, in one launch."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import PRIME, SIZES, assert_near, assert_same, tolerance, unit, values

import clmapreduce as cm

pytestmark = pytest.mark.drawn

DOT = cm.Map(lambda b, c: b * c) >> cm.Reduce("sum")
COUNT = cm.Map(lambda x, low: x > low) >> cm.Reduce("sum")
CHAIN = cm.Map(lambda x, y: (x + y, x - y)) >> cm.Map(lambda s, d: s * d) >> cm.Reduce("maximum")
TIMES_INDEX = cm.Map(lambda x: x * cm.index) >> cm.Reduce("sum")
SQUARES = cm.Map("index * index") >> cm.Reduce("sum")
NEAREST = cm.Map(lambda x, at: abs(x - at)) >> cm.Reduce("argmin")


def test_dot_products(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for dtype in ("f4", "f8", "i1"):
        for length in SIZES:
            b, c = values(rng, dtype, length), values(rng, dtype, length)
            result = DOT(b, c, context=context, mode=mode)
            if dtype == "i1":
                assert_same(result, (b * c).sum(dtype=np.int64), "products wrap in int8, as in NumPy")
                continue
            terms = b.astype(np.longdouble) * c
            magnitude = float(np.abs(terms).sum())
            limit = tolerance(dtype, 0, magnitude, length + 1, fp64=context.facts.fp64) + unit(dtype) * 2 * magnitude
            assert_near(result, terms.sum(), limit, length)


def test_a_product_of_two_float32_is_not_rounded_before_it_is_summed(context: cm.Context, mode: str) -> None:
    if not context.facts.fp64:
        pytest.skip("products are rounded to float32 without float64")
    b = np.tile(np.float32([1 + 2**-12, 1]), 500)
    c = np.tile(np.float32([1 + 2**-12, -1 - 2**-11]), 500)
    assert DOT(b, c, context=context, mode=mode) == np.float32(500 * 2.0**-24)


def test_broadcast_inputs_of_a_fused_reduce(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    column, row = rng.integers(-100, 100, (37, 1)), rng.integers(-100, 100, (1, 53))
    assert_same(DOT(column, row, context=context, mode=mode), (column * row).sum())
    assert_same(DOT(column, 3, context=context, mode=mode), (column * 3).sum())
    assert_same(DOT(column, np.full((37, 53), 2), context=context, mode=mode), (column * np.full((1, 53), 2)).sum())


def test_masks_are_counted(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = rng.standard_normal(length).astype(np.float32)
        assert_same(COUNT(x, 0.25, context=context, mode=mode), np.int64((x > 0.25).sum()))


def test_chains_of_maps_reduce_in_one_launch(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 17, 1025, PRIME):
        x, y = rng.integers(-1000, 1000, (2, length)).astype(np.int32)
        assert_same(CHAIN(x, y, context=context, mode=mode), ((x + y) * (x - y)).max())


def test_the_index_inside_a_fused_reduce(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = rng.integers(-1000, 1000, length).astype(np.int16)
        assert_same(TIMES_INDEX(x, context=context, mode=mode), (x * np.arange(length)).sum(), length)
        assert_same(SQUARES(length=length, context=context, mode=mode), np.int64(sum(i * i for i in range(length))), length)
    x = rng.integers(-1000, 1000, (31, 33)).astype(np.int16)
    assert_same(TIMES_INDEX(x, context=context, mode=mode), (x.reshape(-1) * np.arange(x.size)).sum(), "the index counts in C order")


def test_argmin_of_a_fused_map(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = rng.permutation(length).astype(np.float32)
        at = float(rng.integers(length)) + 0.5
        assert_same(NEAREST(x, at, context=context, mode=mode), np.int64(np.argmin(np.abs(x - np.float32(at)))), length)


def test_a_map_with_several_outputs_has_nothing_to_reduce(context: cm.Context) -> None:
    with pytest.raises(cm.ShapeError, match=r"step 2, Reduce.*2 are given"):
        (cm.Map(lambda x: (x, x)) >> cm.Reduce("sum"))(np.ones(3), context=context)
