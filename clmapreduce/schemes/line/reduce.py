"""Reduce: as many groups as keep the device full, each over a stretch of its own; then one group merges what they
leave.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Access, Formula, Input
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, LocalArray, Plan, Stage
from clmapreduce.reductions.argument import BoundArgument
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.extended import BoundPairSum
from clmapreduce.reductions.extremum import BoundExtremum
from clmapreduce.reductions.logsumexp import BoundLogSumExp
from clmapreduce.reductions.moments import BoundMoments
from clmapreduce.reductions.sum import BoundSum
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox, within_local_memory
from clmapreduce.schemes.common.kernel_data import Target, subgroup
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.common.vectors import bytes_of_lane, lanes_of
from clmapreduce.schemes.line.line_kernel import LineText, in_windows, inputs_of

GROUP_TILES = 4
"""Up to this many tiles one group does it alone: a second launch costs more than it saves."""
QUICK = (BoundSum, BoundExtremum, BoundArgument)
"""Operators that take little longer than to read an element."""
ONCE = 1 << 31
"""So many operations take no device long: such a launch need not be cut into pieces."""
SHORT = 1 << 14
"""So long a line is short on CPUs, whatever an element takes."""


@dataclass(frozen=True, eq=False)
class _MonoidText(LineText):
    """A kernel whose group ends with one accumulator."""

    bound: Bound
    block: int

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return accumulators(self.bound, self.block)


@dataclass(frozen=True, eq=False)
class ReduceText(_MonoidText):
    """partial: accumulators are left, not results. lanes: numbers of a vector. unroll: vectors of an item, stream and
    step. streams: stretches side by side. passing: accumulators are those of one window, so many. merging: the group
    that is done last merges all accumulators.
    """

    template = "kernel/line/reduce"
    formula: Formula
    partial: bool
    lanes: int
    unroll: int
    streams: int
    passing: int = 0
    merging: bool = False

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return (*super().arrays, *([LocalArray("arrived", "int", 1)] if self.merging else []))

    @property
    def ordered(self) -> bool:
        return not self.bound.commutative

    @property
    def warp(self) -> int:
        """Items that walk a stretch together, where order matters."""
        return min(self.target.subgroup, self.block) if self.ordered else 1

    @property
    def read(self) -> tuple[Input, ...]:
        return inputs_of(self.formula.inputs, self.tail)


@dataclass(frozen=True, eq=False)
class MergeText(_MonoidText):
    """The launch that merges accumulators."""

    template = "kernel/line/merge"

    @property
    def read(self) -> tuple[Input, ...]:
        return inputs_of((), self.tail)


BOXES = {BoundArgument: "locate", BoundLogSumExp: "logsumexp", BoundPairSum: "pair", BoundMoments: "moments"}
"""Boxes of operators that want several vectors at once."""


def box_name(bound: Bound, formula: Formula) -> str:
    """Which launch box suits an operator. On CPUs two inputs are two streams already, and an extremum wants four: a
    step is a chain of operations.
    """
    for kind, name in BOXES.items():
        if isinstance(bound, kind):
            return name
    one = "extremum" if isinstance(bound, BoundExtremum) else "reduce"
    return "reduce2" if sum(variable.access is Access.VECTOR for variable in formula.inputs) > 1 else one


def reduce_stage(
    layout: Layout,
    bound: Bound,
    line: Line,
    mode: ComputeMode,
    facts: Facts,
    box: LaunchBox,
    partials: str | None = None,
) -> Stage:
    """The launch that leaves one accumulator per group in the array `partials`. None: the finished result in the
    layout's outputs where one group is enough, else accumulators in "scratch0".
    """
    layout = layout.within(line.window)
    formula = layout.formula
    warps = not bound.commutative and min(subgroup(mode, facts), box.block) > 1
    in_lanes = bound.vectorisable and formula.vectorisable
    spreads = warps and bound.spreads and lanes_of(layout, spreads=True)
    lanes = box.lanes(_bytes_of_lane(formula, bound, facts, box), in_lanes or spreads)
    width = box.block if bound.commutative or warps else 1
    tile = width * lanes * box.unroll * box.streams
    cap = facts.compute_units * box.groups
    chained = -(-line.span // (bound.chain * width * lanes * box.streams)) if bound.chain is not None else 1
    cheap = box.alone // max(1, formula.operations) if chained == 1 and isinstance(bound, QUICK) else 0
    most = max(min(box.alone, SHORT), tile * GROUP_TILES, cheap)
    alone = partials is None and line.length <= most
    cap = 1 if alone or not box.groups else max(cap, chained)
    groups, share = line.shares(cap, tile)
    partial = groups > 1 or partials is not None
    targets = (partials or "scratch0",) if partial else layout.targets
    spec = ReduceText(
        Target.of(mode, facts, line.narrow), () if partial else layout.outputs, None if partial else layout.tail, False,
        bound, box.block, formula, partial, lanes, box.unroll, box.streams,
    )  # fmt: skip
    names = tuple(variable.name for variable in spec.read)
    stage = Stage(spec, groups, box.block, (*names, *targets, ("idx", line.length), ("idx", share)), names, targets)
    return in_windows(stage, line, share)


def with_shares(stage: Stage, groups: int, share: int) -> Stage:
    """A launch of `reduce_stage` in other groups, with so many indices each."""
    return replace(stage, groups=groups, arguments=(*stage.arguments[:-1], ("idx", share)))


def passing(stage: Stage, line: Line, share: int) -> Stage:
    """A launch of `reduce_stage` that leaves the accumulators of one window, which the next window's replace."""
    assert isinstance(stage.spec, ReduceText)
    spec = replace(stage.spec, passing=line.span // share)
    return in_windows(replace(stage, spec=spec), line, share, stage.writes)


def plan_reduce(
    layout: Layout, bound: Bound, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox, on_host: bool = False
) -> Plan:
    """The plan of one result for the whole line; length 0 gives the identity.

    `on_host`: the last level is left to the host.
    """
    formula = layout.formula
    if mode is ComputeMode.PARALLEL:
        box = within_local_memory(box, bound.layout.itemsize, facts)
    if formula.widest and bound.locates:
        box = _fitting_blocks(formula, bound, line, facts, box)
    stage = reduce_stage(layout, bound, line, mode, facts, box)
    if stage.groups == 1 and line.window is None:
        return Plan((stage,), {}, mode, _scope(mode, facts), line.narrow, "the line fits one group")
    partials = layout.targets[0] if on_host else "scratch0"
    stage = reduce_stage(layout, bound, line, mode, facts, box, partials)
    scratch = {partials: bound.layout.itemsize * stage.groups}
    why = f"{stage.groups} groups keep {facts.compute_units} compute units busy"
    if on_host:
        why += ", the host merges their accumulators"
        return Plan((stage,), scratch, mode, Scope.DEVICE, line.narrow, why, finish_on_host=True, window=line.window)
    if line.window is None and line.length * max(1, formula.operations) <= ONCE and talks(mode, facts):
        why += ", the last one merges their accumulators"
        done = {"done0": LaunchTable(np.zeros(1), narrow=True)}
        stages = (merging_stage(stage, layout),)
        return Plan(stages, scratch, mode, Scope.DEVICE, line.narrow, why, tables=done)
    last = merge_stage(layout, bound, stage.groups, mode, facts, box)
    why += ", one group merges their accumulators"
    return Plan((stage, last), scratch, mode, Scope.DEVICE, line.narrow, why, window=line.window)


def talks(mode: ComputeMode, facts: Facts) -> bool:
    """Whether a group sees what others have written, in one launch."""
    fences = facts.device_fences or facts.kind == "cpu"
    return mode is ComputeMode.PARALLEL and facts.groups_progress and fences


def merging_stage(stage: Stage, layout: Layout) -> Stage:
    """A launch that leaves accumulators in "scratch0", as one in which the last group merges them. "done0" counts the
    groups: the launch goes out in one piece, or the rest of a cancelled one would be missing in the next call.
    """
    spec = stage.spec
    assert isinstance(spec, ReduceText)
    spec = replace(spec, partial=False, merging=True, outputs=layout.outputs, tail=layout.tail)
    names, left = tuple(one.name for one in spec.read), ("scratch0", "done0")
    return replace(
        stage, spec=spec, arguments=(*names, *layout.targets, *left, *stage.arguments[-2:], ("idx", stage.groups)),
        reads=(*names, "done0"), writes=(*layout.targets, *left), whole=True,
    )  # fmt: skip


def merge_stage(layout: Layout, bound: Bound, count: int, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Stage:
    """The launch that turns `count` accumulators in "scratch0" into the result."""
    spec = MergeText(Target.of(mode, facts, True), layout.outputs, layout.tail, False, bound, box.block)
    names = tuple(variable.name for variable in spec.read)
    arguments: Arguments = ("scratch0", *names, *layout.targets, ("idx", count))
    return Stage(spec, 1, box.block, arguments, ("scratch0", *names), layout.targets)


def _scope(mode: ComputeMode, facts: Facts) -> Scope:
    return Scope.ITEM if mode is ComputeMode.SEQUENTIAL else Scope.GROUP


def _bytes_of_lane(formula: Formula, bound: Bound, facts: Facts, box: LaunchBox) -> int:
    """What decides how many lanes fill a vector: the widest number; on GPUs the longest record, because items that load
    several records each leave gaps between their loads (sums of `cm.dd` on an H100: 1.9 TB/s so, else 2.65). Places of
    extrema gain nothing by more lanes of short numbers (argmax of float16 on an H200: 51 -> 61 us).
    """
    records = [int(operand.dtype.itemsize) for operand in formula.inputs] if facts.kind != "cpu" else []
    widest = max(formula.widest, *records, 1)
    return widest if bound.locates or not records else bytes_of_lane(box, widest, max(records), facts)


def _fitting_blocks(formula: Formula, bound: Bound, line: Line, facts: Facts, box: LaunchBox) -> LaunchBox:
    """More groups, where one group's blocks would outrun the counter that numbers them."""
    limit = OperatorText(bound).block_limit
    lanes = box.lanes(_bytes_of_lane(formula, bound, facts, box), bound.vectorisable and formula.vectorisable)
    blocks = -(-line.span // (limit * box.block * lanes * box.unroll))
    return replace(box, groups=max(box.groups, -(-blocks // facts.compute_units))) if blocks > 1 else box
