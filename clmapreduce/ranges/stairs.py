"""Bands and triangles: blocks whose columns move on with the rows."""

from __future__ import annotations

import numpy as np

from clmapreduce.domain.blocks import Blocks, from_counts


def staircase(rows: int, columns: int, below: int, above: int, block: int) -> Blocks:
    """The pairs with -below <= column - row <= above, for any row of a block of so many rows."""
    starts = np.arange(0, rows, block, dtype=np.int64)
    ends = np.minimum(starts + block, rows)
    first = np.maximum(starts - below, 0)
    end = np.minimum(ends + above, columns)
    filled = end > first
    clusters, intervals = np.stack([starts, ends], axis=1), np.stack([first, end], axis=1)
    offsets = from_counts(np.ones(int(filled.sum()), np.int64))
    return Blocks(clusters[filled], offsets, intervals[filled], rows, columns)
