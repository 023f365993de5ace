"""Reduce lines that lie side by side, such as the columns of a matrix: work-items read neighbours of a row together.
What shares of the rows leave is merged by the group that is done last, or in a second launch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.line import Columns
from clmapreduce.dtypes import c_name
from clmapreduce.formula.formula import Formula, Input, Place
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, LocalArray, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.vectors import lanes_of
from clmapreduce.schemes.line.line_kernel import LineText, inputs_of
from clmapreduce.schemes.line.reduce import ONCE, talks

MOST_VECTORS, MOST_BYTES = 128, 16384
"""Of the accumulators that a work-item holds in the sequential mode: a first-level cache has room for them."""
MOST_ACROSS = 32
"""Work-items of a group that read a row together: their vectors are a whole number of cache lines."""
LEAST_VALUES = 1 << 14
"""Values of a group at least, where rows are shared."""


@dataclass(frozen=True, eq=False)
class ColumnsText(LineText):
    """bound: the operator. block: work-items of a group. formula: of the values; None where rows are accumulators.
    partial: accumulators are left, not results. lanes: columns of a vector. unroll: rows of a step. vectors: of an item
    at most, in the sequential mode. across: items that read a row together, in the parallel one. merging: the group
    that is done last with a tile merges what all leave of it.
    """

    template = "kernel/line/reduce_columns"
    bound: Bound
    block: int
    formula: Formula | None
    partial: bool
    lanes: int
    unroll: int
    vectors: int
    across: int
    merging: bool = False

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def ordered(self) -> bool:
        return not self.bound.commutative

    @property
    def down(self) -> int:
        """Rows that a group reads at a time."""
        return self.block // self.across

    @property
    def read(self) -> tuple[Input, ...]:
        return inputs_of(() if self.formula is None else self.formula.inputs, self.tail)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        if self.target.mode is ComputeMode.SEQUENTIAL:
            return ()
        kinds = [(c.name, c_name(c.dtype, self.lanes)) for c in self.bound.components] if self.down > 1 else []
        arrived = [LocalArray("arrived", "int", 1)] if self.merging else []
        return (*(LocalArray(f"scratch_{name}", kind, self.block) for name, kind in kinds), *arrived)

    def place(self, row: str) -> Place:
        """Of the first lane in a row; the index is the row, for all lanes."""
        return Place(row, f"(base + ({row}) * (width - 1) + column)")


@dataclass(frozen=True)
class _Cut:
    """Columns cut into groups. lanes: columns of a vector. across: vectors that a group has of a row. tiles: groups
    side by side. splits, share: groups one below the other, and their rows.
    """

    lanes: int
    across: int
    tiles: int
    splits: int
    share: int


def plan_columns(
    layout: Layout, bound: Bound, columns: Columns, mode: ComputeMode, facts: Facts, box: LaunchBox
) -> Plan:
    """The plan of one result per column, at least one row in each."""
    formula = layout.formula
    lanes = _lanes(layout, bound, columns, facts, box)
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, bound.layout.itemsize * lanes, facts)
    cut = _cut(columns, bound, mode, facts, box, lanes)
    stored = {f"parts_{c.name}": columns.count * cut.splits * c.dtype.itemsize for c in bound.components}
    parts = tuple(stored)
    why = f"groups read up to {cut.across * lanes} of {columns.width} columns, {cut.share} rows of {columns.length}"

    def stage(of: Columns, cut: _Cut, values: Formula | None, partial: bool, merging: bool = False) -> Stage:
        each = (cut.across, 1) if mode is ComputeMode.SEQUENTIAL else (1, cut.across)
        outputs, tail = ((), None) if partial else (layout.outputs, layout.tail)
        spec = ColumnsText(
            Target.of(mode, facts, columns.narrow), outputs, tail, False, bound, box.block, values, partial, cut.lanes,
            box.unroll, *each, merging,
        )  # fmt: skip
        own = ("done0",) if merging else ()
        read = (*(() if values else parts), *(one.name for one in spec.read))
        written = (*(() if partial else layout.targets), *(parts if partial or merging else ()), *own)
        numbers = (of.length, of.width, cut.share, cut.splits, cut.tiles, cut.across * cut.lanes)
        sizes: Arguments = tuple(("idx", n) for n in numbers)
        groups = of.batch * cut.splits * cut.tiles
        return Stage(spec, groups, box.block, (*read, *written, *sizes), (*read, *own), written, whole=merging)

    if cut.splits == 1:
        return Plan((stage(columns, cut, formula, False),), {}, mode, Scope.DEVICE, columns.narrow, why)
    if talks(mode, facts) and columns.size * max(1, formula.operations) <= ONCE:
        why += "; the last one of a tile merges what they leave"
        one, counters = stage(columns, cut, formula, False, True), np.zeros(columns.batch * cut.tiles)
        tables = {"done0": LaunchTable(counters, narrow=True)}
        return Plan((one,), stored, mode, Scope.DEVICE, columns.narrow, why, tables=tables)
    merged = replace(columns, length=cut.splits)
    last = stage(merged, _merging(merged, bound, mode, box, lanes), None, False)
    why += "; another launch merges what they leave"
    return Plan((stage(columns, cut, formula, True), last), stored, mode, Scope.DEVICE, columns.narrow, why)


def _merging(columns: Columns, bound: Bound, mode: ComputeMode, box: LaunchBox, lanes: int) -> _Cut:
    """The launch that merges accumulators, a row of each stretch."""
    vectors = -(-columns.width // lanes)
    across, _ = _across(vectors, lanes * bound.layout.itemsize, mode, box)
    return _Cut(lanes, across, -(-vectors // across), 1, columns.length)


def _lanes(layout: Layout, bound: Bound, columns: Columns, facts: Facts, box: LaunchBox) -> int:
    """Columns of a vector. On CPUs a row's last vector may overlap the one before; elsewhere vectors are aligned."""
    formula, tail = layout.formula, layout.tail
    in_lanes = bound.vectorisable and formula.spreads and (tail is None or lanes_of(layout))
    lanes = box.lanes(max(formula.widest, 1), in_lanes)
    while lanes > columns.width or (facts.kind != "cpu" and columns.width % lanes):
        lanes //= 2
    return lanes


def _cut(columns: Columns, bound: Bound, mode: ComputeMode, facts: Facts, box: LaunchBox, lanes: int) -> _Cut:
    vectors = -(-columns.width // lanes)
    across, down = _across(vectors, lanes * bound.layout.itemsize, mode, box)
    tiles = -(-vectors // across)
    wanted = -(-facts.compute_units * box.groups // (tiles * columns.batch))
    most = columns.length * min(across * lanes, columns.width) // LEAST_VALUES
    chained = -(-columns.length // (bound.chain * down)) if bound.chain is not None else 1
    splits = min(columns.length, max(1, chained, min(wanted, most)))
    share = -(-columns.length // splits)
    return _Cut(lanes, across, tiles, -(-columns.length // share), share)


def _across(vectors: int, nbytes: int, mode: ComputeMode, box: LaunchBox) -> tuple[int, int]:
    """(vectors of a row that a group has, rows that it reads at a time). nbytes: of a vector of accumulators."""
    if mode is ComputeMode.PARALLEL:
        across = min(MOST_ACROSS, box.block, 1 << (vectors - 1).bit_length())
        return across, box.block // across
    most = max(1, min(MOST_VECTORS, MOST_BYTES // nbytes))
    across = -(-vectors // -(-vectors // most))
    while 1 < across < vectors and vectors % across == 1:
        across -= 1  # or a vector alone, which overlaps the one before, would be in a group of its own
    return across, 1
