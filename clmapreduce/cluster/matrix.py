"""from_matrix and swap_axes: KeOps' six arrays of ranges."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from clmapreduce.cluster.labels import stable_order
from clmapreduce.domain.integers import Integers
from clmapreduce.errors import ShapeError
from clmapreduce.host_room import needs_host_room
from clmapreduce.ranges import Ranges, check
from clmapreduce.ranges.matrix import boolean, is_sparse

Six: TypeAlias = tuple[Integers, Integers, Integers, Integers, Integers, Integers]


@needs_host_room
def from_matrix(ranges_i: Any, ranges_j: Any, keep: Any) -> Six:
    """(ranges_i, slices_i, redranges_j, ranges_j, slices_j, redranges_i): the six arrays that KeOps knows, int64.

    ranges_i (R, 2), ranges_j (C, 2): first row and end of every cluster, in order and disjoint. keep: (R, C) booleans,
    or a scipy.sparse matrix. Cluster k of rows meets redranges_j[slices_i[k - 1]:slices_i[k]], the kept clusters of
    columns one by one. `cm.Ranges.from_matrix` takes the same, and is faster. Raises ShapeError or DTypeError.
    """
    rows, columns = check.clusters(ranges_i, "ranges_i"), check.clusters(ranges_j, "ranges_j")
    array = boolean(keep, "keep", (len(rows), len(columns)))
    if is_sparse(array):
        row, column = np.repeat(np.arange(len(rows)), np.diff(array.indptr)), array.indices
    else:
        row, column = np.divmod(np.flatnonzero(array), max(1, len(columns)))
    slices_i = np.cumsum(np.bincount(row, minlength=len(rows)))
    slices_j = np.cumsum(np.bincount(column, minlength=len(columns)))
    return rows, slices_i, columns[column], columns, slices_j, rows[row[stable_order(column)]]


def swap_axes(ranges: Any) -> Any:
    """The ranges of the transposed mask: the last three arrays, then the first three. None gives None, `cm.Ranges` its
    `T`. Raises ShapeError for anything else.
    """
    if ranges is None:
        return None
    if isinstance(ranges, Ranges):
        return ranges.T
    if not isinstance(ranges, (tuple, list)) or len(ranges) != 6:
        text = f"{len(ranges)} of them" if isinstance(ranges, (tuple, list)) else type(ranges).__name__
        raise ShapeError(f"ranges is {text}; give KeOps' six arrays, cm.Ranges or None")
    return (*ranges[3:], *ranges[:3])
