"""Launch boxes of softmax sums of floats of 16 bits."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.plan import Facts

LONGEST = 128
"""Coordinates, and numbers of a row, for which registers have room."""
SHORT = 64
"""So many of both leave room for twice the rows."""


@dataclass(frozen=True)
class SoftmaxBox:
    """block: work-items per group, a multiple of 32. rows: blocks of 16 rows per warp. tile: columns of a stage. part:
    columns, a multiple of 16, whose exponentials a warp holds at once. groups, tiles: as in a PairBox. longest:
    columns that one sum adds up at most, as instructions cut off what they add to a large sum. registers: of an item at
    most; 0: as many as the compiler takes.
    """

    block: int
    rows: int
    tile: int
    part: int
    groups: int = 8
    tiles: int = 8
    longest: int = 8192
    registers: int = 0


SOFTMAX_SHORT = SoftmaxBox(128, 2, 64, 32, registers=255)
SOFTMAX_LONG = SoftmaxBox(128, 2, 32, 16, registers=255)
"""Two groups run at once. Three, with fewer registers and shorter parts, take as long."""
SOFTMAX_CPU = SoftmaxBox(32, 1, 32, 16, tiles=2, longest=64)
"""Where a group's items read operands for themselves: to be right, not fast."""


def softmax_box(size: int, numbers: int, facts: Facts) -> SoftmaxBox | None:
    """The box for vectors of so many coordinates and rows of so many numbers; None where registers have no room."""
    if max(size, numbers) > LONGEST:
        return None
    if facts.kind == "cpu":
        return SOFTMAX_CPU
    return SOFTMAX_SHORT if max(size, numbers) <= SHORT else SOFTMAX_LONG
