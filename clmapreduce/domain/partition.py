"""How a domain of pairs is cut into groups: within which limits, and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from clmapreduce.domain.launch_table import LaunchTable

Numbers: TypeAlias = "tuple[str | tuple[str, int], ...]"
"""Arguments of a kernel: names of arrays, and whole numbers with their type."""


@dataclass(frozen=True)
class PartitionLimits:
    """How a domain is cut. block: rows of one vector of all items. vectors: of rows per group at most. tile: stretches
    of columns are multiples of it. least, most: columns per stretch. groups: at least so many are welcome. parts:
    accumulators that may be left at most. backend: "1D" cuts no columns, "2D" all that may be.

    The others are about blocks of pairs. sharing: whether items may share rows and walk columns of their own, where a
    cluster has less than half as many as there are items. whole: whether columns that lie as tiles of all columns come
    first. aligned: what rows of groups are a multiple of, and begin at multiples of, but a cluster's first ones.
    leaving: whether rows leave accumulators even where their columns are not cut.
    """

    block: int
    vectors: int
    tile: int
    least: int
    most: int
    groups: int
    parts: int
    backend: str = "auto"
    sharing: bool = False
    whole: bool = False
    aligned: int = 1
    leaving: bool = False

    @property
    def rows(self) -> int:
        """Rows per group at most."""
        return self.block * self.vectors


@dataclass(frozen=True)
class Partition:
    """Groups and their arguments. word: the domain's vocabulary in cl_templates/domain. groups: of one element of the
    batch. behind: arguments behind the kernel's arrays. splits: accumulators per row at most. parts: accumulators that
    a second launch merges, 0 where no columns are split. total: accumulators of the whole batch, where every row leaves
    some. merged: that launch's groups and arguments where they follow from a table. why: for `explain`. launched:
    arrays of the groups that earlier launches fill.
    """

    word: str
    groups: int
    behind: Numbers
    splits: int
    parts: int
    total: int
    why: str
    tables: Mapping[str, LaunchTable] = field(default_factory=dict)
    merged: tuple[int, Numbers] | None = None
    launched: tuple[str, ...] = ()

    @property
    def partial(self) -> bool:
        """Whether some rows are not finished by this launch."""
        return self.parts > 0

    @property
    def read(self) -> tuple[str, ...]:
        """What the first launch reads of the tables, and of what was launched before."""
        return (*(name for name in self.tables if name != "merges"), *self.launched)

    @property
    def merge_tables(self) -> tuple[str, ...]:
        """What the second launch reads of the tables."""
        return ("merges",) if self.merged is not None else ()

    @property
    def always_partial(self) -> bool:
        """Whether none is."""
        return self.partial and self.merged is None

    def merge_launch(self, rows: int, columns: int, share: int) -> tuple[int, Numbers]:
        """Groups and arguments of the launch that merges accumulators, `share` rows a group where all rows have as
        many. rows: of the whole batch.
        """
        return self.merged or (-(-rows // share), whole_numbers(rows, columns, self.splits, share))

    def rows_launch(self, rows: int, columns: int, batch: int, block: int) -> tuple[int, Numbers]:
        """Groups and arguments of a launch whose items take a row each of what another one has left. rows, columns: of
        one element of the batch. block: rows of a group; of blocks as many as pieces have.
        """
        if self.merged is not None:
            return self.merged
        blocks = -(-rows // block)
        return blocks * batch, whole_numbers(rows, columns, blocks, self.splits, self.total)


def whole_numbers(*numbers: int) -> Numbers:
    """Them as arguments of a kernel, of the type that indices have."""
    return tuple(("idx", number) for number in numbers)
