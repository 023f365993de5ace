"""New arrays: filled with one number, with numbers in step, or like another array."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.arrays.operands import is_number, number_in
from clmapreduce.arrays.promotion import default_float
from clmapreduce.arrays.subscripts.steps import bits_of, seen_as
from clmapreduce.calls.arguments import Shape, gather
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.checks import dtype_of, is_whole, quoted, real, whole
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.array import empty as allocated
from clmapreduce.device.context import Context, context_of
from clmapreduce.dtypes import FLOAT64, INT64, DType, check_stored, is_integer
from clmapreduce.errors import ArgumentError, ShapeError
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node, index
from clmapreduce.primitives.map import Map

_FILL = Map(lambda value: value)


def empty(shape: Any, dtype: Any = None, *, context: Context | None = None) -> DeviceArray:
    """An array with undefined contents. shape: an integer or a tuple. dtype: the default is float64, or float32 on a
    device without float64. Raises ShapeError, DTypeError, DeviceMemoryError.
    """
    home = context_of(context)
    return allocated(shape_of(shape), _dtype(dtype, home), home)


def full(shape: Any, fill_value: Any, dtype: Any = None, *, context: Context | None = None) -> DeviceArray:
    """An array filled with one number. dtype: the default is the number's dtype. Launches one map."""
    home = context_of(context)
    if not is_number(fill_value) and np.ndim(fill_value):
        raise ShapeError(f"fill_value is {quoted(fill_value)}; give one number, or assign to cm.empty(shape)[...]")
    if isinstance(fill_value, DeviceArray):
        fill_value = fill_value.to_numpy()[()]
    own = np.asarray(fill_value).dtype
    kind = _dtype(default_float(home.facts.fp64) if own == FLOAT64 and dtype is None else dtype or own, home)
    value = number_in(fill_value, kind) if is_number(fill_value) else np.asarray(fill_value).astype(kind)
    extent, bits = shape_of(shape), bits_of(kind)
    return seen_as(_mapped(_FILL, [value.view(bits) if bits != kind else value], extent, home), kind)


def zeros(shape: Any, dtype: Any = None, *, context: Context | None = None) -> DeviceArray:
    """An array of zeros. dtype: as for `empty`. Launches one map."""
    return full(shape, 0, _dtype(dtype, context_of(context)), context=context)


def ones(shape: Any, dtype: Any = None, *, context: Context | None = None) -> DeviceArray:
    """An array of ones. dtype: as for `empty`. Launches one map."""
    return full(shape, 1, _dtype(dtype, context_of(context)), context=context)


def empty_like(x: Any, /, dtype: Any = None, *, shape: Any = None, context: Context | None = None) -> DeviceArray:
    """An array with undefined contents, with the shape, dtype and context of another one, except those that are passed.
    """
    return empty(*_like(x, dtype, shape), context=_home(x, context))


def full_like(
    x: Any, /, fill_value: Any, dtype: Any = None, *, shape: Any = None, context: Context | None = None
) -> DeviceArray:
    """As `empty_like`, filled with one number."""
    extent, kind = _like(x, dtype, shape)
    return full(extent, fill_value, kind, context=_home(x, context))


def zeros_like(x: Any, /, dtype: Any = None, *, shape: Any = None, context: Context | None = None) -> DeviceArray:
    """As `empty_like`, filled with zeros."""
    return full_like(x, 0, dtype, shape=shape, context=context)


def ones_like(x: Any, /, dtype: Any = None, *, shape: Any = None, context: Context | None = None) -> DeviceArray:
    """As `empty_like`, filled with ones."""
    return full_like(x, 1, dtype, shape=shape, context=context)


def arange(
    start: Any, stop: Any = None, step: Any = 1, dtype: Any = None, *, context: Context | None = None
) -> DeviceArray:
    """The numbers start, start + step, … before stop. `arange(n)` counts from 0 to before n. dtype: the default is
    int64 for integers, else as for `empty`. Launches one map.
    """
    home = context_of(context)
    start, stop = (0, start) if stop is None else (start, stop)
    numbers = [start, stop, step]
    for number, name in zip(numbers, ("start", "stop", "step"), strict=True):
        real(number, name)
    if step == 0:
        raise ArgumentError("step is 0, with which no stop is reached; give another number")
    integers = all(is_whole(number) for number in numbers)
    length = len(range(*map(int, numbers))) if integers else max(0, math.ceil((stop - start) / step))
    kind = _dtype(INT64 if dtype is None and integers else dtype, home)
    first, second = (number_in(_plain(number), kind) for number in (start, start + step)) if length else (0, 0)
    if not length:
        return allocated((0,), kind, home)
    wide = INT64 if is_integer(kind) else kind
    with np.errstate(all="ignore"):
        values = [np.asarray(first).astype(wide), np.asarray(second).astype(wide) - np.asarray(first).astype(wide)]
    return _mapped(_in_step(kind), values, (whole(length, "the length"),), home)


def linspace(
    start: Any, stop: Any, num: int = 50, dtype: Any = None, *, endpoint: bool = True, context: Context | None = None
) -> DeviceArray:
    """`num` evenly spaced numbers from start to stop; stop is the last one if endpoint. dtype: as for `empty`. Launches
    one map. Numbers are computed in float64 where the device has it.
    """
    home = context_of(context)
    begin, end = real(start, "start"), real(stop, "stop")
    count = whole(num, "num")
    kind = _dtype(dtype, home)
    wide = default_float(home.facts.fp64)
    spaces = count - 1 if endpoint else count
    step = (end - begin) / spaces if spaces > 0 else math.nan
    last = end if endpoint and count > 1 else begin + (count - 1) * (step if count > 1 else 0.0)
    values = [wide.type(begin), wide.type(step if count > 1 else 0.0), wide.type(last), np.int64(count - 1)]
    return _mapped(_evenly(kind), values, (count,), home)


@lru_cache(maxsize=64)
def _in_step(dtype: DType) -> Map:
    return Map(lambda first, step: (first + index.astype(first.dtype) * step).astype(dtype))


@lru_cache(maxsize=64)
def _evenly(dtype: DType) -> Map:
    def number(first: Node, step: Node, last: Node, end: Node) -> Any:
        value = apply("where", index == end, last, first + index.astype(first.dtype) * step)
        if is_integer(dtype):
            value = apply("floor", value)
        return value.astype(dtype)

    return Map(number)


def _mapped(function: Map, values: Sequence[Any], shape: Shape, home: Context) -> DeviceArray:
    arguments = replace(gather(values, home, shape=shape), on_device=True)
    prepared = function.prepared(arguments, Options(context=home))
    result: DeviceArray = (prepared.run() if isinstance(prepared, Prepared) else prepared)[0]
    return result


def shape_of(shape: Any) -> Shape:
    """A shape as a tuple. Raises ShapeError."""
    extents = shape if isinstance(shape, (tuple, list)) else (shape,)
    return tuple(whole(extent, "an extent of the shape") for extent in extents)


def _dtype(dtype: Any, home: Context) -> DType:
    if dtype is None:
        return default_float(home.facts.fp64)
    return check_stored(dtype_of(dtype), "the array")


def _like(x: Any, dtype: Any, shape: Any) -> tuple[Any, Any]:
    own = x if isinstance(x, DeviceArray) else np.asarray(x)
    return own.shape if shape is None else shape, own.dtype if dtype is None else dtype


def _home(x: Any, context: Context | None) -> Context | None:
    return x.context if context is None and isinstance(x, DeviceArray) else context


def _plain(number: Any) -> Any:
    return number.item() if isinstance(number, np.generic) else number
