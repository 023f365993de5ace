"""Segments anywhere: chunks walked by work-items, or streamed by teams of them."""

from __future__ import annotations

from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import is_complex
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan
from clmapreduce.schemes.common.kernel import subgroup, vectorisable
from clmapreduce.schemes.segments.chunks import plan_chunks
from clmapreduce.schemes.segments.statements import SegmentLayout, SegmentText
from clmapreduce.schemes.segments.team import TeamText
from clmapreduce.schemes.tuning import SegmentBox, TeamBox


def plan_walk(layout: SegmentLayout, domain: Segments, mode: ComputeMode, facts: Facts, box: SegmentBox) -> Plan:
    """The plan that serves any values and operators: every item walks a chunk."""
    text = SegmentText(layout, domain.narrow, domain.columns != 1)
    plain = vectorisable(layout.formula, facts) and layout.stored.names is None and not is_complex(layout.stored)
    lanes = box.lanes(layout.formula.widest, plain)
    most = lanes * box.vectors
    full, left = divmod(domain.columns, most)
    rest = tuple(1 << k for k in reversed(range(most.bit_length())) if left >> k & 1)
    numbers = {"lanes": lanes, "most": most, "whole": full > 0, "rest": rest, "columned": text.columned}
    alone = Scope.ITEM if mode is ComputeMode.SEQUENTIAL else Scope.GROUP
    return plan_chunks(
        "segments/segmented_walk", text, domain, mode, facts, box, numbers, (alone, "one item walks it all"),
        "an item each", items=full + len(rest), walks=True,
    )  # fmt: skip


def plan_team(
    layout: SegmentLayout, domain: Segments, mode: ComputeMode, facts: Facts, box: TeamBox, looks: bool = False
) -> Plan:
    """The plan in which teams of work-items stream chunks. looks: several chunks look whether offsets are right."""
    teams = box.teams if subgroup(mode, facts) == box.block else 1
    looks = looks and domain.chunks(box.share(domain.weight)) > 1
    numbers = {
        "window": box.window, "unroll": box.unroll, "ordered": not layout.op.commutative, "blocked": box.blocked,
        "teams": teams, "looks": looks, "columned": domain.columns != 1,
    }  # fmt: skip
    each = "a team each" if domain.columns == 1 else f"a team for each of {domain.columns} numbers of each"
    return plan_chunks(
        "segments/segmented_team", TeamText(layout, domain.narrow, domain.columns != 1), domain, mode, facts, box,
        numbers,
        (Scope.GROUP, "one team streams it all"), f"{each}, cut beforehand", items=box.block, teams=teams, cut=True,
        looks=looks,
    )  # fmt: skip
