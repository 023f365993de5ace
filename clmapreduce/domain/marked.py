"""A line of elements whose runs' ends are marked by bits, cut into chunks of equally many elements."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import NARROW_LIMIT

TILE = 512
"""Elements that a team takes at once; chunks are whole tiles."""


@dataclass(frozen=True)
class Marked:
    """`length` elements, 1 at least, `share` of them to a chunk, a multiple of TILE. No run is empty, so that equally
    many elements are about equal work.
    """

    length: int
    share: int

    @property
    def narrow(self) -> bool:
        """Whether every index fits an int, one tile further as well."""
        return self.length < NARROW_LIMIT

    @property
    def chunks(self) -> int:
        return -(-self.length // self.share)

    @property
    def words(self) -> int:
        """Words of 32 marks, those of whole tiles."""
        return -(-self.length // TILE) * (TILE // 32)


def marked(length: int, share: int) -> Marked:
    """The line, cut into chunks of about `share` elements. From the sizes alone, so that every device cuts alike."""
    return Marked(length, -(-share // TILE) * TILE)
