"""A call of a function: its arguments as words, the check of its domain, one launch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from clmapreduce.calls.arguments import Argument, Arguments, Signature, array_or_number, home_of
from clmapreduce.calls.call import check_out
from clmapreduce.calls.empty import empty_results
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import prepare
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.dtypes import DD, FLOAT32, FLOAT64, QD, QF, DType, count_words, is_extended
from clmapreduce.errors import ArgumentError, DTypeError, ShapeError
from clmapreduce.extended.convert import extended
from clmapreduce.formula.formula import Access
from clmapreduce.formula.functions import cast
from clmapreduce.planning.lines import SeriesFunctionRequest
from clmapreduce.planning.mode import choose_mode
from clmapreduce.primitives.map import Map
from clmapreduce.series.functions.catalogue import FUNCTIONS
from clmapreduce.series.functions.digits import Asked, argument_dtype, goal_of
from clmapreduce.series.functions.kernels import series_function
from clmapreduce.series.functions.ranges import check_floats, check_texts


class Point(NamedTuple):
    """An argument. value: a DeviceArray, a NumPy array, or Python's numbers and texts, to be made words of. counts:
    whether its dtype says what the result's is; plain numbers take the dtype of what they meet.
    """

    value: Any
    counts: bool


class Gathered(NamedTuple):
    """The arguments of a call. arrays: in host memory or on the device `home`. dtype: in which kernels take them, with
    enough words for every one. goal: what is computed.
    """

    home: Context
    goal: Asked
    arrays: list[Any]
    dtype: DType

    @property
    def on_device(self) -> bool:
        return any(isinstance(a, DeviceArray) for a in self.arrays)


def gathered(values: Sequence[Any], digits: Any, dtype: Any, context: Context | None) -> Gathered:
    """The arguments of a function as arrays.

    values: numbers, texts, Decimals, Fractions, arrays of floats, integers or numbers in several floats.
    """
    points = [_point(value, context) for value in values]
    homes = {id(p.value.context): p.value.context for p in points if isinstance(p.value, DeviceArray)}
    home = home_of(list(homes.values()), context)
    goal = goal_of(digits, dtype, [p.value.dtype for p in points if p.counts], home)
    arrays = [_array(p, goal) for p in points]
    check_floats(arrays, goal.word)
    return Gathered(home, goal, arrays, argument_dtype([a.dtype for a in arrays], goal.word))


def real_values(name: str, values: Sequence[Any], digits: Any, dtype: Any, options: Options) -> Any:
    """A function of the catalogue at every point of its broadcast arguments.

    Returns the broadcast shape, in the dtype that `digits`, `dtype` and the arguments ask for. Raises ArgumentError
    for arguments in host memory that are outside the domain.
    """
    data = gathered(values, digits, dtype, options.context)
    home = data.home
    options = replace(options, context=home)
    mode = choose_mode(options.mode, home.facts)
    arguments = Arguments(home, (), broadcast(data.arrays), data.on_device)
    outputs = [(arguments.shape, data.goal.dtype)]
    check_out(options.out, outputs, home)
    _check_domain(name, data.arrays)
    if arguments.length == 0:
        return empty_results(arguments, outputs, options)[0]
    arguments = replace(arguments, inputs=inputs_of(data.arrays, arguments.shape, data.dtype, home))
    content = series_function(name, data.goal, data.dtype)
    box = options.box("series_function", mode, home)
    request = SeriesFunctionRequest(content, FUNCTIONS[name].work, arguments.length, mode, box)
    return prepare(arguments, home.executable(request), outputs, options).run()[0]


def _point(value: Any, context: Context | None) -> Point:
    plain = isinstance(value, (bool, int, float, str, Decimal, Fraction)) and not isinstance(value, np.generic)
    if plain or hasattr(value, "_mpf_"):
        return Point(value, False)
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.dtype.kind == "O"):
        cells = np.array(value, dtype=object)
        if isinstance(value, np.ndarray) or any(map(_is_long, cells.flat)):
            return Point(cells, False)
    array = array_or_number(value, context)
    dtype = getattr(array, "dtype", np.dtype(object))
    if dtype.kind not in "biuf" and not is_extended(dtype):
        raise DTypeError(f"series take real numbers, not {quoted(value) if dtype.kind == 'O' else dtype}")
    return Point(array, True)


def _is_long(cell: Any) -> bool:
    """Whether it is a number that NumPy's dtypes may not hold."""
    if isinstance(cell, int):
        return not -(2**63) <= cell < 2**64
    return isinstance(cell, (str, Decimal, Fraction)) or hasattr(cell, "_mpf_")


