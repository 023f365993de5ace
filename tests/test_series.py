"""cm.series: sequences exactly, series against the partial sum of Python's exact coefficients."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_near, assert_same, into_poison, unit

import clmapreduce as cm

pytestmark = pytest.mark.drawn

FACTORIALS = {
    "i1": 5, "u1": 5, "i2": 7, "u2": 8, "i4": 12, "u4": 12, "i8": 20, "u8": 20,
    "f2": 8, "f4": 34, "f8": 170, "c8": 34, "c16": 170,
}  # fmt: skip
COEFFICIENTS: dict[str, Callable[[int], float]] = {
    "exp": lambda k: 1 / math.factorial(k),
    "sin": lambda k: (0, 1, 0, -1)[k % 4] / math.factorial(k),
    "cos": lambda k: (1, 0, -1, 0)[k % 4] / math.factorial(k),
    "sinh": lambda k: (k % 2) / math.factorial(k),
    "cosh": lambda k: ((k + 1) % 2) / math.factorial(k),
    "log1p": lambda k: (1 if k % 2 else -1) / k if k else 0.0,
    "atan": lambda k: (0, 1, 0, -1)[k % 4] / k if k else 0.0,
    "geometric": lambda k: 1.0,
}
LIMITS = {
    "exp": math.exp,
    "sin": math.sin,
    "cos": math.cos,
    "sinh": math.sinh,
    "cosh": math.cosh,
    "log1p": math.log1p,
    "atan": math.atan,
}
FLOATS = ["f4", "f8"]
TERMS = (0, 1, 2, 400)


def lacks(device: Any, dtype: Any) -> bool:
    dtype = np.dtype(dtype)
    double = dtype.kind in "fc" and dtype.itemsize // (1 + (dtype.kind == "c")) == 8
    return double and not device.fp64


def needs(dtype: Any, context: cm.Context) -> None:
    if lacks(context.device, dtype):
        pytest.skip(f"{context.device.name} has no {dtype}")


some = pytest.mark.drawn(unless=lambda params: lacks(params["context"], params["dtype"]))


def points(name: str, dtype: str, rng: np.random.Generator, shape: Any) -> np.ndarray:
    reach = 8.0 if COEFFICIENTS[name](2) in (0.5, 0, -0.5) and name not in ("log1p", "atan") else 0.97
    return np.asarray(rng.uniform(-reach, reach, shape), dtype)


@lru_cache
def exact_terms(name: str, terms: int) -> np.ndarray:
    """The coefficients rounded once; beyond 1/176! they are 0 in float64."""
    over_factorials = name not in ("log1p", "atan", "geometric")
    return np.array([0.0 if over_factorials and k > 176 else COEFFICIENTS[name](k) for k in range(terms)], np.float64)


def check_series(name: str, x: np.ndarray, result: Any, terms: int, dtype: str) -> None:
    """A term has a rounding for its coefficient, its product and each factor of its power, of which few count: 8 units
    of the term as it stands in the sum, and one per factor."""
    coefficients = exact_terms(name, terms)
    with np.errstate(over="ignore"):
        powers = np.where(coefficients != 0, np.asarray(x, np.float64)[..., None] ** np.arange(terms), 0)
    parts = coefficients * powers
    expected = np.array([math.fsum(row) for row in parts.reshape(-1, terms)] if terms else np.zeros(x.size)).reshape(
        x.shape
    )
    roundings = 1.01 * np.abs(expected) + (8 + min(terms, 60)) * np.abs(parts).sum(-1)
    assert np.asarray(result).dtype == dtype
    assert_near(result, expected, unit(dtype) * roundings + terms * float(np.finfo(dtype).tiny), (name, terms))


# ----------------------------------------------------------------------------------------------------------- sequences
@pytest.mark.parametrize(("base", "n"), [(3, 39), (2, 62), (-2, 63), (0, 5), (1, 1000), (-1, 257), (7, 0)])
def test_integer_powers_are_exact(base: int, n: int, context: cm.Context, mode: str) -> None:
    result = cm.series.powers(base, n, context=context, mode=mode)
    assert_same(result, np.array([base**k for k in range(n + 1)], np.int64))


@pytest.mark.parametrize(
    ("base", "n", "dtype", "largest"),
    [
        (2, 63, None, 62),
        (-2, 64, None, 63),
        (10, 19, None, 18),
        (3, 5, "i1", 4),
        (-3, 5, "i1", 4),
        (2, 8, "u1", 7),
        (2, 64, "u8", 63),
    ],
)
def test_integer_powers_out_of_range_name_the_largest(
    base: int, n: int, dtype: Any, largest: int, context: cm.Context
) -> None:
    with pytest.raises(cm.DTypeError, match=rf"largest n that fits is {largest}$"):
        cm.series.powers(base, n, dtype=dtype, context=context)
    expected = np.array([base**k for k in range(largest + 1)], dtype or np.int64)
    assert_same(cm.series.powers(base, largest, dtype=dtype, context=context), expected)


@some
@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_floating_powers(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    needs(dtype, context)
    assert_same(
        cm.series.powers(0.0, 3, dtype=dtype, context=context, mode=mode), np.array([1, 0, 0, 0], dtype), "0**0 is 1"
    )
    exact = np.array([(-2.0) ** k for k in range(101)], dtype)
    assert_same(cm.series.powers(-2.0, 100, dtype=dtype, context=context, mode=mode), exact)
    base = np.dtype(dtype).type(rng.uniform(0.9, 1.1) * (-1 if dtype[0] == "f" else np.exp(1j * rng.uniform(0, 6))))
    expected = np.cumprod(np.append(np.clongdouble(1), np.full(500, base, np.clongdouble)))
    if dtype[0] == "f":
        expected = expected.real
    for values in (base, cm.array(base, context)):
        result = cm.series.powers(values, 500, context=context, mode=mode)
        assert isinstance(result, cm.DeviceArray) == isinstance(values, cm.DeviceArray)
        assert_near(result, expected, 4 * np.arange(501) * unit(dtype) * np.abs(expected))
    assert into_poison(lambda out: cm.series.powers(base, 500, context=context, mode=mode, out=out), 501, dtype)[0] == 1


def test_float_powers_leave_their_range_as_in_numpy(context: cm.Context, mode: str) -> None:
    result = cm.series.powers(np.float32(10), 100, context=context, mode=mode)
    assert np.isfinite(result[:39]).all()
    assert np.isposinf(result[39:]).all()
    assert_same(cm.series.powers(np.float32(0.5), 2000, context=context, mode=mode)[200:], np.zeros(1801, np.float32))


@some
@pytest.mark.parametrize("dtype", FACTORIALS)
def test_factorials_up_to_the_largest_that_fits(dtype: str, context: cm.Context, mode: str) -> None:
    needs(dtype, context)
    largest = FACTORIALS[dtype]
    exact = [math.factorial(n) for n in range(largest + 1)]
    for n in (0, 1, largest):
        result = cm.series.factorials(n, dtype=dtype, context=context, mode=mode)
        if dtype[0] in "iu" or n <= 1:
            assert_same(result, np.array(exact[: n + 1], dtype))
        else:
            expected = np.array(list(map(float, exact)))
            assert result.dtype == dtype
            assert_near(result, expected, 2 * np.arange(n + 1) * unit(dtype) * expected)
    with pytest.raises(cm.DTypeError, match=rf"{largest + 1}! does not fit .*largest n that fits is {largest}$"):
        cm.series.factorials(largest + 1, dtype=dtype, context=context)
    into_poison(
        lambda out: cm.series.factorials(largest, dtype=dtype, context=context, mode=mode, out=out), largest + 1, dtype
    )


def test_factorials_are_float64_by_default_and_refuse_what_is_no_number(context: cm.Context) -> None:
    assert cm.series.factorials(3, context=context).dtype == (np.float64 if context.device.fp64 else np.float32)
    for dtype in ("?", "U3", "O"):
        with pytest.raises(cm.DTypeError):
            cm.series.factorials(3, dtype=dtype, context=context)
    for n in (-1, 2.0, True, "3", None):
        with pytest.raises(cm.ShapeError, match="n is"):
            cm.series.factorials(n, context=context)  # type: ignore[arg-type]
        with pytest.raises(cm.ShapeError, match="n is"):
            cm.series.powers(2, n, context=context)  # type: ignore[arg-type]


# -------------------------------------------------------------------------------------------------------- power series
@some
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("center", [0, 2, -1.5])
def test_polynomials_are_exact(
    center: float, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Every number on the way is a small multiple of a power of two, so nothing rounds."""
    needs(dtype, context)
    polynomial = np.polynomial.Polynomial(rng.integers(-4, 5, 5).astype(np.float64))
    derivatives = np.array([polynomial.deriv(k)(center) if k else polynomial(center) for k in range(5)], dtype)
    x = np.arange(-4, 4.5, 0.5).astype(dtype)
    for values in (x, x.reshape(1, 17), cm.array(x, context), x[::2], x[:0]):
        result = cm.series.power_series(derivatives, values, center, context=context, mode=mode)
        assert isinstance(result, cm.DeviceArray) == isinstance(values, cm.DeviceArray)
        assert_same(result, polynomial(np.asarray(values, np.float64)).astype(dtype))
    for one in (2.5, np.dtype(dtype).type(-3), cm.array(np.dtype(dtype).type(0.5), context)):
        result = cm.series.power_series(derivatives, one, center, context=context, mode=mode)
        assert_same(result, np.dtype(dtype).type(polynomial(float(one))), one)
    on_device = cm.series.power_series(cm.array(derivatives, context), 1.5, center, mode=mode)
    assert isinstance(on_device, cm.DeviceArray), "a DeviceArray among the inputs gives one"
    assert float(on_device) == polynomial(1.5)
    assert isinstance(cm.series.power_series(cm.array(derivatives, context), x, center, mode=mode), cm.DeviceArray)


