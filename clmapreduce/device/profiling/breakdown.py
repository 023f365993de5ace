"""The work of one device while a block of code ran, as numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import hostsched
from clmapreduce.device.profiling.intervals import gaps, length, union
from hostsched.kernels.build_record import DRIVERS

PARTS = ("compiling", "planning", "kernels", "copies", "the rest")
"""What the time of a block is divided into. Copies beside kernels count as kernels, builds and plans beside either as
kernels or copies, plans beside builds as compiling.
"""


@dataclass(frozen=True)
class Total:
    """Everything by one name: how many, and the seconds that they took one by one."""

    name: str
    count: int
    seconds: float


@dataclass(frozen=True)
class Breakdown:
    """device: its name. wall: seconds of the block, by the host's clock. commands: those that ran, in nanoseconds of
    the device's clock. builds: of kernels. planned: seconds of planning, builds included.
    """

    device: str
    wall: float
    commands: Sequence[hostsched.Record]
    builds: Sequence[hostsched.BuildRecord]
    planned: float

    @cached_property
    def parts(self) -> dict[str, float]:
        """Seconds by PARTS; together the wall time. The rest is Python, the driver, and waiting for other work."""
        kernels = 1e-9 * length(union((c.started, c.ended) for c in self.launches))
        busy = 1e-9 * length(union((c.started, c.ended) for c in self.commands))
        compiling = 1e-9 * length(union(map(_nanoseconds, self.builds)))
        seconds = {"kernels": kernels, "copies": busy - kernels, "compiling": compiling}
        seconds["planning"] = max(self.planned - compiling, 0.0)
        left = self.wall
        for part, most in seconds.items():
            seconds[part] = min(most, left)
            left -= seconds[part]
        return {part: seconds.get(part, left) for part in PARTS}

    @property
    def launches(self) -> list[hostsched.Record]:
        """Commands that are kernels."""
        return [c for c in self.commands if c.nbytes is None and c.label != "marker"]

    @property
    def copies(self) -> list[hostsched.Record]:
        """Commands that move bytes: reads, writes, copies, fills."""
        return [c for c in self.commands if c.nbytes is not None and c.label != "map"]

    @property
    def maps(self) -> int:
        """How often a device that works in host memory gave an array back: no bytes are moved."""
        return sum(c.label == "map" for c in self.commands)

    @property
    def compiles_late(self) -> bool:
        """Whether kernels are new to a driver that compiles them when they are first launched."""
        return any(build.origin == DRIVERS for build in self.builds)

    @property
    def nbytes(self) -> int:
        """Bytes that copies moved."""
        return sum(c.nbytes or 0 for c in self.copies)

    @property
    def bytes_per_second(self) -> float:
        """Of copies, while any was under way; 0 where there were none."""
        nanoseconds = length(union((c.started, c.ended) for c in self.copies))
        return 1e9 * self.nbytes / nanoseconds if nanoseconds else 0.0

    @property
    def gaps(self) -> list[float]:
        """Seconds between commands in which the device had nothing to do, longest first."""
        busy = union((c.started, c.ended) for c in self.commands)
        return sorted((1e-9 * (end - begin) for begin, end in gaps(busy)), reverse=True)

    @property
    def by_kernel(self) -> list[Total]:
        """Launches by kernel, those that took longest first."""
        return _totals((c.label, 1e-9 * (c.ended - c.started)) for c in self.launches)

    @property
    def by_origin(self) -> list[Total]:
        """Builds by where they came from."""
        return _totals((build.origin, build.seconds) for build in self.builds)


def _nanoseconds(build: hostsched.BuildRecord) -> tuple[int, int]:
    """When a build began and ended. Kernels are built side by side."""
    return round(1e9 * build.began), round(1e9 * (build.began + build.seconds))


def _totals(pairs: Iterable[tuple[str, float]]) -> list[Total]:
    by_name: dict[str, list[float]] = defaultdict(list)
    for name, seconds in pairs:
        by_name[name].append(seconds)
    totals = (Total(name, len(all_), sum(all_)) for name, all_ in by_name.items())
    return sorted(totals, key=lambda total: total.seconds, reverse=True)
