"""Functions made of the others: limits, rounding, places, comparisons of whole arrays, differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.arrays.elementwise import array_of, converted
from clmapreduce.arrays.joining import concatenate
from clmapreduce.arrays.operands import all_on_device, on_device
from clmapreduce.arrays.reductions import all as all_of
from clmapreduce.arrays.reductions import sum as sum_of
from clmapreduce.arrays.shapes import astype, expand_dims
from clmapreduce.arrays.subscripts.masks import flat_nonzero, nonzero
from clmapreduce.arrays.subscripts.read import selected
from clmapreduce.calls.axes import axis_of
from clmapreduce.checks import dtype_of, is_whole, quoted, refuse_masked, whole
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context, context_of
from clmapreduce.device.convert import array, dlpack_values
from clmapreduce.device.exchange.hosted import hosted
from clmapreduce.dtypes import BOOL, INT64, DType
from clmapreduce.errors import ArgumentError, ExportError


def asarray(x: Any, /, *, dtype: Any = None, copy: bool | None = None, context: Context | None = None) -> DeviceArray:
    """An array, a number or a list of them as a DeviceArray: itself where it is one of this dtype, unless copy=True."""
    there = array(x, context)
    if dtype is not None:
        return astype(there, dtype, copy=bool(copy))
    return there.__copy__() if copy and there is x else there


def from_dlpack(x: Any, /, *, copy: bool | None = None, context: Context | None = None) -> DeviceArray:
    """The values of an array with DLPack, in device memory. x: any object with `__dlpack__`, in host memory. copy: True
    for new memory even if `x` is a DeviceArray. False, on devices that share the host's memory, for an array in the
    memory of `x`: it keeps `x` alive, and kernels write there, so wait for them (`result`) before you read or write
    that memory elsewhere. Raises ArgumentError if x has no `__dlpack__`, ExportError if copy=False is impossible, else
    as `array`.
    """
    if not hasattr(x, "__dlpack__"):
        raise ArgumentError(f"{quoted(x)} has no __dlpack__; cm.array takes NumPy arrays, lists and buffers")
    refuse_masked(x, "x")
    stays = isinstance(x, DeviceArray) and (context is None or context is x.context)
    if copy is False and isinstance(x, DeviceArray) and not stays:
        raise ExportError(f"{quoted(x)} is copied to the device; leave out copy=False")
    if isinstance(x, DeviceArray):
        return x.__copy__() if copy and stays else array(x, context)
    if copy is False:
        return hosted(x if isinstance(x, np.ndarray) else dlpack_values(x), context_of(context))
    return array(dlpack_values(x), context)


def clip(x: Any, /, min: Any = None, max: Any = None) -> DeviceArray:
    """The values, those below `min` or above `max` set to these; a limit of None is none. One launch for each limit."""
    result: DeviceArray = on_device(x)
    if min is not None:
        result = array_of("maximum", result, min)
    if max is not None:
        result = array_of("minimum", result, max)
    return result.__copy__() if min is None and max is None else result


def round(x: Any, /, decimals: int = 0) -> DeviceArray:
    """The values rounded to so many decimals, halves to even; as NumPy, by a power of ten and back. Integers stay."""
    there = on_device(x)
    if not is_whole(decimals):
        raise ArgumentError(f"decimals is {quoted(decimals)}; give a whole number")
    if there.dtype.kind in "biu" and decimals >= 0:
        return there.__copy__()
    if there.dtype.kind in "biuc":
        raise ArgumentError(f"values of dtype {there.dtype} are not rounded to {decimals} decimals; use to_numpy()")
    if not decimals:
        return array_of("rint", there)
    up, down = ("multiply", "divide") if decimals > 0 else ("divide", "multiply")
    power = 10.0 ** abs(int(decimals))
    return array_of(down, array_of("rint", array_of(up, there, power)), power)


def take(x: Any, indices: Any, /, axis: int | None = None) -> DeviceArray:
    """The elements at places along an axis, of all elements as a line if None; as x[…, indices, …]."""
    x = on_device(x)
    if axis is None:
        return selected(x.reshape(-1), indices)
    return selected(x, (*(slice(None),) * axis_of(axis, x.ndim), indices))


def flatnonzero(x: Any, /) -> DeviceArray:
    """The places of what is not zero among all elements, int64 (K,). Waits for their number."""
    return flat_nonzero(on_device(x))


def argwhere(x: Any, /) -> DeviceArray:
    """The places of what is not zero, int64 (K, ndim). Waits for their number."""
    places = nonzero(on_device(x))
    return concatenate([expand_dims(each, axis=1) for each in places], 1)


def count_nonzero(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> DeviceArray:
    """How many values along some axes are not zero, int64."""
    x = on_device(x)
    return sum_of(x if x.dtype == BOOL else converted(x, BOOL), axis=axis, dtype=INT64, keepdims=keepdims)


def isclose(a: Any, b: Any, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> DeviceArray:
    """Whether |a − b| ≤ atol + rtol |b|, elementwise; infinities are close to themselves."""
    left, right = all_on_device((a, b))
    near = abs(left - right) <= atol + rtol * abs(right)
    close = (array_of("isfinite", right) & near) | (left == right)
    if equal_nan:
        close = close | (array_of("isnan", left) & array_of("isnan", right))
    return close


def allclose(a: Any, b: Any, /, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all values are close, as by `isclose`. Waits."""
    return bool(all_of(isclose(a, b, rtol, atol, equal_nan)))


