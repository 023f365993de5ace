"""What dtypes and devices there are, by the array-API standard's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.arrays.promotion import default_float
from clmapreduce.checks import dtype_of, quoted
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context, Device, context_of, devices
from clmapreduce.dtypes import DType
from clmapreduce.errors import ArgumentError, DTypeError

DTYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64",
          "complex64", "complex128")  # fmt: skip
WIDE = ("float64", "complex128")


@dataclass(frozen=True)
class FloatLimits:
    """The limits of a float dtype as Python floats; of a complex dtype those of its parts. dtype: that of the parts."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


def finfo(type: Any, /) -> FloatLimits:
    """The limits of a float or complex dtype, or of an array's. Raises DTypeError for others."""
    own = _limits(np.finfo, _dtype_of(type), "floats")
    eps, largest, least, normal = map(float, (own.eps, own.max, own.min, own.smallest_normal))
    return FloatLimits(own.bits, eps, largest, least, normal, np.dtype(own.dtype))


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype, or of an array's, as NumPy's iinfo. Raises DTypeError for others."""
    return _limits(np.iinfo, _dtype_of(type), "integers")


def isdtype(dtype: Any, kind: Any) -> bool:
    """Whether a dtype is of a kind: a dtype, a name of the standard such as "real floating", or a tuple of these."""
    try:
        return bool(np.isdtype(dtype_of(dtype), kind))
    except (TypeError, ValueError):
        raise ArgumentError(
            f"kind is {quoted(kind)}; give a dtype, 'bool', 'signed integer', 'unsigned integer', 'integral', "
            "'real floating', 'complex floating', 'numeric', or a tuple of these"
        ) from None


class Inspection:
    """What the standard's `__array_namespace_info__()` gives."""

    def capabilities(self) -> dict[str, Any]:
        """What subscripts may be, and how many axes an array may have (None: any number)."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> Device:
        """The device of new arrays in this thread."""
        return context_of(None).device

    def devices(self) -> list[Device]:
        """All devices of this machine."""
        return devices()

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        """The dtypes of new arrays for which no dtype is passed. device: the thread's if None."""
        real = default_float(_home(device).facts.fp64)
        both = "complex128" if real == np.float64 else "complex64"
        integer = np.dtype(np.int64)
        return {"real floating": real, "complex floating": np.dtype(both), "integral": integer, "indexing": integer}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        """The dtypes that a device computes with, by name. kind: only those of which `isdtype` is true."""
        wide = _home(device).facts.fp64
        names = [name for name in DTYPES if wide or name not in WIDE]
        return {name: np.dtype(name) for name in names if kind is None or isdtype(name, kind)}


def array_namespace_info() -> Inspection:
    """What dtypes, devices and limits there are."""
    return Inspection()


def _home(device: Any) -> Context:
    return context_of(None) if device is None else Context(device)


def _dtype_of(type: Any) -> DType:
    return type.dtype if isinstance(type, (DeviceArray, np.ndarray)) else dtype_of(type)


def _limits(limits: Any, dtype: DType, what: str) -> Any:
    try:
        return limits(dtype)
    except ValueError:
        raise DTypeError(f"{dtype} has no limits of {what}; pass a dtype of {what}") from None
