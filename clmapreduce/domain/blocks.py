"""Blocks of pairs: clusters of rows, each with the intervals of columns that it is reduced over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from clmapreduce.domain.integers import Integers, Whole
from clmapreduce.domain.packed_intervals import PackedIntervals, intervals_of, lengths_of, pack


@dataclass(frozen=True, eq=False)
class Blocks:
    """For clusters of result rows, the intervals of columns that each is reduced over.

    clusters: (K, 2) int64, first row and end of each cluster: sorted, disjoint, none empty. Rows outside all of them
    have no columns, like those of a cluster without intervals.
    offsets: (K + 1,) int64: cluster k has the intervals offsets[k] to offsets[k + 1].
    lists: the intervals, (L, 2) int32 or int64, first column and end, or packed. They are sorted within a cluster,
    disjoint and not empty; intervals that touch or overlap are joined. So every pair counts once. `intervals` and
    `packed` give the two forms.
    rows, columns: the numbers of all rows and columns, covered or not.

    Nothing is checked here: the code that makes a Blocks has checked it. Equal only to itself, so that plans can be
    cached per object.
    """

    clusters: Integers
    offsets: Integers
    lists: Whole | PackedIntervals
    rows: int
    columns: int

    @cached_property
    def intervals(self) -> Whole:
        """(L, 2) first column and end of every interval."""
        return intervals_of(self.lists, self.offsets) if isinstance(self.lists, PackedIntervals) else self.lists

    @cached_property
    def packed(self) -> PackedIntervals:
        """The intervals as positions and shifts."""
        if isinstance(self.lists, PackedIntervals):
            return self.lists
        return pack(self.lists, self.offsets, shortest(self.columns))

    def part(self, first: int, end: int) -> Blocks:
        """The blocks of some rows, from `first` to before `end`, which count from 0 then."""
        begin = int(np.searchsorted(self.clusters[:, 1], first, "right"))
        stop = int(np.searchsorted(self.clusters[:, 0], end))
        clusters = np.clip(self.clusters[begin:stop] - first, 0, end - first)
        offsets = self.offsets[begin : stop + 1]
        lists = self.intervals[offsets[0] : offsets[-1]]
        return Blocks(clusters, offsets - offsets[0], lists, end - first, self.columns)

    @cached_property
    def sizes(self) -> Integers:
        """(K,) rows of every cluster."""
        return self.clusters[:, 1] - self.clusters[:, 0]

    @cached_property
    def counts(self) -> Integers:
        """(K,) intervals of every cluster."""
        return np.diff(self.offsets)

    @cached_property
    def lengths(self) -> Integers:
        """(K,) columns that every row of a cluster meets."""
        return lengths_of(self.packed, self.offsets)

    @cached_property
    def pairs(self) -> int:
        """How many pairs are active."""
        return int(self.sizes @ self.lengths)

    @property
    def density(self) -> float:
        """The share of all pairs that is active; 0 where there are none at all."""
        return self.pairs / (self.rows * self.columns) if self.rows and self.columns else 0.0

    @cached_property
    def covered(self) -> int:
        """How many rows meet any column."""
        return int(self.sizes[self.lengths > 0].sum())

    @cached_property
    def longest(self) -> int:
        """The most columns that a row meets."""
        return int(self.lengths.max(initial=0))

    @property
    def balance(self) -> float:
        """Columns per row on average, over the most: 1 where all rows have the same work; 1 where there is none."""
        return self.pairs / (self.rows * self.longest) if self.pairs else 1.0


def blocks(clusters: Integers, offsets: Integers, intervals: Integers, rows: int, columns: int) -> Blocks:
    """Blocks of lists in any order: empty clusters and intervals are left out, intervals that touch or overlap joined.

    clusters (K, 2): sorted and disjoint. offsets (K + 1,), intervals (L, 2): cluster k has the intervals offsets[k] to
    offsets[k + 1], each within 0 to columns, none reversed.
    """
    offsets, intervals = joined(offsets, intervals, columns)
    filled = clusters[:, 1] > clusters[:, 0]
    if not filled.all():
        counts = np.diff(offsets)
        intervals = intervals[np.repeat(filled, counts)]
        clusters, offsets = clusters[filled], from_counts(counts[filled])
    return Blocks(clusters, offsets, intervals, rows, columns)


def joined(offsets: Integers, intervals: Integers, columns: int) -> tuple[Integers, Integers]:
    """(offsets, intervals) with those of a list sorted, joined where they touch or overlap, and empty ones left out."""
    full = intervals[:, 1] > intervals[:, 0]
    if not full.all():
        offsets, intervals = from_counts(full)[offsets], intervals[full]
    lists = len(offsets) - 1
    if lists * (columns + 1) >= 2**63:
        raise OverflowError(f"{lists} lists of intervals among {columns} columns")
    # All lists on one line, list k from k * (columns + 1) on: then no two of different lists touch.
    shift = np.repeat(np.arange(lists, dtype=np.int64) * (columns + 1), np.diff(offsets))
    starts = intervals[:, 0] + shift
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, intervals = starts[order], intervals[order]
    ends = intervals[:, 1] + shift
    if (ends[1:] < ends[:-1]).any():
        ends = np.maximum.accumulate(ends)
    fresh = np.ones(len(starts), bool)
    np.greater(starts[1:], ends[:-1], out=fresh[1:])
    if fresh.all():
        return offsets, intervals
    first = np.flatnonzero(fresh)
    last = np.append(first[1:], len(starts)) - 1
    return np.searchsorted(first, offsets), np.stack([intervals[first, 0], ends[last] - shift[last]], axis=1)


def shortest(largest: int) -> type[np.signedinteger[Any]]:
    """The integers that hold numbers up to this one."""
    return np.int32 if largest < 2**31 else np.int64


def from_counts(counts: Any) -> Integers:
    """Offsets of lists with so many entries each: (n,) integers or booleans."""
    offsets = np.zeros(len(counts) + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    return offsets
