"""Upsweep: a reduce that keeps its partials, one launch per level; entry i ends as the merge of (i − lowbit(i), i]."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, LocalArray, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.line.line_kernel import LineText, in_windows


@dataclass(frozen=True, eq=False)
class UpsweepText(LineText):
    """tile: entries of a group. level: 0 for the entries of the formula, 1 for those of the level below."""

    template = "kernel/line/upsweep"
    formula: Formula
    bound: Bound
    block: int
    tile: int
    level: int

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def read(self) -> tuple[Input, ...]:
        """The inputs that this level reads."""
        return self.formula.inputs if self.level == 0 else ()

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return accumulators(self.bound, self.tile, "tile")


def plan_upsweep(formula: Formula, bound: Bound, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Plan:
    """The plan that leaves length+1 accumulators in "out0"."""
    narrow, window = Line(line.length + 1).narrow, line.window
    formula = formula if window is None else formula.windowed(window.names)
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, 2 * bound.layout.itemsize, facts)
    tile = max(2, box.block * box.unroll)  # a tile of one entry would never shrink a level
    while tile > 2 * box.block and tile * bound.layout.itemsize > facts.local_memory // 2:
        tile //= 2
    stages: list[Stage] = []
    count, stride = line.length, 1
    while not stages or count > 0:
        level = min(len(stages), 1)
        spec = UpsweepText(Target.of(mode, facts, narrow), (), None, False, formula, bound, box.block, tile, level)
        names = tuple(variable.name for variable in spec.read)
        reads = names if level == 0 else ("out0",)
        groups = max(1, -(-count // tile))
        stage = Stage(spec, groups, box.block, (*names, "out0", ("idx", count), ("idx", stride)), reads, ("out0",))
        stages.append(in_windows(stage, line, tile) if level == 0 else stage)
        count, stride = count // tile, stride * tile
        if count <= 1:
            break
    scope = Scope.DEVICE if stages[0].groups > 1 else Scope.GROUP
    why = f"{len(stages)} level(s) of tiles of {tile}"
    return Plan(tuple(stages), {}, mode, scope, narrow, why, window=window)