def as_array(value: Any) -> Any:
    """An argument rounded to float64, or the array on a device that it is."""
    array = _point(value, None).value
    if isinstance(array, DeviceArray):
        return array
    words = extended(array) if not isinstance(array, np.ndarray) or array.dtype == object else array
    return np.asarray(words[words.dtype.names[0]] if words.dtype.names else words, np.float64)


def _array(point: Point, goal: Asked) -> Any:
    """The argument as an array. Plain floats are one, all else of Python becomes words, twice as many as the result's,
    for what cancels.
    """
    value = point.value
    if isinstance(value, (DeviceArray, np.ndarray)) and value.dtype != object:
        return value
    if isinstance(value, (bool, float)):
        return np.asarray(value, np.float64).astype(goal.word) if goal.word == FLOAT64 else _words(value, goal)
    return _words(value, goal)


def _words(value: Any, goal: Asked) -> Any:
    words = extended(value, DD if goal.word == FLOAT64 and count_words(goal.dtype) == 1 else QD)
    check_texts(value, words[words.dtype.names[0]])
    if goal.word == FLOAT32:
        check_floats([words], FLOAT32)
        words = extended(words, QF)
    first, *others = words.dtype.names
    if all(not np.any(words[name]) for name in others):
        return np.asarray(words[first])
    return words


def broadcast(arrays: Sequence[Any]) -> tuple[int, ...]:
    """The shape that arrays broadcast to. Raises ShapeError."""
    shapes = [tuple(a.shape) for a in arrays]
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        text = " and ".join(map(str, shapes))
        raise ShapeError(f"shapes {text} do not broadcast; make them equal, or 1 where they differ") from None


def _check_domain(name: str, arrays: Sequence[Any]) -> None:
    """Raises ArgumentError for arguments outside the domain. Those on a device are not looked at."""
    if any(isinstance(a, DeviceArray) for a in arrays):
        return
    stacked = [_stacked(a) for a in arrays]
    with np.errstate(all="ignore"):
        outside = FUNCTIONS[name].outside(*stacked)
    if np.any(outside):
        places = np.broadcast_arrays(outside, *(words[0] for words in stacked))
        first = tuple(np.argwhere(places[0])[0])
        text = ", ".join(repr(float(place[first])) for place in places[1:])
        raise ArgumentError(f"cm.series.{name}({text}) is outside the domain, {FUNCTIONS[name].domain}")


def _stacked(array: Any) -> Any:
    """Its words, (words, …), as float64."""
    names = array.dtype.names
    return np.stack([np.asarray(array[n], np.float64) for n in names]) if names else np.asarray(array, np.float64)[None]


def inputs_of(arrays: Sequence[Any], shape: tuple[int, ...], dtype: DType, home: Context) -> tuple[Argument, ...]:
    """The arguments as kernels read them: in one dtype, and of the result's shape."""
    if any(a.dtype != dtype or tuple(a.shape) != shape for a in arrays):
        converted = _conversion(dtype, len(arrays))(*arrays, context=home)
        arrays = converted if isinstance(converted, tuple) else (converted,)
    arrays = [a if isinstance(a, DeviceArray) else np.ascontiguousarray(a).reshape(shape) for a in arrays]
    return tuple(Argument(a, Signature(dtype, Access.VECTOR)) for a in arrays)


@lru_cache(maxsize=32)
def _conversion(dtype: DType, operands: int) -> Map:
    """Arrays in another dtype, broadcast."""
    if operands == 1:
        return Map(lambda x: cast(x, dtype))
    return Map(lambda x, y: (cast(x, dtype), cast(y, dtype)))
