"""Whether values may be computed several at a time, and how far ahead such loops ask for what they read."""

from __future__ import annotations

from collections.abc import Sequence

from clmapreduce.dtypes import FLOAT16, DType, is_pair
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.guard import condition_of, place_of
from clmapreduce.plan import Facts, Layout

AHEAD = 2048
"""Bytes: how far ahead a loop on a CPU prefetches, if it does more than sum."""


def lanes_of(layout: Layout, facts: Facts, spreads: bool = False) -> bool:
    """Whether a layout's values have a form of several lanes, up to the stores. spreads: an operator takes its records
    apart.
    """
    if spreads and layout.tail is None:
        return layout.formula.spreads and has_vectors(layout.formula.dtypes, facts)
    formulas = [layout.formula, *([] if layout.tail is None else [layout.tail.formula])]
    in_a_row = all(condition_of(value) is None and place_of(value) is None for value in formulas[-1].outputs)
    return all(vectorisable(formula, facts) for formula in formulas) and all(
        dtype.names is None or (is_pair(dtype) and in_a_row) for dtype in layout.outputs
    )


def vectorisable(formula: Formula, facts: Facts) -> bool:
    """Whether several lanes of a formula may be computed at once on this device.

    NVIDIA's compiler (580.159) fails on vectors of half: "Do not know how to split the result of this operator".
    """
    return formula.vectorisable and has_vectors(formula.dtypes, facts)


def has_vectors(dtypes: Sequence[DType], facts: Facts) -> bool:
    """Whether the device's compiler copes with vectors of these dtypes."""
    return facts.vectors_of_half or FLOAT16 not in dtypes
