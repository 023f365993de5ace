"""Numbers that suit a named reduction, its identity, and a check of all its prefixes."""

from __future__ import annotations

from typing import Any

import numpy as np
from fuzz.case import Case
from support.oracles import (
    UNIT64,
    assert_near,
    assert_same,
    factors,
    logsumexp,
    logsumexp_tolerance,
    product_tolerance,
    scan_tolerance,
    special_values,
    values,
    wide,
)

REDUCTIONS = ("sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax", "logsumexp")


def numbers_for(case: Case, name: str, dtype: Any, shape: Any, special: bool = True) -> np.ndarray[Any, Any]:
    """What suits the operator: products stay finite, sums of float16 too; truth finds both answers; ties, NaN and
    infinities now and then.
    """
    rng, dtype, size = case.rng, np.dtype(dtype), int(np.prod(shape))
    if name == "product":
        return factors(rng, dtype, size).reshape(shape)
    if dtype == np.float16 and name == "sum":
        return (rng.standard_normal(shape) * 8 / max(size, 1) ** 0.5).astype(dtype)
    if name == "logsumexp" and dtype.kind == "f":
        return (rng.standard_normal(shape) * case.one([1, 10, 80])).astype(dtype)
    x = np.asarray(values(rng, dtype, shape))
    if name in ("any", "all"):
        rare = rng.random(shape) < case.one([0, 1, 0.5]) / max(size, 1)
        return np.where(rare, x, 0).astype(dtype) if name == "any" else np.where(rare, 0, np.where(x == 0, 1, x)).astype(dtype)
    if case.chance(0.25):  # ties
        x = rng.integers(0, 2, shape).astype(dtype) if dtype.kind == "b" else rng.integers(0, 4, shape).astype(dtype)
    elif special and case.chance(0.15) and size and dtype.kind in "biuf":
        odd = np.array(special_values(dtype), dtype)
        if dtype.kind == "f" and name == "sum":
            odd = odd[: len(odd) - case.one([0, 1, 3])]  # with NaN, with infinities, with neither
        places = rng.integers(0, size, case.one([1, 3, size]))
        x.reshape(-1)[places] = rng.choice(odd, len(places))
    return x


def near_logsumexp(x: np.ndarray[Any, Any], result: Any) -> None:
    """Asserts that `result` is log Σ exp(x), of the right dtype. Sums of exponentials round once per term at most."""
    result, dtype = np.asarray(result), identity_of("logsumexp", x.dtype).dtype
    assert result.dtype == dtype and result.shape == (), (result.dtype, result.shape)
    total = logsumexp(x)
    assert_near(result, total, logsumexp_tolerance(dtype, total, x.size) + x.size * UNIT64)


def identity_of(name: str, dtype: np.dtype[Any]) -> Any:
    """What a reduction of nothing gives."""
    if name in ("sum", "product"):
        return wide(dtype).type(name == "product")
    if name in ("any", "all"):
        return np.bool_(name == "all")
    if name == "logsumexp":
        return np.dtype({1: "f4", 2: "f4"}.get(dtype.itemsize, "f8") if dtype.kind in "biu" else dtype).type(-np.inf)
    if dtype.kind == "b":
        return np.bool_(name == "minimum")
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).max if name == "minimum" else np.iinfo(dtype).min)
    return dtype.type(np.inf if name == "minimum" else -np.inf)


def prefixes_of(name: str, x: np.ndarray[Any, Any], result: Any) -> None:
    """Asserts that entry i of `result` is the reduction of x[: i + 1]."""
    result, length = np.asarray(result), x.size
    assert result.shape == (length,), (result.shape, length)
    if length == 0:
        return
    with np.errstate(over="ignore"):
        if name in ("minimum", "maximum"):
            assert_same(result, getattr(np, name).accumulate(x))
        elif name in ("any", "all"):
            assert_same(result, {"any": np.logical_or, "all": np.logical_and}[name].accumulate(x != 0))
        elif name in ("argmin", "argmax"):
            best = getattr(np, {"argmin": "minimum", "argmax": "maximum"}[name]).accumulate(x)
            new = np.append(True, best[1:] != best[:-1])
            assert_same(result, np.maximum.accumulate(np.where(new, np.arange(length), 0)))
        elif name == "logsumexp":
            totals = np.logaddexp.accumulate(x.astype(np.longdouble))
            assert_near(result, totals, logsumexp_tolerance(result.dtype, totals, length) + length * UNIT64)
        elif x.dtype.kind in "biu":
            assert_same(result, {"sum": np.add, "product": np.multiply}[name].accumulate(x.astype(wide(x.dtype))))
        elif name == "product":
            totals = np.multiply.accumulate(x.astype(np.longdouble))
            assert_near(result, totals, product_tolerance(x.dtype, totals, length, fp64=False))
        else:
            totals, sizes = (np.add.accumulate(v.astype(np.longdouble)) for v in (x, np.abs(x)))
            assert_near(result, totals, scan_tolerance(x.dtype, totals, sizes, length))
