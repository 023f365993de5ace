"""grid_cluster: points of one cell of a grid get one label. Cells are told apart exactly, whatever the dimension."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from clmapreduce.array import DeviceArray, array
from clmapreduce.domain.blocks import Integers
from clmapreduce.errors import ShapeError
from clmapreduce.ranges.near import coordinates

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
WIDE = 2**62
"""More cells than that are not numbered in an int64."""


def grid_cluster(x: Any, size: Any) -> Any:
    """(M,) int64 labels 0 ... C-1 of the cells that hold points: boxes whose corners are multiples of `size`.

    x: (M, D) finite coordinates in any dimension; (M,) are points on a line. size: the edge of a cell, or (D,) edges,
    more than 0. Labels follow the cells' order, the first coordinate first. A DeviceArray gives a DeviceArray, computed
    on the host. Raises ShapeError naming the first coordinate or edge that is wrong.
    """
    points = coordinates(x, "x")
    edges = _edges(size, points.shape[1])
    key: Integers = np.zeros(len(points), np.int64)
    cells = 1
    for d, edge in enumerate(edges):
        with np.errstate(over="ignore"):  # told by `_places`
            place, extent = _places(points[:, d] / edge)
        if cells * extent >= WIDE:
            key, cells = _compact(key, cells)
        if cells * extent >= WIDE:
            place, extent = _compact(place, extent)
        key *= extent
        key += place
        cells *= extent
    labels, _ = _compact(key, cells)
    return array(labels, x.context) if isinstance(x, DeviceArray) else labels


def _edges(size: Any, dimension: int) -> list[Any]:
    """One edge per axis. A plain number stays one, so that float32 points are divided in float32."""
    array = np.asarray(size)
    if array.shape not in ((), (dimension,)) or array.dtype.kind not in "iuf":
        told = f"shape {array.shape} and dtype {array.dtype}"
        raise ShapeError(f"size has {told}; give a number, or one for each of the {dimension} coordinates")
    wrong = ~((array > 0) & np.isfinite(array))
    if wrong.any():
        name = f"size[{int(wrong.argmax())}]" if array.ndim else "size"
        raise ShapeError(f"{name} is {array[wrong][0]}; cells need an edge of more than 0")
    return list(array) if array.ndim else [size] * dimension


def _places(quotients: Any) -> tuple[Integers, int]:
    """(which cell along an axis, counted from the lowest; how many there are)."""
    cells: Floats = np.floor(quotients).astype(np.float64)  # float32 would round differences
    if not len(cells):
        return np.zeros(0, np.int64), 1
    if not np.isfinite(cells).all():
        raise ShapeError("x / size overflows; give larger cells")
    lowest = cells.min()
    extent = cells.max() - lowest + 1
    if extent >= 2**53:
        found, ranks = np.unique(cells, return_inverse=True)
        return ranks.astype(np.int64, copy=False), len(found)
    cells -= lowest
    return cells.astype(np.int64), int(extent)


def _compact(key: Integers, extent: int) -> tuple[Integers, int]:
    """(the rank of each key among those that occur, how many occur). By a table where that is no larger than a sort."""
    if extent > 4 * len(key) + 2**16:
        found, ranks = np.unique(key, return_inverse=True)
        return ranks.astype(np.int64, copy=False), max(1, len(found))
    occurs = np.zeros(extent, bool)
    occurs[key] = True
    return (np.cumsum(occurs) - 1)[key], max(1, int(np.count_nonzero(occurs)))
