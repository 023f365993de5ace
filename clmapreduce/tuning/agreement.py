"""Whether results in another launch box are those of the static one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clmapreduce.dtypes import is_complex, is_extended, is_float

Tolerance = Mapping[int, float]
"""How far results may lie apart, relative to the largest of them, by bytes of a number."""
SLACK = 12
"""Bits of numbers in several floats that another order of sums may change."""


def agree(results: Sequence[Any], expected: Sequence[Any], tolerance: Tolerance) -> bool:
    """Whether results are the same: integers equal, floats as near as another order of sums may bring them."""
    return all(_near(one, other, tolerance) for one, other in zip(results, expected, strict=True))


def _near(result: Any, expected: Any, tolerance: Tolerance) -> bool:
    dtype = expected.dtype
    if is_extended(dtype):
        return _near_in_words(result, expected)
    if dtype.names is not None:
        return all(_near(result[name], expected[name], tolerance) for name in dtype.names)
    if is_complex(dtype):
        return all(_near(part(result), part(expected), tolerance) for part in (np.real, np.imag))
    if not is_float(dtype):
        return bool(np.array_equal(result, expected))
    part = tolerance[dtype.itemsize]
    with np.errstate(invalid="ignore", over="ignore"):
        return bool(np.allclose(result, expected, rtol=part, atol=part * _largest(expected), equal_nan=True))


def _near_in_words(result: Any, expected: Any) -> bool:
    """The same for numbers in several floats, whose words are far smaller one after the other."""
    words = [(result[name].astype("f8"), expected[name].astype("f8")) for name in expected.dtype.names]
    first = expected.dtype[0]
    part = float(np.finfo(first).eps) ** len(words) * 2**SLACK
    with np.errstate(invalid="ignore", over="ignore"):
        apart = np.abs(sum(one - other for one, other in words))
        near = apart <= part * _largest(words[0][1])
    same = np.all([(one == other) | (np.isnan(one) & np.isnan(other)) for one, other in words], axis=0)
    return bool(np.all(near | same))


def _largest(values: Any) -> float:
    return float(np.abs(values[np.isfinite(values)], dtype="f8").max(initial=0))
