"""Arrays made of several: joined along an axis, stacked along a new one, chosen by a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.arrays.elementwise import where as select_where
from clmapreduce.arrays.operands import all_on_device, is_number, on_device, operand
from clmapreduce.arrays.promotion import common
from clmapreduce.arrays.shapes import expand_dims
from clmapreduce.arrays.subscripts.masks import nonzero
from clmapreduce.arrays.subscripts.write import assign
from clmapreduce.calls.axes import axis_of
from clmapreduce.checks import dtype_of, quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.array import empty as allocated
from clmapreduce.dtypes import scalar_of
from clmapreduce.errors import ArgumentError, ShapeError


def concatenate(arrays: Sequence[Any], /, axis: int | None = 0, *, dtype: Any = None) -> DeviceArray:
    """Arrays joined along an axis, in their common dtype; with axis=None as flat arrays. Launches one map per array.
    Raises ShapeError if other axes differ.
    """
    parts = all_on_device(_several(arrays))
    if axis is None:
        parts, axis = [part.reshape(-1) for part in parts], 0
    rank = parts[0].ndim
    if not rank:
        raise ShapeError("0-d arrays have no axis to be joined along; use cm.stack")
    along = axis_of(axis, rank)
    others = {(*part.shape[:along], *part.shape[along + 1 :]) for part in parts}
    if len(others) > 1 or any(part.ndim != rank for part in parts):
        shapes = ", ".join(str(part.shape) for part in parts)
        raise ShapeError(f"shapes {shapes} differ in more than axis {axis}; make the other axes equal")
    common_dtype = common(parts) if dtype is None else scalar_of(dtype_of(dtype))
    extent = sum(part.shape[along] for part in parts)
    shape = (*parts[0].shape[:along], extent, *parts[0].shape[along + 1 :])
    result = allocated(shape, common_dtype, parts[0].context)
    begin = 0
    for part in parts:
        end = begin + part.shape[along]
        assign(result, (*(slice(None),) * along, slice(begin, end)), part)
        begin = end
    return result


concat = concatenate


def stack(arrays: Sequence[Any], /, axis: int = 0) -> DeviceArray:
    """Arrays of one shape joined along a new axis. dtype, launches and errors: as for `concatenate`."""
    parts = all_on_device(_several(arrays))
    if len({part.shape for part in parts}) > 1:
        raise ShapeError(f"shapes {', '.join(str(part.shape) for part in parts)} differ; stack arrays of one shape")
    along = axis_of(axis, parts[0].ndim + 1)
    return concatenate([expand_dims(part, axis=along) for part in parts], along)


def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    """x where a condition holds, y elsewhere, in one launch; their dtype is the common one. Of a condition alone the
    places where it holds, as `nonzero`.
    """
    if x is None and y is None:
        return nonzero(on_device(condition))
    values = [operand(x), operand(y)]
    return select_where(condition, values[0], values[1], common(values))


def _several(arrays: Any) -> list[Any]:
    if isinstance(arrays, DeviceArray):
        return list(arrays)
    if not isinstance(arrays, (list, tuple)) or not arrays or any(is_number(array) for array in arrays):
        raise ArgumentError(f"{quoted(arrays)} is no list of arrays; give one or more arrays in a list")
    return list(arrays)
