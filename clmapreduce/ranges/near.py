"""Clusters near each other: boxes around points, or centroids, within a distance."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from clmapreduce.checks import numpy_array
from clmapreduce.domain.blocks import from_counts
from clmapreduce.domain.integers import Integers
from clmapreduce.errors import DTypeError, ShapeError

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
Boxes: TypeAlias = tuple[Floats, Floats]
"""(lows, highs), each (C, D)."""

CHUNK = 64
"""So many boxes look for their neighbours together."""
SLACK = 1e-12
"""Squares of distances are off by a few roundings; none of these may hide a pair just as far as allowed."""


def coordinates(value: Any, name: str) -> Any:
    """(n, D) real, finite numbers; (n,) are points on a line. Raises DTypeError, or ShapeError for the first wrong."""
    x = numpy_array(value, name)
    if x.dtype.kind not in "biuf":
        raise DTypeError(f"{name} has dtype {x.dtype}; give real coordinates")
    if x.ndim not in (1, 2) or 0 in x.shape[1:]:
        raise ShapeError(f"{name} has shape {x.shape}; give points as (n, D), D at least 1")
    x = x.reshape(len(x), *(x.shape[1:] or (1,)))
    if not (np.isfinite(x.min(initial=0)) and np.isfinite(x.max(initial=0))):
        at = int((~np.isfinite(x).all(axis=1)).argmax())
        raise ShapeError(f"{name}[{at}] is {x[at].tolist()}; coordinates must be finite")
    return x


def boxes(x: Any, clusters: Integers) -> Boxes:
    """The boxes around the points of every cluster. clusters: in order, disjoint, none empty, within x."""
    return _over(np.minimum, x, clusters), _over(np.maximum, x, clusters)


def centroids(x: Any, clusters: Integers) -> Boxes:
    """Boxes of no size, at the mean of every cluster."""
    sums = np.stack([_over(np.add, column.astype(np.float64), clusters) for column in x.T], axis=1)
    mean: Floats = sums / (clusters[:, 1] - clusters[:, 0])[:, None]
    return mean, mean


def _over(operation: np.ufunc, x: Any, clusters: Integers) -> Floats:
    if not len(clusters):
        return np.zeros((0, *x.shape[1:]))
    cuts = clusters.ravel()
    cuts = cuts[cuts < len(x)]  # an end beyond the last row is none for reduceat
    bounds: Floats = operation.reduceat(x, cuts, axis=0)[::2].astype(np.float64)
    return bounds


def near(rows: Boxes, columns: Boxes, distance: float) -> tuple[Integers, Integers]:
    """(offsets, places): the columns' boxes at most `distance` from row i's, rising, places[offsets[i]:offsets[i + 1]].

    Rows look in chunks of neighbours; those columns that the box around a chunk reaches are measured one by one.
    """
    count = len(columns[0])
    if not count or not len(rows[0]):
        return np.zeros(len(rows[0]) + 1, np.int64), np.zeros(0, np.int64)
    largest = max(np.abs(side).max() for side in (*rows, *columns))
    margin = distance + SLACK * (distance + largest)
    axis = int(np.argmax(np.ptp(columns[0], axis=0)))
    order = np.argsort(columns[0][:, axis], kind="stable")
    lows, highs = columns[0][order], columns[1][order]
    reached = np.maximum.accumulate(highs[:, axis])
    lists = []
    for chunk in _chunks(rows[0], axis):
        low, high = rows[0][chunk], rows[1][chunk]
        bottom, top = low.min(axis=0) - margin, high.max(axis=0) + margin
        first = int(np.searchsorted(reached, bottom[axis]))
        end = int(np.searchsorted(lows[:, axis], top[axis], side="right"))
        inside = ((lows[first:end] <= top) & (highs[first:end] >= bottom)).all(axis=1)
        candidates = first + np.flatnonzero(inside)
        squares = np.zeros((len(chunk), len(candidates)))
        for d in range(low.shape[1]):
            gap = np.maximum(lows[candidates, d] - high[:, d, None], low[:, d, None] - highs[candidates, d])
            np.maximum(gap, 0, out=gap)
            squares += gap * gap
        row, column = np.nonzero(squares <= distance * distance * (1 + SLACK))
        lists.append(chunk[row] * count + order[candidates[column]])
    row, places = np.divmod(np.sort(np.concatenate(lists)), count)
    return from_counts(np.bincount(row, minlength=len(rows[0]))), places


def _chunks(lows: Floats, axis: int) -> list[Integers]:
    """All rows in chunks of neighbours: slabs along one axis, sorted along another within each."""
    count, dimension = lows.shape
    slabs = round(count ** (1 / dimension))
    slab = np.empty(count, np.int64)
    slab[np.argsort(lows[:, axis], kind="stable")] = np.arange(count) * slabs // count
    order = np.lexsort((lows[:, (axis + 1) % dimension], slab))
    return np.array_split(order, -(-count // CHUNK))
