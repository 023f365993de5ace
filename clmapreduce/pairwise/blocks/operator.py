"""A matrix whose blocks are LazyTensors: a linear operator that is never stored."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, TypeAlias

import numpy as np

from clmapreduce.calls.arguments import home_of
from clmapreduce.checks import numpy_array, quoted, switch
from clmapreduce.device.array import DeviceArray, NumpyArray, empty
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import DType
from clmapreduce.errors import DTypeError, ModeError, ShapeError
from clmapreduce.no_arithmetic import without_arithmetic
from clmapreduce.pairwise.guest import GuestArray
from clmapreduce.pairwise.kernelsolve import complaint, on_device
from clmapreduce.pairwise.lazy.linear import Matrix
from clmapreduce.pairwise.solve import SolveStatus, solve

Block: TypeAlias = "Matrix[Any] | BlockOperator | None"
"""None stands for zeros."""


@without_arithmetic("use @, .T and solve; scale and add the LazyTensors that it is made of")
class BlockOperator:
    """A matrix made of blocks; `cm.block` makes it. A block is a LazyTensor with one number per pair, another
    BlockOperator, or None for zeros.

    shape: (M, N). dtype: that of its blocks. SciPy's `aslinearoperator` takes it. status: how the last solve ended.
    """

    __slots__ = ("blocks", "dtype", "heights", "status", "widths")
    __array_ufunc__ = None  # array @ operator must not become an array of objects
    __hash__ = object.__hash__

    def __init__(self, blocks: Sequence[Sequence[Block]]) -> None:
        self.blocks = _grid(blocks)
        self.heights = tuple(_extent(row, 0, place) for place, row in enumerate(self.blocks))
        self.widths = tuple(_extent(column, 1, place) for place, column in enumerate(zip(*self.blocks, strict=True)))
        self.dtype = _dtype([one for row in self.blocks for one in row if one is not None])
        self.status: SolveStatus | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """(M, N)."""
        return sum(self.heights), sum(self.widths)

    @property
    def ndim(self) -> int:
        """2, as of a matrix."""
        return 2

    def __repr__(self) -> str:
        rows = " + ".join(map(str, self.heights))
        columns = " + ".join(map(str, self.widths))
        return f"BlockOperator(({rows}) × ({columns}), dtype={self.dtype})"

    def __reduce__(self) -> Any:
        return BlockOperator, (self.blocks,)

    # --------------------------------------------------------------------------------------------------------- products
    def __matmul__(self, v: Any) -> Any:
        """The product with an array v: (N,) gives (M,), (N, E) gives (M, E); a DeviceArray where v or an array of the
        blocks is one, else NumPy. Raises ShapeError where v does not fit, DTypeError for another dtype.
        """
        v = v if isinstance(v, DeviceArray) else numpy_array(v, "the array behind @")
        if v.ndim not in (1, 2) or v.shape[0] != self.shape[1]:
            raise ShapeError(f"K @ v: K has shape {self.shape} and v has {v.shape}; it needs (N,) or (N, E)")
        parts = [v[begin:end] for begin, end in _cuts(self.widths)]
        sums = [_row_times(row, parts) for row in self.blocks]
        home = next((x.context for x in (v, *sums) if isinstance(x, DeviceArray)), None)
        dtype = next(part.dtype for part in sums if part is not None)
        result: Any = np.empty((self.shape[0], *v.shape[1:]), dtype)
        if home is not None:
            result = empty(result.shape, dtype, home)
        for (begin, end), part in zip(_cuts(self.heights), sums, strict=True):
            if begin < end:
                result[begin:end] = dtype.type(0) if part is None else part
        return result

    def matvec(self, v: Any) -> Any:
        """self @ v for SciPy: v of another dtype is converted."""
        return self @ self._converted(v)

    def rmatvec(self, v: Any) -> Any:
        """The conjugate transpose times v, as `matvec`."""
        return self._adjoint() @ self._converted(v)

    matmat = matvec
    rmatmat = rmatvec

    def _converted(self, v: Any) -> Any:
        if isinstance(v, DeviceArray):
            return v
        v = numpy_array(v, "v")
        kind = np.result_type(self.dtype, np.complex64) if v.dtype.kind == "c" else self.dtype
        return v if self.dtype.kind == "c" and v.dtype.kind != "c" else v.astype(kind, copy=False)

    # ---------------------------------------------------------------------------------------------------- transposition
    def t(self) -> BlockOperator:
        """The transposed matrix."""
        columns = zip(*self.blocks, strict=True)
        return BlockOperator([[None if one is None else one.t() for one in column] for column in columns])

    @property
    def T(self) -> BlockOperator:
        """As `t()`."""
        return self.t()

    def _adjoint(self) -> BlockOperator:
        columns = zip(*self.blocks, strict=True)
        return BlockOperator([[None if one is None else one._adjoint() for one in column] for column in columns])

    # ---------------------------------------------------------------------------------------------------------- numbers
    def to_numpy(self, **keywords: Any) -> NumpyArray:
        """All numbers, as a NumPy array of `shape`. Keywords as of a reduction."""
        result = np.zeros(self.shape, self.dtype)
        for (top, bottom), row in zip(_cuts(self.heights), self.blocks, strict=True):
            for (left, right), one in zip(_cuts(self.widths), row, strict=True):
                if one is not None:
                    result[top:bottom, left:right] = one.to_numpy(**keywords)
        return result

    # ---------------------------------------------------------------------------------------------------------- systems
    def solve(
        self, b: Any, *, alpha: float = 1e-10, eps: float = 1e-6, return_status: bool = False,
        context: Context | None = None, **more: Any,
    ) -> Any:  # fmt: skip
        """a with alpha a + self @ a = b, for self symmetric and positive definite: an array of b's shape, (M,) or (M,
        E); every column is a separate system. Nothing checks that the matrix is symmetric.

        eps: the root mean square that the residual of every column may have. return_status: give (a, status). The other
        keywords are max_iterations, preconditioner, x0, mode and progress, as of a LazyTensor's solve. Warns where the
        residual is larger. Raises ShapeError where heights and widths of blocks differ, or b does not fit. Method:
        conjugate gradients on the device.
        """
        if self.heights != self.widths:
            raise ShapeError(f"{self!r} is not symmetric: the blocks of the diagonal must be square")
        if self.dtype.kind == "c":
            raise DTypeError("systems are solved in float32 or float64; split complex ones into blocks of real numbers")
        homes = self.contexts | ({id(b.context): b.context} if isinstance(b, DeviceArray) else {})
        home = home_of(list(homes.values()), context)
        right = array(b, home)
        if right.ndim not in (1, 2) or right.shape[0] != self.shape[0]:
            rows = self.shape[0]
            raise ShapeError(f"the right-hand side has shape {right.shape}; it must be ({rows},) or ({rows}, E)")
        there = self._on(home)
        x, self.status = solve(there.__matmul__, right, alpha=alpha, tolerance=eps, **more)
        if not self.status.converged:
            warnings.warn(complaint(self.status, eps), RuntimeWarning, stacklevel=2)
        x = x if isinstance(b, DeviceArray) or self.contexts else x.to_numpy()
        return (x, self.status) if switch(return_status, "return_status") else x

    @property
    def contexts(self) -> dict[int, Context]:
        """Where arrays of the blocks lie, by id."""
        homes: dict[int, Context] = {}
        for one in (one for row in self.blocks for one in row if one is not None):
            if isinstance(one, BlockOperator):
                homes |= one.contexts
            else:
                arrays = (x for x in one.inputs.arrays.values() if isinstance(x, DeviceArray))
                homes |= {id(x.context): x.context for x in arrays}
        return homes

    def _on(self, home: Context) -> BlockOperator:
        """The same with all arrays on a device."""

        def moved(one: Block) -> Block:
            if one is None:
                return None
            if isinstance(one, BlockOperator):
                return one._on(home)
            there: Matrix[Any] = one._like(one.formula, on_device(one.inputs, home), one.is_complex)
            return there

        return BlockOperator([[moved(one) for one in row] for row in self.blocks])


def block(blocks: Any) -> BlockOperator:
    """A matrix made of blocks, as by `numpy.block`: a list of rows, each a list of blocks. A block is a LazyTensor with
    one number per pair, another such matrix, or None for zeros. `cm.block([[K1], [K2]])` is K1 above K2.

    K @ v, K.T, K.solve(b), K.shape, and SciPy's `aslinearoperator` work. Raises ShapeError if the heights in a row or
    the widths in a column differ or are unknown, DTypeError for different dtypes.
    """
    return BlockOperator(blocks)


def _grid(blocks: Any) -> tuple[tuple[Block, ...], ...]:
    rows = blocks if isinstance(blocks, (list, tuple)) else ()
    if not rows or not all(isinstance(row, (list, tuple)) and row for row in rows):
        raise ShapeError(f"cm.block takes a list of rows, each a list of LazyTensors, not {quoted(blocks)}")
    if len({len(row) for row in rows}) > 1:
        counts = ", ".join(str(len(row)) for row in rows)
        raise ShapeError(f"cm.block: rows of {counts} blocks; give all rows as many, None for zeros")
    for one in (one for row in rows for one in row if one is not None):
        if isinstance(one, BlockOperator):
            continue
        if not isinstance(one, Matrix):
            raise ShapeError(f"cm.block: {quoted(one)} is no block; give LazyTensors, other block operators, or None")
        if one.ndim != 1 + one.is_complex or one.nbatchdims:
            raise ShapeError(f"cm.block: a LazyTensor of shape {one.shape} is no matrix of numbers")
        if one.inputs.unbound:
            raise ModeError(f"cm.block: {one.inputs.unbound[0].label} has no array yet; blocks have all of theirs")
        if any(isinstance(x, GuestArray) for x in one.inputs.arrays.values()):
            raise ModeError("cm.block takes LazyTensors of NumPy arrays and DeviceArrays")
    return tuple(tuple(row) for row in rows)


def _extent(blocks: Sequence[Block], axis: int, place: int) -> int:
    """The height of a row of blocks (axis 0), or the width of a column."""
    name, extents = ("row", "column")[axis], sorted({one.shape[axis] for one in blocks if one is not None})
    if len(extents) != 1:
        listed = " and ".join(map(str, extents)) or "not known"
        what = ("heights", "widths")[axis]
        raise ShapeError(f"cm.block: the {what} in {name} {place} are {listed}; the blocks there need one in common")
    return int(extents[0])


def _dtype(blocks: Sequence[Any]) -> DType:
    dtypes = {one.dtype for one in blocks}
    known = [dtype for dtype in dtypes if dtype is not None]
    if len({dtype.itemsize // (2 if dtype.kind == "c" else 1) for dtype in known}) != 1:
        names = ", ".join(sorted(map(str, dtypes)))
        raise DTypeError(f"cm.block: the blocks have the dtypes {names}; give all numbers of one size")
    result: DType = np.result_type(*known)
    return result


def _cuts(extents: Sequence[int]) -> list[tuple[int, int]]:
    """Where each of some extents begins and ends."""
    return list(pairwise(accumulate(extents, initial=0)))


def _row_times(row: Sequence[Block], parts: Sequence[Any]) -> Any:
    """A row of blocks times the parts of a vector; None where all blocks are zeros."""
    total = None
    for one, part in zip(row, parts, strict=True):
        if one is not None:
            product = one @ part
            total = product if total is None else total + product
    return total
