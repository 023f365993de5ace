"""Lists of intervals laid side by side as positions: for each interval the position where it ends, and how much larger
than positions its columns are. Kernels walk these; where intervals begin and end follows from them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from clmapreduce.domain.integers import Integers, Whole
from clmapreduce.domain.strips import shared

STRIP = 1 << 15
"""Intervals looked at together: what is made of them stays in a core's cache."""


@dataclass(frozen=True, eq=False)
class PackedIntervals:
    """places: (L, 2) int32 or int64, for each interval the position where it ends, counted from 0 in every list, and
    how much larger than positions its columns are.
    """

    places: Whole


def lay(intervals: Whole, offsets: Integers) -> None:
    """Makes (n, 2) first columns and ends the positions and shifts of `PackedIntervals`, in place.

    offsets (K + 1,): list k has the intervals offsets[k] to offsets[k + 1], and all of them are some list's.
    """
    starts = offsets[:-1][offsets[1:] > offsets[:-1]]
    if not len(starts):
        return
    begin, end = intervals.T
    steps = np.subtract(end, begin)
    totals = np.add.reduceat(steps, starts, dtype=steps.dtype)
    steps[starts[1:]] -= totals[:-1]  # every list counts from 0
    np.add.accumulate(steps, dtype=steps.dtype, out=steps)  # side by side: a fifth of the time of every other place
    np.subtract(end, steps, out=end)
    begin[...] = steps


def pack(intervals: Whole, offsets: Integers, dtype: Any) -> PackedIntervals:
    """Lists of intervals, offsets as for `lay`. Strip by strip, as many whole lists as fill one."""
    places = np.empty(intervals.shape, dtype)
    cuts = np.searchsorted(offsets, np.arange(STRIP, len(intervals), STRIP))
    strips = list(pairwise(np.unique([0, *cuts, len(offsets) - 1]).tolist()))

    def worker(mine: Sequence[tuple[int, int]]) -> None:
        for a, b in mine:
            within = slice(offsets[a], offsets[b])
            places[within] = intervals[within]
            lay(places[within], offsets[a : b + 1] - offsets[a])

    shared(strips, worker)
    return PackedIntervals(places)


def intervals_of(packed: PackedIntervals, offsets: Integers) -> Whole:
    """(L, 2) first columns and ends, of the dtype of `places`."""
    position, shift = packed.places.T
    intervals = np.empty_like(packed.places)
    np.add(position, shift, out=intervals[:, 1])
    np.add(position[:-1], shift[1:], out=intervals[1:, 0])
    first = offsets[:-1][offsets[1:] > offsets[:-1]]
    intervals[first, 0] = shift[first]
    return intervals


def lengths_of(packed: PackedIntervals, offsets: Integers) -> Integers:
    """(K,) columns of every list."""
    filled = np.flatnonzero(offsets[1:] > offsets[:-1])
    lengths = np.zeros(len(offsets) - 1, np.int64)
    lengths[filled] = packed.places[offsets[filled + 1] - 1, 0]
    return lengths
