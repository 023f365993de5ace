"""Other shapes: views where memory stays in order (reshape, squeeze, new axes), copies in one launch where it does not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.arrays.creation import full, shape_of
from clmapreduce.arrays.elementwise import converted
from clmapreduce.arrays.operands import all_on_device, check_broadcast, on_device
from clmapreduce.arrays.subscripts.read import in_steps
from clmapreduce.arrays.subscripts.steps import contiguous_steps
from clmapreduce.calls.axes import axis_of
from clmapreduce.checks import dtype_of, quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.dtypes import is_complex, number_of
from clmapreduce.errors import PlaceError, ShapeError
from clmapreduce.primitives.map import Map

_IMAG = Map(lambda x: x.imag)


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> DeviceArray:
    """The same memory in another shape, of which one extent may be -1. copy=True: in new memory. Raises ShapeError."""
    result = on_device(x).reshape(shape)
    return result.__copy__() if copy else result


def ravel(x: Any, /) -> DeviceArray:
    """The same memory as a line."""
    return on_device(x).reshape(-1)


def squeeze(x: Any, /, axis: Any = None) -> DeviceArray:
    """The same memory without axes of length 1: all such, or those named. Raises ShapeError for longer ones."""
    there = on_device(x)
    if axis is None:
        axes = {at for at, extent in enumerate(there.shape) if extent == 1}
    else:
        axes = {axis_of(each, there.ndim) for each in (axis if isinstance(axis, (tuple, list)) else (axis,))}
    if any(there.shape[at] != 1 for at in axes):
        raise ShapeError(f"axis {quoted(axis)} of shape {there.shape} has not length 1; reduce it, or leave it")
    return there.reshape(tuple(extent for at, extent in enumerate(there.shape) if at not in axes))


def expand_dims(x: Any, /, axis: Any = 0) -> DeviceArray:
    """The same memory with new axes of length 1 at some places of the result."""
    there = on_device(x)
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    rank = there.ndim + len(axes)
    new = {axis_of(each, rank) for each in axes}
    if len(new) < len(axes):
        raise ShapeError(f"axis is {quoted(axis)}, which names an axis twice")
    old = iter(there.shape)
    return there.reshape(tuple(1 if at in new else next(old) for at in range(rank)))


def transpose(x: Any, /, axes: Any = None) -> DeviceArray:
    """The axes in another order, reversed if None, as a copy in one launch; a view where no element moves."""
    x = on_device(x)
    order = tuple(range(x.ndim))[::-1] if axes is None else tuple(axis_of(axis, x.ndim) for axis in axes)
    if sorted(order) != list(range(x.ndim)):
        raise PlaceError(f"axes is {quoted(axes)}; name each of the {x.ndim} axes once")
    steps = contiguous_steps(x.shape)
    return in_steps(x, x.first, tuple(x.shape[at] for at in order), tuple(steps[at] for at in order))


def permute_dims(x: Any, /, axes: Any) -> DeviceArray:
    """As `transpose`."""
    return transpose(x, axes)


def matrix_transpose(x: Any, /) -> DeviceArray:
    """The last two axes exchanged. Raises ShapeError for fewer."""
    x = on_device(x)
    if x.ndim < 2:
        raise ShapeError(f"an array of shape {x.shape} has not two axes to exchange")
    return swapaxes(x, -1, -2)


def swapaxes(x: Any, /, axis1: int, axis2: int) -> DeviceArray:
    """Two axes exchanged, as by `transpose`."""
    x = on_device(x)
    order = list(range(x.ndim))
    first, second = axis_of(axis1, x.ndim), axis_of(axis2, x.ndim)
    order[first], order[second] = order[second], order[first]
    return transpose(x, order)


def moveaxis(x: Any, source: Any, destination: Any, /) -> DeviceArray:
    """Some axes at other places, the others in order, as by `transpose`."""
    x = on_device(x)
    sources, places = (
        [axis_of(each, x.ndim) for each in (axis if isinstance(axis, (tuple, list)) else (axis,))]
        for axis in (source, destination)
    )
    if len(set(sources)) != len(sources) or len(set(places)) != len(places) or len(sources) != len(places):
        text = f"source {quoted(source)} and destination {quoted(destination)}"
        raise ShapeError(f"{text} must name as many axes, each once")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources, strict=True)):
        order.insert(place, axis)
    return transpose(x, order)


def flip(x: Any, /, *, axis: Any = None) -> DeviceArray:
    """The elements in reverse order along some axes, all if None; a copy in one launch."""
    there = on_device(x)
    named = range(there.ndim) if axis is None else axis if isinstance(axis, (tuple, list)) else (axis,)
    axes = {axis_of(each, there.ndim) for each in named}
    return there[tuple(slice(None, None, -1) if at in axes else slice(None) for at in range(there.ndim))]


def broadcast_to(x: Any, /, shape: Any) -> DeviceArray:
    """The elements repeated to a shape, as a copy in one launch; operators need none. Raises ShapeError."""
    x, extent = on_device(x), shape_of(shape)
    check_broadcast(x.shape, extent)
    steps = [0 if own == 1 else step for own, step in zip(x.shape, contiguous_steps(x.shape), strict=True)]
    return in_steps(x, x.first, extent, (*(0,) * (len(extent) - x.ndim), *steps))


def broadcast_arrays(*arrays: Any) -> list[DeviceArray]:
    """The arrays, each repeated to the shape that they broadcast to. Raises ShapeError."""
    sources = all_on_device(arrays)
    try:
        shape = np.broadcast_shapes(*(x.shape for x in sources))
    except ValueError:
        raise ShapeError(f"shapes {' and '.join(str(x.shape) for x in sources)} do not broadcast") from None
    return [broadcast_to(x, shape) if x.shape != shape else x for x in sources]


def astype(x: Any, dtype: Any, /, *, copy: bool = True) -> DeviceArray:
    """The values in another dtype; copy=False: the array itself where it has that dtype. Numbers that an integer dtype
    does not hold become what the device makes of them.
    """
    there = on_device(x)
    target = dtype_of(dtype)
    if target == there.dtype:
        return there.__copy__() if copy else there
    return converted(there, number_of(target))


def copy(x: Any, /) -> DeviceArray:
    """The values in new memory."""
    return on_device(x).__copy__()


def real(x: Any, /) -> DeviceArray:
    """The real parts; of real numbers the array itself."""
    x = on_device(x)
    return converted(x, np.dtype(f"f{x.dtype.itemsize // 2}")) if is_complex(x.dtype) else x


def imag(x: Any, /) -> DeviceArray:
    """The imaginary parts; zeros of real numbers."""
    x = on_device(x)
    if not is_complex(x.dtype):
        return full(x.shape, 0, x.dtype, context=x.context)
    parts: DeviceArray = _IMAG(x)
    return parts
