"""Runs of equal keys reduced by teams: chunks of equally many elements, ends from marks; then what chunks share."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.marked import Marked
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import DType
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage
from clmapreduce.reductions.argument import BoundArgument
from clmapreduce.reductions.segment import MEAN
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.segments.boxes import TeamBox
from clmapreduce.schemes.segments.chunks import join_stage, scratch
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout
from clmapreduce.schemes.segments.team import suits_teams
from clmapreduce.schemes.segments.team_kernel import TEAM, TeamText

WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}


@dataclass(frozen=True, eq=False)
class KeyedText(TeamText):
    """What kernels of one layout compute. size: bytes of a key that is brought to its run's place, or 0."""

    size: int = 0

    @property
    def edges(self) -> tuple[str, ...]:
        """Results ask for no places."""
        return ()

    @property
    def words(self) -> int:
        """How many a key has."""
        return self.size // self._width

    @property
    def _width(self) -> int:
        return min(8, self.size & -self.size)

    @property
    def word(self) -> str:
        """The widest C type that keys are made of."""
        return WORDS[self._width]


@dataclass(frozen=True, eq=False)
class KeyedKernel(KernelText):
    """partial: there are several chunks. moved: keys are brought to their runs' places. last: each run's last one."""

    template = "kernel/segments/keyed_team"
    text: KeyedText
    block: int
    partial: bool
    moved: bool
    last: bool

    @property
    def ordered(self) -> bool:
        return not self.text.layout.op.commutative

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        warp = self.target.subgroup == self.block
        return (*self.text.local_arrays(warp), *(() if warp else (LocalArray("counts", "int", TEAM),)))


def plan_keyed(
    layout: SegmentLayout, line: Marked, key: DType | None, last: bool, mode: ComputeMode, facts: Facts, box: TeamBox
) -> Plan:
    """The plan of the runs' results, "out0". The layout's "in0" are the marks, behind its inputs follow the numbers of
    marks, and, where keys of dtype `key` are to be brought to "out1" as well, those that the marks keep.
    """
    text = KeyedText(layout, line.narrow, size=0 if key is None else key.itemsize)
    partial, moved = line.chunks > 1, key is not None
    spec = KeyedKernel(Target.of(mode, facts, line.narrow), text, box.block, partial, moved, last)
    after = 1 + len(layout.names)
    marks, keys = ("in0", f"in{after}"), (f"in{after + 1}",) if moved else ()
    outputs, pieces = ("out0", *(("out1",) if moved else ())), ("parts", "places") if partial else ()
    arguments: Arguments = (
        *layout.names, *marks, "out0", *keys, *outputs[1:], *pieces, ("idx", line.length), ("idx", line.share)
    )  # fmt: skip
    team = Stage(spec, line.chunks, box.block, arguments, (*layout.names, *marks, *keys), (*outputs, *pieces))
    if not partial:
        return Plan((team,), {}, mode, Scope.GROUP, line.narrow, "one team streams it all")
    why = f"{line.chunks} chunks of {line.share} elements, a team each; then the pieces of runs that chunks share"
    domain = Segments(line.length, 0)
    join = join_stage(text, domain, line.chunks, mode, facts, box.join_block)
    return Plan((team, join), scratch(text, domain, line.chunks), mode, Scope.DEVICE, line.narrow, why)


def suits_marks(layout: SegmentLayout, facts: Facts) -> bool:
    """Whether teams can reduce runs by their marks alone: no result asks where its run lies, or how long it is."""
    op = layout.op
    return suits_teams(layout, facts) and op.name != MEAN and not isinstance(op.whole, BoundArgument)
