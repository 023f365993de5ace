"""Segments cut into chunks of equal work, whatever the segments' lengths; then the pieces of those that chunks share.

Chunks are cut from the path through elements and segments by sizes and offsets alone, and pieces are merged in order:
the same bits in every run, on every device of one launch box. A chunk searches its own ends, or finds them among cuts
that a launch before has made: once, where the offsets stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.segments import WEIGHT, Segments
from clmapreduce.dtypes import DType, c_name
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.segments.boxes import SegmentBox, TeamBox
from clmapreduce.schemes.segments.segment_kernel import SegmentText

GATE = "gate"
"""An array whose first byte says that there is nothing to be done: offsets found wrong while the kernel was waiting."""
CUT_BLOCK = 64
"""Work-items per group of the launch that cuts."""
OPEN = LaunchTable(np.zeros(1), narrow=True)


@dataclass(frozen=True, eq=False)
class ChunkText(KernelText):
    """text: the statements. partial: there are several chunks."""

    weight: ClassVar[int] = WEIGHT
    text: SegmentText
    block: int
    partial: bool

    @property
    def columned(self) -> bool:
        return self.text.columned


@dataclass(frozen=True, eq=False)
class JoinText(KernelText):
    """text: the statements of the kernel that left pieces."""

    template = "kernel/segments/segmented_join"
    weight: ClassVar[int] = WEIGHT
    text: SegmentText
    block: int

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        segments = (LocalArray(name, "idx", self.block) for name in ("opened", "ending"))
        return (*accumulators(self.text.layout.op.whole, self.block), *segments)


@dataclass(frozen=True, eq=False)
class ChunkKernel:
    """A kernel over chunks. alone: the scope of a single chunk's run, and what is said of it. each: what is said of
    several, behind their number. items: work-items per chunk; of all columns where the kernel `walks`, else of one. Who
    walks takes the number of chunks and of columns; others that of columns, where there are several. teams: so many
    times the box's items make a group; a kernel with several takes the number of chunks. cut: where there are several
    chunks, it reads the layout's cuts instead of searching. looks: as in a plan of a SegmentScheme.
    """

    spec: ChunkText
    alone: tuple[Scope, str]
    each: str
    items: int = 1
    walks: bool = False
    teams: int = 1
    cut: bool = False
    looks: bool = False


def several(domain: Segments, box: SegmentBox | TeamBox) -> bool:
    """Whether there is more than one chunk."""
    return domain.chunks(box.share(domain.weight)) > 1


def plan_chunks(
    kernel: ChunkKernel, domain: Segments, mode: ComputeMode, facts: Facts, box: SegmentBox | TeamBox
) -> Plan:
    """The plan of a kernel over chunks, with the launch that joins their pieces where there are several."""
    spec, text, walks, alone = kernel.spec, kernel.spec.text, kernel.walks, kernel.alone
    layout, share, group = text.layout, box.share(domain.weight), box.block * kernel.teams
    chunks, partial = domain.chunks(share), spec.partial
    pieces = ("parts", "places") if partial else ()
    more = [*([chunks] if walks or kernel.teams > 1 else []), *([domain.columns] if walks or text.columned else [])]
    sizes = [domain.length, domain.segments, *([] if kernel.cut else [share]), *more]
    cuts = (layout.cuts,) if kernel.cut and partial else ()
    arguments: Arguments = (*layout.names, "in0", "out0", *pieces, *cuts, GATE, *(("idx", size) for size in sizes))
    reads, writes = (*layout.names, "in0", *cuts, GATE), ("out0", *pieces, *(cuts if kernel.looks else ()))
    groups = -(-chunks * kernel.items // group) * (1 if walks else domain.columns)
    first = Stage(spec, groups, group, arguments, reads, writes)
    if not partial:
        return Plan((first,), {}, mode, alone[0], domain.narrow, alone[1], tables={GATE: OPEN})
    why = f"{chunks} chunks of equal work, {kernel.each}; then the pieces of segments that chunks share"
    join = join_stage(text, domain, chunks, mode, facts, box.join_block)
    pieces_of = scratch(text, domain, chunks)
    return Plan((first, join), pieces_of, mode, Scope.DEVICE, domain.narrow, why, tables={GATE: OPEN})


def scratch(text: SegmentText, domain: Segments, chunks: int) -> dict[str, int]:
    """The chunks' pieces, and which segments they belong to."""
    index = 4 if text.narrow else 8
    return {
        "parts": 2 * chunks * max(1, domain.columns) * text.layout.op.whole.layout.itemsize,
        "places": 2 * chunks * index,
    }


def join_stage(text: SegmentText, domain: Segments, chunks: int, mode: ComputeMode, facts: Facts, block: int) -> Stage:
    """The launch that merges what chunks left of segments they share. block: work-items per group, at most."""
    layout, block = text.layout, min(block, facts.max_group_size)
    spec = JoinText(Target.of(mode, facts, text.narrow), text, block)
    variable = tuple(i.name for i in (layout.init, layout.empty) if i is not None)
    sizes = [domain.length, domain.segments, chunks, domain.columns]
    read = (*variable, *text.edges, "parts", "places")
    arguments: Arguments = (*variable, *text.edges, "out0", "parts", "places", *(("idx", size) for size in sizes))
    return Stage(spec, -(-chunks // block) * domain.columns, block, arguments, read, ("out0",))


@dataclass(frozen=True, eq=False)
class CutsText(KernelText):
    """offset: the offsets' C type. closed, tile: as of `plan_cuts`."""

    template = "kernel/segments/segmented_cuts"
    weight: ClassVar[int] = WEIGHT
    block: int
    offset: str
    closed: bool
    tile: int


def plan_cuts(
    offsets: DType, closed: bool, domain: Segments, share: int, tile: int, mode: ComputeMode, facts: Facts
) -> Plan:
    """The plan of where chunks of `share` begin and end, (element, segment) by cut, in whole tiles where that moves a
    cut but little; in front of them, whether offsets begin or end wrongly, and 0. closed: as in a SegmentLayout.
    """
    chunks, block = domain.chunks(share), CUT_BLOCK
    spec = CutsText(Target.of(mode, facts, domain.narrow), block, c_name(offsets), closed, tile)
    sizes = [("idx", size) for size in (domain.length, domain.segments, share, chunks)]
    stage = Stage(spec, -(-(chunks + 1) // block), block, ("in0", "out0", *sizes), ("in0",), ("out0",))
    return Plan((stage,), {}, mode, Scope.DEVICE, domain.narrow, "an item per cut searches the path")
