"""Reductions of stretches of an array in NumPy, all at once, and how far a device may be from them."""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz.whole import identity_of
from support.oracles import (
    UNIT64,
    assert_near,
    assert_same,
    logsumexp_tolerance,
    product_tolerance,
    tolerance,
    unit,
    wide,
)

import clmapreduce as cm

Exact = tuple[Any, Any, np.dtype[Any]]
"""(what comes out, how far from it a result may be, its dtype)."""

LONGEST = 512
"""So many terms a chain of sums has at most inside a tile."""


def stretches(name: str, x: np.ndarray[Any, Any], offsets: np.ndarray[Any, Any], fp64: bool = True) -> Exact:
    """The stretches x[offsets[k]:offsets[k + 1]], none of them empty, of an array without NaN. x: (n, *trailing)."""
    begins, counts = offsets[:-1], np.diff(offsets).reshape(-1, *(1,) * (x.ndim - 1))

    def over(ufunc: Any, values: Any) -> Any:
        return ufunc.reduceat(values, begins, 0)

    def each(values: Any) -> Any:
        return np.repeat(values, np.diff(offsets), 0)

    if name in ("minimum", "maximum"):
        return over(getattr(np, name), x), 0.0, x.dtype
    if name in ("any", "all"):
        return over({"any": np.logical_or, "all": np.logical_and}[name], x != 0), 0.0, np.dtype(bool)
    if name in ("argmin", "argmax"):
        best = over(np.minimum if name == "argmin" else np.maximum, x)
        place = np.arange(len(x)).reshape(-1, *(1,) * (x.ndim - 1))
        first = over(np.minimum, np.where(x == each(best), place, len(x)))
        return first - begins.reshape(-1, *(1,) * (x.ndim - 1)), 0.0, np.dtype(np.int64)
    long_type: Any = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    if name in ("sum", "product") and x.dtype.kind in "biu":
        return over(np.add if name == "sum" else np.multiply, x.astype(wide(x.dtype))), 0.0, wide(x.dtype)
    numbers = x.astype(long_type)
    if name == "sum":
        total, size = over(np.add, numbers), over(np.add, np.abs(numbers))
        return total, tolerance(x.dtype, total, size, min(len(x), LONGEST), "fast"), x.dtype
    if name == "product":
        total = over(np.multiply, numbers)
        own = product_tolerance(x.dtype, total, 1, fp64)
        return total, own * (1 + counts if not fp64 or x.dtype.itemsize == 8 else 2) + counts * UNIT64 * np.abs(total), x.dtype
    if name == "logsumexp":
        top = over(np.maximum, numbers)
        total = top + np.log(over(np.add, np.exp(numbers - each(top))))
        dtype = identity_of(name, x.dtype).dtype
        return total, logsumexp_tolerance(dtype, total, int(counts.max())) + counts * UNIT64, dtype
    assert name in ("mean", "var", "std")
    mean = over(np.add, numbers) / counts
    scale = over(np.maximum, np.abs(numbers))
    dtype = x.dtype if x.dtype.kind == "f" else np.dtype("f8" if name == "mean" or x.dtype.itemsize > 2 else "f4")
    far = 64 * unit(dtype) * (scale if name == "mean" else scale**2) + float(np.finfo(dtype).tiny)
    if name == "mean":
        return mean, far, dtype
    var = over(np.add, (numbers - each(mean)) ** 2) / counts
    if name == "var":
        return var, far, dtype
    std = np.sqrt(var)  # √(v + d) lies at most √d from √v, and at most d / √v
    return std, np.minimum(np.sqrt(far), far / np.maximum(std, 1e-300)) + 4 * unit(dtype) * std, dtype


def check_stretches(name: str, x: Any, offsets: Any, result: Any, empty: Any, fp64: bool) -> None:
    """Asserts every stretch of x (n, *trailing). empty: the result of an empty stretch; None skips those."""
    offsets = np.asarray(offsets, np.int64)
    result = result.to_numpy() if isinstance(result, cm.DeviceArray) else result
    assert result.shape == (len(offsets) - 1, *x.shape[1:]), (result.shape, x.shape, len(offsets))
    full = offsets[1:] > offsets[:-1]
    if full.any():
        exact, far, dtype = stretches(name, x, np.append(offsets[:-1][full], offsets[-1]), fp64)
        assert result.dtype == dtype, (result.dtype, dtype)
        if np.ndim(far) == 0:
            assert_same(result[full], exact.astype(dtype))
        else:
            assert_near(result[full], exact, np.asarray(far, float))
    if empty is not None and not full.all():
        none = result[~full]
        assert_same(none, np.broadcast_to(empty, none.shape))
