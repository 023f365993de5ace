"""Converts the arrays of users, to a device or to host memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.checks import numpy_array, refuse_masked
from clmapreduce.device.array import DeviceArray, NumpyArray, upload
from clmapreduce.device.context import Context, context_of
from clmapreduce.device.foreign import is_foreign, wrap_foreign
from clmapreduce.device.host_array import check_file
from clmapreduce.device.several.split import may_split, split
from clmapreduce.dtypes import check_stored
from clmapreduce.errors import ClMapReduceError, DTypeError
from clmapreduce.host_room import needs_host_room


@needs_host_room
def array(x: Any, context: Context | None = None) -> DeviceArray:
    """`x` as a DeviceArray on `context` (default: the context of `x`, else the current one).

    x: a NumPy array or array-like, a buffer such as a memoryview, an Arrow array, a pyopencl.array.Array (no copy), a
    CPU array with DLPack, or a DeviceArray (returned unchanged if it is on `context`). In a context of several devices
    of one kind, a long array is split over them. Raises DTypeError for dtypes that no kernel supports and for Arrow's
    nulls, ShapeError for a mapped file that was truncated, DeviceMemoryError if there is no room.
    """
    if isinstance(x, DeviceArray):
        if context is None or context is x.context:
            return x
        return upload(x.to_numpy(), context)
    if is_foreign(x):
        return wrap_foreign(x, context)
    values, home = host_array(x), context_of(context)
    return split(values, home) if may_split(values.shape, values.dtype, home) else upload(values, home)


def host_array(x: Any, name: str = "the array") -> NumpyArray:
    """A NumPy array of array-likes and CPU arrays with DLPack, dtype checked, byte order native. Raises ShapeError with
    its name where it is mapped from a file that was truncated.
    """
    refuse_masked(x, "the array")
    if not isinstance(x, np.ndarray):
        dlpack = hasattr(x, "__dlpack__") and not hasattr(x, "__array__")
        x = dlpack_values(x) if dlpack else numpy_array(x, "the array")
    dtype = check_stored(x.dtype, "the array")
    check_file(x, name)
    return np.asarray(x, dtype=dtype)


def dlpack_values(x: Any) -> NumpyArray:
    """The NumPy array of another library's. Raises DTypeError where that offers none."""
    try:
        return np.from_dlpack(x)
    except ClMapReduceError:
        raise
    except Exception as error:  # whatever the other library raises
        raise DTypeError(f"{type(x).__name__} offers no array by DLPack: {error}; copy it to a NumPy array") from error
