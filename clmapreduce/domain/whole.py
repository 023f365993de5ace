"""Lists of intervals cut where tiles of all columns begin and end: whole tiles first, of which one copy serves every
list that has them, then what is left, which is put together as it lies.
"""

from __future__ import annotations

import numpy as np

from clmapreduce.domain.blocks import Blocks, from_counts, shortest
from clmapreduce.domain.integers import Integers
from clmapreduce.domain.packed_intervals import PackedIntervals, pack


def whole_first(blocks: Blocks, tile: int) -> tuple[Integers, PackedIntervals]:
    """(offsets, places) of lists as those of `blocks`, but that in every list the intervals come first that begin and
    end at multiples of `tile`, as long as they can be.
    """
    begin, end = blocks.intervals.T
    low, high = -(-begin // tile) * tile, end // tile * tile
    whole = (begin <= low) & (low < high)  # where integers end, what is rounded up may begin again
    low = np.where(whole, low, end)
    left, right = begin < low, whole & (high < end)
    wholes, others = from_counts(whole), from_counts(left.astype(np.int8) + right)
    offsets = wholes[blocks.offsets] + others[blocks.offsets]
    intervals = np.empty((offsets[-1], 2), blocks.intervals.dtype)
    behind = np.repeat(others[blocks.offsets[:-1]], blocks.counts)[whole]  # what is left of the lists before
    intervals[wholes[:-1][whole] + behind] = np.stack([low, high], 1)[whole]
    before = np.repeat(wholes[blocks.offsets[1:]], blocks.counts) + others[:-1]
    intervals[before[left]] = np.stack([begin, low], 1)[left]
    intervals[(before + left)[right]] = np.stack([high, end], 1)[right]
    return offsets, pack(intervals, offsets, shortest(blocks.columns))
