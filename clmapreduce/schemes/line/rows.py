"""Places of extrema in rows that lie one behind the other: a work-item compares a row in vectors."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line, Lines
from clmapreduce.formula.formula import Formula, Input, Place
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Layout, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.line.line_kernel import LineText, inputs_of


@dataclass(frozen=True, eq=False)
class LocateRowsText(LineText):
    """bound: the operator, which locates. lanes: numbers of a vector. unroll: vectors of a block."""

    template = "kernel/line/locate_rows"
    bound: Bound
    formula: Formula
    lanes: int
    unroll: int

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def read(self) -> tuple[Input, ...]:
        return inputs_of(self.formula.inputs, self.tail)

    def place(self, index: str) -> Place:
        """Of an index in the row."""
        return Place(index, "begin")


def plan_located_rows(layout: Layout, bound: Bound, lines: Lines, facts: Facts, box: LaunchBox) -> Plan:
    """The plan of one place per row, for the sequential mode."""
    formula, mode = layout.formula, ComputeMode.SEQUENTIAL
    narrow = Line(lines.count * lines.length).narrow
    lanes = box.lanes(max(formula.widest, 1), bound.vectorisable and formula.vectorisable)
    target = Target.of(mode, facts, narrow)
    spec = LocateRowsText(target, layout.outputs, layout.tail, False, bound, formula, lanes, box.unroll)
    share = -(-lines.count // (facts.compute_units * box.groups))
    groups = -(-lines.count // share)
    names = tuple(one.name for one in spec.read)
    sizes = (("idx", lines.length), ("idx", lines.count), ("idx", share))
    stage = Stage(spec, groups, box.block, (*names, *layout.targets, *sizes), names, layout.targets)
    why = f"{groups} groups of {share} rows of {lines.length}, each compared in vectors of {lanes}"
    return Plan((stage,), {}, mode, Scope.DEVICE, narrow, why)
