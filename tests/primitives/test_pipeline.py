"""Pipelines: how functions of vectors are called, what is fused, what they say, and what they refuse."""

from __future__ import annotations

import numpy as np
from oracles import assert_same

import clmapreduce as cm


# ----------------------------------------------------------------------------------------------------------- unfolding
def test_an_unfold_of_the_base_itself_is_a_vector(context: cm.Context, mode: str) -> None:
    pipeline = cm.Unfold("minimum") >> cm.Map(lambda x: x + 1)
    assert_same(pipeline(np.int32(4), 70, context=context, mode=mode), np.full(70, 5, np.int32))
    counted = cm.Unfold("minimum") >> cm.Scan("sum")
    assert_same(counted(np.int64(3), 70, context=context, mode=mode), np.arange(1, 71) * 3)
    lowest = cm.Reduce("minimum") >> cm.Unfold("maximum")
    assert_same(lowest(np.arange(5, 75), context=context, mode=mode), np.full(70, 5))


# ------------------------------------------------------------------------------------------------------------ integers
def test_int32_wraps_before_it_is_summed(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Compilers may assume that signed integers do not overflow, and widen them early."""
    times = cm.Operator(lambda a, b: a * b, 1)
    for length in (50, 5003):
        x = rng.integers(-(2**31), 2**31, length).astype(np.int32)
        for f in (lambda v: v * v, lambda v: (v + v) * v - v, lambda v: -v, lambda v: abs(v * 3)):
            wrapped = f(x).astype(np.int64)
            assert_same((cm.Map(f) >> cm.Reduce("sum"))(x, context=context, mode=mode), wrapped.sum(), length)
            assert_same((cm.Map(f) >> cm.Scan("sum"))(x, context=context, mode=mode), wrapped.cumsum(), length)
        powers = np.multiply.accumulate(np.full(length, 3, np.int32), dtype=np.int32).astype(np.int64)
        total = (cm.Unfold(times) >> cm.Reduce("sum"))(np.int32(3), length, context=context, mode=mode)
        assert_same(total, powers.sum(), length)
