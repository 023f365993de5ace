"""One check for each kind of argument: a choice, a switch, a size, a number, a dtype, an array. Errors say what was
given and what would work.
"""

from __future__ import annotations

import inspect
import math
import sys
from collections.abc import Callable, Collection
from typing import Any

import numpy as np

from clmapreduce.errors import ArgumentError, ClMapReduceError, DTypeError, ModeError, ShapeError
from clmapreduce.host_room import refuse_oversized

LARGEST_SIZE = 2**62
"""Of lengths and counts: an int64 index has room for a tile more."""
_QUOTED = 80
_AROUND = 60


def quoted(value: Any) -> str:
    """A value as messages show it: on one line, and short."""
    if isinstance(value, int) and value.bit_length() > 256:  # Python refuses to write integers of many digits
        return f"an integer of {value.bit_length()} bits"
    if hasattr(value, "shape") and hasattr(value, "dtype") and not isinstance(value, np.generic):
        return f"an array of shape {value.shape} and dtype {value.dtype}"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a class of the caller's may fail in any way
        text = ""
    return text if 0 < len(text) <= _QUOTED else f"a {type(value).__name__}"


def pointed(why: str, text: str, at: int) -> str:
    """A message with a text below it and a caret under its character `at`; of a long text the part around that."""
    start = max(0, at - _AROUND)
    excerpt = "".join(" " if c.isspace() else c if c.isprintable() else "?" for c in text[start : at + _AROUND])
    return f"{why}\n    {excerpt}\n    {' ' * (at - start)}^"


def choice(value: Any, name: str, words: Collection[str], error: type[ClMapReduceError] = ModeError) -> str:
    """`value`, which must be one of some words. Raises `error`."""
    if not isinstance(value, str) or value not in words:
        text = repr(value) if isinstance(value, str) and len(value) <= _QUOTED else quoted(value)
        raise error(f"{name}={text} is unknown; use one of {', '.join(words)}")
    return value


def switch(value: Any, name: str) -> bool:
    """`value` as a bool: True or False, or NumPy's. Raises ArgumentError."""
    if not isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name} is {quoted(value)}; use True or False")
    return bool(value)


def is_whole(value: Any) -> bool:
    """Whether a value is an integer, Python's or NumPy's, and no bool."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def whole(value: Any, name: str, least: int = 0) -> int:
    """`value` as a size: a whole number from `least` to LARGEST_SIZE. Raises ShapeError."""
    if not is_whole(value) or value < least:
        raise ShapeError(f"{name} is {quoted(value)}; it must be a whole number, {least} or more")
    if value > LARGEST_SIZE:
        raise ShapeError(f"{name} is {quoted(value)}; indices reach up to {LARGEST_SIZE}, use less")
    return int(value)


def real(value: Any, name: str) -> float:
    """`value` as a float. Raises ArgumentError if it is not a real number, or too large for a float."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)
    except (TypeError, ValueError, OverflowError):
        raise ArgumentError(f"{name} is {quoted(value)}; it must be a number that float64 holds") from None


def finite(value: Any, name: str) -> float:
    """`value` as a finite float. Raises ArgumentError if it is not a number, and for infinities and NaN."""
    if isinstance(value, (bool, np.bool_)):
        raise ArgumentError(f"{name} is {value!r}; it must be a number")
    number = real(value, name)
    if not math.isfinite(number):
        raise ArgumentError(f"{name} is {value!r}; it must be a finite number")
    return number


def dtype_of(value: Any, name: str = "dtype") -> np.dtype[Any]:
    """`value` as a NumPy dtype. Raises DTypeError."""
    try:
        dtype: np.dtype[Any] = np.dtype(value)
    except (TypeError, ValueError, OverflowError, RecursionError, SyntaxError) as error:
        raise DTypeError(f"{name} is {quoted(value)}, which names no dtype; use one such as 'float32'") from error
    return dtype


def refuse_masked(value: Any, name: str) -> None:
    """Raises DTypeError for a masked array, the values behind its mask would count, and for Arrow's arrays with nulls.

    NumPy imports its part for these when it is asked for it: that costs 10 ms, and a child that is forked meanwhile, in
    another thread, waits for the import for ever. If it is not imported, there are no masked arrays.
    """
    if isinstance(value, getattr(sys.modules.get("numpy.ma"), "MaskedArray", ())):
        raise DTypeError(
            f"{name} is a masked array, which has values that do not count; pass x.filled(value) with one that is "
            "neutral"
        )
    if isinstance(value, np.ndarray):
        return
    if hasattr(value, "__arrow_c_array__") or hasattr(value, "__arrow_c_stream__"):
        nulls = getattr(value, "null_count", 0)
        if nulls() if callable(nulls) else nulls:  # Polars' is a method
            raise DTypeError(f"{name} has nulls, which are no numbers; call its fill_null with one that is neutral")


def numpy_array(value: Any, name: str, dtype: Any = None) -> np.ndarray[Any, Any]:
    """`value` as a NumPy array, of `dtype` if one is passed.

    Raises ShapeError for lists that are no array, DTypeError for what holds no such numbers and for masked arrays,
    DeviceMemoryError for one that repeats its elements so often that the host could not hold them.
    """
    refuse_masked(value, name)
    try:
        array = np.asarray(value, dtype=dtype)
    except ClMapReduceError:
        raise
    except (ValueError, RecursionError) as error:
        raise ShapeError(f"{name} is {quoted(value)}, which is no array: {error}") from None
    except (TypeError, OverflowError, AttributeError, RuntimeError) as error:  # RuntimeError: a tensor with gradients
        raise DTypeError(f"{name} is {quoted(value)}, which is no array of numbers: {error}") from None
    refuse_oversized(array, name)
    return array


def repeats(shape: Collection[int], strides: Collection[int], itemsize: int) -> bool:
    """Whether an array is known to have elements in the same place, as a broadcast one: then it cannot hold results.
    strides, itemsize: in the same unit.
    """
    longer = [(n, abs(step)) for n, step in zip(shape, strides, strict=True) if n != 1]
    if any(n == 0 for n, _ in longer):
        return False
    span = itemsize + sum((n - 1) * step for n, step in longer)
    return any(step == 0 for _, step in longer) or math.prod(n for n, _ in longer) * itemsize > span


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether a callable takes `count` arguments by position; True where Python cannot tell."""
    try:
        inspect.signature(function).bind(*range(count))
    except ValueError:  # a builtin without a signature
        return True
    except TypeError:
        return False
    return True
