"""Recurrences: every kind and order beside the same steps in long doubles or exact numbers, in both modes."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.oracles import PRIME, assert_near, assert_same, into_poison
from support.recurrences import linear, linear_limit, walked

import clmapreduce as cm

SIZES = (0, 1, 2, 31, 33, 1025, PRIME)
WHERE = pytest.mark.drawn


@WHERE
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("length", SIZES)
def test_order_one(dtype: str, length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Coefficients that vary, or are one for all; b that varies, or is one for all."""
    a, b = rng.uniform(-1.01, 1.01, length).astype(dtype), rng.standard_normal(length).astype(dtype)
    initial, number = np.dtype(dtype).type(rng.standard_normal()), np.dtype(dtype).type(rng.uniform(-1, 1))
    recurrence = cm.Recurrence()
    for first, second in ((a, b), (number, b), (a, number)):
        result = into_poison(
            lambda out, x=first, y=second: recurrence(x, y, initial=initial, context=context, mode=mode, out=out),
            (length,), dtype,
        )  # fmt: skip
        rows, vector = [np.broadcast_to(first, length)], np.broadcast_to(second, length)
        expected = linear(rows, vector, [initial])
        assert_near(result, expected, linear_limit(rows, vector, [initial], dtype), (length, np.shape(first)))


