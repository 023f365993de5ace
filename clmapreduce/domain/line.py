"""A line of indices 0 … length−1, cut into equal shares of whole tiles."""

from __future__ import annotations

from dataclasses import dataclass

NARROW_LIMIT = 2**31 - 2**20
"""Lines shorter than this use int indices; the slack holds a tile, so that `begin + tile` cannot overflow either."""


@dataclass(frozen=True)
class Line:
    """The indices 0 … length−1. reach: how many elements the arrays have whose places kernels compute, if more."""

    length: int
    reach: int = 0

    @property
    def narrow(self) -> bool:
        """Whether every index, and every index one tile further, fits an int."""
        return max(self.length, self.reach) < NARROW_LIMIT

    def shares(self, groups: int, tile: int) -> tuple[int, int]:
        """(group count, share): at most `groups` groups with the same share, a multiple of `tile`, that together cover
        the line.
        """
        tiles = max(1, -(-self.length // tile))
        share = -(-tiles // max(1, groups)) * tile
        return max(1, -(-self.length // share)), share


@dataclass(frozen=True)
class Lines:
    """Lines of the same length, one behind the other in memory."""

    count: int
    length: int
