"""Where results go that have a place already (`out=`), and masks that say which of them are stored (`where=`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.arrays.operands import operand
from clmapreduce.arrays.promotion import HOST
from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.dtypes import BOOL, DType
from clmapreduce.errors import ArgumentError, DTypeError, ShapeError


def check_target(what: str, target: Any, dtype: DType) -> None:
    """Raises ArgumentError for a target that is no DeviceArray, DTypeError for one that NumPy would not cast to."""
    if not isinstance(target, DeviceArray):
        raise ArgumentError(f"out is {quoted(target)}; results on a device go to DeviceArrays; {HOST}")
    if not np.can_cast(dtype, target.dtype, "same_kind"):
        raise DTypeError(f"{what} gives {dtype}, which out's {target.dtype} does not hold; {HOST}")


def stored(what: str, result: Any, out: Any) -> Any:
    """A result in `out`, one launch more; out may share memory with what the result was made of. Raises as
    `check_target`, ShapeError for another shape.
    """
    (target,) = out if isinstance(out, tuple) and len(out) == 1 else (out,)
    check_target(what, target, result.dtype)
    if target.shape != result.shape:
        raise ShapeError(f"{what} has shape {result.shape}, out has {target.shape}; they must be equal")
    target[...] = result
    return target


def mask_of(where: Any) -> Any:
    """`where=` of a call as an array of bools; None for True, which leaves nothing out. Raises DTypeError."""
    if where is True or where is None:
        return None
    mask = operand(where)
    mask = np.bool_(mask) if isinstance(mask, bool) else mask
    if not hasattr(mask, "dtype") or mask.dtype != BOOL:
        raise DTypeError(f"where is {quoted(where)}; give bools, such as x > 0")
    return mask
