"""Lists of intervals cut where tiles of all columns begin and end: whole tiles first, of which one copy serves every
list that has them, then what is left, which is put together as it lies.
"""

from __future__ import annotations

import numpy as np

from clmapreduce.domain.blocks import Blocks, Integers, from_counts, shortest
from clmapreduce.domain.laid import Laid, laid


def whole_first(blocks: Blocks, tile: int) -> tuple[Integers, Laid]:
    """(offsets, places) of lists as those of `blocks`, but that in every list the intervals come first that begin and
    end at multiples of `tile`, as long as they can be.
    """
    begin, end = blocks.intervals.T.astype(np.int64)
    owner = np.repeat(np.arange(len(blocks.counts)), blocks.counts)
    low, high = -(-begin // tile) * tile, end // tile * tile
    some = low < high
    low, high = np.where(some, low, end), np.where(some, high, end)
    parts = [(low, high, 0), (begin, low, 1), (high, end, 1)]
    filled = [a < b for a, b, _ in parts]
    intervals = np.concatenate([np.stack([a, b], 1)[f] for (a, b, _), f in zip(parts, filled, strict=True)])
    order = np.concatenate([2 * owner[f] + kind for (_, _, kind), f in zip(parts, filled, strict=True)])
    offsets = from_counts(np.bincount(order // 2, minlength=len(blocks.counts)))
    return offsets, laid(intervals[np.argsort(order, kind="stable")], offsets, shortest(blocks.columns))