def array_equal(a: Any, b: Any, /) -> bool:
    """Whether two arrays have one shape and equal values. Waits."""
    left, right = all_on_device((a, b))
    return left.shape == right.shape and bool(all_of(left == right))


def diff(x: Any, /, n: int = 1, axis: int = -1) -> DeviceArray:
    """The differences of neighbours along an axis, n times."""
    there = on_device(x)
    along = (slice(None),) * axis_of(axis, there.ndim)
    for _ in range(whole(n, "n")):
        ahead, behind = there[(*along, slice(1, None))], there[(*along, slice(None, -1))]
        there = ahead != behind if there.dtype == BOOL else ahead - behind
    return there


def result_type(*values: Any) -> DType:
    """The common dtype of arrays, dtypes and numbers, NumPy's."""
    return np.result_type(*(v.dtype if isinstance(v, DeviceArray) else v for v in values))


def can_cast(source: Any, target: Any, /, casting: Any = "safe") -> bool:
    """Whether NumPy converts one dtype, or an array's, to another under a rule."""
    return np.can_cast(source.dtype if isinstance(source, DeviceArray) else source, dtype_of(target), casting)


def copyto(target: Any, source: Any, /) -> None:
    """Copies values into an array, on a device or the host's."""
    if isinstance(target, DeviceArray):
        target[...] = source
    else:
        np.copyto(target, source.to_numpy())


def shape(x: Any, /) -> tuple[int, ...]:
    """The lengths of the axes."""
    return on_device(x).shape


def ndim(x: Any, /) -> int:
    """How many axes there are."""
    return on_device(x).ndim


def size(x: Any, /, axis: int | None = None) -> int:
    """How many elements there are, or along an axis."""
    x = on_device(x)
    return int(x.size if axis is None else x.shape[axis_of(axis, x.ndim)])


def vstack(arrays: Any, /) -> DeviceArray:
    """Arrays joined along the first axis; lines are rows."""
    parts = all_on_device(arrays)
    return concatenate([part.reshape(1, -1) if part.ndim < 2 else part for part in parts], 0)


def hstack(arrays: Any, /) -> DeviceArray:
    """Arrays joined along the second axis; lines along their only one."""
    parts = [part.reshape(1) if not part.ndim else part for part in all_on_device(arrays)]
    return concatenate(parts, 0 if parts and parts[0].ndim == 1 else 1)
