"""Segments: chunks of equal work, whatever the segments' lengths; then the pieces of those that several chunks share.

Chunks are cut from the path through elements and segments by the sizes alone, and pieces are merged in order: the same
bits in every run, on every device of one launch box.
"""

from __future__ import annotations

from clmapreduce.domain.segments import WEIGHT, Segments
from clmapreduce.dtypes import is_complex
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.schemes.common import kernel_spec, vectorisable
from clmapreduce.schemes.segment_text import SegmentLayout, SegmentText
from clmapreduce.schemes.team_text import TeamText
from clmapreduce.tuning import SegmentBox, TeamBox


def plan_walk(layout: SegmentLayout, domain: Segments, mode: ComputeMode, facts: Facts, box: SegmentBox) -> Plan:
    """The plan that serves any values and operators: every item walks a chunk."""
    text = SegmentText(layout, domain.narrow, domain.columns != 1)
    share = box.share(domain.weight)
    chunks = domain.chunks(share)
    plain = vectorisable(layout.formula, facts) and layout.stored.names is None and not is_complex(layout.stored)
    lanes = box.lanes(layout.formula.widest, plain) if domain.columns >= 4 else 1
    partial = chunks > 1
    spec = kernel_spec(
        "segmented_walk", mode, facts, domain.narrow, False,
        {"block": box.block, "lanes": lanes, "partial": partial, "weight": WEIGHT, "columned": text.columned},
        {"layout": layout}, lambda: {"text": text},
    )  # fmt: skip
    pieces = ("parts", "places") if partial else ()
    sizes = [domain.length, domain.segments, share, chunks, domain.columns]
    arguments: Arguments = (*layout.names, "in0", "out0", *pieces, *(("idx", size) for size in sizes))
    walks = chunks * -(-domain.columns // lanes)
    walk = Stage(
        spec, -(-walks // box.block), box.block, arguments, (*layout.names, "in0"), ("out0", *pieces)
    )  # fmt: skip
    scope = Scope.ITEM if mode is ComputeMode.SEQUENTIAL else Scope.GROUP
    if not partial:
        return Plan((walk,), {}, mode, scope, domain.narrow, "one item walks it all")
    why = f"{chunks} chunks of equal work, an item each; then the pieces of segments that chunks share"
    join = join_stage(text, domain, chunks, mode, facts, box.join_block)
    return Plan((walk, join), scratch(layout, domain, chunks), mode, Scope.DEVICE, domain.narrow, why)


def plan_team(layout: SegmentLayout, domain: Segments, mode: ComputeMode, facts: Facts, box: TeamBox) -> Plan:
    """The plan in which teams of work-items stream chunks."""
    text = TeamText(layout, domain.narrow)
    share = box.share(domain.weight)
    chunks = domain.chunks(share)
    partial = chunks > 1
    numbers = {
        "block": box.block, "window": box.window, "unroll": box.unroll, "partial": partial, "weight": WEIGHT,
        "ordered": not layout.op.commutative,
    }  # fmt: skip
    spec = kernel_spec(
        "segmented_team", mode, facts, domain.narrow, False, numbers, {"layout": layout}, lambda: {"text": text}
    )
    pieces = ("parts", "places") if partial else ()
    sizes = [domain.length, domain.segments, share]
    arguments: Arguments = (*layout.names, "in0", "out0", *pieces, *(("idx", size) for size in sizes))
    team = Stage(spec, chunks, box.block, arguments, (*layout.names, "in0"), ("out0", *pieces))
    if not partial:
        return Plan((team,), {}, mode, Scope.GROUP, domain.narrow, "one team streams it all")
    why = f"{chunks} chunks of equal work, a team each; then the pieces of segments that chunks share"
    join = join_stage(text, domain, chunks, mode, facts, box.join_block)
    return Plan((team, join), scratch(layout, domain, chunks), mode, Scope.DEVICE, domain.narrow, why)


def scratch(layout: SegmentLayout, domain: Segments, chunks: int) -> dict[str, int]:
    """The chunks' pieces, and which segments they belong to."""
    index = 4 if domain.narrow else 8
    return {
        "parts": 2 * chunks * max(1, domain.columns) * layout.op.whole.layout.itemsize,
        "places": 2 * chunks * index,
    }


def join_stage(text: SegmentText, domain: Segments, chunks: int, mode: ComputeMode, facts: Facts, block: int) -> Stage:
    """The launch that merges what chunks left of segments they share."""
    layout = text.layout
    spec = kernel_spec(
        "segmented_join", mode, facts, domain.narrow, False,
        {"block": block, "weight": WEIGHT, "columned": text.columned}, {"layout": layout},
        lambda: {"text": text},
    )  # fmt: skip
    given = tuple(i.name for i in (layout.init, layout.empty) if i is not None)
    sizes = [domain.length, domain.segments, chunks, domain.columns]
    read = (*given, *text.edges, "parts", "places")
    arguments: Arguments = (*given, *text.edges, "out0", "parts", "places", *(("idx", size) for size in sizes))
    return Stage(spec, -(-chunks // block) * domain.columns, block, arguments, read, ("out0",))
