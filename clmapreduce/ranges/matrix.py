"""Boolean matrices, dense or sparse, as lists of intervals: of whole clusters, or of single rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.checks import numpy_array
from clmapreduce.domain.blocks import Blocks, from_counts
from clmapreduce.domain.integers import Integers, Whole
from clmapreduce.domain.packed_intervals import PackedIntervals
from clmapreduce.domain.runs import Booleans, runs_of_matrix, runs_of_places
from clmapreduce.errors import DTypeError, ShapeError


def is_sparse(matrix: Any) -> bool:
    """Whether it is a matrix or array of scipy.sparse; does not import scipy."""
    return hasattr(matrix, "tocsr") and hasattr(matrix, "nnz")


def boolean(matrix: Any, name: str, shape: tuple[int, int] | None = None) -> Any:
    """A boolean array of two dimensions, or a CSR matrix whose stored entries are True and sorted.

    shape: what it has to be. Sparse matrices of any dtype: what is not zero is True. Raises DTypeError for dense ones
    of another dtype than bool, ShapeError for another shape.
    """
    array: Any = matrix if is_sparse(matrix) else numpy_array(matrix, name)
    if len(array.shape) != 2 or (shape is not None and tuple(array.shape) != shape):
        expected = (
            "a matrix" if shape is None else f"shape {shape}, a row per cluster of rows, a column per one of columns"
        )
        raise ShapeError(f"{name} has shape {tuple(array.shape)}; give {expected}")
    if is_sparse(matrix):
        array = array.astype(bool).tocsr()
        array.sum_duplicates()
        array.eliminate_zeros()
        return array
    if array.dtype != np.bool_:
        raise DTypeError(f"{name} has dtype {array.dtype}; give booleans, such as {name} != 0")
    return array


def runs(matrix: Any, columns: Integers | None = None) -> tuple[Integers, Whole | PackedIntervals]:
    """`runs_of_matrix` of what `boolean` gives."""
    if is_sparse(matrix):
        return runs_of_places(matrix.indptr, matrix.indices, columns)
    return runs_of_matrix(matrix, columns)


def blocks_of_matrix(rows: Integers, columns: Integers, keep: Any) -> Blocks:
    """The pairs of kept clusters. rows (R, 2), columns (C, 2): in order, disjoint. keep (R, C): from `boolean`."""
    some_rows, some_columns = rows[:, 1] > rows[:, 0], columns[:, 1] > columns[:, 0]
    if not some_rows.all():
        rows, keep = rows[some_rows], keep[some_rows]
    if not some_columns.all():
        filled = np.flatnonzero(some_columns)
        # NumPy takes columns of dense matrices 15 times as fast as it indexes them
        columns, keep = columns[filled], keep[:, filled] if is_sparse(keep) else keep.take(filled, axis=1)
    offsets, intervals = runs(keep, columns)
    return Blocks(rows, offsets, intervals, int(rows.max(initial=0)), int(columns.max(initial=0)))


def blocks_of_mask(mask: Any) -> Blocks:
    """The pairs of a mask over rows and columns, from `boolean`. Neighbouring rows that are alike are a cluster."""
    rows, columns = (int(n) for n in mask.shape)
    edges = np.append(np.flatnonzero(_differs_from_before(mask)), rows)
    offsets, intervals = runs(mask[edges[:-1]])
    filled = np.diff(offsets) > 0
    clusters = np.stack([edges[:-1], edges[1:]], axis=1)[filled]
    return Blocks(clusters, from_counts(np.diff(offsets)[filled]), intervals, rows, columns)


def _differs_from_before(mask: Any) -> Booleans:
    """(rows,) whether a row is unlike the one before; the first one is."""
    differs = np.ones(mask.shape[0], bool)
    if not is_sparse(mask):
        np.any(mask[1:] != mask[:-1], axis=1, out=differs[1:])
        return differs
    counts = np.diff(mask.indptr)
    np.not_equal(counts[1:], counts[:-1], out=differs[1:])
    row = np.repeat(np.arange(len(counts)), counts)
    compared = np.flatnonzero(~differs[row])
    unlike = mask.indices[compared] != mask.indices[compared - counts[row[compared]]]
    differs[row[compared[unlike]]] = True
    return differs
