"""Runs of True in the rows of a matrix, as intervals of what its columns stand for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from clmapreduce.domain.blocks import shortest
from clmapreduce.domain.integers import Integers, Whole
from clmapreduce.domain.packed_intervals import PackedIntervals, lay
from clmapreduce.domain.strips import shared

Booleans: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"

STRIP = 1 << 19
"""Cells looked at together. With fewer, threads wait for each other between NumPy's loops; with more, for memory."""
SEARCHED = 0.04
"""NumPy searches for the next True where at most a tenth is, else it looks at every place alike, which takes as long
for any share: less than the search where more than this share is True.
"""
KEPT = 1 / 8
"""Strips with fewer changes are done where they are counted, and copied; it is faster to find more of them again."""


def runs_of_matrix(matrix: Booleans, columns: Integers | None = None) -> tuple[Integers, PackedIntervals]:
    """(offsets, intervals): row i is True in intervals offsets[i] to offsets[i + 1], and nowhere else.

    matrix (rows, cells). columns (cells, 2): the interval that each cell stands for, in order, disjoint, none empty;
    itself by default. Cells side by side make a run where their intervals touch. Places are int32 where that holds
    them. Strips are counted first, so that each knows where its intervals go.
    """
    rows, cells = matrix.shape
    if not rows or not cells:
        return np.zeros(rows + 1, np.int64), PackedIntervals(np.zeros((0, 2), np.int32))
    bounds, cell_of = _bounds(cells, columns)
    high = max(1, min(rows, STRIP // len(bounds)))
    tops, where = range(0, rows, high), np.tile(bounds, high)
    counts, offsets = np.zeros(len(tops) + 1, np.int64), np.zeros(rows + 1, np.int64)
    strips: dict[int, Whole] = {}

    def write(at: Integers, top: int, strip: Whole) -> None:
        where.take(at, mode="wrap", out=strip.reshape(-1))
        ends = np.searchsorted(at, len(bounds) * np.arange(min(high, rows - top) + 1)) // 2
        offsets[top + 1 : top + high + 1] = ends[1:]
        lay(strip, ends)

    def count(mine: Sequence[int]) -> None:
        changes = _Changes(matrix, cell_of, high)
        for top in mine:
            edges = changes.edges(top)
            counts[top // high + 1] = edges_here = int(np.count_nonzero(edges))
            if edges_here < KEPT * edges.size:
                strips[top] = np.empty((edges_here // 2, 2), bounds.dtype)
                write(changes.places(edges, edges_here), top, strips[top])

    shared(tops, count)
    before = np.cumsum(counts) // 2
    places = np.empty((before[-1], 2), bounds.dtype)

    def gather(mine: Sequence[int]) -> None:
        changes = _Changes(matrix, cell_of, high)
        for top in mine:
            first, end = before[top // high : top // high + 2]
            if top in strips:
                places[first:end] = strips.pop(top)
            else:
                write(changes.places(changes.edges(top), 2 * int(end - first)), top, places[first:end])
            offsets[top + 1 : top + high + 1] += first

    shared(tops, gather)
    return offsets, PackedIntervals(places)


class _Changes:
    """Where rows change, strip by strip: runs begin and end in turn. One for each thread."""

    def __init__(self, matrix: Booleans, cell_of: Whole, high: int) -> None:
        cells, width = matrix.shape[1], len(cell_of) + 1
        self.matrix, self.cell_of, self.high, self.width = matrix, cell_of, high, width
        self.flags = np.ones(high * width + high * width // 9 + 2, bool)  # a strip's, and what is True behind it
        self.spaced = np.zeros((high, cells + 1), bool)  # with a cell behind that is False, as gaps are

    def edges(self, top: int) -> Booleans:
        """(rows of the strip, width) whether a row changes before each cell, and behind the last."""
        strip = self.matrix[top : top + self.high]
        if self.width > strip.shape[1] + 1:
            self.spaced[: len(strip), :-1] = strip
            strip = self.spaced[: len(strip)].take(self.cell_of, axis=1)
        edges = self.flags[: len(strip) * self.width].reshape(-1, self.width)
        edges[:, 0], edges[:, -1] = strip[:, 0], strip[:, -1]
        np.not_equal(strip[:, 1:], strip[:, :-1], out=edges[:, 1:-1])
        return edges

    def places(self, edges: Booleans, count: int) -> Integers:
        """Where the `count` changes of the strip last asked for are, row after row."""
        looked = edges.size
        if count > SEARCHED * looked:
            looked += max(0, (looked - 10 * count) // 9 + 2)  # so that more than a tenth is True
        return np.flatnonzero(self.flags[:looked])[:count]


def _bounds(cells: int, columns: Integers | None) -> tuple[Whole, Whole]:
    """(where intervals begin and end, those that touch once; for what lies between two of them, the cell that stands
    for it, `cells` for none).
    """
    if columns is None:
        return np.arange(cells + 1, dtype=shortest(cells)), np.arange(cells)
    differs = np.ones((cells, 2), bool)
    np.not_equal(columns[1:, 0], columns[:-1, 1], out=differs[:-1, 1])
    bounds = columns[differs].astype(shortest(int(columns[-1, 1])))
    cell_of = np.stack([np.arange(cells), np.full(cells, cells)], axis=1)[differs]
    return bounds, cell_of[:-1]


def runs_of_places(offsets: Whole, places: Whole, columns: Integers | None = None) -> tuple[Integers, Whole]:
    """As `runs_of_matrix`, where row i is True in the cells places[offsets[i]:offsets[i + 1]], which rise.

    Intervals are (L, 2) first columns and ends.
    """
    if columns is None:
        begin = places.astype(shortest(int(places.max(initial=0)) + 1), copy=False)
        end = begin + 1
    else:
        dtype = shortest(int(columns[-1:, 1].max(initial=0)))
        begin, end = (columns[:, side].astype(dtype).take(places) for side in (0, 1))
    fresh = np.ones(len(places) + 1, bool)
    np.not_equal(begin[1:], end[:-1], out=fresh[1:-1])
    fresh[offsets] = True
    at = np.flatnonzero(fresh)
    return np.searchsorted(at, offsets), np.stack([begin[at[:-1]], end[at[1:] - 1]], axis=1)
