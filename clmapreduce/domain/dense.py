"""All pairs of rows and columns, in every element of a batch."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.domain.partition import Partition, PartitionLimits, whole_numbers


@dataclass(frozen=True)
class Pairwise:
    """`rows` × `columns` pairs in each of `batch` independent problems. elements: of the largest array touched."""

    scattered: ClassVar[bool] = False
    """Whether a row meets some columns only, which may lie anywhere."""

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

    @property
    def typical(self) -> tuple[float, float]:
        """Rows that meet the same columns, and how many columns these are."""
        return math.inf, self.columns

    @property
    def interval(self) -> float:
        """Columns that lie side by side."""
        return math.inf

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers that say how large the problem is."""
        return self.rows, self.columns, self.batch

    def padded(self, aligned: int = 1) -> Callable[[int], float] | None:
        """The pairs that groups of so many rows walk, where rows come in clusters; None where they do not. aligned: as
        in PartitionLimits.
        """
        return None

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

    def partition(self, limits: PartitionLimits, size: int = 1) -> Partition:
        """The groups: blocks of rows, and shares of the columns where rows alone are too few. size: numbers of every
        row that are results of their own.
        """
        blocks = -(-self.rows // limits.rows)
        return self.shared(blocks, self._splits(blocks, limits), limits.tile, size)

    def shared(self, blocks: int, splits: int, tile: int, size: int = 1) -> Partition:
        """The groups of `blocks` blocks of rows, and of `splits` shares of the columns at most, multiples of `tile`."""
        splits, share = self.cut(splits, tile)
        parts = splits * self.rows * size if splits > 1 else 0
        total = splits * self.rows * self.batch
        behind = whole_numbers(self.rows, self.columns, share, blocks, splits, total)
        why = f"split (2D): {splits} shares of {share} columns"
        if splits == 1:
            why = f"rows (1D): {blocks * self.batch} groups"
        return Partition("dense", blocks * splits, behind, splits, parts, total, why)

    def _splits(self, blocks: int, limits: PartitionLimits) -> int:
        """Into how many shares the columns are cut at most."""
        if limits.backend == "1D":
            return 1
        splits = -(-limits.groups // (blocks * self.batch))
        splits = min(splits, self.columns // limits.least)
        splits = max(splits, -(-self.columns // limits.most), 2 if limits.backend == "2D" else 1)
        return min(splits, limits.parts // self.rows)
