"""Segments anywhere: chunks walked by a work-item each."""

from __future__ import annotations

from clmapreduce.dtypes import is_complex
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Plan
from clmapreduce.schemes.common.kernel import vectorisable
from clmapreduce.schemes.segments.boxes import SegmentBox, walk_box
from clmapreduce.schemes.segments.chunks import ChunkKernel, plan_chunks
from clmapreduce.schemes.segments.scheme import SegmentScheme
from clmapreduce.schemes.segments.statements import SegmentText


class Walk(SegmentScheme[SegmentBox]):
    """Serves any values and operators."""

    box_type = SegmentBox

    def default(self) -> SegmentBox:
        return walk_box(self.mode, self.facts)

    def plan(self, box: SegmentBox, looks: bool = False) -> Plan:
        layout, domain = self.layout.chained, self.domain
        text = SegmentText(layout, domain.narrow, domain.columns != 1)
        numbers_only = layout.stored.names is None and not is_complex(layout.stored)
        lanes = box.lanes(layout.formula.widest, vectorisable(layout.formula, self.facts) and numbers_only)
        most = lanes * box.vectors
        full, left = divmod(domain.columns, most)
        rest = tuple(1 << k for k in reversed(range(most.bit_length())) if left >> k & 1)
        numbers = {"lanes": lanes, "most": most, "whole": full > 0, "rest": rest, "columned": text.columned}
        alone = Scope.ITEM if self.mode is ComputeMode.SEQUENTIAL else Scope.GROUP
        kernel = ChunkKernel(
            "segments/segmented_walk", text, numbers, (alone, "one item walks it all"), "an item each",
            items=full + len(rest), walks=True,
        )  # fmt: skip
        return plan_chunks(kernel, domain, self.mode, self.facts, box)