def test_small_integers_do_not_wrap_around_the_center(context: cm.Context, mode: str) -> None:
    x = np.array([0, 1, 5, 255], np.uint8)
    result = cm.series.power_series(np.array([1, 2, 6]), x, 3, context=context, mode=mode)
    assert_near(result, [1 + 2 * (int(i) - 3) + 3 * (int(i) - 3) ** 2 for i in x], 0)


def test_centers_broadcast_against_points(context: cm.Context, mode: str) -> None:
    centers, x = np.array([[0.0], [1.0]], np.float32), np.array([1.0, 2.0, 3.0], np.float32)
    result = cm.series.power_series(np.float32([5, 1]), x, centers, context=context, mode=mode)
    assert_same(result, 5 + (x - centers))
    with pytest.raises(cm.ShapeError, match="do not broadcast"):
        cm.series.power_series([1.0], x, np.zeros(4), context=context)


def test_no_derivatives_sum_to_zero(context: cm.Context, mode: str) -> None:
    assert_same(
        cm.series.power_series(np.zeros(0, np.float32), np.float32([1, np.inf]), context=context, mode=mode),
        np.zeros(2, np.float32),
    )
    assert cm.series.power_series([], 3.0, context=context, mode=mode) == 0


def test_what_a_power_series_refuses(context: cm.Context) -> None:
    for derivatives in (1.0, np.ones((2, 2))):
        with pytest.raises(cm.ShapeError, match="vector"):
            cm.series.power_series(derivatives, 1.0, context=context)
    with pytest.raises(cm.DTypeError, match="largest n that fits"):
        cm.series.power_series(np.ones(200), 1.0, context=context)
    for dtype in ("f2", "i4", "c8"):
        with pytest.raises(cm.DTypeError, match="float32 or float64"):
            cm.series.power_series([1.0], 1.0, dtype=dtype, context=context)
    for derivatives, x, center in (([1j], 1.0, 0), ([1.0], 1j, 0), ([1.0], [1j], 0), ([1.0], 1.0, 1j)):
        with pytest.raises(cm.DTypeError, match="real"):
            cm.series.power_series(derivatives, x, center, context=context)


