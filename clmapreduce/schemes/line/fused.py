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
from clmapreduce.schemes.line.fused_line import Fused, View
from clmapreduce.schemes.line.line_kernel import LineText

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
    through local memory.
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

    @property
    def read(self) -> tuple[Input, ...]:
        return self.fused.inputs

    @property
    def scratch(self) -> list[tuple[OperatorText, str]]:
        return self.fused.scratch(self.narrow) if self.together else []

    @property
    def staged(self) -> tuple[list[tuple[str, str]], list[tuple[str, str]]] | None:
        return self.fused.staged if self.through_local else None

    def view(self, lanes: int) -> View:
        return self.fused.view(lanes, self.together, self.narrow, self.along)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        scratch = self.fused.scratch_arrays(self.block) if self.together else ()
        return (*scratch, *(self.fused.staged_arrays(self.block, self.fixed) if self.through_local else ()))


def fused_box(scope: Scope, lines: Lines, facts: Facts) -> str:
    """Which launch box suits lines of this length: larger groups where few long lines leave a device idle."""
    if scope is Scope.ITEM:
        return "fused_rows"
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
    together = scope is Scope.GROUP
    if together:
        item_bytes = sum(step.bound.layout.itemsize for step in fused.program.steps)
        box = within_local_memory(box, item_bytes, facts)
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
    numbers = (box.block, lanes, along, fixed, through_local)
    spec = FusedText(target, fused.outputs, None, False, fused, together, row_mode, *numbers)
    per_group = 1 if together else box.block * lanes
    groups, share = Line(rows).shares(facts.compute_units * box.groups, per_group)
    sizes = (*(() if fixed else (("idx", length),)), ("idx", rows) if window is None else ROWS, ("idx", share))
    names = tuple(variable.name for variable in fused.inputs)
    targets = tuple(f"out{i}" for i in range(len(fused.outputs)))
    stage = Stage(spec, groups, box.block, (*names, *targets, *sizes), names, targets)
    if window is not None:
        stage = replace(stage, share=share, local=window.names)
    return Plan((stage,), {}, mode, scope, narrow, why, window=window)
