"""Blocks of pairs: rows in clusters, each with intervals of columns, cut into pieces of about equal work.

A piece is what one group computes: some rows of one cluster, and a stretch of the columns they meet, counted along the
cluster's intervals. Rows whose columns are cut leave accumulators that are merged in a second launch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from clmapreduce.domain.blocks import Blocks
from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.partition import Partition, PartitionLimits, whole_numbers
from clmapreduce.domain.stretches import Stretches

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.int64]]"

PIECE, INTERVAL, MERGE = 8, 2, 5
"""Numbers per piece: first row, end, its first interval, the stretch's begin and end, the place of its accumulators
(-1: none, the rows are done), columns of the cluster, rows of one vector. Per interval: the position where it ends, and
how much larger than positions its columns are. Per merge: first row, end, the place of the accumulators, how many per
row, columns of the cluster.
"""
FEW = 2
"""So many times the mean work of the groups is not cut."""


@dataclass(frozen=True, eq=False)
class Work:
    """Blocks after a cut. pieces: (n, PIECE), by falling work. intervals: (L, INTERVAL). merges: (m, MERGE). parts:
    accumulators left.
    """

    pieces: LaunchTable
    intervals: LaunchTable
    merges: LaunchTable
    parts: int


@dataclass(frozen=True, kw_only=True)
class BlockSparse(Pairwise):
    """The pairs of blocks, the same ones in every element of the batch."""

    scattered: ClassVar[bool] = True

    blocks: Blocks

    @property
    def pairs(self) -> float:
        """How many pairs there are."""
        stretches = self._stretches()
        return float((stretches.end - stretches.first).astype(float) @ stretches.columns) * self.batch

    @property
    def typical(self) -> tuple[float, float]:
        """Rows of the cluster, and columns that it meets, where a pair is found on average."""
        stretches = self._stretches()
        sizes, lengths = (stretches.end - stretches.first).astype(float), stretches.columns
        pairs = max(1.0, float(sizes @ lengths))
        return float(sizes**2 @ lengths) / pairs, float(sizes @ lengths.astype(float) ** 2) / pairs

    @property
    def interval(self) -> float:
        """Columns of an interval on average."""
        return float(self.blocks.lengths.sum()) / max(1, int(self.blocks.offsets[-1]))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers that say how large the problem is."""
        return (*super().sizes, *map(int, self.typical))

    def padded(self, aligned: int = 1) -> Callable[[int], float]:
        """The pairs that groups of so many rows walk, with the rows that groups of a cluster lack. aligned: as in
        PartitionLimits.
        """
        return partial(self._padded, aligned)

    def _padded(self, aligned: int, span: int) -> float:
        stretches = self._stretches()
        groups = -(-(stretches.end - stretches.first // aligned * aligned) // span)
        return float((groups * span).astype(float) @ stretches.columns.astype(float))

    def partition(self, limits: PartitionLimits, size: int = 1) -> Partition:
        """The groups: pieces of about equal work. size: numbers of every row that are results of their own."""
        work = self.work(limits)
        tables = {"pieces": work.pieces, "intervals": work.intervals}
        parts, merges = work.parts, work.merges
        if parts:
            scale = np.array([size, size, size, 1, 1])
            tables["merges"] = merges if size == 1 else LaunchTable(merges.values * scale, self.narrow)
        total = parts * size * self.batch
        behind = whole_numbers(self.rows, self.columns, len(work.pieces), parts, total)
        merging = whole_numbers(self.rows * size, len(merges), parts * size, total)
        splits = int(merges.values[:, 3].max(initial=1))
        why = f"blocks: {len(work.pieces)} pieces of at most {limits.rows} rows"
        if parts:
            why += f", some with a share of the columns of {len(merges)} stretches of rows"
        return Partition(
            "ranges", len(work.pieces), ("pieces", "intervals", *behind), splits, parts * size, total, why, tables,
            (len(merges) * self.batch, ("merges", *merging)),
        )  # fmt: skip

    def work(self, cut: PartitionLimits) -> Work:
        """The pieces of a cut."""
        cut = replace(cut, groups=max(1, cut.groups // self.batch))
        derived = self._cached
        if cut not in derived.works:
            derived.works[cut] = _work(self._stretches(cut.tile if cut.whole else 1), cut, self.narrow)
        return derived.works[cut]

    def _stretches(self, tile: int = 1) -> Stretches:
        stretches = self._cached.stretches
        if tile not in stretches:
            stretches[tile] = Stretches(self.blocks, self.narrow, tile)
        return stretches[tile]

    @property
    def _cached(self) -> _Derived:
        return _caches.setdefault(self.blocks, {}).setdefault(self.narrow, _Derived())


def sparse(domain: Pairwise, blocks: Blocks) -> BlockSparse:
    """The pairs of a dense domain that blocks leave."""
    return BlockSparse(domain.rows, domain.columns, domain.batch, domain.elements, blocks=blocks)


@dataclass(frozen=True, eq=False)
class _Derived:
    """What follows from some blocks, computed once. stretches: by their tile."""

    stretches: dict[int, Stretches] = field(default_factory=dict)
    works: dict[PartitionLimits, Work] = field(default_factory=dict)


_caches: WeakKeyDictionary[Blocks, dict[bool, _Derived]] = WeakKeyDictionary()
"""By whether indices are narrow."""


def _work(stretches: Stretches, cut: PartitionLimits, narrow: bool) -> Work:
    origin = stretches.first // cut.aligned * cut.aligned
    cluster, place = _numbered(-(-(stretches.end - origin) // cut.rows))
    begin = origin[cluster] + place * cut.rows
    first = np.maximum(begin, stretches.first[cluster])
    rows = np.minimum(begin + cut.rows, stretches.end[cluster]) - first
    columns = stretches.columns[cluster]
    wide = np.full(len(rows), cut.block)
    if cut.sharing:
        wide = np.minimum(wide, 1 << np.ceil(np.log2(rows)).astype(np.int64))
    cost = -(-rows // wide) * wide
    pieces = _pieces(columns, cost, rows, cut)
    share = -(-columns // (np.maximum(pieces, 1) * cut.tile)) * cut.tile
    pieces = np.maximum(1, -(-columns // np.maximum(share, 1)))
    owner, place = _numbered(pieces)
    begin = place * share[owner]
    end = np.minimum(begin + share[owner], columns[owner])
    interval = stretches.begin[cluster[owner]]
    later = place > 0
    interval[later] = stretches.interval_of(cluster[owner[later]], begin[later])
    leaves = pieces > (0 if cut.leaving else 1)
    parts = np.where(leaves, rows * pieces, 0)
    base = np.cumsum(parts) - parts
    slot = np.where(leaves[owner], base[owner] + place * rows[owner], -1)
    work = np.stack([first[owner], (first + rows)[owner], interval, begin, end, slot, columns[owner], wide[owner]], 1)
    order = np.argsort(-_octave((end - begin) * cost[owner]), kind="stable")
    split = np.flatnonzero(leaves)
    merges = np.stack([first[split], (first + rows)[split], base[split], pieces[split], columns[split]], 1)
    return Work(LaunchTable(work[order], narrow), stretches.intervals, LaunchTable(merges, narrow), int(parts.sum()))


def _pieces(columns: Numbers, cost: Numbers, rows: Numbers, cut: PartitionLimits) -> Numbers:
    """Into how many pieces the columns of each group's rows are cut."""
    if cut.backend == "1D":
        return np.ones_like(columns)
    work = columns * cost
    groups = max(cut.groups, int(np.count_nonzero(columns)))
    limit = max(1, -(-FEW * int(work.sum()) // groups))
    pieces = np.minimum(-(-work // limit), columns // cut.least)
    pieces = np.maximum(pieces, -(-columns // cut.most))
    if cut.backend == "2D":
        pieces = np.maximum(pieces, 2)
    most: Numbers = np.minimum(pieces, max(1, cut.parts // max(1, int(rows.sum()))))
    return most


def _numbered(counts: Numbers) -> tuple[Numbers, Numbers]:
    """(whose, which of them) for so many things each."""
    owner = np.repeat(np.arange(len(counts)), counts)
    return owner, np.arange(len(owner)) - np.repeat(np.cumsum(counts) - counts, counts)


def _octave(work: Numbers) -> np.ndarray[Any, np.dtype[np.int16]]:
    """Twice the logarithm of work to base 2, rounded down: neighbours of about the same work stay neighbours. NumPy
    sorts numbers of 16 bits by counting.
    """
    octaves: np.ndarray[Any, np.dtype[np.int16]] = np.floor(2 * np.log2(np.maximum(work, 1))).astype(np.int16)
    return octaves
