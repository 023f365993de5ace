"""Segments anywhere: chunks walked by a work-item each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.dtypes import is_complex
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Plan
from clmapreduce.schemes.common.boxes import Limits
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.segments.boxes import SegmentBox, walk_box
from clmapreduce.schemes.segments.chunks import ChunkKernel, ChunkText, plan_chunks, several
from clmapreduce.schemes.segments.scheme import SegmentScheme
from clmapreduce.schemes.segments.segment_kernel import SegmentText


@dataclass(frozen=True, eq=False)
class WalkText(ChunkText):
    """lanes: numbers of a vector. most: of an item. whole, rest: whether items take as many, and what others take."""

    template = "kernel/segments/segmented_walk"
    lanes: int
    most: int
    whole: bool
    rest: tuple[int, ...]


class Walk(SegmentScheme[SegmentBox]):
    """Serves any values and operators."""

    box_type = SegmentBox
    limits: ClassVar[Mapping[ComputeMode, Limits]] = {
        ComputeMode.SEQUENTIAL: {"least": (256, 1 << 15), "chunks": (16, 1024), "bytes": (16, 64), "vectors": (1, 4)},
        ComputeMode.PARALLEL: {"block": (32, 256), "least": (16, 1024), "chunks": (1 << 12, 1 << 18)},
    }  # fmt: skip

    def default(self) -> SegmentBox:
        return walk_box(self.mode, self.facts)

    def plan(self, box: SegmentBox, looks: bool = False) -> Plan:
        layout, domain = self.layout.chained, self.domain
        numbers_only = layout.stored.names is None and not is_complex(layout.stored)
        lanes = box.lanes(layout.formula.widest, layout.formula.vectorisable and numbers_only)
        most = lanes * box.vectors
        full, remainder = divmod(domain.columns, most)
        rest = tuple(1 << k for k in reversed(range(most.bit_length())) if remainder >> k & 1)
        text = SegmentText(layout, domain.narrow, domain.columns != 1)
        target = Target.of(self.mode, self.facts, domain.narrow)
        spec = WalkText(target, text, box.block, several(domain, box), lanes, most, full > 0, rest)
        alone = Scope.ITEM if self.mode is ComputeMode.SEQUENTIAL else Scope.GROUP
        kernel = ChunkKernel(
            spec, (alone, "one item walks it all"), "an item each", items=full + len(rest), walks=True
        )  # fmt: skip
        return plan_chunks(kernel, domain, self.mode, self.facts, box)
