"""Whether values may be computed several at a time, and how far ahead such loops ask for what they read."""

from __future__ import annotations

from clmapreduce.dtypes import is_pair
from clmapreduce.formula.guard import condition_of, place_of
from clmapreduce.plan import Layout

AHEAD = 2048
"""Bytes: how far ahead a loop on a CPU prefetches, if it does more than sum."""


def lanes_of(layout: Layout, spreads: bool = False) -> bool:
    """Whether a layout's values have a form of several lanes, up to the stores. spreads: an operator takes its records
    apart.
    """
    if spreads and layout.tail is None:
        return layout.formula.spreads
    formulas = [layout.formula, *([] if layout.tail is None else [layout.tail.formula])]
    in_a_row = all(condition_of(value) is None and place_of(value) is None for value in formulas[-1].outputs)
    return all(formula.vectorisable for formula in formulas) and all(
        dtype.names is None or (is_pair(dtype) and in_a_row) for dtype in layout.outputs
    )
