"""Iterations of a function: each start in turn by one item, starts side by side."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import is_pair
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.reductions.recurrences.iteration import Iteration, IterationText
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.line.line_kernel import LineText


@dataclass(frozen=True, eq=False)
class IterateText(LineText):
    """start: the formula of the starts. lanes: starts of a vector. unroll: vectors of an item."""

    template = "kernel/line/recurrences/iterate"
    start: Formula
    iteration: IterationText
    block: int
    lanes: int
    unroll: int

    @property
    def read(self) -> tuple[Input, ...]:
        return self.start.inputs


def plan_iterate(
    start: Formula, iteration: Iteration, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox
) -> Plan:
    """The plan of an iteration of every start of a line, row by row."""
    dtype, step = iteration.dtype, iteration.step
    plain = (dtype.names is None or is_pair(dtype)) and start.vectorisable and step.vectorisable
    sequential = mode is ComputeMode.SEQUENTIAL
    lanes = box.lanes(max(start.widest, step.widest), plain and sequential)
    if facts.kind != "cpu" and iteration.length > 1 and line.length % lanes:
        lanes = 1  # rows of iterates begin where no vector may lie
    groups, share = line.shares(max(1, facts.compute_units * box.groups), box.block * lanes * box.unroll)
    narrow = Line(line.length * iteration.length).narrow
    spec = IterateText(
        Target.of(mode, facts, narrow), (dtype,), None, False, start, IterationText(step, iteration.before, narrow),
        box.block, lanes, box.unroll,
    )  # fmt: skip
    names = tuple(variable.name for variable in spec.read)
    arguments: Arguments = (*names, "out0", ("idx", iteration.length), ("idx", line.length), ("idx", share))
    stage = Stage(spec, groups, box.block, arguments, names, ("out0",))
    why = "a function of one argument is iterated in order, one item a start"
    scope = Scope.ITEM if groups == 1 and sequential else Scope.GROUP if groups == 1 else Scope.DEVICE
    return Plan((stage,), {}, mode, scope, narrow, why + ("" if line.length == 1 else ", starts side by side"))
