"""Launch boxes of the schemes for segments: numbers only, by kind of device.

Each row was measured; docs/notes says where and what lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts


@dataclass(frozen=True)
class SegmentBox:
    """For segments. block: work-items per group. bytes: of one vector of columns. vectors: an item walks for so many at
    once. least, chunks: a chunk weighs at least so much, and there are at most so many. join_block: work-items per
    group of the launch that joins pieces. starts: more boxes from which tuning starts.
    """

    starts: ClassVar[tuple[Any, ...]] = ()

    block: int
    least: int
    chunks: int
    bytes: int = 1
    join_block: int = 1
    vectors: int = 1

    def share(self, weight: int) -> int:
        """What one chunk weighs: from the sizes alone, so that every device cuts alike."""
        return max(self.least, -(-weight // self.chunks))

    def lanes(self, itemsize: int, vectorisable: bool) -> int:
        """How many columns one vector holds."""
        return min(16, max(1, self.bytes // itemsize)) if vectorisable else 1


def walk_box(mode: ComputeMode, facts: Facts) -> SegmentBox:
    """The box for segments whose chunks are walked by one item each."""
    if mode is ComputeMode.SEQUENTIAL:
        wide = facts.kind == "cpu"
        return SegmentBox(1, 2048, 128, bytes=64 if wide else 1, vectors=2 if wide else 1)
    block = min(32 if facts.kind == "cpu" else 128, facts.max_group_size)
    return SegmentBox(block, 64, 1 << 16, join_block=block)


@dataclass(frozen=True)
class TeamBox:
    """For segments whose chunks are streamed by teams. block: work-items per team. most, least, chunks: a chunk weighs
    that much at most and at least, in between as much as gives so many chunks; those of 2^k tiles begin on the same
    channels of memory, and are slower. window: offsets that one item holds. unroll: of the loop that stores results.
    join_block: as in a SegmentBox. blocked: a tile is turned until an item's elements are neighbours; else it stays as
    it was loaded, in registers where items are a warp. teams: so many warps make a group, with chunks side by side.
    starts: as in a SegmentBox.
    """

    starts: ClassVar[tuple[Any, ...]] = ()

    block: int = 32
    most: int = 15360
    least: int = 1024
    chunks: int = 14564
    window: int = 8
    unroll: int = 2
    join_block: int = 128
    blocked: bool = True
    teams: int = 1

    def share(self, weight: int) -> int:
        """What one chunk weighs: from the sizes alone, so that every device cuts alike."""
        return min(self.most, max(self.least, -(-weight // self.chunks)))

    @property
    def tile(self) -> int:
        """Elements that a team takes at once."""
        return 16 * self.block


TEAM_COLUMNS = 4
"""With up to so many numbers an element, teams for each of them; with more, walks that take them side by side."""


def team_box(mean: float, facts: Facts, near: bool = False) -> TeamBox:
    """The box for segments whose chunks are streamed by teams. mean: length of a segment. near: teams are warps, and
    gather elements that those of chunks side by side gather too.
    """
    if facts.kind == "cpu":
        return TeamBox(most=4096, join_block=32)
    if near:
        return TeamBox(most=12288, chunks=4096, window=3, unroll=1, blocked=False, teams=16)
    if mean < 6:
        return TeamBox(unroll=1) if mean < 2 else TeamBox()
    return TeamBox(unroll=1, window=4) if mean < 24 else TeamBox(window=2)


def marked_team_box() -> TeamBox:
    """The box for runs whose ends are marked: their chunks begin without a search, and 36 tiles were best."""
    return TeamBox(most=18432)


@dataclass(frozen=True)
class LanesBox(SegmentBox):
    """For segments in vectors. bytes: of one vector. widths: the batches of as many short segments as a vector has
    lanes go by their longest one. few: the share of a batch that may be longer. unroll: vectors at once of a longer
    segment. long: elements that the tile's accumulators take before they are widened. window: elements computed ahead
    where they are gathered.
    """

    widths: tuple[int, ...] = (4, 8, 16, 32)
    unroll: int = 4
    few: float = 0.5
    long: int = 1024
    window: int = 1024


def lanes_box() -> LanesBox:
    """The box for segments on a CPU, whose chunks are walked in vectors by one item each."""
    return LanesBox(1, 4096, 128, bytes=64)