# -------------------------------------------------------------------------------------------------------- named series
@some
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", COEFFICIENTS)
def test_named_series(name: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    needs(dtype, context)
    series = getattr(cm.series, name)
    for terms in TERMS:
        for shape in (257, (3, 5), 0):
            x = points(name, dtype, rng, shape)
            check_series(name, x, series(x, terms, context=context, mode=mode), terms, dtype)
        on_device = series(cm.array(x := points(name, dtype, rng, 33), context), terms, mode=mode)
        assert isinstance(on_device, cm.DeviceArray)
        check_series(name, x, on_device, terms, dtype)
        for value in (x[0], np.dtype(dtype).type(0)):
            check_series(name, np.asarray(value), series(value, terms, context=context, mode=mode), terms, dtype)
            one = series(cm.array(value, context), terms, mode=mode)
            assert isinstance(one, cm.DeviceArray)
            check_series(name, np.asarray(value), one, terms, dtype)
        output = into_poison(
            lambda out, x=x, terms=terms: series(x, terms, context=context, mode=mode, out=out), 33, dtype
        )
        assert_same(output, on_device.to_numpy())


@pytest.mark.parametrize("name", LIMITS)
def test_many_terms_reach_the_function(name: str, context: cm.Context, mode: str) -> None:
    for x in (0.5, -0.75):
        result = float(getattr(cm.series, name)(x, 400, context=context, mode=mode))
        assert math.isclose(result, LIMITS[name](x), rel_tol=1e-14 if context.device.fp64 else 1e-6)


def test_powers_beyond_the_range_meet_coefficients_that_are_zero(context: cm.Context, mode: str) -> None:
    """In float32 5^56 is infinite and 1/56! is 0: their product counts as nothing."""
    for x in (np.float32(-5), np.float32([-5, 9, 3])):
        result = cm.series.exp(x, 400, context=context, mode=mode)
        check_series("exp", np.asarray(x), result, 400, "f4")
    assert np.isnan(cm.series.sin(np.float32([np.nan]), 400, context=context, mode=mode)).all()


def test_dtypes_of_named_series(context: cm.Context) -> None:
    wide = np.dtype("f8" if context.device.fp64 else "f4")
    for x, dtype, expected in (
        *((x, None, wide) for x in (1, 1.5, [1, 2], np.int8(1), True)),
        *((x, None, "f4") for x in (np.float32(1), np.ones(2, "f4"))),
        (2.0, "f4", "f4"),
    ):
        for terms in (0, 3):
            assert cm.series.exp(x, terms, dtype=dtype, context=context).dtype == expected
    for x in (1j, np.ones(3, np.complex64), "x", np.float16(1)):
        with pytest.raises(cm.DTypeError):
            cm.series.exp(x, 3, context=context)
    for terms in (-1, 2.5, True):
        with pytest.raises(cm.ShapeError, match="terms is"):
            cm.series.exp(1.0, terms, context=context)  # type: ignore[arg-type]


def test_a_vector_of_points_is_one_launch(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    with cm.Context(context.device, profile=True) as profiled_context:
        x = cm.array(rng.uniform(-1, 1, 1000).astype(np.float32), profiled_context)
        for name in ("exp", "atan"):
            getattr(cm.series, name)(x, 30, mode=mode)
            before = len(profiled_context.queue.log)
            getattr(cm.series, name)(x, 30, mode=mode).to_numpy()
            assert [label for _, label, nbytes in profiled_context.queue.log[before:] if nbytes is None] == ["cmr_power_series"]


def test_one_point_is_an_unfold_then_a_fused_map_and_reduce(context: cm.Context, mode: str) -> None:
    with cm.Context(context.device, profile=True) as profiled_context:
        x = cm.array(np.float32(0.5), profiled_context)
        cm.series.exp(x, 30, mode=mode)
        before = len(profiled_context.queue.log)
        cm.series.exp(x, 30, mode=mode).to_numpy()
        launches = [label for _, label, nbytes in profiled_context.queue.log[before:] if nbytes is None]
        assert launches[:2] == ["cmr_unfold", "cmr_reduce"], launches


# --------------------------------------------------------------------------------------------- refused before a launch
CALLS: dict[str, tuple[tuple[int, ...], Callable[..., Any]]] = {
    "powers": ((3,), lambda x, **how: cm.series.powers(0.5, 2, **how)),
    "factorials": ((3,), lambda x, **how: cm.series.factorials(2, dtype="f8", **how)),
    "series": ((3,), lambda x, **how: cm.series.exp(x, 7, **how)),
    "series of one point": ((), lambda x, **how: cm.series.sin(0.5, 9, **how)),
    "power series": ((3,), lambda x, **how: cm.series.power_series([1.0, 2.0], x, 1.0, **how)),
    "power series of one point": ((), lambda x, **how: cm.series.power_series([1.0, 2.0], 0.5, 0.25, **how)),
}


@pytest.mark.parametrize("name", CALLS)
def test_outputs_and_modes_are_checked_before_anything_is_launched(name: str, context: cm.Context) -> None:
    needs("f8", context)
    shape, call = CALLS[name]
    profiled_context, other = cm.Context(context.device, profile=True), cm.Context(context.device)
    read_only = np.full(shape, 7.0)
    read_only.flags.writeable = False
    wrong: list[tuple[type[Exception], Any]] = [
        (cm.ShapeError, np.full(4, 7.0)),
        (cm.DTypeError, np.full(shape, 7.0, np.float32)),
        (cm.DTypeError, np.full(shape, 7)),
        (cm.ShapeError, read_only),
        (cm.DTypeError, [7.0]),
        (cm.ShapeError, cm.array(np.full(4, 7.0), profiled_context)),
        (cm.DTypeError, cm.array(np.full(shape, 7 + 0j), profiled_context)),
        (cm.DeviceError, cm.array(np.full(shape, 7.0), other)),
    ]
    before = len(profiled_context.queue.log)
    for error, out in wrong:
        with pytest.raises(error):
            call(np.ones(3), context=profiled_context, out=out)
    with pytest.raises(cm.ModeError, match="'fast'"):
        call(np.ones(3), context=profiled_context, mode="fast")
    if "series" in name and "point" not in name:
        with pytest.raises(cm.DeviceError, match="share a context"):
            call(cm.array(np.ones(3), other), context=profiled_context)
    assert len(profiled_context.queue.log) == before
    for _, out in wrong:
        assert (np.asarray(out) == 7).all()


def test_one_point_on_the_device_reaches_a_numpy_output(context: cm.Context, mode: str) -> None:
    """The result goes to `out`, on the host or a device, like x and the derivatives."""
    number, table = cm.array(np.float32(0.5), context), cm.array(np.ones(8, "f4"), context)
    for call in (
        lambda out: cm.series.exp(number, 8, mode=mode, out=out),
        lambda out: cm.series.power_series(table, np.float32(0.5), mode=mode, out=out),
    ):
        result = into_poison(call, (), "f4")
        np.testing.assert_allclose(result, sum(0.5**k / math.factorial(k) for k in range(8)), rtol=1e-6)
