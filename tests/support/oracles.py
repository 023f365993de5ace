"""What results must be, from NumPy in float64, Python's integers and math.fsum; and how far rounding may lead away."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

PRIME = 100_003
"""Long enough for several groups on every device; no block, tile or lane count divides it."""

SIZES = (1, 2, 7, 8, 9, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1023, 1025, PRIME)
"""Around every lane count, group size and tile."""

PLAIN = [np.dtype(code) for code in ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8", "c8", "c16")]
"""Every scalar dtype but float16, which few devices compute with."""

OPERATORS = ("sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax", "logsumexp")

UNIT64 = 2.0**-53


# ------------------------------------------------------------------------------------------------------------- inputs
def values(rng: np.random.Generator, dtype: Any, shape: Any) -> np.ndarray:
    """Random numbers over the whole range of an integer dtype, over six decades and both signs of a floating one."""
    dtype = np.dtype(dtype)
    if not dtype.isnative and dtype.names is None:
        return values(rng, dtype.newbyteorder("="), shape).astype(dtype)
    if dtype.names is not None:
        records = np.zeros(shape, dtype)
        for name in dtype.names:
            part = dtype[name]
            records[name] = values(rng, part.base, (*np.atleast_1d(shape), *part.shape) if part.shape else shape)
        return records
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return rng.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    if dtype.kind == "c":
        part = np.dtype(f"f{dtype.itemsize // 2}")
        return np.asarray(values(rng, part, shape) + 1j * values(rng, part, shape)).astype(dtype)
    decades = 0.0 if dtype.itemsize == 2 else 3.0
    return np.asarray(rng.standard_normal(shape) * 10.0 ** rng.uniform(-decades, decades, shape)).astype(dtype)


def factors(rng: np.random.Generator, dtype: Any, length: int) -> np.ndarray:
    """Random numbers whose product stays finite: near 1 for floating dtypes, odd for integers (a 0 would hide errors)."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu":
        return values(rng, dtype, length) | dtype.type(1)
    if dtype.kind == "b":
        return np.ones(length, bool)
    signs = rng.choice([-1.0, 1.0], length)
    numbers = signs * np.exp(rng.uniform(-1, 1, length) / math.sqrt(max(length, 1)))
    if dtype.kind == "c":
        numbers = numbers * np.exp(1j * rng.uniform(0, 2 * math.pi, length))
    return numbers.astype(dtype)


def special_values(dtype: Any) -> list[Any]:
    """The values of a dtype on which formulas break: its limits, zeros of both signs, subnormal numbers, infinities, NaN."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return sorted({int(info.min), int(info.min) + 1, max(-1, int(info.min)), 0, 1, 2, int(info.max) - 1, int(info.max)})
    tiny = float(np.finfo(dtype).smallest_subnormal)
    return [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.0, tiny, -tiny, math.inf, -math.inf, math.nan]


# --------------------------------------------------------------------------------------------------------- tolerances
def unit(dtype: Any) -> float:
    """Half a unit in the last place of 1: the relative error of one rounding."""
    return float(np.finfo(dtype).eps) / 2


def tolerance(dtype: Any, total: Any, magnitude: Any, length: int, accumulate: str = "auto", fp64: bool = True) -> Any:
    """How far a sum of `length` terms of `dtype` may be from its exact value `total`; `magnitude` is Σ|terms|.

    One rounding of the result, and (length − 1) roundings in the accumulator's precision, whatever the order (Higham 2002,
    section 4.2). float16 and float32 accumulate in float64, or as a pair of float32 (TwoSum), whose promise is 6e-8 · (|S| + Σ|terms|).
    Complex numbers have no pairs: without float64 they accumulate as they are.
    """
    own = unit(dtype)
    if accumulate == "fast" or (not fp64 and np.dtype(dtype).kind == "c"):
        chain = length * min(own, unit(np.float32))
    elif accumulate == "compensated" or not fp64:
        chain = own + (length * own) ** 2
    else:
        chain = length * min(own, UNIT64)
    return own * 1.001 * np.abs(total) + chain * np.asarray(magnitude) + float(np.finfo(dtype).smallest_subnormal)


def scan_tolerance(dtype: Any, totals: Any, magnitudes: Any, length: int) -> Any:
    """As `tolerance`, for prefixes: inside a tile they add in their own precision, at most 12 additions deep (a vector of 16, a group of 256)."""
    own = unit(dtype)
    return own * 1.001 * np.abs(totals) + (12 * own + length * UNIT64) * np.asarray(magnitudes)


def product_tolerance(dtype: Any, total: Any, length: int, fp64: bool = True) -> Any:
    """How far a product of `length` factors may be from `total`: one rounding per factor in the accumulator, one at the end; complex factors round
    four times."""
    own, times = unit(dtype), 4 if np.dtype(dtype).kind == "c" else 1
    return (own * 1.001 + times * length * (min(own, UNIT64) if fp64 else own)) * np.abs(total)


def logsumexp_tolerance(dtype: Any, total: Any, length: int) -> Any:
    """How far log Σ exp(x) may be from `total`.

    A term's exponential has a relative error of 4 units and one unit per unit of its exponent; weighted by the terms themselves, exponents
    average at most log(length). A rescaled sum has shrunk by e or more, so that all factors together add at most 1.6 times a term's error: 8 more.
    """
    own = unit(dtype)
    return own * (np.abs(total) * 1.001 + 2 * math.log(max(length, 1)) + 16)


def assert_near(actual: Any, expected: Any, limit: Any, case: object = "") -> None:
    """Asserts |actual − expected| ≤ allowed everywhere, NaN and infinities where they belong; complex numbers part by part."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape, (actual.shape, expected.shape, case)
    if actual.dtype.kind == "c" or expected.dtype.kind == "c":
        assert_near(actual.real, expected.real, limit, (case, "real"))
        assert_near(actual.imag, expected.imag, limit, (case, "imag"))
        return
    wide = np.longdouble
    with np.errstate(invalid="ignore"):
        error = np.abs(actual.astype(wide) - expected.astype(wide))
        agrees = (error <= limit) | (np.isnan(actual) & np.isnan(expected)) | (np.isinf(expected) & (actual == expected))
    wrong = np.flatnonzero(~np.atleast_1d(agrees))
    if wrong.size:
        at = int(wrong[0])
        where = np.broadcast_to(np.asarray(limit, np.float64), np.shape(agrees)).reshape(-1)
        raise AssertionError(
            f"{wrong.size} of {actual.size} differ, first at {at}: {actual.reshape(-1)[at]!r}, expected {expected.reshape(-1)[at]!r} "
            f"within {where[at]:.3g} {case}"
        )


