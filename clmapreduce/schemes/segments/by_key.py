"""Runs of equal keys reduced by teams: chunks of equally many elements, ends from marks; then what chunks share."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.marked import Marked
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import DType
from clmapreduce.formula.formula import in_parameters
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Plan, Stage
from clmapreduce.reductions.argument import BoundArgument
from clmapreduce.reductions.segment import MEAN
from clmapreduce.schemes.common.kernel import kernel_spec, out_parameters
from clmapreduce.schemes.segments.boxes import TeamBox
from clmapreduce.schemes.segments.chunks import join_stage, scratch
from clmapreduce.schemes.segments.statements import SegmentLayout
from clmapreduce.schemes.segments.team import suits_teams
from clmapreduce.schemes.segments.team_statements import TEAM, TeamText

WORDS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}


@dataclass(frozen=True, eq=False)
class KeyedText(TeamText):
    """The statements for one layout. size: bytes of a key that is brought to its run's place, or 0. last: it is the
    run's last one.
    """

    size: int = 0
    last: bool = False

    @property
    def edges(self) -> tuple[str, ...]:
        return ()

    def start(self, segment: str) -> str:
        """Results ask for no places."""
        return "0"

    def parameters(self, partial: bool, read: bool = False) -> list[str]:
        layout = self.layout
        given = [layout.init] if layout.init is not None else []
        const = "const " if read else ""
        pieces = [f"__global {const}uchar *restrict parts", f"__global {const}idx *restrict places"] if partial else []
        out = out_parameters([layout.stored])
        if read:
            return [*in_parameters(given), *out, *pieces]
        marks = ["__global const uint *restrict marks", "__global const idx *restrict bases"]
        keys = (
            [f"__global const {self._word} *restrict spare", f"__global {self._word} *restrict out1"]
            if self.size
            else []
        )
        return [*in_parameters([*layout.formula.inputs, *given]), *marks, *out, *keys, *pieces]

    @property
    def words(self) -> int:
        """How many a key has."""
        return self.size // self._width

    @property
    def _width(self) -> int:
        return min(8, self.size & -self.size)

    @property
    def _word(self) -> str:
        """The widest C type that keys are made of."""
        return WORDS[self._width]

    @property
    def early(self) -> int:
        """Runs of a tile whose keys are loaded before the tile is merged: two per item."""
        return 2 * TEAM

    def load_early(self, at: str, ended: str) -> str:
        """Loads the keys of the first `early` runs that end in a tile: their stores then wait for nothing."""
        if self.words > 1:
            return ""
        lines = [f"{self._word} early0 = 0, early1 = 0;"]
        lines += [f"if ({k * TEAM} + lane < {ended}) early{k} = spare[{at} + {k * TEAM} + lane];" for k in (0, 1)]
        return "\n".join(lines)

    def move(self, run: str, at: str, k: str, early: bool) -> str:
        """Brings the key kept at mark k of a tile, whose first one is `at`, to the run that ends there, or to the one
        that follows, if any. early: it was loaded early.
        """
        to, condition = f"({run})", ""
        if not self.last:
            to, condition = f"({run} + 1)", f"if ({run} + 1 < bases[groups]) "
        if early:
            return f"{condition}out1[{to}] = {k} < {TEAM} ? early0 : early1;"
        return condition + self._copied(to, f"({at} + {k})")

    def move_first(self) -> str:
        """Brings the first key of all to the first run."""
        return self._copied("0", "n")

    def _copied(self, to: str, at: str) -> str:
        """All of a key: words at a time."""
        each = range(self.words)
        size = f"{self.words} * (size_t)" if self.words > 1 else ""
        lines = [f"out1[{size}{to}{f' + {w}' if w else ''}] = spare[{size}{at}{f' + {w}' if w else ''}];" for w in each]
        return "{ " + " ".join(lines) + " }"


def plan_keyed(
    layout: SegmentLayout, line: Marked, key: DType | None, last: bool, mode: ComputeMode, facts: Facts, box: TeamBox
) -> Plan:
    """The plan of the runs' results, "out0". The layout's "in0" are the marks, behind its inputs follow the numbers of
    marks, and, where keys of dtype `key` are to be brought to "out1" as well, those that the marks keep.
    """
    text = KeyedText(layout, line.narrow, size=0 if key is None else key.itemsize, last=last)
    partial, moved = line.chunks > 1, key is not None
    numbers = {
        "block": box.block, "partial": partial, "ordered": not layout.op.commutative, "moved": moved, "last": last,
        "size": text.size,
    }  # fmt: skip
    spec = kernel_spec(
        "segments/keyed_team", mode, facts, line.narrow, False, numbers, {"layout": layout}, lambda: {"text": text}
    )
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
