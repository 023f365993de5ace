"""Segments on CPUs: every item walks a chunk in vectors, many short segments at a time, a long one in blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.domain.segments import Segments
from clmapreduce.formula.formula import Access, Formula
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan
from clmapreduce.schemes.common.boxes import Limits
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.vectors import AHEAD
from clmapreduce.schemes.segments.boxes import LanesBox, lanes_box
from clmapreduce.schemes.segments.chunks import ChunkKernel, ChunkText, plan_chunks, several
from clmapreduce.schemes.segments.lanes_kernel import LanesText, window_formula
from clmapreduce.schemes.segments.scheme import SegmentScheme
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout

GATHER_AHEAD = 1024
"""Bytes: how far ahead of a gather the arrays that are read in order are prefetched."""


def takes_lanes(layout: SegmentLayout, domain: Segments, mode: ComputeMode, facts: Facts) -> bool:
    """Whether segments can be reduced in vectors: plain numbers, an operator whose order does not matter, and a device
    that is fast at it.
    """
    op = layout.op.whole
    return (
        mode is ComputeMode.SEQUENTIAL
        and facts.kind == "cpu"
        and domain.columns == 1
        and layout.formula.vectorisable
        and op.vectorisable
        and layout.stored.names is None
    )


def _gathers(formula: Formula) -> bool:
    return any(variable.access is Access.GATHERED for variable in formula.inputs)


@dataclass(frozen=True, eq=False)
class LanesKernel(ChunkText):
    """widths, unroll, long, window: as in a `LanesBox`. few: elements of a short segment. ahead: how far ahead elements
    are asked for.
    """

    template = "kernel/segments/segmented_lanes"
    lanes: int
    widths: tuple[int, ...]
    unroll: int
    long: int
    window: int
    few: int
    ahead: int


class Lanes(SegmentScheme[LanesBox]):
    """What `takes_lanes`."""

    box_type = LanesBox
    limits: ClassVar[Mapping[ComputeMode, Limits]] = {
        ComputeMode.SEQUENTIAL: {
            "least": (256, 1 << 15), "chunks": (16, 1024), "bytes": (16, 64), "unroll": (1, 8), "window": (256, 4096),
        },
    }  # fmt: skip

    def default(self) -> LanesBox | None:
        return lanes_box() if takes_lanes(self.layout, self.domain, self.mode, self.facts) else None

    def plan(self, box: LanesBox, looks: bool = False) -> Plan:
        layout, narrow = self.layout.chained, self.domain.narrow
        op, formula = layout.op, layout.formula
        windowed = window_formula(formula) if _gathers(formula) else None
        widest = max((windowed or formula).widest, *(c.dtype.itemsize for c in op.tile.components))
        lanes = box.lanes(widest, True)
        text, how = LanesText(layout, narrow, lanes=lanes, elements=windowed), f"{lanes} lanes at a time"
        spec = LanesKernel(
            Target.of(self.mode, self.facts, narrow), text, box.block, several(self.domain, box), lanes, box.widths,
            box.unroll, box.long, box.window, int(lanes * box.few), (GATHER_AHEAD if windowed else AHEAD) // widest,
        )  # fmt: skip
        alone = (Scope.ITEM, f"one item walks it all, {how}")
        kernel = ChunkKernel(spec, alone, f"an item each, {how}")
        return plan_chunks(kernel, self.domain, self.mode, self.facts, box)
