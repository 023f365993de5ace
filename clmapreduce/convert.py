"""What users give as arrays, on a device or in host memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.array import DeviceArray, NumpyArray, upload
from clmapreduce.context import Context, context_of
from clmapreduce.dtypes import check_stored, refuse_masked
from clmapreduce.errors import ShapeError
from clmapreduce.foreign import is_foreign, wrap_foreign


def array(x: Any, context: Context | None = None) -> DeviceArray:
    """`x` as a DeviceArray on `context` (default: the current one, or the one `x` lives on).

    x: a NumPy array or array-like, a pyopencl.array.Array (no copy), a CPU array with DLPack, or a DeviceArray
    (returned as it is when it lives there). Raises DTypeError for dtypes that no kernel can hold, DeviceMemoryError
    when there is no room.
    """
    if isinstance(x, DeviceArray):
        if context is None or context is x.context:
            return x
        return upload(x.to_numpy(), context)
    if is_foreign(x):
        return wrap_foreign(x, context)
    return upload(host_array(x), context_of(context))


def host_array(x: Any) -> NumpyArray:
    """A NumPy array of array-likes and CPU arrays with DLPack, dtype checked, byte order native."""
    refuse_masked(x, "the array")
    if not isinstance(x, np.ndarray):
        dlpack = hasattr(x, "__dlpack__") and not hasattr(x, "__array__")
        try:
            x = np.from_dlpack(x) if dlpack else np.asarray(x)
        except ValueError as error:
            raise ShapeError(f"{type(x).__name__} is no array: {error}") from None
    dtype = check_stored(x.dtype, "the array")
    return np.asarray(x, dtype=dtype)
