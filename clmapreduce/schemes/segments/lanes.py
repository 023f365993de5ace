"""Segments on CPUs: every item walks a chunk in vectors, many short segments at a time, a long one in blocks."""

from __future__ import annotations

from clmapreduce.domain.segments import Segments
from clmapreduce.formula.formula import Access, Formula
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan
from clmapreduce.schemes.common.kernel import AHEAD, has_vectors, vectorisable
from clmapreduce.schemes.segments.boxes import LanesBox, lanes_box
from clmapreduce.schemes.segments.chunks import ChunkKernel, plan_chunks
from clmapreduce.schemes.segments.lane_statements import LanesText, window_formula
from clmapreduce.schemes.segments.scheme import SegmentScheme
from clmapreduce.schemes.segments.statements import SegmentLayout

GATHER_AHEAD = 1024
"""Bytes: how far ahead of a gather the arrays that are read in a row are asked for."""


def takes_lanes(layout: SegmentLayout, domain: Segments, mode: ComputeMode, facts: Facts) -> bool:
    """Whether segments can be reduced in vectors: plain numbers, an operator whose order does not matter, and a device
    that is fast at it.
    """
    op = layout.op.whole
    return (
        mode is ComputeMode.SEQUENTIAL
        and facts.kind == "cpu"
        and domain.columns == 1
        and vectorisable(layout.formula, facts)
        and op.vectorisable
        and has_vectors([c.dtype for c in op.components], facts)
        and layout.stored.names is None
    )


def _gathers(formula: Formula) -> bool:
    return any(given.access is Access.GATHERED for given in formula.inputs)


class Lanes(SegmentScheme[LanesBox]):
    """What `takes_lanes`."""

    box_type = LanesBox

    def default(self) -> LanesBox | None:
        return lanes_box() if takes_lanes(self.layout, self.domain, self.mode, self.facts) else None

    def plan(self, box: LanesBox, looks: bool = False) -> Plan:
        layout, narrow = self.layout.chained, self.domain.narrow
        op, formula = layout.op, layout.formula
        windowed = window_formula(formula) if _gathers(formula) else None
        widest = max((windowed or formula).widest, *(c.dtype.itemsize for c in op.tile.components))
        lanes = box.lanes(widest, True)
        numbers = {
            "lanes": lanes, "widths": box.widths, "unroll": box.unroll, "long": box.long, "window": box.window,
            "few": int(lanes * box.few), "ahead": (GATHER_AHEAD if windowed else AHEAD) // widest,
        }  # fmt: skip
        text, how = LanesText(layout, narrow, lanes=lanes, elements=windowed), f"{lanes} lanes at a time"
        alone = (Scope.ITEM, f"one item walks it all, {how}")
        kernel = ChunkKernel("segments/segmented_lanes", text, numbers, alone, f"an item each, {how}")
        return plan_chunks(kernel, self.domain, self.mode, self.facts, box)
