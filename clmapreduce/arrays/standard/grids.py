"""Matrices by the places of their elements: the identity, triangles, and the coordinates of grids."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arrays.creation import full, zeros
from clmapreduce.arrays.joining import where
from clmapreduce.arrays.operands import all_on_device, on_device
from clmapreduce.arrays.shapes import broadcast_to
from clmapreduce.checks import is_whole, quoted, whole
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.dtypes import BOOL
from clmapreduce.errors import ArgumentError, ShapeError
from clmapreduce.formula.node import Node, index
from clmapreduce.primitives.map import Map


def eye(
    n_rows: int, n_cols: int | None = None, /, *, k: int = 0, dtype: Any = None, context: Context | None = None
) -> DeviceArray:
    """Ones on the diagonal k (above the main one if k > 0), else zeros: (n_rows, n_cols), n_cols = n_rows if None.
    dtype: as for `cm.empty`.
    """
    shape = whole(n_rows, "n_rows"), whole(n_rows if n_cols is None else n_cols, "n_cols")
    none = zeros(shape, dtype, context=context)
    return _chosen(_beside(none, k, 0), none.dtype.type(1), none) if none.size else none


def tril(x: Any, /, *, k: int = 0) -> DeviceArray:
    """The matrices (.., M, N) with zeros above the diagonal k."""
    return _triangle(x, k, -1)


def triu(x: Any, /, *, k: int = 0) -> DeviceArray:
    """The matrices (.., M, N) with zeros below the diagonal k."""
    return _triangle(x, k, 1)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[DeviceArray]:
    """The coordinates of a grid: vectors along its axes, each repeated to the shape of all. indexing: "ij" for one axis
    per vector in order, "xy" with the first two axes exchanged.
    """
    if indexing not in ("xy", "ij"):
        raise ArgumentError(f"indexing is {quoted(indexing)}; give 'xy' or 'ij'")
    vectors = all_on_device(arrays)
    if any(x.ndim > 1 for x in vectors):
        raise ShapeError(f"meshgrid takes vectors, not shapes {', '.join(str(x.shape) for x in vectors)}")
    order = list(range(len(vectors)))
    if indexing == "xy" and len(order) > 1:
        order[:2] = 1, 0
    shape = [0] * len(order)
    for x, axis in zip(vectors, order, strict=True):
        shape[axis] = x.size
    return [
        broadcast_to(x.reshape((x.size, *(1,) * (len(order) - axis - 1))), tuple(shape))
        for x, axis in zip(vectors, order, strict=True)
    ]


def _triangle(x: Any, k: int, side: int) -> DeviceArray:
    x = on_device(x)
    if x.ndim < 2:
        raise ShapeError(f"an array of shape {x.shape} has no triangle; give one of two axes or more")
    return _chosen(_beside(x, k, side), x, x.dtype.type(0)) if x.size else x.__copy__()


def _chosen(mask: DeviceArray, chosen: Any, other: Any) -> DeviceArray:
    values: DeviceArray = where(mask, chosen, other)
    return values


def _beside(x: DeviceArray, k: int, side: int) -> DeviceArray:
    """Which elements of matrices lie on diagonal k (side 0), or there and above (1), or there and below (-1)."""
    if not is_whole(k):
        raise ShapeError(f"k is {quoted(k)}; a diagonal is a whole number, 0 for the main one")
    rows, cols = x.shape[-2:]
    diagonal = max(-rows, min(cols, k))  # those further off have no elements either
    like = full(x.shape, False, BOOL, context=x.context)
    beside: DeviceArray = _places(side)(like, np.int64(rows), np.int64(cols), np.int64(diagonal))
    return beside


@lru_cache(maxsize=3)
def _places(side: int) -> Map:
    def beside(mask: Node, rows: Node, cols: Node, k: Node) -> Any:
        above = index % cols - index // cols % rows - k
        return mask | (above == 0 if side == 0 else above >= 0 if side > 0 else above <= 0)

    return Map(beside)