@WHERE
@pytest.mark.parametrize("varies", [False, True])
@pytest.mark.parametrize("order", [2, 4])
def test_higher_orders(
    order: int, varies: bool, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Coefficients below 1 together: magnitudes then bound what rounding does."""
    for length in (1, 2, 3, 33, 1025, 20_011):
        b, initial = rng.standard_normal(length), rng.standard_normal(order)
        a = rng.uniform(-1, 1, (order, length) if varies else order) / order
        result = cm.Recurrence(order)(a, b, initial=initial, context=context, mode=mode)
        rows = [np.broadcast_to(row, length) for row in a]
        assert_near(result, linear(rows, b, initial), linear_limit(rows, b, initial, "f8"), (order, length))


@WHERE
def test_a_resonant_filter(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Beside scipy's lfilter. A rounding error of a step lives on as the filter's response to it, so that it grows by
    the response's sum; numbers on the way are no larger than the sum times the largest input, maps' not than the sum.
    """
    signal = pytest.importorskip("scipy.signal")
    length = 50_021
    x = rng.standard_normal(length).astype(np.float32)
    weights = [2 * 0.99 * math.cos(0.3), -(0.99**2)]
    result = cm.Recurrence(2)(weights, x, context=context, mode=mode)
    assert result.dtype == np.float32
    a32 = [1.0, *(-float(np.float32(w)) for w in weights)]
    expected = signal.lfilter([1.0], a32, x.astype(np.float64))
    gain = np.abs(signal.lfilter([1.0], a32, np.eye(1, 5000)[0])).sum()
    assert_near(result, expected, 32 * 2.0**-24 * gain**2 * np.abs(x).max())


@WHERE
def test_integers_wrap(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    fibonacci = cm.Recurrence(2)([1, 1], 0, initial=[np.uint64(1), np.uint64(0)], length=PRIME, context=context, mode=mode)
    assert fibonacci.dtype == np.uint64
    before, now, expected = 0, 1, []
    for _ in range(PRIME):
        before, now = now, (before + now) % 2**64
        expected.append(now)
    assert_same(fibonacci, np.array(expected, np.uint64))
    a, b = rng.integers(-(2**31), 2**31, (3, 5003)), rng.integers(-(2**62), 2**62, 5003)
    result = cm.Recurrence(3)(a, b, initial=[7, -5, 3], context=context, mode=mode)
    exact = linear(a, b, [7, -5, 3], object)
    assert_same(result, np.array([int(y) % 2**64 for y in exact], np.uint64).view(np.int64))
    small = cm.Recurrence()(np.int8(3), np.full(5, 2, np.int8), context=context, mode=mode)
    assert_same(small, np.array([2, 8, 26, 80, 242]))


@WHERE
def test_complex_numbers(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    length = 5003
    a = np.exp(1j * rng.uniform(0, 6, length)) * rng.uniform(0.5, 1, length)
    b = rng.standard_normal(length) + 1j * rng.standard_normal(length)
    result = cm.Recurrence()(a, b, initial=1j, context=context, mode=mode)
    expected = linear([a], b, [1j], np.clongdouble)
    assert_near(result, expected, linear_limit([a], b, [1j], "c16"))


@WHERE
@pytest.mark.parametrize("kind", ["max-plus", "min-plus"])
@pytest.mark.parametrize("length", SIZES)
def test_max_plus_and_min_plus(kind: str, length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Whole numbers below 2^24: sums are exact."""
    choose = max if kind == "max-plus" else min
    a = rng.integers(-9, 9, length).astype(np.float32)
    b = rng.integers(-99, 99, length).astype(np.float32)
    b[rng.random(length) < 0.3] = -np.inf if choose is max else np.inf
    for initial in (3.0, -np.inf if choose is max else np.inf):
        result = cm.Recurrence(kind=kind)(a, b, initial=initial, context=context, mode=mode)
        expected = walked(lambda y, a, b: choose(y + a, b), (a.tolist(), b.tolist()), initial, length)
        assert_same(result, np.array(expected, np.float32), (length, initial))


@WHERE
def test_moebius_beside_fractions(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Through a pole too: 1 / (y - 1) is infinite behind y = 1, and 0 behind that; both nearly so where products of
    matrices are rounded.
    """
    recurrence = cm.Recurrence(kind="moebius")
    golden = recurrence(0.0, 1.0, 1.0, 1.0, initial=1.0, length=90, context=context, mode=mode)
    exact = walked(lambda y: 1 / (y + 1), (), Fraction(1), 90)
    assert_near(golden, np.array([float(y) for y in exact]), 40 * 2.0**-53)
    poles = recurrence(0.0, 1.0, 1.0, -1.0, initial=2.0, length=3, context=context, mode=mode)
    assert poles[0] == 1 and abs(poles[1]) > 1e15 and abs(poles[2]) < 1e-15
    infinite = recurrence(3.0, 1.0, 2.0, 4.0, initial=np.inf, length=1, context=context, mode=mode)
    assert abs(infinite[0] - 1.5) <= 4 * 2.0**-53


@WHERE
@pytest.mark.parametrize("length", SIZES)
def test_moebius_of_positive_numbers(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Positive matrices draw all numbers together, so that errors die out: a few dozen units are left."""
    rows = rng.uniform(0.5, 2, (4, length)).astype(np.longdouble).astype(np.float64)
    result = cm.Recurrence(kind="moebius")(*rows, initial=0.5, context=context, mode=mode)
    wide = [list(row.astype(np.longdouble)) for row in rows]
    expected = walked(lambda y, a, b, c, d: (a * y + b) / (c * y + d), wide, np.longdouble(0.5), length)
    assert_near(result, np.array(expected, np.longdouble), 60 * 2.0**-53 * np.abs(np.array(expected, np.float64)))


# ------------------------------------------------------------------------------------------------------ values and calls
@WHERE
def test_special_values(context: cm.Context, mode: str) -> None:
    recurrence, length = cm.Recurrence(), 40_009
    grown = recurrence(1.25, 0.0, initial=1.0, length=length, context=context, mode=mode)
    with np.errstate(over="ignore"):
        expected = 1.25 ** np.arange(1, length + 1)
    np.testing.assert_allclose(grown[:3000], expected[:3000], rtol=1e-12)
    assert (grown[4000:] == np.inf).all()
    nothing = recurrence(2.0, 0.0, length=length, context=context, mode=mode)
    assert_same(nothing, np.zeros(length))
    b = np.ones(length)
    b[777] = np.nan
    broken = recurrence(0.5, b, context=context, mode=mode)
    assert np.isfinite(broken[:777]).all() and np.isnan(broken[777:]).all()
    a = np.full(length, 0.5)
    a[777] = np.nan
    assert np.isnan(recurrence(a, 1.0, context=context, mode=mode)[777:]).all()
    assert np.isnan(cm.Recurrence(kind="max-plus")(a, -1.0, context=context, mode=mode)[777:]).all()


@WHERE
def test_arrays_on_the_device(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    length = 10_007
    a, b = rng.uniform(-1, 1, (2, length)), rng.standard_normal(length)
    rows, vector = cm.array(a / 2, context), cm.array(b, context)
    states = cm.array(np.array([1.0, -2.0]), context)
    recurrence = cm.Recurrence(2)
    expected = recurrence(a / 2, b, initial=[1.0, -2.0], context=context, mode=mode)
    result = recurrence(rows, vector, initial=states, mode=mode)
    assert isinstance(result, cm.DeviceArray)
    assert_same(result.to_numpy(), expected)
    assert recurrence(rows, vector, initial=states, mode=mode, out=vector) is vector
    assert_same(vector.to_numpy(), expected)
    host = np.full(length, 7.0)
    recurrence([rows[0], rows[1]], b, initial=(1.0, -2.0), mode=mode, out=host)
    assert_same(host, expected)


def test_in_order(context: cm.Context, rng: np.random.Generator) -> None:
    a, b = rng.uniform(-1, 1, 3001), rng.standard_normal(3001)
    result = cm.Recurrence()(a, b, context=context, mode="sequential", tiles=1)
    assert_near(result, linear([a], b, [0]), linear_limit([a], b, [0], "f8"))
    text = cm.Recurrence().explain(a, b, context=context, mode="sequential", tiles=1)
    assert "one item walks the line in order" in text and "1 group of 1" in text


def test_host_arrays_longer_than_device_memory(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    length = 3_000_001
    a, b = rng.uniform(-1, 1, length), rng.standard_normal(length)
    small = cm.Context(context.device, memory_limit="8M")
    assert "streamed" in cm.Recurrence().explain(a, b, context=small, mode=mode)
    result = cm.Recurrence()(a, b, initial=2.0, context=small, mode=mode)
    expected = cm.Recurrence()(a, b, initial=2.0, context=context, mode=mode)
    # of two orders of the same steps each is within 2 u · Σ of its Y_k; |a| averages 1/2, Y stays below 30
    assert_near(result, expected, 400 * 2.0**-53 * 30)


def test_wrong_input(context: cm.Context) -> None:
    x, wrong = np.ones(8), cm.Recurrence()
    cases: list[tuple[type[Exception], str, Any]] = [
        (cm.ModeError, "1 to 4", lambda: cm.Recurrence(5)),
        (cm.ModeError, "1 to 4", lambda: cm.Recurrence(0)),
        (cm.ModeError, "1 to 4", lambda: cm.Recurrence(True)),
        (cm.ModeError, "has no other", lambda: cm.Recurrence(2, "max-plus")),
        (cm.ModeError, "max-plus", lambda: cm.Recurrence(kind="affine")),
        (cm.ArgumentError, "takes", lambda: wrong(x, context=context)),
        (cm.ArgumentError, "a, b, c, d", lambda: cm.Recurrence(kind="moebius")(x, x, context=context)),
        (cm.ShapeError, "length=", lambda: wrong(0.5, 1.0, context=context)),
        (cm.ShapeError, "one dimension", lambda: wrong(0.5, np.ones((2, 3)), context=context)),
        (cm.ShapeError, "broadcast", lambda: wrong(np.ones(3), np.ones(4), context=context)),
        (cm.ShapeError, "give 2 numbers", lambda: cm.Recurrence(2)(0.5, x, context=context)),
        (cm.ShapeError, "give 2 numbers", lambda: cm.Recurrence(2)(None, x, context=context)),
        (cm.ShapeError, "3 entries", lambda: cm.Recurrence(2)([1, 2, 3], x, context=context)),
        (cm.ShapeError, "3 entries", lambda: cm.Recurrence(2)([1, 2], x, initial=[1, 2, 3], context=context)),
        (cm.ShapeError, "one number", lambda: wrong(0.5, x, initial=x, context=context)),
        (cm.DTypeError, "float16", lambda: wrong(x.astype("f2"), x.astype("f2"), context=context)),
        (cm.DTypeError, "int32", lambda: wrong(x, x, dtype="i4", context=context)),
        (cm.DTypeError, "complex", lambda: wrong(1j, x, dtype="f8", context=context)),
        (cm.DTypeError, "complex", lambda: cm.Recurrence(kind="moebius")(1j, x, x, x, context=context)),
        (cm.ShapeError, "out has shape", lambda: wrong(0.5, x, out=np.ones(7), context=context)),
        (cm.ModeError, "tiles", lambda: wrong(0.5, x, tiles=2, context=context)),
        (cm.ModeError, "fused", lambda: cm.fuse(lambda v: wrong(0.5, v))(x, context=context)),
    ]  # fmt: skip
    for error, text, call in cases:
        with pytest.raises(error, match=text):
            call()


def test_dask_arrays_are_refused(context: cm.Context) -> None:
    chunked = pytest.importorskip("dask.array").ones(10, chunks=5)
    with pytest.raises(cm.ArgumentError, match="compute"):
        cm.Recurrence()(0.5, chunked, context=context)


def test_pickles(context: cm.Context) -> None:
    for recurrence in (cm.Recurrence(2), cm.Recurrence(kind="min-plus")):
        assert repr(pickle.loads(pickle.dumps(recurrence))) == repr(recurrence)