def assert_same(actual: Any, expected: Any, case: object = "") -> None:
    """Asserts equal shape, dtype and values, NaN equal to NaN; records field by field."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    if expected.dtype.names is not None:
        assert actual.dtype.names == expected.dtype.names, (actual.dtype, expected.dtype, case)
        for name in expected.dtype.names:
            assert_same(actual[name], expected[name], (case, name))
        return
    assert actual.dtype == expected.dtype, (actual.dtype, expected.dtype, case)
    np.testing.assert_array_equal(actual, expected, err_msg=str(case))


def into_poison(call: Callable[..., Any], shape: Any, dtype: Any) -> np.ndarray:
    """What `call(out=…)` writes, after checking that it wrote every byte of two arrays prefilled with different patterns."""
    outs = []
    for fill in (0x00, 0xFF):
        out = np.full(int(np.prod(shape, dtype=int)) * np.dtype(dtype).itemsize, fill, np.uint8).view(dtype).reshape(shape)
        assert call(out=out) is out
        outs.append(out)
    assert outs[0].tobytes() == outs[1].tobytes(), "the output was not overwritten completely"
    return outs[0]


# ------------------------------------------------------------------------------------------------------------ oracles
def exact_sum(x: np.ndarray) -> tuple[Any, Any]:
    """(Σx, Σ|x|), rounded once; integers as Python integers."""
    if x.dtype.kind in "biu":
        return sum(x.reshape(-1).tolist()), 0
    if x.dtype.kind == "c":
        (real, a), (imag, b) = exact_sum(x.real), exact_sum(x.imag)
        return complex(real, imag), a + b
    flat = x.reshape(-1).astype(np.float64)
    if not np.isfinite(flat).all():
        with np.errstate(invalid="ignore"):
            return flat.sum(), 0.0
    return math.fsum(flat.tolist()), math.fsum(np.abs(flat).tolist())


def logsumexp(x: np.ndarray) -> np.longdouble:
    """log Σ exp(x) in extended precision, with NumPy's rules for NaN and infinities."""
    wide = x.reshape(-1).astype(np.longdouble)
    if wide.size == 0:
        return np.longdouble(-math.inf)
    top = wide.max()
    return top + np.log(np.exp(wide - top).sum()) if np.isfinite(top) else top


def wrap(value: int, dtype: Any) -> Any:
    """A Python integer as an integer dtype holds it."""
    dtype = np.dtype(dtype)
    bits = 8 * dtype.itemsize
    value %= 1 << bits
    return dtype.type(value - (1 << bits) if dtype.kind == "i" and value >= 1 << (bits - 1) else value)


