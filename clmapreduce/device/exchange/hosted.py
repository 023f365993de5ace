"""DeviceArrays in memory of the host: made over another library's array, and seen as a NumPy array again, no copies."""

from __future__ import annotations

import numpy as np

from clmapreduce.checks import quoted
from clmapreduce.device.array import DeviceArray, NumpyArray, empty
from clmapreduce.device.context import Context
from clmapreduce.device.runtime import translated
from clmapreduce.dtypes import alignment, check_stored, leaves
from clmapreduce.errors import ExportError


def hosted(values: NumpyArray, context: Context) -> DeviceArray:
    """A DeviceArray whose memory is a host array's, which lives as long as it. Raises ExportError for devices that copy
    host memory, for arrays that are read-only, have steps, or begin where kernels cannot read their numbers.
    """
    if not context.facts.lends_memory:
        raise ExportError(f"{context.device.name} has memory of its own and copies the host's; leave out copy=False")
    if check_stored(values.dtype, "the array") != values.dtype:
        raise ExportError(f"{values.dtype} is converted to the device's byte order; leave out copy=False")
    if not values.flags.c_contiguous or not values.flags.writeable:
        what = "has steps" if values.flags.writeable else "is read-only"
        raise ExportError(f"{quoted(values)} {what}; it is copied to the device: leave out copy=False")
    if not starts_aligned(values):
        raise ExportError(f"{quoted(values)} begins between numbers; it is copied to the device: leave out copy=False")
    if not values.size:
        return empty(values.shape, values.dtype, context)
    with translated():
        memory = context.queue.arena.borrow(values.reshape(-1).view(np.uint8), writable=True)
    return DeviceArray(context, memory, values.shape, values.dtype)


def starts_aligned(values: NumpyArray) -> bool:
    """Whether kernels may read and write an array where it is: NumPy takes numbers at fewer places."""
    parts = [values.dtype] if values.dtype.names is None else [part for part, _ in leaves(values.dtype).values()]
    return bool(values.ctypes.data % max(map(alignment, parts)) == 0)

