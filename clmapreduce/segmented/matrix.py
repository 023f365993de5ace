"""Sparse matrices by rows, from whatever holds one: where rows lie, the columns of their entries, the entries."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.convert import array
from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.primitives.reduce import Reduce
from clmapreduce.segmented.array_facts import fact_of
from clmapreduce.segmented.check import check_columns, check_on_host, check_places
from clmapreduce.segmented.geometry import Geometry, geometry
from clmapreduce.segmented.inputs import Gathered, indices
from clmapreduce.segmented.lines import Row, count_where

LARGEST = Reduce("maximum")
NEAR = (1 << 10, 1 << 17)
"""Columns of entries side by side that lie so far apart, at least and less than: too far for a few entries to meet the
same numbers of x, near enough for a multiprocessor's cache to hold some that many entries meet.
"""
LOOKED_AT = 1 << 16
"""About so many pairs of entries tell whether columns are near."""
FEWEST = 1 << 20
"""Fewer entries are not looked at: their numbers are in the caches anyway."""


@dataclass(frozen=True)
class Matrix:
    """rows: the segments of entries. columns: (entries,) where in x each entry looks. data: (entries,), or None where
    every entry stands for itself. width: the columns there are; None if a matrix of three arrays does not say.
    needed: one more than the largest column; None where it was not looked up. near: whether most columns are NEAR those
    of the next entry, where that was looked up.
    """

    rows: Geometry
    columns: Any
    data: Any
    width: int | None
    needed: int | None
    near: bool = False

    def __reduce__(self) -> Any:
        """With its arrays on the host."""
        columns, data = (v.to_numpy() if isinstance(v, DeviceArray) else v for v in (self.columns, self.data))
        return Matrix, (self.rows, columns, data, self.width, self.needed, self.near)

    def copied(self) -> Matrix:
        """The same, with copies of arrays in host memory."""
        data = None if self.data is None else self.data.copy()
        rows = replace(self.rows, offsets=self.rows.offsets.copy(), check=None)
        return replace(self, rows=rows, columns=self.columns.copy(), data=data)

    def on_device(self) -> Matrix:
        """The same, with all arrays on the device."""
        context = self.rows.context
        data = self.data if self.data is None else array(self.data, context)
        return replace(self, rows=self.rows.on_device(), columns=array(self.columns, context), data=data)


def matrix_arrays(matrix: Any) -> tuple[Any, Any, Any, int | None]:
    """(indptr, indices, data, width) of a matrix as `cm.spmv` takes it. Raises ShapeError or DTypeError."""
    if isinstance(matrix, tuple):
        if len(matrix) != 3:
            raise ShapeError(f"matrix is a tuple of {len(matrix)}; give (indptr, indices, data), data may be None")
        return (*matrix, None)
    kind, shape = getattr(matrix, "format", None), getattr(matrix, "shape", ())
    if kind is None:
        raise DTypeError(f"matrix is {type(matrix).__name__}; give a scipy.sparse matrix, or (indptr, indices, data)")
    if len(shape) != 2:
        raise ShapeError(f"matrix is a sparse array of shape {shape}; give one of two dimensions")
    if kind not in ("csr", "csc", "coo"):
        matrix, kind = matrix.tocsr(), "csr"
    if kind == "csr":
        return matrix.indptr, matrix.indices, matrix.data, int(matrix.shape[1])
    rows, width = matrix.shape
    if kind == "csc":  # by hand, because tocsr may add what stands at one place, and another algebra has another sum
        check_on_host(matrix.indptr, None, len(matrix.indices), 0, False, "indptr")
        columns = np.repeat(np.arange(width, dtype=matrix.indices.dtype), np.diff(matrix.indptr))
        return (*_by_rows(matrix.indices, columns, matrix.data, rows, "indices"), int(width))
    check_places(matrix.col, int(width), "col", "columns")
    return (*_by_rows(matrix.row, matrix.col, matrix.data, rows, "row"), int(width))


def _by_rows(rows: Any, columns: Any, data: Any, count: int, name: str) -> tuple[Any, Any, Any]:
    """(indptr, indices, data) of entries in any order; those of one row keep theirs. name: of `rows`. Raises ShapeError
    for rows that are not among `count`.
    """
    if len(data) != len(rows):
        raise ShapeError(f"data has length {len(data)}, {name} has {len(rows)}; they must agree")
    check_places(rows, count, name, "rows")
    order = np.argsort(rows, kind="stable")
    ends = np.cumsum(np.bincount(rows, minlength=count))
    offsets = np.concatenate([[0], ends])
    if len(rows) < NARROW_LIMIT:
        offsets = offsets.astype(np.int32)
    return offsets, columns[order], data[order]


def matrix_of(inputs: Gathered, width: int | None, x_length: int | None, validate: bool, options: Options) -> Matrix:
    """The matrix of `inputs.arrays`: indptr, indices, data, sources. x_length: of the vector, if that is known.

    Raises ShapeError naming the first wrong position of indptr, sources or indices; a check may still be under way, as
    in `geometry`.
    """
    indptr, columns, data, sources = inputs.arrays[:4]
    columns = indices(columns, "indices", options.wait_for)
    if data is not None and tuple(data.shape) != tuple(columns.shape):
        raise ShapeError(f"data has shape {tuple(data.shape)}, indices has {tuple(columns.shape)}; they must agree")
    rows = geometry(indptr, len(columns), sources, False, validate, options, "indptr")
    needed = None
    if validate and x_length is not None and isinstance(columns, DeviceArray):
        options = replace(options, context=inputs.context, out=None)
        rows = replace(rows, check=check_columns(columns, x_length, rows.check, options))
    elif validate:
        needed = _least_width(columns, options)
        check_needed(columns, needed, width if width is not None else x_length)
    near = inputs.context.facts.kind != "cpu" and len(columns) >= FEWEST and are_near(columns, options)
    return Matrix(rows, columns, data, width, needed, near)


def _least_width(columns: Any, options: Options) -> int:
    """One more than the largest of some indices, seen as unsigned: a negative one is beyond any length."""
    if not columns.size:
        return 0
    unsigned = columns.view(np.dtype(f"u{columns.dtype.itemsize}"))
    if isinstance(columns, DeviceArray):
        return fact_of(
            [columns], "columns", lambda: int(LARGEST(unsigned, mode=options.mode, wait_for=options.wait_for)) + 1
        )
    return int(unsigned.max()) + 1


def are_near(columns: Any, options: Options) -> bool:
    """Whether most columns are NEAR those of the next entry: of one in so many, wherever they are held."""
    pairs = len(columns) - 1
    every = 1 << max(0, (pairs // LOOKED_AT).bit_length() - 1)
    looked_at = -(-pairs // every)
    if not isinstance(columns, DeviceArray):
        count = int(np.count_nonzero(_near(columns[:pairs:every], columns[1::every])))
    else:
        rows = [Row(columns, every=every), Row(columns, ahead=1, every=every)]
        own = replace(options, context=columns.context, out=None)
        count = fact_of([columns], "near", lambda: count_where(_near, rows, looked_at, own))
    return 2 * count > looked_at


def _near(column: Any, following: Any) -> Any:
    step = abs(following - column)
    return (step >= NEAR[0]) & (step < NEAR[1])


def check_needed(columns: Any, needed: int, limit: int | None) -> None:
    """Raises ShapeError naming the first column that is negative, or not below the limit."""
    bits = 8 * columns.dtype.itemsize - 1
    if needed <= (1 << bits if limit is None else limit):
        return
    numbers = columns.to_numpy() if isinstance(columns, DeviceArray) else columns
    if limit is not None:
        check_places(numbers, limit, "indices", "columns")
    at = int((numbers < 0).argmax())
    raise ShapeError(f"indices[{at}] is {numbers[at]}; must not be negative")
