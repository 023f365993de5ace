"""sort, argsort and sort_by_key: arrays sorted along an axis, on the device, wherever they live."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypedDict, overload

import numpy as np

from clmapreduce.calls.arguments import array_or_number, home_of, product
from clmapreduce.calls.axes import axis_of
from clmapreduce.calls.chunked import is_chunked
from clmapreduce.calls.options import Options
from clmapreduce.checks import switch
from clmapreduce.device.array import DeviceArray, NumpyArray, contiguous
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import INT64
from clmapreduce.errors import ArgumentError, ShapeError
from clmapreduce.formula.node import Node
from clmapreduce.host_room import needs_host_room
from clmapreduce.primitives.map import Map
from clmapreduce.sorting.line import check_keys, sort_indices, sort_indices_by, sort_keys, sort_pairs

if TYPE_CHECKING:
    from typing_extensions import Unpack


class SortOptions(TypedDict, total=False):
    """The keywords of sorts, for type checkers."""

    descending: bool
    mode: str
    context: Context | None
    wait_for: Sequence[Any]


ROWS = np.dtype(np.uint32)
FEW, LONG = 32, 1 << 16
"""Up to so many lines, each at least so long, are sorted one after the other."""
CARRIED = (1, 2, 4, 8)
"""Bytes of a value that goes with its key through all passes; others are fetched at the end, by place."""


@overload
def sort(x: DeviceArray, /, *, axis: int | None = -1, **options: Unpack[SortOptions]) -> DeviceArray: ...
@overload
def sort(x: NumpyArray, /, *, axis: int | None = -1, **options: Unpack[SortOptions]) -> NumpyArray: ...
@overload
def sort(x: Any, /, *, axis: int | None = -1, **options: Unpack[SortOptions]) -> Any: ...
@needs_host_room
def sort(
    x: Any, /, *, axis: int | None = -1, descending: bool = False, mode: str = "auto", context: Context | None = None,
    wait_for: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """The sorted values along an axis; with axis=None, of all elements as one line. A DeviceArray gives a DeviceArray,
    any other array a NumPy array.

    x: bools, integers or floats up to 64 bits. NaN come last, or first if descending; zeros of both signs are equal.
    Raises DTypeError for other dtypes, PlaceError for an axis that x does not have.
    """
    keys, options = _keys(x, context, mode, wait_for)
    keys, along = _line(keys, axis)
    function = Function(lambda line: sort_keys(line, descending, options).run()[0], _sorted_rows, descending)
    return _along(keys, along, function, options)


@overload
def argsort(
    x: DeviceArray, /, *, axis: int | None = -1, stable: bool = True, **options: Unpack[SortOptions]
) -> DeviceArray: ...  # fmt: skip
@overload
def argsort(
    x: NumpyArray, /, *, axis: int | None = -1, stable: bool = True, **options: Unpack[SortOptions]
) -> NumpyArray: ...  # fmt: skip
@overload
def argsort(x: Any, /, *, axis: int | None = -1, stable: bool = True, **options: Unpack[SortOptions]) -> Any: ...
@needs_host_room
def argsort(
    x: Any, /, *, axis: int | None = -1, descending: bool = False, stable: bool = True, mode: str = "auto",
    context: Context | None = None, wait_for: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """The places of the sorted values along an axis, int64. Arguments as for `sort`. The order is always stable: of
    equal values, of zeros and of NaN the first one comes first, also in a descending order.
    """
    switch(stable, "stable")
    keys, options = _keys(x, context, mode, wait_for)
    keys, along = _line(keys, axis)
    function = Function(lambda line: sort_indices(line, descending, options).run()[0], _ordered_rows, descending)
    return _along(keys, along, function, options)


@needs_host_room
def sort_by_key(
    keys: Any, values: Any, *, descending: bool = False, mode: str = "auto", context: Context | None = None,
    wait_for: Sequence[Any] = (),
) -> tuple[Any, Any]:
    """(keys, values), both in the stable order of the keys.

    keys: (n,) as for `sort`. values: (n, *trailing) of any dtype, or a tuple of such arrays, which gives a tuple. The
    results are DeviceArrays if an argument is one, else NumPy arrays. Raises ShapeError if the lengths differ.
    """
    several = values if isinstance(values, tuple) else (values,)
    arrays = [checked(v, context) for v in (keys, *several)]
    home = home_of_all(arrays, context)
    on_device = any(isinstance(v, DeviceArray) for v in arrays)
    own, *others = arrays
    check_keys(own.dtype, "keys")
    if own.ndim != 1 or any(v.ndim < 1 or len(v) != len(own) for v in others):
        shapes = ", ".join(str(v.shape) for v in others)
        raise ShapeError(f"keys has shape {own.shape}, values {shapes}; keys are one line, with a value for each")
    options = Options(mode, home, wait_for)
    ordered, results = sorted_with(own, others, switch(descending, "descending"), options)
    delivered = [v if on_device else on_host(v) for v in (ordered, *results)]
    return delivered[0], tuple(delivered[1:]) if isinstance(values, tuple) else delivered[1]


def sorted_with(keys: Any, values: Sequence[Any], descending: bool, options: Options) -> tuple[Any, list[Any]]:
    """Keys, and arrays with a value for each, in the stable order of the keys."""
    context = options.context
    assert context is not None
    if len(keys) < 2:
        return keys, [*values]
    if len(values) == 1 and values[0].ndim == 1 and values[0].dtype.itemsize in CARRIED:
        ordered, carried = sort_pairs(keys, values[0], descending, options).run()
        return ordered, [carried]
    there = [v if isinstance(v, DeviceArray) else array(v, context) for v in (keys, *values)]
    order = sort_indices(there[0], descending, options).run()[0]
    first, *others = [v[order] for v in there]
    return first, others


def same(a: Node, b: Node) -> Any:
    """Whether two sorted neighbours are equal, a NaN to a NaN."""
    return (a == b) | ((a != a) & (b != b)) if a.dtype.kind == "f" else a == b


def _keys(x: Any, context: Context | None, mode: str, wait_for: Sequence[Any]) -> tuple[Any, Options]:
    keys = checked(x, context)
    check_keys(keys.dtype, "the array")
    return keys, Options(mode, home_of_all([keys], context), wait_for)


def checked(x: Any, context: Context | None) -> Any:
    if is_chunked(x):
        raise ArgumentError("Dask arrays are not sorted, since elements would change their chunks; sort x.compute()")
    value = array_or_number(x, context)
    return value if isinstance(value, DeviceArray) else contiguous(np.asarray(value))


def home_of_all(arrays: Sequence[Any], context: Context | None) -> Context:
    homes = {id(v.context): v.context for v in arrays if isinstance(v, DeviceArray)}
    return home_of(list(homes.values()), context)


def _line(keys: Any, axis: int | None) -> tuple[Any, int]:
    """The keys, and the number of the axis along which they are sorted."""
    return (keys.reshape(-1), 0) if axis is None else (keys, axis_of(axis, keys.ndim))


@dataclass(frozen=True)
class Function:
    """What is made of lines. one: of a line of 2 elements or more. many: of lines of equal length in a row."""

    one: Callable[[Any], Any]
    many: Callable[[DeviceArray, int, Options, bool], DeviceArray]
    descending: bool


def _along(keys: Any, axis: int, function: Function, options: Options) -> Any:
    """What a function makes of every line along an axis, in the shape of the keys."""
    descending = switch(function.descending, "descending")
    length = keys.shape[axis]
    if keys.size == length and length > 1:
        return function.one(keys.reshape(-1)).reshape(keys.shape)
    others = [k for k in range(keys.ndim) if k != axis]
    back = [*range(axis), keys.ndim - 1, *range(axis, keys.ndim - 1)]
    there = keys if isinstance(keys, DeviceArray) else array(keys, options.context)
    moved = there.transpose([*others, axis])
    if 0 < keys.size // max(1, length) <= FEW and length >= LONG:
        result = _one_by_one(moved.reshape(-1, length), function.one, options)
    else:
        result = function.many(moved.reshape(-1), length, options, descending)
    placed = result.reshape(moved.shape).transpose(back)
    return placed if isinstance(keys, DeviceArray) else on_host(placed)


def _one_by_one(rows: DeviceArray, one: Any, options: Options) -> DeviceArray:
    first = one(rows[0])
    results = rows.operations.call("empty", rows.shape, first.dtype, context=options.context)
    results[0] = first
    for row in range(1, rows.shape[0]):
        results[row] = one(rows[row])
    return results  # type: ignore[no-any-return]


def _sorted_rows(keys: DeviceArray, length: int, options: Options, descending: bool) -> Any:
    """Lines of equal length, one behind the other, each sorted: all elements by value, then stably by line."""
    if length < 2 or not keys.size:
        return keys.__copy__()
    rows = product(keys.shape) // length
    places = keys.operations.call("arange", keys.size, context=keys.context)
    row_of = _ROW(places, np.int64(length), mode=options.mode)
    ordered, row_of = sort_pairs(keys, row_of, descending, options).run()
    by_row = sort_pairs(row_of, _words(ordered), False, options, (rows - 1).bit_length()).run()[1]
    return by_row.view(keys.dtype)


def _ordered_rows(keys: DeviceArray, length: int, options: Options, descending: bool) -> Any:
    """The same, of places."""
    context = options.context
    if length < 2 or not keys.size:
        return keys.operations.call("zeros", keys.shape, INT64, context=context)
    rows = product(keys.shape) // length
    order = sort_indices(keys, descending, options).run()[0]
    row_of = _ROW(order, np.int64(length), mode=options.mode)
    by_row = sort_indices_by(row_of, order, (rows - 1).bit_length(), options).run()[0]
    return _PLACE(by_row, np.int64(length), mode=options.mode)


def _words(keys: DeviceArray) -> DeviceArray:
    """Keys as words that a sort carries along."""
    return keys.view(np.dtype(f"u{keys.dtype.itemsize}"))


def _row(place: Node, length: Node) -> Any:
    return (place // length).astype(ROWS)


_ROW, _PLACE = Map(_row), Map(lambda place, length: place % length)
"""The line of a place among all elements, and the place in it."""


def on_host(x: Any) -> Any:
    return x.to_numpy() if isinstance(x, DeviceArray) else x
