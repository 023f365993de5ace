"""Primitives over numbers in several floats beside exact sums and products."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np
import pytest
from support.extended import DTYPES, numbers, unit

import clmapreduce as cm

pytestmark = pytest.mark.drawn


@pytest.fixture(params=["dd", "qd"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return DTYPES[request.param]


def sum_bound(length: int, size: Fraction, dtype: Any = cm.dd) -> Fraction:
    """What docs/guides/precision.md states of a sum of `length` numbers whose magnitudes sum up to `size`."""
    u = unit(dtype)
    return ((3 * length + 300) * u**2 if len(dtype) == 2 else (8 * length + 500) * u**4) * size


def product_bound(length: int, dtype: Any = cm.dd) -> Fraction:
    """The same of a product, relative to it."""
    u = unit(dtype)
    return (length + 64) * (8 * u**2 if len(dtype) == 2 else 33 * u**4)


@pytest.mark.parametrize("length", [0, 1, 31, 33, 4099, 40_009])
def test_sums(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any, length: int) -> None:
    x = numbers(rng, length, dtype)
    exact = list(cm.exact(x))
    total = cm.exact(cm.Reduce("sum")(x, context=context, mode=mode))
    assert abs(total - sum(exact)) <= sum_bound(length, sum(map(abs, exact)), dtype)


@pytest.mark.parametrize("length", [3, 64, 257, 20_011])
def test_sums_that_cancel(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any, length: int) -> None:
    """Each value stands beside its opposite, in order or shuffled, and what is left is far below all of them."""
    x, rest = numbers(rng, length, dtype, powers=30), numbers(rng, length, dtype, powers=2)
    opposite = x.copy()
    for word in dtype.names:
        opposite[word], rest[word] = -x[word], rest[word] * 2.0**-90
    for terms in (np.stack([x, rest, opposite], axis=1).ravel(), rng.permutation(np.concatenate([x, opposite, rest]))):
        exact = list(cm.exact(terms))
        total = cm.exact(cm.Reduce("sum")(terms, context=context, mode=mode))
        assert abs(total - sum(exact)) <= sum_bound(len(terms), sum(map(abs, exact)), dtype)


@pytest.mark.parametrize("length", [1, 31, 33, 4099])
def test_extrema_and_products(
    context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any, length: int
) -> None:
    x = numbers(rng, length, dtype)
    exact = list(cm.exact(x))
    assert cm.exact(cm.Reduce("minimum")(x, context=context, mode=mode)) == min(exact)
    assert cm.exact(cm.Reduce("maximum")(x, context=context, mode=mode)) == max(exact)
    near = cm.extended([1 + Fraction(v) / 2**40 for v in rng.standard_normal(length).tolist()], dtype)
    true = Fraction(1)
    for value in cm.exact(near):
        true = Fraction(round(true * value * 2**400), 2**400)
    product = cm.exact(cm.Reduce("product")(near, context=context, mode=mode))
    assert abs(product - true) <= product_bound(length, dtype) * abs(true)


def test_sums_of_floats(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any) -> None:
    """Terms that cancel to the last digit; integers of 64 bits; sums that no integer holds."""
    x = rng.standard_normal(2053) * 10.0 ** rng.integers(-12, 12, 2053)
    x = np.concatenate([x, -x[::-1], [1e-9]])
    exact = list(map(Fraction, x.tolist()))
    total = cm.Reduce("sum")(x, dtype=dtype, context=context, mode=mode)
    assert abs(cm.exact(total) - sum(exact)) <= sum_bound(len(x), sum(map(abs, exact)), dtype)
    k = rng.integers(-(2**63), 2**63, 1009)
    assert cm.exact(cm.Reduce("sum")(k, dtype=dtype, context=context, mode=mode)) == sum(k.tolist())
    unsigned = np.array([2**64 - 1, 1], np.uint64)
    assert cm.exact(cm.Reduce("sum")(unsigned, dtype=dtype, context=context, mode=mode)) == 2**64


def test_sums_of_special_values(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any) -> None:
    """As of floats: an infinity is the sum, two of opposite signs are NaN, and so is what meets a NaN."""
    for special, true in (([np.inf], np.inf), ([-np.inf], -np.inf), ([np.inf, -np.inf], np.nan), ([np.nan], np.nan)):
        for length in (3, 1000, 4099):
            x = numbers(rng, length, dtype)
            x[: len(special)] = cm.extended(special, dtype)
            total = cm.Reduce("sum")(rng.permutation(x), context=context, mode=mode)
            np.testing.assert_array_equal(total[dtype.names[0]], true)
            sums = cm.Scan("sum")(x, context=context, mode=mode)
            np.testing.assert_array_equal(sums[dtype.names[0]][len(special) :], true)


@pytest.mark.parametrize("length", [1, 17, 1031, 5003])
def test_scans(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any, length: int) -> None:
    x = numbers(rng, length, dtype, powers=8)
    exact = list(cm.exact(x))
    bounds = [sum_bound(length, size, dtype) for size in accumulate(map(abs, exact))]
    true = list(accumulate(exact))
    sums = cm.exact(cm.Scan("sum")(x, context=context, mode=mode))
    assert all(abs(s - t) <= bound for s, t, bound in zip(sums, true, bounds, strict=True))
    before = cm.exact(cm.Scan("sum", exclusive=True)(x, context=context, mode=mode))
    assert before[0] == 0 and all(abs(s - t) <= b for s, t, b in zip(before[1:], true, bounds, strict=False))
    least = cm.exact(cm.Scan("minimum")(x, context=context, mode=mode))
    assert list(least) == list(accumulate(exact, min))
    floats = x[dtype.names[0]].copy()
    sums = cm.exact(cm.Scan("sum")(floats, dtype=dtype, context=context, mode=mode))
    true = list(accumulate(map(Fraction, floats.tolist())))
    assert all(abs(s - t) <= 2 * bound for s, t, bound in zip(sums, true, bounds, strict=True))


@pytest.mark.parametrize("length", [0, 1, 65, 2003])
def test_partials(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any, length: int) -> None:
    x = numbers(rng, length, dtype, powers=8)
    exact = list(cm.exact(x))
    bounds = [sum_bound(length, size, dtype) for size in accumulate(map(abs, exact), initial=Fraction(0))]
    true = list(accumulate(exact, initial=Fraction(0)))
    partials = cm.Partials("sum")(x, context=context, mode=mode)
    for prefixes in (partials.prefix(mode=mode), partials.prefix(np.arange(length + 1), mode=mode)):
        assert prefixes.dtype == dtype
        assert all(abs(s - t) <= bound for s, t, bound in zip(cm.exact(prefixes), true, bounds, strict=True))
    assert partials.values.dtype == dtype and partials.values.shape == (length + 1,)
    floats = cm.Partials("sum")(x[dtype.names[0]].copy(), dtype=dtype, context=context, mode=mode)
    assert abs(cm.exact(floats.prefix(length)) - sum(map(Fraction, x[dtype.names[0]].tolist()))) <= 2 * bounds[-1]


@pytest.mark.parametrize("length", [0, 1, 33, 700])
def test_unfolds(context: cm.Context, mode: str, dtype: Any, length: int) -> None:
    """Powers, multiples and repeats of one number; a base that is a text; one that a kernel computes."""
    base = cm.extended("1.01", dtype)
    value = cm.exact(base)
    powers = cm.Unfold("product")(base, length, context=context, mode=mode)
    assert powers.dtype == dtype
    for n, power in enumerate(cm.exact(powers), 1):
        assert abs(power - value**n) <= product_bound(n, dtype) * value**n
    for n, multiple in enumerate(cm.exact(cm.Unfold("sum")(base, length, context=context, mode=mode)), 1):
        assert abs(multiple - n * value) <= sum_bound(n, n * value, dtype)
    assert set(cm.exact(cm.Unfold("minimum")(base, length, context=context, mode=mode))) <= {value}
    same = cm.Unfold("product")("1.01", length, dtype=dtype, context=context, mode=mode)
    np.testing.assert_array_equal(same, powers)
    counted = cm.Unfold("index")(length, dtype=dtype, context=context, mode=mode)
    assert cm.exact(counted).tolist() == list(range(length))


@pytest.mark.parametrize("name", DTYPES)
def test_factorials(context: cm.Context, mode: str, name: str) -> None:
    kind, largest = DTYPES[name], 34 if name in ("df", "qf") else 170
    for length in (0, 1, 33, largest):
        result = cm.series.factorials(length, dtype=kind, context=context, mode=mode)
        assert result.dtype == kind and result.shape == (length + 1,)
        for n, value in enumerate(cm.exact(result)):
            assert abs(value - math.factorial(n)) <= product_bound(n, kind) * math.factorial(n)
    with pytest.raises(cm.DTypeError, match=f"does not fit cm.{name} .* largest n that fits is {largest}"):
        cm.series.factorials(largest + 1, dtype=kind, context=context)


def test_steps_inside_fused_functions(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = numbers(rng, 1031, powers=8)
    exact = list(cm.exact(x))
    size = sum(map(abs, exact))

    def centred(x: Any) -> Any:
        return x - cm.Reduce("sum")(x) / 1031

    true = [value - sum(exact) / 1031 for value in exact]
    result = cm.exact(cm.fuse(centred)(x, context=context, mode=mode))
    assert all(abs(r - t) <= sum_bound(1031, 2 * size) for r, t in zip(result, true, strict=True))

    def sums(x: Any) -> Any:
        return cm.Scan("sum")(x, dtype=cm.dd)

    floats = x["hi"].copy()
    true = list(accumulate(map(Fraction, floats.tolist())))
    result = cm.exact(cm.fuse(sums)(floats, context=context, mode=mode))
    assert all(abs(r - t) <= sum_bound(1031, 2 * size) for r, t in zip(result, true, strict=True))

    def powers(x: Any) -> Any:
        return cm.Unfold("product")(cm.Reduce("maximum")(x) / cm.Reduce("maximum")(abs(x)))

    result = cm.exact(cm.fuse(powers)(x, context=context, mode=mode))
    base = max(exact) / max(map(abs, exact))
    assert all(abs(r / base**n - 1) <= 2 * product_bound(n) for n, r in enumerate(result[:50], 1))
    partials = (cm.Map(lambda x: x * x) >> cm.Partials("sum"))(x, context=context, mode=mode)
    squares = [value**2 for value in exact]
    assert abs(cm.exact(partials.prefix(1031)) - sum(squares)) <= sum_bound(1031, 3 * sum(squares))


def test_batches_and_device_arrays(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = numbers(rng, 12 * 257).reshape(12, 257)
    sums = (cm.Map(lambda x: x + 0) >> cm.Reduce("sum"))(x, batch=True, context=context, mode=mode)
    exact = cm.exact(x)
    for result, row in zip(cm.exact(sums), exact, strict=True):
        assert abs(result - sum(row)) <= sum_bound(257, sum(map(abs, row)))
    on_device = cm.Reduce("sum")(cm.array(x[0], context), mode=mode)
    assert isinstance(on_device, cm.DeviceArray) and on_device.dtype == cm.dd
    assert abs(cm.exact(on_device.to_numpy()) - sum(exact[0])) <= sum_bound(257, sum(map(abs, exact[0])))


def test_records_are_no_numbers(context: cm.Context) -> None:
    with pytest.raises(cm.DTypeError, match="records are no numbers"):
        cm.Reduce("sum")(np.zeros(3, [("a", "f8"), ("b", "f8")]), dtype=cm.dd, context=context)
