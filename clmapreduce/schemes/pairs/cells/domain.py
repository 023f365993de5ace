"""Rows in the order of their cells, and for every cell a list of the columns that it meets: kernels find both out, so
that the host knows no more than how many groups there may be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition, PartitionLimits, whole_numbers

PLACES, PIECE = "cell_places", 8
"""The array that earlier launches fill: so many numbers per group, then the rows in the order of their cells, then the
columns of every cell.
"""


@dataclass(frozen=True, kw_only=True)
class CellDomain(Pairwise):
    """The pairs of cells. cells: how many there are at most. span: rows of a group. share: of all columns that a row is
    expected to meet.
    """

    scattered: ClassVar[bool] = True

    cells: int
    span: int
    share: float

    @property
    def typical(self) -> tuple[float, float]:
        """Rows of a cell, and columns that it meets."""
        return self.rows / self.cells, self.columns * self.share

    @property
    def groups(self) -> int:
        """Groups at most: the last one of a cell may lack rows."""
        return -(-self.rows // self.span) + self.cells

    def partition(self, limits: PartitionLimits, size: int = 1) -> Partition:
        """The groups. Raises ValueError where they have another number of rows than the cells were cut into."""
        if limits.rows != self.span:
            raise ValueError(f"cells are cut into {self.span} rows a group, not {limits.rows}")
        behind = (PLACES, *whole_numbers(self.rows, self.columns))
        why = f"cells: at most {self.groups} pieces of {self.span} rows"
        return Partition("cells", self.groups, behind, 1, 0, self.rows, why, launched=(PLACES,))
