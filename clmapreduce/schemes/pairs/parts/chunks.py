"""Some coordinates of a group's rows, or columns, in local memory, a line for each item. The group reads them as they
lie in memory: an item that reads a row of its own touches other stretches of memory than its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.plan import LocalArray

CENTRED_AT_ONCE = 8
"""Numbers that an item fetches at once where a centre is subtracted. An H200, a million rows of 200 numbers, ms: 0.92,
with 16 of them 1.29; without a centre 1.00, and 0.87.
"""
FEWEST_LINES = 32


@dataclass(frozen=True)
class Chunk:
    """kind: the C type of a number. lines: as many as a group has items. width: coordinates. at_once: numbers that an
    item fetches before it stores them.
    """

    kind: str
    lines: int
    at_once: int = 16
    width: ClassVar[int] = 16

    @property
    def array(self) -> LocalArray:
        """The array in local memory."""
        return LocalArray("numbers", self.kind, self.lines * self.pitch)

    @property
    def pitch(self) -> int:
        """Numbers from one line to the next: one more than it has, so that equal coordinates are in different banks."""
        return self.width + 1

    def turns(self, size: int) -> int:
        """How many chunks hold so many coordinates."""
        return -(-size // self.width)


def lines_that_fit(kind: str, lines: int, local_memory: int) -> int:
    """So many lines, a power of two, or fewer, that two groups have their chunks in local memory."""
    while lines > FEWEST_LINES and 2 * Chunk(kind, lines).array.nbytes > local_memory:
        lines //= 2
    return lines
