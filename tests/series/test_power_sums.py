"""Power series in numbers of several floats: plain sums, estimates of errors, the warning where digits cancel."""

from __future__ import annotations

import math
import warnings
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.extended import DTYPES
from support.oracles import into_poison

import clmapreduce as cm
from clmapreduce.errors import LostDigits

UNITS = {"dd": Fraction(1, 2**105), "qd": Fraction(1, 2**211), "df": Fraction(1, 2**47), "qf": Fraction(1, 2**95)}
NAMES = ("exp", "sin", "cos", "sinh", "cosh", "log1p", "atan", "geometric")


def coefficient(name: str, k: int) -> Fraction:
    sign = {"sin": (0, 1, 0, -1)[k % 4], "cos": (1, 0, -1, 0)[k % 4], "sinh": k % 2, "cosh": 1 - k % 2}
    if name in ("log1p", "atan", "geometric"):
        top = {"log1p": 1 if k % 2 else -1, "atan": (0, 1, 0, -1)[k % 4], "geometric": 1}[name]
        return Fraction(top if k or name == "geometric" else 0, 1 if name == "geometric" else max(k, 1))
    return Fraction(sign.get(name, 1), math.factorial(k))


def exact_sum(values: list[Fraction], x: Any) -> tuple[Fraction, Fraction]:
    """The sum of the terms, and of their magnitudes."""
    terms = [value * Fraction(float(x) if isinstance(x, np.floating) else x) ** k for k, value in enumerate(values)]
    return sum(terms, Fraction(0)), sum(map(abs, terms), Fraction(0))


def needs(name: str, context: cm.Context) -> np.dtype:
    dtype = DTYPES[name]
    if dtype[0] == np.float64 and not context.device.fp64:
        pytest.skip("needs float64")
    return dtype


