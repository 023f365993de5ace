"""How many items walk a line together, and how many of its elements each of them keeps in registers."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Lines
from clmapreduce.plan import Facts
from clmapreduce.schemes.line.fused_line import Fused

AGAIN_FROM, ONCE_FROM = 9, 49
"""In batches, lines from this length on are walked by parts of a warp: where some input is read by several walks, and
where none is. Items walk shorter lines alone.
"""
LEAST, LEAST_ONCE = 4, 8
"""Items of a team at least, in both cases."""
SQUARES = 4
"""Items keep what they read again: teams have as many items as each then keeps elements of the longest line that they
walk. Where nothing is read again, that line is four times as long. On an H200 that was best, or within a tenth of it,
for lengths from 12 to 4,096; the times are in docs/notes/lines.md.
"""
KEPT_BYTES, KEPT, KEPT_ONCE = 128, 32, 12
"""Bytes, and elements, of a line that an item keeps at most; and the elements where nothing is read again: what an item
keeps, it reads all at once.
"""
LOOPED = 16
"""Elements of a line, for each item of the largest group a device has, from which that group walks what it cannot keep.
"""
MOST_OPERATIONS = 2048
"""Those of a formula, once for each element that an item keeps: kernels of more take long to compile."""


@dataclass(frozen=True)
class Team:
    """items: that walk a line together. kept: elements of the line that each of them keeps; 0: every walk reads them
    again.
    """

    items: int
    kept: int


def warp_team(fused: Fused, lines: Lines, facts: Facts) -> Team | None:
    """The part of a warp that walks a row of a batch; None where rows have other walkers."""
    again, length = bool(fused.read_again), lines.length
    if lines.count == 1 or length < (AGAIN_FROM if again else ONCE_FROM) or not fused.reduces_in_any_order:
        return None
    least, squares = (LEAST, 1) if again else (LEAST_ONCE, SQUARES)
    powers = (1 << k for k in range(facts.exchange_width.bit_length()))
    sizes = (items for items in powers if items >= least and squares * items * items >= length)
    teams = (Team(items, _kept(fused, length, items)) for items in sizes)
    return next((team for team in teams if team.kept or not again), None)


def group_team(fused: Fused, length: int, block: int, facts: Facts) -> Team:
    """All items of a group: `block`, or more of them if each then keeps its elements of the line, or if that is very
    long. Nothing is kept where no input is read again.
    """
    if not fused.read_again or not fused.reduces_in_any_order:
        return Team(block, 0)
    doublings = (facts.max_group_size // block).bit_length()  # 0 for a block that is too large, which a launch refuses
    sizes = [block << k for k in range(max(1, doublings))]
    teams = (Team(items, _kept(fused, length, items)) for items in sizes)
    loops = Team(sizes[-1] if length >= LOOPED * sizes[-1] else block, 0)
    return next((team for team in teams if team.kept), loops)


def _kept(fused: Fused, length: int, items: int) -> int:
    """Elements of a line for each of some items, 0 if that is more than one can keep."""
    kept, most = -(-length // items), KEPT if fused.read_again else KEPT_ONCE
    fits = kept <= most and kept * fused.element_bytes <= KEPT_BYTES
    return kept if fits and kept * len(fused.program.nodes) <= MOST_OPERATIONS else 0
