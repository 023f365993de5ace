"""Segments on devices whose groups work side by side: chunks streamed by teams of work-items."""

from __future__ import annotations

from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, LocalArray, Plan
from clmapreduce.schemes.common.kernel import vectorisable
from clmapreduce.schemes.common.kernel_text import subgroup
from clmapreduce.schemes.segments.boxes import TEAM_COLUMNS, TeamBox, team_box
from clmapreduce.schemes.segments.chunks import ChunkKernel, plan_chunks
from clmapreduce.schemes.segments.scheme import SegmentScheme
from clmapreduce.schemes.segments.statements import SegmentLayout
from clmapreduce.schemes.segments.team_statements import TEAM, TeamText


def suits_teams(layout: SegmentLayout, facts: Facts, columns: int = 1) -> bool:
    """Whether a layout's elements can be loaded four at a time, and its accumulators kept in registers and local memory
    by the sixteen. columns: numbers of an element; several cannot be loaded, unless they are gathered.
    """
    op = layout.op
    alone = columns == 1 or all(given.through for given in layout.formula.inputs if given.trailing)
    plain = alone and all(given.access in (Access.VECTOR, Access.GATHERED) for given in layout.formula.inputs)
    dtypes = (op.tile.value, *(c.dtype for c in (*op.tile.components, *op.whole.components)))
    plain = plain and all(dtype.names is None and dtype.kind != "c" for dtype in dtypes)
    plain = plain and vectorisable(layout.formula, facts)
    return plain and op.tile.layout.itemsize <= 16 and facts.max_group_size >= TEAM


def _arrays(text: TeamText, warp: bool, blocked: bool, teams: int) -> tuple[LocalArray, ...]:
    """blocked: whether items turn a tile in local memory, to have neighbours."""
    flags = LocalArray("flags" if teams == 1 else "all_flags", "uint", teams * 16 * TEAM // 4, aligned=True)
    ended = () if warp else (LocalArray("ended", "int", 1),)
    return (*text.local_arrays(warp, 1 if blocked else 0 if warp else 4), flags, *ended)


class Teams(SegmentScheme[TeamBox]):
    """A CPU builds walks sooner, and has vectors in its own mode."""

    box_type = TeamBox

    def default(self) -> TeamBox | None:
        layout, domain = self.layout, self.domain
        if self.mode is ComputeMode.SEQUENTIAL or self.facts.kind == "cpu" or domain.columns > TEAM_COLUMNS:
            return None
        if not suits_teams(layout, self.facts, domain.columns):
            return None
        small = max(layout.formula.widest, layout.op.tile.layout.itemsize) <= 4
        warps = subgroup(self.mode, self.facts) == TEAM
        return team_box(domain.length / domain.segments, self.facts, self.near and small and warps)

    def tile_of_cuts(self, box: TeamBox) -> int | None:
        return box.tile if self.domain.chunks(box.share(self.domain.weight)) > 1 else None

    def plan(self, box: TeamBox, looks: bool = False) -> Plan:
        layout, domain, columned = self.layout, self.domain, self.domain.columns != 1
        warp = subgroup(self.mode, self.facts) == box.block
        teams, text = box.teams if warp else 1, TeamText(layout, domain.narrow, columned)
        looks = looks and self.tile_of_cuts(box) is not None
        numbers = {
            "window": box.window, "unroll": box.unroll, "ordered": not layout.op.commutative, "blocked": box.blocked,
            "teams": teams, "looks": looks, "columned": columned,
        }  # fmt: skip
        each = f"a team for each of {domain.columns} numbers of each" if columned else "a team each"
        kernel = ChunkKernel(
            "segments/segmented_team", text, numbers,
            (Scope.GROUP, "one team streams it all"), f"{each}, cut beforehand", items=box.block, teams=teams, cut=True,
            looks=looks, arrays=lambda: _arrays(text, warp, box.blocked, teams),
        )  # fmt: skip
        return plan_chunks(kernel, domain, self.mode, self.facts, box)