def wide(dtype: Any) -> np.dtype:
    """The dtype of sums and products of these values."""
    dtype = np.dtype(dtype)
    return np.dtype({"b": "i8", "i": "i8", "u": "u8"}.get(dtype.kind, dtype))


def check_reduced(name: str, x: np.ndarray, actual: Any, accumulate: str = "auto", fp64: bool = True, case: object = "") -> None:
    """Asserts that `actual` is the named reduction of all of `x`, of the right dtype."""
    case = (name, x.dtype, x.shape, case)
    actual = np.asarray(actual)
    assert actual.shape == (), case
    if name in ("minimum", "maximum"):
        assert_same(actual, {"minimum": np.min, "maximum": np.max}[name](x), case)
    elif name in ("any", "all"):
        assert_same(actual, {"any": np.any, "all": np.all}[name](x), case)
    elif name in ("argmin", "argmax"):
        assert_same(actual, np.int64({"argmin": np.argmin, "argmax": np.argmax}[name](x)), case)
    elif name in ("mean", "var", "std", "norm"):
        check_average(name, x, actual, fp64, case)
    elif name == "logsumexp":
        result = np.dtype({1: "f4", 2: "f4"}.get(x.dtype.itemsize, "f8")) if x.dtype.kind in "biu" else x.dtype
        assert actual.dtype == result, (actual.dtype, case)
        total = logsumexp(x)
        assert_near(actual, total, logsumexp_tolerance(result, total, x.size), case)
    elif x.dtype.kind in "biu":
        flat = x.reshape(-1).tolist()
        total = sum(flat) if name == "sum" else product(flat)
        assert_same(actual, wrap(total, wide(x.dtype)), case)
    elif name == "sum":
        assert actual.dtype == x.dtype, (actual.dtype, case)
        total, magnitude = exact_sum(x)
        assert_near(actual, total, tolerance(x.dtype, total, magnitude, x.size, accumulate, fp64), case)
    else:
        assert name == "product"
        assert actual.dtype == x.dtype, (actual.dtype, case)
        total = np.prod(x.reshape(-1).astype(np.clongdouble if x.dtype.kind == "c" else np.longdouble))
        assert_near(actual, total, product_tolerance(x.dtype, total, x.size, fp64), case)


def check_average(name: str, x: np.ndarray, actual: np.ndarray, fp64: bool, case: object) -> None:
    """Asserts that `actual` is the mean, var, std or norm of all of `x`, of the right dtype.

    A mean is off as a sum is, by one rounding more. A variance merges counts, means and squared deviations: each of them is
    off by a few roundings of the accumulator a value, of what the squares amount to. A norm has half the relative error of
    its sum of squares.
    """
    dtype, own = np.asarray(getattr(np.linalg if name == "norm" else np, name)(x.reshape(-1))).dtype, x.dtype
    if name in ("var", "std") and x.dtype.kind in "biu":
        dtype = np.dtype("f4" if x.itemsize <= 2 else "f8")
    if not fp64 and dtype == np.float64:
        dtype = np.dtype("f4")
    fine = min(unit(dtype), UNIT64) if fp64 else unit("f4")
    assert actual.dtype == dtype, (actual.dtype, dtype, case)
    own = dtype if x.dtype.kind in "biu" else x.dtype
    wide = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    numbers = x.reshape(-1).astype(wide)
    squares = (np.abs(numbers) ** 2).mean()
    if name == "mean":
        exact, limit = numbers.mean(), tolerance(own, numbers.sum(), np.abs(numbers).sum(), x.size, fp64=fp64) / x.size
        assert_near(actual, exact, limit + unit(dtype) * np.abs(exact), case)
    elif name == "norm":
        exact = np.sqrt((np.abs(numbers) ** 2).sum())
        assert_near(actual, exact, (4 * unit(dtype) + x.size * fine) * exact, case)
    else:
        exact, limit = numbers.var(), 8 * x.size * fine * squares
        if name == "var":
            assert_near(actual, exact, limit + 1.001 * unit(dtype) * exact, case)
        else:
            assert_near(actual.astype(np.longdouble) ** 2, exact, limit + 4 * unit(dtype) * exact, case)


def product(numbers: Iterable[int]) -> int:
    """The product modulo 2^64, so that the integers stay small."""
    total = 1
    for number in numbers:
        total = total * int(number) % (1 << 64)
    return total


def prefixes(combine: Callable[[Any, Any], Any], identity: Any, items: Sequence[Any]) -> list[Any]:
    """identity, identity ∘ items[0], …: len(items) + 1 results of a plain Python loop."""
    results = [identity]
    for item in items:
        results.append(combine(results[-1], item))
    return results
