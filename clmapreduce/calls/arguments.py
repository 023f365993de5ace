"""The arguments of a call: arrays and numbers, where they live, how they broadcast, and what inputs follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clmapreduce.calls.tables import Table
from clmapreduce.checks import whole
from clmapreduce.device.array import DeviceArray, contiguous
from clmapreduce.device.context import Context, context_of
from clmapreduce.device.convert import host_array
from clmapreduce.device.foreign import is_foreign, wrap_foreign
from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.dtypes import (
    COMPLEX64,
    COMPLEX128,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    UINT64,
    DType,
    check_constant,
    holds,
    refuse_bfloat16,
    usual,
    word_of,
)
from clmapreduce.errors import DeviceError, ShapeError
from clmapreduce.formula.formula import Access, Input, symbol
from clmapreduce.formula.node import Symbol, Value
from clmapreduce.formula.tables.take import table_symbol

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Signature:
    """What a formula input depends on; equal signatures share a traced formula.

    `weak`: the Python type of a plain number. `varies`: whether it may differ from index to index. `shifted`,
    `together`: as of an Input. `checked`: of a table, as of its symbol.
    """

    dtype: DType
    access: Access
    rank: int = 0
    weak: type | None = None
    varies: bool = False
    shifted: bool = False
    together: bool = False
    checked: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", usual(self.dtype))  # calls of equal dtypes share a formula

    def input(self, i: int) -> Input:
        """The formula's input number i. Raises DTypeError for bfloat16."""
        name = f"argument {i + 1}"
        refuse_bfloat16(self.dtype, name)
        value: Value = symbol(name, self.dtype, self.varies)
        if self.access is Access.TABLE:
            value = table_symbol(name, self.dtype, self.rank, self.checked)
        if self.weak is not None:
            value = Symbol(name, self.dtype, self.weak(0), self.varies)
        return Input(
            f"in{i}", self.dtype, value, self.access, self.rank, shifted=self.shifted, together=self.together
        )


@dataclass(frozen=True)
class Described:
    """An array that is not there yet: its shape and dtype."""

    shape: Shape
    dtype: DType

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return product(self.shape)


@dataclass(frozen=True)
class Argument:
    """One argument: a DeviceArray, a NumPy array or a number, with its signature and, when broadcast, (size, stride)
    per collapsed dimension. last: its last element's place, where kernels read it at places from memory. width: how
    many rows lie side by side, where they lie across memory.
    """

    value: Any
    signature: Signature
    strides: tuple[tuple[int, int], ...] = ()
    last: int | None = None
    width: int | None = None

    @property
    def numbers(self) -> tuple[int, ...]:
        """What follows the array among a kernel's arguments."""
        first = (self.value.first,) if self.signature.shifted else ()
        others = ((n,) if n is not None else () for n in (self.width, self.last))
        width, last = others
        return (*(n for pair in self.strides for n in pair), *width, *first, *last)


@dataclass(frozen=True)
class Arguments:
    """All arguments of one call. `inputs`: those called in0, in1, … in the plan. `on_device`: a DeviceArray is among
    them, so the result stays there. `batch`: the leading axes, where the last one is a line and the others count lines;
    else all elements are one line. `reach`: as of a Line.
    """

    context: Context
    inputs: tuple[Argument, ...]
    shape: Shape
    on_device: bool
    batch: Shape | None = None
    reach: int = 0

    @property
    def signature(self) -> tuple[Signature, ...]:
        return tuple(g.signature for g in self.inputs)

    @property
    def length(self) -> int:
        """Elements of all lines together."""
        return product(self.shape)

    @property
    def line(self) -> int:
        """Elements of one line."""
        return self.length if self.batch is None else self.shape[-1]

    @property
    def rows(self) -> int:
        """How many lines there are."""
        return 1 if self.batch is None else product(self.batch)


def product(shape: Shape) -> int:
    """How many elements an array of a shape has."""
    size = 1
    for extent in shape:
        size *= extent
    return size


ARRAYS = (DeviceArray, np.ndarray, Described)


