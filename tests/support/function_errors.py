"""Arguments at which functions are tested, and errors of results."""

from __future__ import annotations

from typing import Any

import numpy as np


def ends(dtype: Any) -> Any:
    """Zeros, ones, infinities, NaN of several bits, numbers below the normal ones, the largest, and where results over- and underflow."""
    info = np.finfo(dtype)
    big = 1 / info.eps
    positive = [
        0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 1e10, float(info.tiny), float(info.tiny) / 2, float(info.smallest_subnormal), float(info.max),
        np.inf, big / 2 - 0.5, big / 2 + 0.5, big - 1, big + 2, 88.7, 89.2, 103.5, 709.7, 710.3, 745.2, 4194304.0, 8e6, 1 + 1e-6, 1 - 1e-6, np.pi / 2,
    ]  # fmt: skip
    return np.concatenate([np.array([*positive, *(-x for x in positive), np.nan], dtype), marked_nans(dtype)])


def marked_nans(dtype: Any) -> Any:
    """NaN with other bits set, as R marks missing numbers (1954), of both signs."""
    bits = np.array([1, 2, 255, 1954, 4095], f"u{np.dtype(dtype).itemsize}")
    marked = (np.full(len(bits), np.nan, dtype).view(bits.dtype) | bits).view(dtype)
    return np.concatenate([marked, -marked])


def errors(result: Any, exact: Any, dtype: Any) -> Any:
    """Units of the last place, 0 where both are NaN or the same infinity; infinite for a NaN or sign that is wrong. Below
    the normal numbers, which a device may take for 0, the unit is that of the least normal one.
    """
    with np.errstate(all="ignore"):
        rounded = exact.astype(dtype)
        unit = np.spacing(np.maximum(np.abs(rounded), np.finfo(dtype).tiny)).astype(np.longdouble)
        error = np.abs(result.astype(np.longdouble) - exact) / unit
    error = np.where(np.isfinite(rounded) & np.isfinite(result), error, np.inf)
    error = np.where((result == rounded) & (np.signbit(result) == np.signbit(rounded)), np.minimum(error, 0.5), error)
    error = np.where(np.isinf(result) & (np.abs(rounded) == np.finfo(dtype).max), 1, error)
    return np.where(np.isnan(result) & np.isnan(rounded), 0, error)
