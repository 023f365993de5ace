"""Some coordinates of a group's rows, or columns, in local memory, a line for each item. The group reads them as they
lie in memory: an item that reads a row of its own touches other stretches of memory than its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.plan import LocalArray


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
        """The array in local memory. A line has one number more: equal coordinates are in different banks."""
        return LocalArray("numbers", self.kind, self.lines * (self.width + 1))

    def at(self, line: str, k: str) -> str:
        """C text of where number k of a line lies."""
        return f"({line}) * {self.width + 1} + {k}"

    def own(self, k: str) -> str:
        """C text of number k of the item's own line."""
        return f"numbers[{self.at('(int)get_local_id(0)', k)}]"

    def turns(self, size: int) -> int:
        """How many chunks hold so many coordinates."""
        return -(-size // self.width)
