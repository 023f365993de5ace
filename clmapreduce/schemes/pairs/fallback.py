"""Groups of a scheme that leave too few digits, and the launches by which another scheme computes them."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.partition import Partition
from clmapreduce.plan import Stage
from clmapreduce.schemes.pairs.boxes import TileBox


@dataclass(frozen=True)
class Unfinished:
    """A launch that leaves some groups undone. partition: how it was cut, in groups of as many rows as these have.
    across: its groups side by side along the numbers of a row. flags: its array of who is. of_rows: whether that has a
    number for every row, not for every group.
    """

    partition: Partition
    across: int
    flags: str
    of_rows: bool = False


@dataclass(frozen=True)
class Launches:
    """Launches in order, and the bytes of scratch they need by name."""

    stages: list[Stage]
    scratch: dict[str, int]


@dataclass(frozen=True)
class FallbackLaunches(Launches):
    """Launches that compute what another scheme has left undone; it leaves no accumulators of its own. rows: of a
    group. A launch that merges what is split is not among them.
    """

    partition: Partition
    rows: int
    box: TileBox
