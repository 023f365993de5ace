"""Arrays of users as variables: each with a category, by KeOps' rules of shapes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, TypeAlias

import numpy as np

from clmapreduce.calls.chunked import chunked_front, is_chunked
from clmapreduce.checks import is_whole, quoted
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.device.convert import host_array
from clmapreduce.device.foreign import is_foreign, wrap_foreign
from clmapreduce.dtypes import FLOAT64, DType, holds, is_complex, is_float
from clmapreduce.errors import DTypeError, ShapeError
from clmapreduce.pairwise.guest import GuestArray
from clmapreduce.vector.node import Category

Array: TypeAlias = "NumpyArray | DeviceArray | GuestArray"

CATEGORIES = tuple(Category)
LETTERS = {Category.I: "Vi", Category.J: "Vj", Category.PARAMETER: "Pm"}
"""How a category is written in formulas."""

LAYOUTS = {Category.I: "(.., M, {})", Category.J: "(.., N, {})", Category.PARAMETER: "(.., {})"}
"""The shape of a variable's array, with room for its dimension."""


def category_of(axis: Any) -> Category:
    """The category of an `axis` or `cat` argument: 0, 1 or 2. Raises ShapeError for anything else."""
    if not is_whole(axis) or axis not in CATEGORIES:
        raise ShapeError(f"{quoted(axis)} is no category; use 0 (indexed by i), 1 (indexed by j) or 2 (a parameter)")
    return CATEGORIES[int(axis)]


def as_array(x: Any, what: str = "the array") -> Array:
    """`x` as an array of floats or complex numbers, not copied where it is one. Raises DTypeError, ShapeError."""
    array: Array
    try:
        if isinstance(x, (DeviceArray, GuestArray)):
            array = x
        elif is_chunked(x):
            array = chunked_front().guest(x, what)
        else:
            array = wrap_foreign(x) if is_foreign(x) else host_array(x)
    except (DTypeError, ShapeError) as error:
        raise type(error)(f"{what}: {error}") from None
    if not (is_float(array.dtype) or is_complex(array.dtype)):
        raise DTypeError(f"{what} has dtype {array.dtype}; formulas compute with floats: pass x.astype('float32')")
    return array


def is_number(x: Any) -> bool:
    """Whether `x` is one real number of Python or NumPy, which formulas hold as a constant."""
    if isinstance(x, np.generic):
        return isinstance(x, np.integer) or is_float(x.dtype)
    if isinstance(x, int) and not holds(FLOAT64, x):
        raise DTypeError(f"{quoted(x)} is beyond what float64 holds")
    return isinstance(x, (int, float)) and not isinstance(x, bool)


def numbers(x: Any) -> tuple[float, ...] | None:
    """The real numbers of a list of them, or of one number; None for everything else."""
    if is_number(x):
        return (float(x),)
    if isinstance(x, list) and x and all(is_number(value) for value in x):
        return tuple(float(value) for value in x)
    return None


def placed(x: Array, axis: int | None) -> tuple[Array, Category]:
    """The array without its dummy axes, (.., length, D) or (.., D), and its category.

    Shapes as in KeOps: (M, D) with axis=0, (N, D) with axis=1, (.., M, 1, D), (.., 1, N, D), (.., 1, 1, D) or (D,)
    without axis; axis=2 for a parameter (.., D). Raises ShapeError.
    """
    category = None if axis is None else category_of(axis)
    if x.ndim <= 1:
        if category not in (None, Category.PARAMETER):
            raise ShapeError(
                f"an array of shape {x.shape} is a parameter; for a variable with axis={axis} pass shape (length, D), "
                "e.g. x[:, None]"
            )
        return reshaped(x, (x.size,)), Category.PARAMETER
    if category is Category.PARAMETER:
        return x, category
    if x.ndim == 2:
        if category is None:
            raise ShapeError(f"an array of shape {x.shape} needs axis=0 (indexed by i) or axis=1 (indexed by j)")
        return x, category
    if category is not None:
        raise ShapeError(
            f"axis={axis} is for arrays of two dimensions; an array of shape {x.shape} says by its shape what it is: "
            "(.., M, 1, D), (.., 1, N, D) or (.., 1, 1, D)"
        )
    return _squeezed(x)


def _squeezed(x: Array) -> tuple[Array, Category]:
    *batch, rows, cols, dim = x.shape
    if rows == cols == 1:
        return reshaped(x, (*batch, dim)), Category.PARAMETER
    if rows == 1:
        return reshaped(x, (*batch, cols, dim)), Category.J
    if cols == 1:
        return reshaped(x, (*batch, rows, dim)), Category.I
    raise ShapeError(
        f"an array of shape {x.shape} is indexed by i and j at once; pass (.., M, 1, D), (.., 1, N, D) or (.., 1, 1, D)"
    )


def reshaped(x: Array, shape: tuple[int, ...]) -> Array:
    """The same memory in another shape, where the array's layout allows."""
    return x if x.shape == shape else x.reshape(shape)


def as_real(x: Array) -> Array:
    """A complex array as alternating real and imaginary parts, (.., 2 D)."""
    if x.dtype.kind != "c":
        return x
    part = np.dtype(f"f{x.dtype.itemsize // 2}")
    return x.view(part) if isinstance(x, (DeviceArray, GuestArray)) else np.ascontiguousarray(x).view(part)


def as_complex(x: Array) -> Array:
    """The numbers that `as_real` gave, as complex numbers again. Raises as `check_complex`."""
    check_complex(x.dtype)
    return x.view(complex_of(x.dtype))


def complex_of(dtype: DType) -> DType | None:
    """The complex dtype with such parts; None for 16 bits, where NumPy has none."""
    return np.dtype(f"c{2 * dtype.itemsize}") if dtype.itemsize > 2 else None


def check_complex(dtype: DType) -> None:
    """Raises DTypeError where no dtype holds complex numbers with such parts."""
    if complex_of(dtype) is None:
        raise DTypeError(f"no dtype holds complex numbers of {dtype} parts; give float32, or reduce real and imag")


def same_memory(x: Array) -> Hashable:
    """Equal for arrays that are one: the same memory, shape, strides and dtype."""
    if isinstance(x, DeviceArray):
        return id(x.memory), x.first, x.shape, x.dtype
    if isinstance(x, GuestArray):
        return x.key
    return x.__array_interface__["data"][0], x.shape, x.strides, x.dtype
