"""Runs of True in the rows of a matrix, as intervals of what its columns stand for."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from clmapreduce.domain.blocks import Integers, Whole, shortest

Booleans: TypeAlias = "np.ndarray[Any, np.dtype[np.bool_]]"

STRIP = 1 << 18
"""Cells looked at together: what is made of them stays in a core's cache."""
SEARCHED = 0.04
"""NumPy searches for the next True where at most a tenth is, else it looks at every place alike, which takes as long
for any share: less than the search where more than this share is True.
"""


def runs_of_matrix(matrix: Booleans, columns: Integers | None = None) -> tuple[Integers, Whole]:
    """(offsets, intervals): row i is True in intervals[offsets[i]:offsets[i + 1]], and nowhere else.

    matrix (rows, cells). columns (cells, 2): the interval that each cell stands for, in order, disjoint, none empty;
    itself by default. Cells side by side make a run where their intervals touch. Intervals are int32 where that holds
    them.
    """
    rows, cells = matrix.shape
    if not rows or not cells:
        return np.zeros(rows + 1, np.int64), np.zeros((0, 2), np.int32)
    bounds, cell_of = _bounds(cells, columns)
    width = len(bounds)
    high = max(1, min(rows, STRIP // width))
    flags = np.ones(high * width + high * width // 8 + 1, bool)  # a strip's, and a ninth behind it that is True
    where = np.tile(bounds, high)
    spaced = np.zeros((high, cells + 1), bool)  # with a cell behind that is False, as gaps are
    ends, found, many = np.zeros(rows + 1, np.int64), [], False
    for top in range(0, rows, high):
        strip = matrix[top : top + high]
        if len(cell_of) > cells:
            spaced[: len(strip), :-1] = strip
            strip = spaced[: len(strip)].take(cell_of, axis=1)
        size = len(strip) * width
        edges = flags[:size].reshape(-1, width)  # where a row changes: runs begin and end in turn
        edges[:, 0], edges[:, -1] = strip[:, 0], strip[:, -1]
        np.not_equal(strip[:, 1:], strip[:, :-1], out=edges[:, 1:-1])
        changes = np.flatnonzero(flags if many else flags[:size])
        upto = np.searchsorted(changes, np.arange(width, size + 1, width))
        ends[top + 1 : top + high + 1] = ends[top] + upto
        found.append(where.take(changes[: upto[-1]], mode="clip"))
        many = SEARCHED * size < upto[-1] < size / 8  # as in this strip, so in the next one
    return ends // 2, np.concatenate(found).reshape(-1, 2)


def _bounds(cells: int, columns: Integers | None) -> tuple[Whole, Whole]:
    """(where intervals begin and end, those that touch once; for what lies between two of them, the cell that stands
    for it, `cells` for none).
    """
    if columns is None:
        return np.arange(cells + 1, dtype=shortest(cells)), np.arange(cells)
    told = np.ones((cells, 2), bool)
    np.not_equal(columns[1:, 0], columns[:-1, 1], out=told[:-1, 1])
    bounds = columns[told].astype(shortest(int(columns[-1, 1])))
    cell_of = np.stack([np.arange(cells), np.full(cells, cells)], axis=1)[told]
    return bounds, cell_of[:-1]


def runs_of_places(offsets: Whole, places: Whole, columns: Integers | None = None) -> tuple[Integers, Whole]:
    """As `runs_of_matrix`, where row i is True in the cells places[offsets[i]:offsets[i + 1]], which rise."""
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
