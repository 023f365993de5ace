"""Every cluster's columns side by side as one stretch of positions."""

from __future__ import annotations

import numpy as np

from clmapreduce.domain.blocks import Blocks
from clmapreduce.domain.integers import Integers
from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.domain.whole import whole_first


class Stretches:
    """Blocks with a stretch of positions for every cluster, and rows outside all clusters as clusters without columns.

    first, end: rows of each cluster. columns: how many it meets. begin, last: its first interval, and the end of them.
    intervals: (L, 2), as `PackedIntervals`; with a tile, `whole_first`.
    """

    def __init__(self, blocks: Blocks, narrow: bool, tile: int = 1) -> None:
        offsets, lists = (blocks.offsets, blocks.packed) if tile == 1 else whole_first(blocks, tile)
        gaps = np.stack([np.append(0, blocks.clusters[:, 1]), np.append(blocks.clusters[:, 0], blocks.rows)], 1)
        gaps = gaps[gaps[:, 0] < gaps[:, 1]]
        nothing = np.zeros(len(gaps), np.int64)
        self.first, self.end = np.concatenate([blocks.clusters, gaps]).T
        self.columns = np.concatenate([blocks.lengths, nothing])
        self.begin = np.concatenate([offsets[:-1], nothing])
        self.last = np.concatenate([offsets[1:], nothing])
        self.intervals = LaunchTable(lists.places, narrow)

    def interval_of(self, cluster: Integers, position: Integers) -> Integers:
        """The interval that has a position of a cluster, for (n,) of both; each position is one of the cluster's."""
        ends = self.intervals.values[:, 0]
        low, high = self.begin[cluster], self.last[cluster] - 1
        for _ in range(int((high - low).max(initial=0)).bit_length()):
            middle = (low + high) >> 1
            beyond = ends[middle] <= position
            low, high = np.where(beyond, middle + 1, low), np.where(beyond, high, middle)
        return low