@pytest.mark.drawn(whole=["name", "dtype"])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", NAMES)
def test_plain_sums_of_terms(name: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Not the functions: so many terms, rounded once but for a few units."""
    words = needs(dtype, context)
    for terms in (0, 1, 2, 9, 24):
        for x in (rng.uniform(-0.9, 0.9, 33).astype(words[0]), rng.uniform(-0.9, 0.9, ()).astype(words[0])):
            results = getattr(cm.series, name)(x, terms, dtype=words, context=context, mode=mode)
            assert results.dtype == words and np.shape(results) == x.shape
            for point, result in zip(np.ravel(x), np.ravel(cm.exact(results)), strict=True):
                value, size = exact_sum([coefficient(name, k) for k in range(terms)], point)
                assert abs(result - value) <= UNITS[dtype] * (abs(value) + size / 2**8), (name, terms, point)


def derivatives_of(rng: np.random.Generator, terms: int) -> tuple[np.ndarray, list[Fraction]]:
    values = rng.integers(-9, 10, terms).astype(float)
    return values, [Fraction(float(v)) / math.factorial(k) for k, v in enumerate(values)]


@pytest.mark.drawn(whole=["dtype"])
@pytest.mark.parametrize("dtype", [*DTYPES, "f8", "f4"])
@pytest.mark.parametrize("place", ["host", "device"])
def test_errors_are_within_their_estimates(
    dtype: str, place: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Of whole polynomials: nothing but rounding is off, and of the estimate the last term may be too much."""
    target = DTYPES[dtype] if dtype in DTYPES else np.dtype(dtype)
    word = target[0] if target.names else target
    if word == np.float64 and not context.device.fp64:
        pytest.skip("needs float64")
    for terms in (0, 1, 3, 20):
        derivatives, values = derivatives_of(rng, terms)
        derivatives = derivatives.astype(word)
        x, center = rng.uniform(-6, 6, 40).astype(word), word.type(0.5)
        arguments = (cm.array(derivatives, context), cm.array(x, context)) if place == "device" else (derivatives, x)
        results, errors = cm.series.power_series(*arguments, center, dtype=target, return_error=True, context=context, mode=mode)
        assert isinstance(results, cm.DeviceArray) == isinstance(errors, cm.DeviceArray) == (place == "device")
        results, errors = (r.to_numpy() if place == "device" else r for r in (results, errors))
        assert results.dtype == target and errors.shape == x.shape
        for point, result, error in zip(x, cm.exact(results) if target.names else results, errors, strict=True):
            at = Fraction(float(point)) - Fraction(1, 2)
            value, size = exact_sum(values, at)
            last = max((abs(v * at**k) for k, v in enumerate(values) if v), default=Fraction(0))
            result = result if target.names else Fraction(float(result))
            assert abs(result - value) <= Fraction(float(error)) * Fraction(101, 100)
            assert Fraction(float(error)) <= 2 * (last + size * Fraction(1, 2**20)), "and it says something"


def test_centers_are_taken_off_exactly(context: cm.Context) -> None:
    """1e-20 beside 1: x - center is no float64."""
    if not context.device.fp64:
        pytest.skip("needs float64")
    x = np.zeros(2, cm.dd)
    x["hi"], x["lo"] = 1, [1e-20, -3e-25]
    results = cm.exact(cm.series.power_series([0.0, 1.0, 1.0], x, 1.0, context=context))
    for result, low in zip(results, x["lo"], strict=True):
        value = Fraction(low) + Fraction(low) ** 2 / 2
        assert abs(result / value - 1) < Fraction(1, 2**105)


def test_a_truncated_sum_says_so(context: cm.Context) -> None:
    """The estimate is the last term, 2^9/9! here: what is left out is about as much."""
    total, error = cm.series.power_series(np.ones(10), 2.0, return_error=True, context=context)
    assert 0.2 * error < abs(total - np.exp(2)) < 2 * error
    assert abs(error - 2**9 / math.factorial(9)) < 1e-5


def test_digits_choose_the_dtype_and_warn_where_terms_cancel(context: cm.Context, mode: str) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    ones = np.ones(170)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cm.series.power_series(ones, -5.0, digits=16, context=context, mode=mode).dtype == np.float64
        many = cm.series.power_series(ones, -10.0, digits=30, context=context, mode=mode)
        assert many.dtype == cm.dd
        few = cm.series.power_series(ones, [-20.0, 1.0], digits=4, dtype="f8", context=context, mode=mode)
    np.testing.assert_allclose(few, np.exp([-20.0, 1.0]), rtol=1e-14)
    assert float(cm.exact(many)) == pytest.approx(np.exp(-10.0), rel=1e-15)
    for x in (-45.0, np.array([1.0, -45.0]), cm.array(np.array([1.0, -45.0]), context)):
        with pytest.warns(LostDigits, match="rounding leaves [0-9]+ digits of a sum, digits=16") as caught:
            cm.series.power_series(ones, x, digits=16, context=context, mode=mode)
        assert caught[0].filename == __file__
    with pytest.warns(LostDigits):
        cm.series.exp(-40.0, 170, digits=15, context=context, mode=mode)


def test_what_power_sums_refuse(context: cm.Context) -> None:
    for derivatives in (1.0, np.ones((2, 2))):
        with pytest.raises(cm.ShapeError, match="vector"):
            cm.series.power_series(derivatives, 1.0, return_error=True, context=context)
    with pytest.raises(cm.DTypeError, match="largest n that fits"):
        cm.series.power_series(np.ones(200), 1.0, return_error=True, context=context)
    with pytest.raises(cm.DTypeError, match="real"):
        cm.series.power_series([1.0], 1j, return_error=True, context=context)
    with pytest.raises(cm.ArgumentError, match="return_error"):
        cm.series.power_series([1.0], 1.0, return_error=1, context=context)
    with pytest.raises(cm.ShapeError, match="terms is"):
        cm.series.exp(1.0, -1, dtype=cm.df, context=context)


def test_outputs(context: cm.Context, mode: str) -> None:
    x = np.float32([0.5, 1, -1])
    expected = cm.series.exp(x, 9, dtype=cm.df, context=context, mode=mode)
    result = into_poison(lambda out: cm.series.exp(x, 9, dtype=cm.df, context=context, mode=mode, out=out), 3, cm.df)
    assert (result == expected).all()
    out = cm.array(np.full(3, 7, np.float32), context)
    total, error = cm.series.power_series(np.float32([1, 1]), x, return_error=True, context=context, mode=mode, out=out)
    assert total is out and isinstance(error, cm.DeviceArray)
    assert out.to_numpy().tolist() == [1.5, 2, 0]
    with pytest.raises(cm.DTypeError, match="out has dtype"):
        cm.series.exp(x, 9, dtype=cm.df, context=context, out=np.zeros(3, np.float32))
