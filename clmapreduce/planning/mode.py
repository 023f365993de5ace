"""Which mode a call runs in when the caller leaves it open, and at which scope a pipeline runs."""

from __future__ import annotations

from clmapreduce.domain.dense import Pairwise
from clmapreduce.errors import DeviceError
from clmapreduce.modes import ComputeMode, Scope, parse_mode
from clmapreduce.plan import Facts
from clmapreduce.reductions.pairs.base import PairBound

ITEM_ROW = 48
"""Where groups work side by side: rows of a batch up to this long are walked by one item each, longer ones by a group.
"""
ITEM_LINE = 4096
"""In the sequential mode: lines up to this long are walked by one item, because a second launch would cost more."""
GROUP_LINE_CPU, GROUP_LINE, RUNNING_LINE = 8192, 64, 16
"""In the parallel mode, lines up to this long are walked by one group: on CPUs, elsewhere for each item of the largest
group, and the same where something runs along the line. On an H200, us by a group and by a chain of launches: softmax
of 65,536 numbers 43 and 63, of 131,072 60 and 83; scan(x) / sum(x) of 4,096 38 and 60, of 16,384 45 and 42.
"""

LONG_ROW, ROWS_A_UNIT = 1 << 16, 2
"""Rows at least so long, at most so many for each compute unit, leave most of a device idle where a group walks each.
"""


def choose_mode(word: str, facts: Facts) -> ComputeMode:
    """The compute mode for a `mode=` word: on CPUs one work-item walks a tile with explicit vectors, elsewhere groups
    work side by side. Raises DeviceError for "parallel" where the driver computes groups of several items wrongly.
    """
    mode = parse_mode(word)
    if mode is ComputeMode.PARALLEL and not facts.sound_groups:
        raise DeviceError(
            "mode='parallel' is refused on this device: its driver (PoCL 5.0 or later) computes groups of several "
            "work-items wrongly; use mode='auto' or 'sequential', which are right, or another driver"
        )
    if mode is not None:
        return mode
    return ComputeMode.SEQUENTIAL if facts.kind == "cpu" else ComputeMode.PARALLEL


def few_long_rows(rows: int, length: int, mode: ComputeMode, facts: Facts) -> bool:
    """Whether groups that work side by side should share rows."""
    few = 1 < rows <= ROWS_A_UNIT * facts.compute_units
    return mode is ComputeMode.PARALLEL and few and length >= LONG_ROW


def group_line(facts: Facts, running: bool) -> int:
    """The longest line that one group walks sooner than the device's groups. running: something runs along it."""
    return GROUP_LINE_CPU if facts.kind == "cpu" else facts.max_group_size * (RUNNING_LINE if running else GROUP_LINE)


def choose_scope(
    length: int, launches: int, batch: bool, strict: bool, mode: ComputeMode, longest: int, team: int = 0
) -> tuple[Scope, str]:
    """(scope, why) of a pipeline over lines of `length`. launches: of the chain that would compute one line. batch:
    many lines in one launch. strict: one work-item must do it all. longest: line that one group walks. team: items of
    a warp that can walk a row of a batch together, or 0.
    """
    if strict:
        return Scope.ITEM, "tiles=1: one item walks the whole line"
    if batch and team and mode is ComputeMode.PARALLEL:
        return Scope.GROUP, f"a batch: {team} items walk a row of {length} together"
    if batch and (mode is ComputeMode.SEQUENTIAL or length <= ITEM_ROW):
        return Scope.ITEM, f"a batch: each item walks rows of {length} of its own"
    if batch:
        return Scope.GROUP, f"a batch: each group walks rows of {length}, all of its items on one row"
    if length and launches == 1:
        return Scope.DEVICE, "one launch computes it at any length"
    if mode is ComputeMode.SEQUENTIAL and length <= ITEM_LINE:
        return Scope.ITEM, f"one item walks {length} elements sooner than {launches} launches start"
    if mode is ComputeMode.PARALLEL and length <= longest:
        return Scope.GROUP, f"one group walks {length} elements sooner than {launches} launches start"
    return Scope.DEVICE, f"{length} elements keep the whole device busy"


FEW_ROWS_SEQUENTIAL, FEW_ROWS, FEW_COLUMNS = 8, 32, 4096
"""With up to so many rows and at least so many columns, work-items share the rows of a pairwise reduction and walk
columns of their own.
"""


def choose_few(domain: Pairwise, bound: PairBound, mode: ComputeMode, facts: Facts) -> bool:
    """Whether a pairwise reduction's work-items share rows instead of owning some; at the end a group's accumulators
    meet in local memory.
    """
    rows = FEW_ROWS_SEQUENTIAL if mode is ComputeMode.SEQUENTIAL else FEW_ROWS
    fits = mode is ComputeMode.SEQUENTIAL or 32 * bound.layout.itemsize <= facts.local_memory
    return bound.commutative and fits and domain.rows <= rows and domain.columns >= FEW_COLUMNS
