"""Every cluster's columns side by side as one stretch of positions."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from clmapreduce.domain.blocks import Blocks, Integers, Whole
from clmapreduce.domain.table import Table

STRIP = 1 << 15
"""Intervals looked at together: what is made of them stays in a core's cache."""


class Stretches:
    """Blocks with a stretch of positions for every cluster, and rows outside all clusters as clusters without columns.

    first, end: rows of each cluster. columns: how many it meets. begin, last: its first interval, and the end of them.
    intervals: (L, 2), for each the position where it ends, and how much larger than positions its columns are.
    """

    def __init__(self, blocks: Blocks, narrow: bool) -> None:
        gaps = np.stack([np.append(0, blocks.clusters[:, 1]), np.append(blocks.clusters[:, 0], blocks.rows)], 1)
        gaps = gaps[gaps[:, 0] < gaps[:, 1]]
        nothing = np.zeros(len(gaps), np.int64)
        lengths, intervals = _laid(blocks.intervals, blocks.offsets, np.int32 if narrow else np.int64)
        self.first, self.end = np.concatenate([blocks.clusters, gaps]).T
        self.columns = np.concatenate([lengths, nothing])
        self.begin = np.concatenate([blocks.offsets[:-1], nothing])
        self.last = np.concatenate([blocks.offsets[1:], nothing])
        self.intervals = Table(intervals, narrow)

    def interval_of(self, cluster: Integers, position: Integers) -> Integers:
        """The interval that has a position of a cluster, for (n,) of both; each position is one of the cluster's."""
        ends = self.intervals.values[:, 0]
        low, high = self.begin[cluster], self.last[cluster] - 1
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            beyond = ends[middle] <= position
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
        return low


def _laid(intervals: Whole, offsets: Integers, dtype: Any) -> tuple[Integers, Whole]:
    """(columns of each list, the intervals as positions and shifts)."""
    laid = np.empty(intervals.shape, dtype)
    columns = np.zeros(len(offsets) - 1, np.int64)
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    begins = np.append(offsets[filled], len(intervals))
    cuts = np.searchsorted(begins, np.arange(STRIP, len(intervals), STRIP))
    for a, b in pairwise(np.unique([0, *cuts, len(filled)]).tolist()):
        strip = slice(begins[a], begins[b])
        end, place = intervals[strip, 1], laid[strip, 0]
        steps = np.subtract(end, intervals[strip, 0], dtype=dtype)
        starts = begins[a:b] - begins[a]
        totals = np.add.reduceat(steps, starts, dtype=dtype)
        steps[starts[1:]] -= totals[:-1]  # every list counts from 0
        np.add.accumulate(steps, dtype=dtype, out=place)
        np.subtract(end, place, out=laid[strip, 1], casting="same_kind")
        columns[filled[a:b]] = totals
    return columns, laid
