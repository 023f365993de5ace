"""grid_cluster: points of one cell of a grid get one label. Cells are distinguished exactly, in any dimension."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from clmapreduce.checks import numpy_array
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.convert import array
from clmapreduce.domain.integers import Integers
from clmapreduce.errors import ShapeError
from clmapreduce.host_room import needs_host_room
from clmapreduce.ranges.near import coordinates

Floats: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
WIDE = 2**62
"""More cells than that are not numbered in an int64."""
EXACT = 2**53
"""With more cells than that along an axis, differences do not distinguish them."""
STRIP = 1 << 15
"""Points looked at together: what is made of them stays in a core's cache."""


@needs_host_room
def grid_cluster(x: Any, size: Any) -> Any:
    """(M,) int64 labels 0 ... C-1 of the cells that contain points: boxes whose corners are multiples of `size`.

    x: (M, D) finite coordinates in any dimension; (M,) are points on a line. size: the edge of a cell, or (D,) edges,
    more than 0. Labels follow the cells' order, the first coordinate first. A DeviceArray gives a DeviceArray, computed
    on the host. Raises ShapeError naming the first coordinate or edge that is wrong.
    """
    points = coordinates(x, "x")
    edges = _edges(size, points.shape[1])
    key: Integers = np.zeros(len(points), np.int64)
    cells = 1
    for axis, edge in zip(points.T, edges, strict=True):
        lowest, extent = _reach(axis, edge)
        if cells * extent >= WIDE:
            key, cells = _compact(key, cells)
        if cells * extent >= WIDE or extent >= EXACT:
            values, ranks = np.unique(_cells(axis, edge), return_inverse=True)
            extent = len(values)
            key = key * extent + ranks
        else:
            for strip in (slice(k, k + STRIP) for k in range(0, len(key), STRIP)):
                part = key[strip]
                part *= extent
                part += (_cells(axis[strip], edge) - lowest).astype(np.int64)
        cells *= extent
    labels, _ = _compact(key, cells)
    return array(labels, x.context) if isinstance(x, DeviceArray) else labels


def _edges(size: Any, dimension: int) -> list[Any]:
    """One edge per axis. A plain number stays one, so that float32 points are divided in float32."""
    array = numpy_array(size, "size")
    if array.shape not in ((), (dimension,)) or array.dtype.kind not in "iuf":
        text = f"shape {array.shape} and dtype {array.dtype}"
        raise ShapeError(f"size has {text}; give a number, or one for each of the {dimension} coordinates")
    wrong = ~((array > 0) & np.isfinite(array))
    if wrong.any():
        name = f"size[{int(wrong.argmax())}]" if array.ndim else "size"
        raise ShapeError(f"{name} is {array[wrong][0]}; cells need an edge of more than 0")
    return list(array) if array.ndim else [size] * dimension


def _cells(axis: Any, edge: Any) -> Floats:
    """Which cell each coordinate is in. In float64, as float32 would round differences."""
    cells: Floats = np.floor(axis / edge).astype(np.float64)
    return cells


def _reach(axis: Any, edge: Any) -> tuple[float, int]:
    """(the lowest cell, how many there are from there on, EXACT for more): by the ends, as quotients never fall where
    coordinates rise.
    """
    if not len(axis):
        return 0.0, 1
    with np.errstate(over="ignore"):
        lowest, highest = _cells(np.stack([axis.min(), axis.max()]), edge)
        extent = highest - lowest + 1
    if not np.isfinite([lowest, highest]).all():
        raise ShapeError("x / size overflows; give larger cells")
    return float(lowest), int(min(extent, EXACT))


def _compact(key: Integers, extent: int) -> tuple[Integers, int]:
    """(the rank of each key among those that occur, how many occur). By a table where that is no larger than a sort."""
    if extent > 4 * len(key) + 2**16:
        values, ranks = np.unique(key, return_inverse=True)
        return ranks.astype(np.int64, copy=False), max(1, len(values))
    occurs = np.zeros(extent, bool)
    occurs[key] = True
    return (np.cumsum(occurs) - 1)[key], max(1, int(np.count_nonzero(occurs)))
