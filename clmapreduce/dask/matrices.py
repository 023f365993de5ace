"""Sparse matrices whose entries, or whose blocks of rows, are Dask arrays, times vectors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np

from clmapreduce.calls.chunked import is_chunked
from clmapreduce.calls.options import Options
from clmapreduce.dask.carried import Carried, carried
from clmapreduce.dask.graph import Graph, as_chunked, block
from clmapreduce.dask.home import home
from clmapreduce.errors import ArgumentError, ModeError, ShapeError
from clmapreduce.segmented.check import settled
from clmapreduce.segmented.geometry import geometry
from clmapreduce.segmented.inputs import gathered
from clmapreduce.segmented.matrix import matrix_arrays
from clmapreduce.segmented.spmv import spmv


class MatrixWork:
    """What all tasks of a call share: keywords of `cm.spmv`."""

    def __init__(self, how: dict[str, Any]) -> None:
        self.how = how


def rows_times(task: Carried, matrix: Any, x: Any) -> Any:
    """Some rows times x. matrix: a sparse one, or a list of indptr, indices and data."""
    return spmv(tuple(matrix) if isinstance(matrix, list) else matrix, x, context=home(), **task.value.how)


def matrix_times(matrix: Any, x: Any, *, sources: Any = None, **how: Any) -> Any:
    """y, a Dask array. matrix: as of `cm.spmv`, whose indices and data may be Dask arrays, or a Dask array of sparse
    blocks of whole rows. x: a Dask array goes to every task as a whole.

    Raises as `cm.spmv`, ArgumentError for an indptr that is a Dask array, ShapeError for blocks of a part of the
    columns, ModeError for sources.
    """
    if sources is not None:
        raise ModeError("sources= is not offered for Dask arrays; take the rows of the matrix in that order before")
    vector = as_chunked(np.asarray(x) if not is_chunked(x) else x, "x").rechunk(-1)
    task = carried(MatrixWork(how), "spmv")
    trailing = vector.shape[1:]
    whole = block(vector, (0,) * vector.ndim)
    if isinstance(matrix, da.Array):
        return _blocks_times(matrix, vector, task, whole)
    indptr, indices, data, width = matrix_arrays(matrix)
    if is_chunked(indptr):
        raise ArgumentError("indptr is a Dask array, and tells how long the result is; pass indptr.compute()")
    if width is not None and vector.shape[:1] != (width,):
        raise ShapeError(f"x has shape {vector.shape}, the matrix has {width} columns")
    context = home()
    ends = gathered([indptr], context, ("indptr",)).arrays[0]
    columns = as_chunked(indices, "indices")
    entries = None if data is None else as_chunked(data, "data")
    if entries is not None and entries.shape != columns.shape:
        raise ShapeError(f"data has shape {entries.shape}, indices has {columns.shape}; they must agree")
    shape = geometry(ends, len(columns), None, False, True, Options(how.get("mode", "auto"), context), "indptr")
    settled(shape.check)
    cuts = _cuts(np.asarray(shape.offsets), columns.chunks[0])
    parts = [(a, b, slice(int(shape.offsets[a]), int(shape.offsets[b]))) for a, b in cuts]
    cut = [[each[s].rechunk(-1) for each in (columns, entries) if each is not None] for _, _, s in parts]
    token = (task.__dask_tokenize__(), np.asarray(shape.offsets))
    graph = Graph("spmv", token, [vector, *(one for both in cut for one in both)])
    for k, ((a, b, s), both) in enumerate(zip(parts, cut, strict=True)):
        own = np.asarray(shape.offsets[a : b + 1]) - s.start
        arrays = [own, *(block(one, (0,)) for one in both), *([None] if entries is None else [])]
        graph.add("rows", (k, *(0,) * len(trailing)), (rows_times, task, arrays, whole))
    dtype = None if entries is None else entries.dtype
    result = _dtype(task, columns.dtype, dtype, vector)
    return graph.array("rows", (tuple(b - a for a, b in cuts), *((n,) for n in trailing)), result)


def _blocks_times(matrix: Any, vector: Any, task: Carried, whole: Any) -> Any:
    """A Dask array of sparse blocks times x."""
    if matrix.ndim != 2 or matrix.numblocks[1] != 1:
        raise ShapeError(
            f"matrix is a Dask array of chunks {matrix.chunks}; give one of two axes, whose blocks have whole rows"
        )
    if any(np.isnan(n) for n in matrix.chunks[0]):
        raise ShapeError(f"matrix has chunks {matrix.chunks}, whose lengths are not known; make it with known ones")
    trailing = vector.shape[1:]
    graph = Graph("spmv", (task.__dask_tokenize__(),), [matrix, vector])
    for k in range(matrix.numblocks[0]):
        graph.add("rows", (k, *(0,) * len(trailing)), (rows_times, task, block(matrix, (k, 0)), whole))
    result = _dtype(task, np.dtype(np.int32), matrix.dtype, vector)
    return graph.array("rows", (matrix.chunks[0], *((n,) for n in trailing)), result)


def _cuts(ends: Any, chunks: tuple[int, ...]) -> list[tuple[int, int]]:
    """First rows and ends: about as many rows as a chunk of entries has."""
    borders = np.searchsorted(ends, np.cumsum(chunks)[:-1])
    rows = np.unique(np.concatenate([[0], borders, [len(ends) - 1]]))
    return [(int(a), int(b)) for a, b in pairwise(rows)] or [(0, 0)]


def _dtype(task: Carried, indices: Any, data: Any, vector: Any) -> Any:
    """The dtype of results."""
    none = [np.zeros(1, np.int32), np.zeros(0, indices), None if data is None else np.zeros(0, data)]
    return rows_times(task, none, np.zeros((1, *vector.shape[1:]), vector.dtype)).dtype