def gather(
    values: Sequence[Any], context: Context | None, length: int | None = None, shape: Shape | None = None
) -> Arguments:
    """Sorts the arguments of a call. `length`: the result's length where no array gives one. `shape`: the result's
    shape where that is settled.

    Raises ShapeError for shapes that do not broadcast, DTypeError for dtypes no kernel can hold, DeviceError for arrays
    on different devices.
    """
    all_values = [array_or_number(v, context, f"argument {i}") for i, v in enumerate(values, 1)]
    homes = _homes(all_values)
    home = home_of(list(homes.values()), context)
    arrays = [v for v in all_values if isinstance(v, ARRAYS)]
    shapes = [a.shape for a in arrays]
    if shape is None:
        shape = _shape(shapes, length)
    elif _shape([*shapes, shape], length) != shape:
        raise ShapeError(f"an array of shape {_shape(shapes, length)} has no room in shape {shape}")
    inexact = _inexact(arrays)
    inputs = tuple(_input(v, shape, inexact, home) for v in all_values)
    return Arguments(home, inputs, shape, bool(homes), reach=_reach(all_values))


def gather_rows(values: Sequence[Any], context: Context | None, length: int | None = None) -> Arguments:
    """As `gather`, for a batch: the last axis of every array is a line, or 1 for one value per row; leading axes
    broadcast. `length`: the line's length where no array gives it.
    """
    length = None if length is None else whole(length, "length")
    all_values = [array_or_number(v, context, f"argument {i}") for i, v in enumerate(values, 1)]
    homes = _homes(all_values)
    home = home_of(list(homes.values()), context)
    arrays = [v for v in all_values if isinstance(v, ARRAYS) and v.ndim]
    lines = {v.shape[-1] for v in arrays} - {1} | ({length} if length is not None else set())
    shapes = ", ".join(
        f"argument {i + 1} has shape {v.shape}" for i, v in enumerate(all_values) if getattr(v, "ndim", 0)
    )
    if len(lines) > 1:
        raise ShapeError(
            f"the last axis is the line, and lines differ in length: {shapes}; one value per row has length 1"
        )
    line = lines.pop() if lines else 1
    try:
        batch = np.broadcast_shapes(*(v.shape[:-1] for v in arrays))
    except ValueError:
        raise ShapeError(f"the batch axes, all but the last, do not broadcast: {shapes}") from None
    inexact = _inexact([v for v in all_values if isinstance(v, ARRAYS)])
    inputs = tuple(_input_of_rows(v, (*batch, line), inexact, home) for v in all_values)
    return Arguments(home, inputs, (*batch, line), bool(homes), batch, _reach(all_values))


def _homes(values: Sequence[Any]) -> dict[int, Context]:
    """The contexts of the arrays on devices, tables among them."""
    arrays = (v.values if isinstance(v, Table) else v for v in values)
    return {id(v.context): v.context for v in arrays if isinstance(v, DeviceArray)}


def _reach(values: Sequence[Any]) -> int:
    """Elements of the longest table."""
    return max((product(v.shape) for v in values if isinstance(v, Table)), default=0)


def _inexact(arrays: Sequence[Any]) -> list[DType]:
    """The dtypes of floats that plain numbers meet."""
    dtypes = [word_of(a.dtype) for a in arrays]
    return [dtype for dtype in dtypes if dtype.names is None and dtype.kind in "fc"]


def _input_of_rows(value: Any, shape: Shape, inexact: list[DType], home: Context) -> Argument:
    if not isinstance(value, ARRAYS) or value.ndim == 0:
        return _input(value, shape, inexact, home)  # tables too
    if isinstance(value, np.ndarray):
        value = contiguous(value)
    varies = value.shape[-1] == shape[-1]
    access = None
    if value.size == product(shape):
        access = Access.VECTOR
    elif varies and value.size == shape[-1]:
        access = Access.LINE
    elif value.size == 1:
        return _input(value, (*shape, 0), inexact, home)
    elif not varies and value.size == product(shape[:-1]):
        access = Access.ROW
    if access is not None:
        return array_argument(value, access, varies=varies)
    return array_argument(value, Access.STRIDED, collapsed(value.shape, shape), varies)


def array_or_number(value: Any, context: Context | None, name: str = "the array") -> Any:
    """An argument as a number, an array or a Table. name: of an array whose file was truncated, for the ShapeError."""
    plain = isinstance(value, (bool, int, float, complex)) and not isinstance(value, np.generic)
    if plain or isinstance(value, (DeviceArray, Described)):
        return value
    if isinstance(value, Table):
        return value.with_values(array_or_number(value.values, context, name))
    if is_foreign(value):
        return wrap_foreign(value, context)
    return host_array(value, name)


