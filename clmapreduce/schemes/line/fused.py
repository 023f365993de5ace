"""A whole pipeline in one launch: each line walked by one item (ITEM) or by one group (GROUP)."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.domain.line import Line, Lines
from clmapreduce.formula.formula import Input
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import ROWS, Facts, LocalArray, Plan, Stage
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.line.fused_line import Fused
from clmapreduce.schemes.line.line_kernel import LineText
from clmapreduce.schemes.line.teams import group_team, warp_team
from clmapreduce.schemes.line.walks import Manner, View

FIXED = 64
"""Lines up to this long have their length written into the kernel, so that compilers unroll their loops."""
IN_VECTORS, REST = 32, 8
"""On CPUs, lines of at least this length are walked one after the other, in vectors along the line, if the elements
that fill no vector are at most one of REST. Other lines are walked side by side, a line in each lane. The times are in
docs/notes/lines.md.
"""
STAGED = 7
"""In batches, lines from this length on go through local memory: shorter ones lie so close that caches do as well."""
STAGED_BYTES = 16384
"""Local memory that a group's lines may take, so that several groups fit beside each other."""
FEW_LINES, LONG_LINE = 16, 8192
"""Up to so many lines for each compute unit, each at least so long, are walked by larger groups. cm.tune found them on
an H200, 2026-11-29: softmax of 2,000 lines of 8,192 0.061 -> 0.049 ms with groups of 512 instead of 256, of 400 lines
of 40,000 0.103 -> 0.070 with 1,024; 4,096 lines of 4,096 stay with 256.
"""
SMALL_GROUP = 1024
"""In batches, lines up to this long are walked by small groups, which need no barrier where they are one warp."""


@dataclass(frozen=True, eq=False)
class FusedText(LineText):
    """together: a group walks a line. row_mode: that of a line, sequential where an item walks it. lanes: lines side by
    side. along: elements of a line in a vector. fixed: their length, 0 where it is an argument. through_local: they go
    through local memory. kept: elements of its line that each item of a group keeps; 0: every walk reads them
    again. teams: of `block` items, in a group; each walks its own lines.
    """

    template = "kernel/line/fused_group"
    fused: Fused
    together: bool
    row_mode: str
    block: int
    lanes: int
    along: int
    fixed: int
    through_local: bool
    kept: int
    teams: int

    @property
    def read(self) -> tuple[Input, ...]:
        return self.fused.inputs

    @property
    def scratch(self) -> list[tuple[OperatorText, str]]:
        return self.fused.scratch(self.narrow) if self._exchanges else []

    @property
    def _exchanges(self) -> bool:
        """Whether items need local memory for their accumulators. Teams are parts of a warp."""
        return self.together and self.teams == 1

    @property
    def staged(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]] | None:
        return self.fused.staged if self.through_local else None

    def view(self, lanes: int) -> View:
        return self.fused.view(lanes, Manner(self.together, self.narrow, self.along, self.kept))

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        scratch = self.fused.scratch_arrays(self.block) if self._exchanges else ()
        return (*scratch, *(self.fused.staged_arrays(self.block, self.fixed) if self.through_local else ()))


def fused_box(fused: Fused, scope: Scope, lines: Lines, facts: Facts) -> str:
    """Which launch box suits lines of this length: larger groups where few long lines leave a device idle."""
    if scope is Scope.ITEM or warp_team(fused, lines, facts):
        return "fused_rows" if scope is Scope.ITEM else "fused_teams"
    if lines.count > 1 and lines.length <= SMALL_GROUP:
        return "fused_small"
    few = lines.count <= FEW_LINES * facts.compute_units and lines.length >= LONG_LINE
    return "fused_few" if few else "fused_group"


def plan_fused(
    fused: Fused, lines: Lines, scope: Scope, mode: ComputeMode, facts: Facts, box: LaunchBox, why: str
) -> Plan:
    """The plan of lines in one launch, or one a window. scope: ITEM or GROUP."""
    window, length = lines.window, lines.length
    rows = lines.count if window is None else window.length
    narrow = Line(rows * max(length, 1)).narrow
    together, kept, teams = scope is Scope.GROUP, 0, 1
    if together and mode is ComputeMode.PARALLEL:
        team = warp_team(fused, lines, facts)
        teams = max(1, box.block // team.items) if team else 1
        team = team or group_team(fused, length, box.block, facts)
        box, kept = replace(box, block=team.items), team.kept
    if together and teams == 1:
        item_bytes = sum(step.bound.layout.itemsize for step in fused.program.steps)
        smaller = within_local_memory(box, item_bytes, facts)
        box, kept = smaller, kept if smaller == box else 0
    widest = max((d.itemsize for d in fused.dtypes), default=1)
    side_by_side = not together and mode is ComputeMode.SEQUENTIAL and lines.count > 1 and fused.vectorisable
    lanes, along = box.lanes(widest, side_by_side), 1
    in_vectors = facts.kind == "cpu" and length >= IN_VECTORS and length % lanes * REST <= length
    if in_vectors and lanes > 1 and fused.fits_vectors:
        lanes, along = 1, lanes
    fixed = length if 0 < length <= FIXED else 0
    staged = None
    if scope is Scope.ITEM and mode is ComputeMode.PARALLEL and fixed >= STAGED and fused.staged is not None:
        staged = fused.staged
        while box.block > 1 and box.block * fused.staged_bytes(length) > min(STAGED_BYTES, facts.local_memory):
            box = replace(box, block=box.block // 2)
    row_mode = (mode if together else ComputeMode.SEQUENTIAL).value
    target, through_local = Target.of(mode, facts, narrow), staged is not None
    numbers = (box.block, lanes, along, fixed, through_local, kept, teams)
    spec = FusedText(target, fused.outputs, None, False, fused, together, row_mode, *numbers)
    per_group = teams if together else box.block * lanes
    groups, share = Line(rows).shares(facts.compute_units * box.groups, per_group)
    sizes = (*(() if fixed else (("idx", length),)), ("idx", rows) if window is None else ROWS, ("idx", share))
    names = tuple(variable.name for variable in fused.inputs)
    targets = tuple(f"out{i}" for i in range(len(fused.outputs)))
    stage = Stage(spec, groups, box.block * teams, (*names, *targets, *sizes), names, targets)
    if window is not None:
        stage = replace(stage, share=share, local=window.names)
    return Plan((stage,), {}, mode, scope, narrow, why, window=window)
