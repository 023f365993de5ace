"""Segments on CPUs: every item walks a chunk in vectors, many short segments at a time, a long one in blocks."""

from __future__ import annotations

from clmapreduce.domain.segments import WEIGHT, Segments
from clmapreduce.formula.formula import Access, Formula
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.schemes.common import has_vectors, kernel_spec, vectorisable
from clmapreduce.schemes.lanes_text import LanesText, window_formula
from clmapreduce.schemes.segment_text import SegmentLayout
from clmapreduce.schemes.segmented import join_stage, scratch
from clmapreduce.tuning import LanesBox


def takes_lanes(layout: SegmentLayout, domain: Segments, mode: ComputeMode, facts: Facts) -> bool:
    """Whether segments can be reduced in vectors: plain numbers, an operator whose order does not matter, and a device
    that is fast at it. A window has places of its own, so what `locates` gathers nothing.
    """
    op = layout.op.whole
    return (
        mode is ComputeMode.SEQUENTIAL
        and facts.kind == "cpu"
        and domain.columns == 1
        and vectorisable(layout.formula, facts)
        and op.vectorisable
        and not (op.locates and _gathers(layout.formula))
        and has_vectors([c.dtype for c in op.components], facts)
        and layout.stored.names is None
    )


def _gathers(formula: Formula) -> bool:
    return any(given.access is Access.GATHERED for given in formula.inputs)


def plan_lanes(layout: SegmentLayout, domain: Segments, mode: ComputeMode, facts: Facts, box: LanesBox) -> Plan:
    """The plan for what `takes_lanes`."""
    op, formula = layout.op, layout.formula
    windowed = window_formula(formula) if _gathers(formula) else None
    widest = max((windowed or formula).widest, *(c.dtype.itemsize for c in op.tile.components))
    lanes = box.lanes(widest, True)
    text = LanesText(layout, domain.narrow, lanes=lanes, elements=windowed)
    share = box.share(domain.weight)
    chunks = domain.chunks(share)
    partial = chunks > 1
    numbers = {
        "block": 1, "lanes": lanes, "partial": partial, "weight": WEIGHT, "widths": box.widths, "unroll": box.unroll,
        "long": box.long, "window": box.window,
        "few": int(lanes * box.few),
    }  # fmt: skip
    spec = kernel_spec(
        "segmented_lanes", mode, facts, domain.narrow, False, numbers, {"layout": layout}, lambda: {"text": text}
    )
    pieces = ("parts", "places") if partial else ()
    sizes = [domain.length, domain.segments, share]
    arguments: Arguments = (*layout.names, "in0", "out0", *pieces, *(("idx", size) for size in sizes))
    walk = Stage(spec, chunks, 1, arguments, (*layout.names, "in0"), ("out0", *pieces))
    if not partial:
        return Plan((walk,), {}, mode, Scope.ITEM, domain.narrow, f"one item walks it all, {lanes} lanes at a time")
    why = f"{chunks} chunks of equal work, an item each, {lanes} lanes at a time; then the pieces of shared segments"
    join = join_stage(text, domain, chunks, mode, facts, box.join_block)
    return Plan((walk, join), scratch(layout, domain, chunks), mode, Scope.DEVICE, domain.narrow, why)
