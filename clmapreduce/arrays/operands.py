"""The other operands of an operation on an array: arrays, in device memory or the host's, and numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from clmapreduce.calls.arguments import Shape, home_of
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array, host_array
from clmapreduce.device.foreign import is_foreign, wrap_foreign
from clmapreduce.dtypes import DType, check_constant, is_integer
from clmapreduce.errors import ArgumentError, DTypeError, ShapeError

Number: TypeAlias = "bool | int | float | complex"
NUMBERS = (bool, int, float, complex)
ARRAY_LIKE = (np.ndarray, np.generic, list, tuple)


def is_number(value: Any) -> bool:
    """Whether a value is a plain Python number, which takes the dtype of what it meets."""
    return isinstance(value, NUMBERS) and not isinstance(value, np.generic)


def is_operand(value: Any) -> bool:
    """Whether an operation takes a value."""
    return isinstance(value, (DeviceArray, *NUMBERS, *ARRAY_LIKE)) or is_foreign(value)


def operand(value: Any) -> Any:
    """A value as an array, on a device or not, or as a plain number. Raises ArgumentError for anything else, DTypeError
    for arrays that no kernel can hold.
    """
    if isinstance(value, DeviceArray) or is_number(value):
        return value
    if is_foreign(value):
        return wrap_foreign(value)
    if isinstance(value, ARRAY_LIKE) and not (isinstance(value, (list, tuple)) and holds_device_array(value)):
        return host_array(value)
    raise ArgumentError(f"{quoted(value)} stands beside a DeviceArray; give arrays and numbers")


def holds_device_array(values: Sequence[Any]) -> bool:
    """Whether a list, or a list in it, holds a DeviceArray: NumPy would copy it number by number."""
    return any(
        isinstance(value, DeviceArray) or (isinstance(value, (list, tuple)) and holds_device_array(value))
        for value in values
    )


def home(values: Sequence[Any], context: Context | None = None) -> Context:
    """The context that some arrays share, or the one asked for, or the current one. Raises DeviceError where they are
    several.
    """
    homes = {id(value.context): value.context for value in values if isinstance(value, DeviceArray)}
    return home_of(list(homes.values()), context)


def on_device(value: Any, context: Context | None = None) -> DeviceArray:
    """A value as a DeviceArray: itself, or a copy of what the host has."""
    checked = operand(value)
    return checked if isinstance(checked, DeviceArray) else array(np.asarray(checked), context)


def all_on_device(values: Sequence[Any]) -> list[DeviceArray]:
    """Several values as DeviceArrays of one context. Raises DeviceError where arrays among them have several."""
    checked = [operand(value) for value in values]
    context = home(checked)
    return [on_device(value, context) for value in checked]


def kind_of(value: Any) -> Any:
    """What promotion looks at: an array's dtype, or a number's Python type, which is weak."""
    if not is_number(value):
        return value.dtype
    return np.dtype(bool) if isinstance(value, bool) else next(kind for kind in NUMBERS[1:] if isinstance(value, kind))


def as_scalar(value: Number, dtype: DType) -> Any:
    """A plain number in a dtype, as NumPy's scalar."""
    with np.errstate(all="ignore"):  # beyond the range of a float it is infinite, as in NumPy
        return dtype.type(value)


def number_in(value: Number, dtype: DType) -> Any:
    """A plain number in the dtype of an array that it is assigned to, a 0-d NumPy array. Raises DTypeError where that
    does not hold it.
    """
    if is_integer(dtype) and not isinstance(value, complex):
        check_constant(value, dtype)
    if isinstance(value, complex) and dtype.kind != "c":
        raise DTypeError(f"{value} is complex, the array has dtype {dtype}; assign its real part")
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)


def check_broadcast(own: Shape, shape: Shape) -> None:
    """Raises ShapeError where a shape does not broadcast to another one."""
    fits = len(own) <= len(shape) and all(a in (1, b) for a, b in zip(own[::-1], shape[::-1], strict=False))
    if not fits:
        raise ShapeError(f"an array of shape {own} does not broadcast to {shape}; give 1 where they differ")
