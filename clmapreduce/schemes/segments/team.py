"""Segments on devices whose groups work side by side: chunks streamed by teams of work-items."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, LocalArray, Plan
from clmapreduce.schemes.common.boxes import Limits
from clmapreduce.schemes.common.kernel_data import Target, subgroup
from clmapreduce.schemes.segments.boxes import TEAM_COLUMNS, TeamBox, team_box
from clmapreduce.schemes.segments.chunks import ChunkKernel, ChunkText, plan_chunks, several
from clmapreduce.schemes.segments.scheme import SegmentScheme
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout
from clmapreduce.schemes.segments.team_kernel import TEAM, TeamText


def suits_teams(layout: SegmentLayout, facts: Facts, columns: int = 1) -> bool:
    """Whether a layout's elements can be loaded four at a time, and its accumulators kept in registers and local memory
    by the sixteen. columns: numbers of an element; several cannot be loaded, unless they are gathered.
    """
    op = layout.op
    alone = columns == 1 or all(variable.through for variable in layout.formula.inputs if variable.trailing)
    plain = alone and all(variable.access in (Access.VECTOR, Access.GATHERED) for variable in layout.formula.inputs)
    dtypes = (op.tile.value, *(c.dtype for c in (*op.tile.components, *op.whole.components)))
    plain = plain and all(dtype.names is None and dtype.kind != "c" for dtype in dtypes)
    plain = plain and layout.formula.vectorisable
    return plain and op.tile.layout.itemsize <= 16 and facts.max_group_size >= TEAM


@dataclass(frozen=True, eq=False)
class TeamKernel(ChunkText):
    """window, unroll: as in a `TeamBox`. blocked: items turn a tile in local memory, to have neighbours. teams: of a
    group. looks: it says whether offsets are wrong.
    """

    template = "kernel/segments/segmented_team"
    text: TeamText
    window: int
    unroll: int
    blocked: bool
    teams: int
    looks: bool

    @property
    def ordered(self) -> bool:
        return not self.text.layout.op.commutative

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        warp, name = self.target.subgroup == self.block, "flags" if self.teams == 1 else "all_flags"
        flags = LocalArray(name, "uint", self.teams * 16 * TEAM // 4, aligned=True)
        ended = () if warp else (LocalArray("ended", "int", 1),)
        return (*self.text.local_arrays(warp, 1 if self.blocked else 0 if warp else 4), flags, *ended)


class Teams(SegmentScheme[TeamBox]):
    """A CPU builds walks sooner, and has vectors in its own mode."""

    box_type = TeamBox
    limits: ClassVar[Mapping[ComputeMode, Limits]] = {
        ComputeMode.PARALLEL: {
            "most": (3840, 61440), "least": (256, 4096), "chunks": (1024, 1 << 16), "window": (1, 8), "unroll": (1, 4),
        },
    }  # fmt: skip

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
        return box.tile if several(self.domain, box) else None

    def plan(self, box: TeamBox, looks: bool = False) -> Plan:
        layout, domain, columned = self.layout, self.domain, self.domain.columns != 1
        teams = box.teams if subgroup(self.mode, self.facts) == box.block else 1
        text = TeamText(layout, domain.narrow, columned)
        looks = looks and self.tile_of_cuts(box) is not None
        spec = TeamKernel(
            Target.of(self.mode, self.facts, domain.narrow), text, box.block, several(domain, box), box.window,
            box.unroll, box.blocked, teams, looks,
        )  # fmt: skip
        each = f"a team for each of {domain.columns} numbers of each" if columned else "a team each"
        kernel = ChunkKernel(
            spec, (Scope.GROUP, "one team streams it all"),
            f"{each}, cut beforehand", items=box.block, teams=teams, cut=True,
            looks=looks,
        )  # fmt: skip
        return plan_chunks(kernel, domain, self.mode, self.facts, box)
