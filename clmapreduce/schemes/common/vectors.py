"""Whether values may be computed several at a time, and how far ahead such loops ask for what they read."""

from __future__ import annotations

from clmapreduce.dtypes import is_pair
from clmapreduce.formula.guard import condition_of, place_of
from clmapreduce.plan import Facts, Layout
from clmapreduce.schemes.common.boxes import LaunchBox

SHORT, COMPUTED = 2, 64
"""On GPUs, arrays of numbers of up to so many bytes are read and stored in whole vectors of the box, if what is
computed of one takes up to so many. An H200, 2^26 numbers, vectors of 8 bytes -> of 16, us: float16 a + b 105 -> 97,
exp 82 -> 69, tanh 106 -> 82, sum 42 -> 38; maximum of uint8 37 -> 26.
"""
AHEAD = 2048
"""Bytes: how far ahead a loop on a CPU prefetches, if it does more than sum."""


def bytes_of_lane(box: LaunchBox, widest: int, stored: int, facts: Facts) -> int:
    """Bytes of a number, by which lanes fill a vector of a box. widest: of what is computed with. stored: of the widest
    number in arrays.
    """
    short = facts.kind != "cpu" and stored <= SHORT
    return max(stored, widest * box.bytes // COMPUTED) if short else widest


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