def home_of(homes: list[Context], context: Context | None) -> Context:
    if not homes:
        return context_of(context)
    if len(homes) > 1 or (context is not None and context is not homes[0]):
        names = ", ".join(repr(h) for h in [*homes, *([context] if context is not None else [])])
        raise DeviceError(
            f"arrays and contexts of one call must share a context, found {names}; "
            "move arrays with cm.array(x, context)"
        )
    return homes[0]


def _shape(shapes: list[Shape], length: int | None) -> Shape:
    if length is not None:
        shapes = [*shapes, (whole(length, "length"),)]
    if len(shapes) == 1:
        return shapes[0]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " and ".join(str(s) for s in shapes)
        raise ShapeError(f"shapes {text} do not broadcast; make them equal, or 1 where they differ") from None


def _table(table: Table) -> Argument:
    """The argument for a table: how long each axis is, and how many elements a step along it."""
    values = contiguous(table.values) if isinstance(table.values, np.ndarray) else table.values
    axes = tuple((n, product(values.shape[d + 1 :])) for d, n in enumerate(values.shape))
    argument = array_argument(values, Access.TABLE, axes, varies=False)
    return replace(argument, signature=replace(argument.signature, checked=table.checked))


def _input(value: Any, shape: Shape, inexact: list[DType], home: Context) -> Argument:
    if isinstance(value, Table):
        return _table(value)
    if not isinstance(value, ARRAYS):
        return _number(value, inexact, home)
    if isinstance(value, np.ndarray):
        value = contiguous(value)
    if value.shape == shape and shape:
        return array_argument(value, Access.VECTOR)
    if value.size == 1:
        number = isinstance(value, np.ndarray) or (isinstance(value, Described) and not value.shape)
        access = Access.ARGUMENT if number and value.dtype.names is None else Access.SINGLE
        return array_argument(value, access, varies=False)
    strides = collapsed(value.shape, shape)
    if len(strides) == 1 and strides[0][1] == 1:
        return array_argument(value, Access.VECTOR)
    return array_argument(value, Access.STRIDED, strides)


def array_argument(
    value: Any, access: Access, strides: tuple[tuple[int, int], ...] = (), varies: bool = True, width: int | None = None
) -> Argument:
    """The argument for an array that is read in some way. strides: of a strided one. width: as of an Argument. A part
    of a DeviceArray is read in its place.
    """
    shifted = isinstance(value, DeviceArray) and 0 < value.first < NARROW_LIMIT - value.size
    signature = Signature(value.dtype, access, len(strides), varies=varies, shifted=shifted)
    return Argument(value, signature, strides, width=width)


def _number(value: Any, inexact: list[DType], home: Context) -> Argument:
    if isinstance(value, bool):
        return Argument(np.bool_(value), Signature(np.dtype(bool), Access.ARGUMENT, weak=bool))
    dtype: DType
    if isinstance(value, int):
        dtype = next((d for d in (INT32, INT64) if holds(d, value)), UINT64)
        check_constant(value, dtype)
        return Argument(dtype.type(value), Signature(dtype, Access.ARGUMENT, weak=int))
    common = np.result_type(*inexact) if inexact else FLOAT64 if home.facts.fp64 else FLOAT32
    wide = common.itemsize > (8 if common.kind == "c" else 4)
    if isinstance(value, complex):
        dtype = COMPLEX128 if wide else COMPLEX64
        return Argument(dtype.type(value), Signature(dtype, Access.ARGUMENT, weak=complex))
    dtype = FLOAT64 if wide else FLOAT32
    return Argument(dtype.type(value), Signature(dtype, Access.ARGUMENT, weak=float))


def collapsed(own: Shape, shape: Shape) -> tuple[tuple[int, int], ...]:
    """(size, stride in elements) of the result's dimensions as this array sees them, neighbours in step merged, size-1
    ones dropped.
    """
    strides, step = [], 1
    for extent in reversed(own):
        strides.append(0 if extent == 1 else step)
        step *= extent
    strides = [0] * (len(shape) - len(own)) + strides[::-1]
    merged: list[tuple[int, int]] = []
    for size, stride in zip(shape, strides, strict=True):
        if size == 1:
            continue
        if merged and merged[-1][1] == stride * size:
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    return tuple(merged)
