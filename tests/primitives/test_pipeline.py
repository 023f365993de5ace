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
