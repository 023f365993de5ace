"""How a domain of pairs is spread over groups: blocks of rows and shares of columns where it is dense, else pieces of
blocks, of about equal work.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.sparse import BlockSparse, PartitionLimits
from clmapreduce.plan import Arguments, Size


@dataclass(frozen=True)
class Partition:
    """Groups and what they are told. word: the domain's vocabulary in cl_templates/domain. groups: of one element of
    the batch. behind: arguments behind the kernel's arrays. splits: accumulators per row at most. parts: accumulators
    that a second launch merges, 0 where no columns are split. total: accumulators of the whole batch, where every row
    leaves some. merged: that launch's groups and arguments where they follow from a table. why: for `explain`.
    """

    word: str
    groups: int
    behind: Arguments
    splits: int
    parts: int
    total: int
    why: str
    tables: Mapping[str, LaunchTable] = field(default_factory=dict)
    merged: tuple[int, Arguments] | None = None

    @property
    def partial(self) -> bool:
        """Whether some rows are not finished by this launch."""
        return self.parts > 0

    @property
    def read(self) -> tuple[str, ...]:
        """What the first launch reads of the tables."""
        return tuple(name for name in self.tables if name != "merges")

    @property
    def merge_tables(self) -> tuple[str, ...]:
        """What the second launch reads of the tables."""
        return ("merges",) if self.merged is not None else ()

    @property
    def always_partial(self) -> bool:
        """Whether none is."""
        return self.partial and self.merged is None


@dataclass(frozen=True)
class Unfinished:
    """A launch of another scheme that leaves some groups undone. spread: how it was cut, in groups of as many rows as
    these have. across: its groups side by side along the numbers of a row. flags: its array of who is. of_rows: whether
    that has a number for every row, not for every group.
    """

    spread: Partition
    across: int
    flags: str
    of_rows: bool = False


def spread_dense(domain: Pairwise, blocks: int, splits: int, share: int, units: int) -> Partition:
    """All pairs, in `blocks` blocks of rows and `splits` shares of columns."""
    parts = splits * domain.rows if splits > 1 else 0
    total = splits * domain.rows * domain.batch
    sizes = (domain.rows, domain.columns, share, blocks, splits, total)
    why = f"split (2D): {splits} shares of {share} columns"
    if splits == 1:
        why = f"rows (1D): {blocks * domain.batch} groups fill {units} compute units"
    return Partition("dense", blocks * splits, _numbers(sizes), splits, parts, total, why)


def dense_merge(rows: int, columns: int, splits: int, share: int) -> Arguments:
    """What the second launch of a dense domain is told: `share` rows a group."""
    return _numbers((rows, columns, splits, share))


def rows_launch(spread: Partition, domain: Pairwise, block: int) -> tuple[int, Arguments]:
    """Groups and arguments of a launch whose items take a row each of what another one has left. block: rows of a
    group; of blocks as many as pieces have.
    """
    if spread.merged is not None:
        return spread.merged
    blocks = -(-domain.rows // block)
    return blocks * domain.batch, _numbers((domain.rows, domain.columns, blocks, spread.splits, spread.total))


def spread_blocks(domain: BlockSparse, cut: PartitionLimits, size: int = 1) -> Partition:
    """The pieces of blocks. size: numbers of every row that are results of their own."""
    work = domain.work(cut)
    tables = {"pieces": work.pieces, "intervals": work.intervals}
    parts, merges, rows = work.parts, work.merges, domain.rows
    if parts:
        scale = np.array([size, size, size, 1, 1])
        tables["merges"] = merges if size == 1 else LaunchTable(merges.values * scale, domain.narrow)
    total = parts * size * domain.batch
    sizes = (rows, domain.columns, len(work.pieces), parts, total)
    behind: Arguments = ("pieces", "intervals", *_numbers(sizes))
    numbers = (rows * size, len(merges), parts * size, total)
    merging: Arguments = ("merges", *_numbers(numbers))
    merged = (len(merges) * domain.batch, merging)
    splits = int(merges.values[:, 3].max(initial=1))
    why = f"blocks: {len(work.pieces)} pieces of at most {cut.rows} rows"
    if parts:
        why += f", some with a share of the columns of {len(merges)} stretches of rows"
    return Partition("ranges", len(work.pieces), behind, splits, parts * size, total, why, tables, merged)


def _numbers(sizes: tuple[int, ...]) -> tuple[Size, ...]:
    return tuple(("idx", size) for size in sizes)
