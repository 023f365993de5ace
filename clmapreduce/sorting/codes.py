"""Keys that no kernel holds, texts, dates and objects, as the numbers of their distinct values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.checks import numpy_array
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.device.foreign import is_foreign
from clmapreduce.dtypes import INT32, INT64
from clmapreduce.errors import DTypeError

KINDS = "USOMm"
"""Kinds of dtypes: texts, bytes, objects, dates, spans of time."""


@dataclass(frozen=True)
class Codes:
    """Keys by number. numbers: of each key's value, in the shape of the keys. names: the distinct values in order."""

    numbers: NumpyArray
    names: NumpyArray

    def named(self, numbers: Any) -> NumpyArray:
        """The values of some numbers, from the device or the host."""
        named: NumpyArray = self.names[np.asarray(numbers)]
        return named


def codes_of(keys: Any) -> Codes | None:
    """The codes of keys of the host that no kernel holds; None for others. Raises DTypeError for objects that have no
    order.
    """
    if isinstance(keys, DeviceArray) or is_foreign(keys) or not hasattr(keys, "__len__"):
        return None
    host = numpy_array(keys, "keys")
    if host.dtype.kind not in KINDS:
        return None
    try:
        names, numbers = np.unique(host, return_inverse=True)
    except TypeError as error:
        raise DTypeError(f"keys has dtype {host.dtype} with values that are not ordered: {error}") from None
    return Codes(numbers.reshape(host.shape).astype(INT32 if len(names) < 2**31 else INT64), names)
