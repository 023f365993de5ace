"""Keys that no kernel holds, texts, dates and objects, as the numbers of their distinct values."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.calls.frames import is_frame
from clmapreduce.checks import numpy_array
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.device.foreign import is_foreign
from clmapreduce.dtypes import INT32, INT64
from clmapreduce.errors import DTypeError

KINDS = "USOMm"
"""Kinds of dtypes: texts, bytes, objects, dates, spans of time."""


@dataclass(frozen=True)
class Codes:
    """Keys by number. numbers: of each key's value, in the shape of the keys. names: the distinct values in order, an
    array, or pandas' Index.
    """

    numbers: NumpyArray
    names: Any

    def named(self, numbers: Any) -> Any:
        """The values of some numbers, from the device or the host."""
        return self.names[np.asarray(numbers)]


def codes_of(keys: Any) -> Codes | None:
    """The codes of keys of the host that no kernel holds; None for others. Raises DTypeError for objects that have no
    order.
    """
    if is_frame(keys) and hasattr(keys, "dtype"):
        return _codes_of_column(keys)
    if isinstance(keys, DeviceArray) or is_foreign(keys) or not hasattr(keys, "__len__"):
        return None
    host = numpy_array(keys, "keys")
    if host.dtype.kind not in KINDS:
        return None
    try:
        names, numbers = np.unique(host, return_inverse=True)
    except TypeError as error:
        raise DTypeError(f"keys has dtype {host.dtype} with values that are not ordered: {error}") from None
    return Codes(_short(numbers.reshape(host.shape), names), names)


def _codes_of_column(keys: Any) -> Codes | None:
    """Of one of pandas' columns: its distinct values are an Index of its dtype, a missing one is the last."""
    if isinstance(keys.dtype, np.dtype) and keys.dtype.kind not in KINDS:
        return None
    try:
        numbers, names = sys.modules["pandas"].factorize(keys, sort=True, use_na_sentinel=False)
    except TypeError as error:
        raise DTypeError(f"keys has dtype {keys.dtype} with values that are not ordered: {error}") from None
    return Codes(_short(numbers, names), names)


def _short(numbers: NumpyArray, names: Any) -> NumpyArray:
    return numbers.astype(INT32 if len(names) < 2**31 else INT64)
