"""All pairs of rows and columns, in every element of a batch."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import NARROW_LIMIT


@dataclass(frozen=True)
class Pairwise:
    """`rows` × `columns` pairs in each of `batch` independent problems. elements: of the largest array touched."""

    rows: int
    columns: int
    batch: int = 1
    elements: int = 0

    @property
    def pairs(self) -> float:
        """How many pairs there are."""
        return float(self.rows) * self.columns * self.batch

    @property
    def narrow(self) -> bool:
        """Whether every index fits an int, one tile further as well."""
        return max(self.elements, self.rows * self.batch, self.columns) < NARROW_LIMIT

    def parts(self, size: int = 1) -> int:
        """How many accumulators of `size` numbers there may be for one element of the batch: they are counted by
        indices too.
        """
        return (NARROW_LIMIT - 1 if self.narrow else 1 << 60) // (self.batch * size)

    def cut(self, splits: int, tile: int) -> tuple[int, int]:
        """(splits, columns per split): at most `splits` shares, each a multiple of `tile`, that cover the columns."""
        tiles = max(1, -(-self.columns // tile))
        share = -(-tiles // max(1, splits)) * tile
        return max(1, -(-self.columns // share)), share
