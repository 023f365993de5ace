"""Elementwise operations against NumPy in float64, on the values where their definitions have corners too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.vector_oracle import check_derivatives, close

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.vector import OPERATIONS, Constant, Variable
from clmapreduce.vector.evaluate import evaluate

NAN, INF = math.nan, math.inf
REAL = np.array([-3.5, -2.0, -1.0, -0.5, -1e-9, 0.0, 1e-9, 0.3, 0.5, 1.0, 1.5, 2.5, 7.25])
POSITIVE = np.array([1e-9, 0.3, 0.5, 1.0, 1.5, 2.5, 7.25])


def _xlogx(x: Any) -> Any:
    return np.where(x == 0, 0, x * np.log(np.where(x == 0, 1, x)))


def _round(x: Any, digits: int = 0) -> Any:
    return np.array([math.copysign(math.floor(abs(v) * 10.0**digits + 0.5), v) / 10.0**digits for v in x])


UNARY: list[tuple[str, Callable[..., Any], np.ndarray]] = [
    ("Minus", np.negative, REAL),
    ("Abs", np.abs, REAL),
    ("Inv", lambda x: 1 / x, REAL[REAL != 0]),
    ("Square", np.square, REAL),
    ("Sqrt", np.sqrt, np.append(POSITIVE, 0.0)),
    ("Rsqrt", lambda x: np.where(x == 0, 0, 1 / np.sqrt(np.where(x == 0, 1, x))), np.append(POSITIVE, 0.0)),
    ("Exp", np.exp, REAL),
    ("Log", np.log, POSITIVE),
    ("XLogX", _xlogx, np.append(POSITIVE, 0.0)),
    ("Cos", np.cos, REAL),
    ("Sin", np.sin, REAL),
    ("SinXDivX", lambda x: np.sinc(x / np.pi), REAL),
    ("Sinc", np.sinc, REAL),
    ("Asin", np.arcsin, np.array([-1.0, -0.3, 0.0, 0.9, 1.0])),
    ("Acos", np.arccos, np.array([-1.0, -0.3, 0.0, 0.9, 1.0])),
    ("Atan", np.arctan, REAL),
    ("Sign", np.sign, REAL),
    ("Step", lambda x: np.where(x < 0, 0.0, 1.0), REAL),
    ("ReLU", lambda x: np.maximum(x, 0), REAL),
    ("Floor", np.floor, REAL),
    ("Round", _round, REAL),
]


@pytest.mark.parametrize(("name", "oracle", "values"), UNARY, ids=[row[0] for row in UNARY])
def test_functions_of_one_vector(name: str, oracle: Callable[..., Any], values: np.ndarray) -> None:
    x = Variable(0, len(values), 0)
    with np.errstate(all="ignore"):
        close(evaluate(OPERATIONS[name](x), {x: values}), oracle(values), 1e-14)


@pytest.mark.parametrize("name", [row[0] for row in UNARY])
def test_derivatives_of_functions_of_one_vector(name: str, rng: np.random.Generator) -> None:
    x = Variable(0, 3, 0)
    positive = {"Sqrt", "Rsqrt", "Log", "XLogX"}
    values = rng.uniform(0.2, 0.45, (4, 3)) * (1 if name in positive else rng.choice([-1.0, 1.0], (4, 3)))
    check_derivatives(OPERATIONS[name](x), {x: values}, rng)


BINARY: list[tuple[str, Callable[..., Any]]] = [
    ("Add", np.add),
    ("Subtract", np.subtract),
    ("Mult", np.multiply),
    ("Divide", np.divide),
    ("Atan2", np.arctan2),
    ("Equal", lambda a, b: np.equal(a, b).astype(float)),
    ("NotEqual", lambda a, b: np.not_equal(a, b).astype(float)),
    ("LessThan", lambda a, b: np.less(a, b).astype(float)),
    ("LessOrEqual", lambda a, b: np.less_equal(a, b).astype(float)),
    ("DivideOrZero", lambda a, b: np.where(b == 0, 0, a / np.where(b == 0, 1, b))),
]


@pytest.mark.parametrize(("name", "oracle"), BINARY, ids=[row[0] for row in BINARY])
@pytest.mark.parametrize("dims", [(3, 3), (1, 3), (3, 1), (1, 1)])
def test_functions_of_two_vectors(
    name: str, oracle: Callable[..., Any], dims: tuple[int, int], rng: np.random.Generator
) -> None:
    x, y = Variable(0, dims[0], 0), Variable(1, dims[1], 1)
    a = rng.integers(-3, 4, (7, 1, dims[0])).astype(float)
    b = rng.integers(-3, 4, (1, 5, dims[1])).astype(float)
    with np.errstate(all="ignore"):
        close(evaluate(OPERATIONS[name](x, y), {x: a, y: b}), oracle(a, b), 1e-15)
    a += rng.uniform(0.1, 0.4, a.shape)
    b += rng.uniform(0.5, 0.9, b.shape)
    if name != "DivideOrZero" or (b != 0).all():
        check_derivatives(OPERATIONS[name](x, y), {x: a, y: b}, rng)


def test_powers_are_exact_products(rng: np.random.Generator) -> None:
    x = Variable(0, 4, 0)
    values = rng.uniform(0.2, 3, (10, 4)) * rng.choice([-1, 1], (10, 4))
    for exponent in (-7, -3, -1, 0, 1, 2, 3, 5, 20, 64):
        expected = np.array([[math.prod([abs(v)] * abs(exponent)) for v in row] for row in values])
        expected = expected * np.where(values < 0, (-1.0) ** exponent, 1)
        expected = 1 / expected if exponent < 0 else expected
        for f in (x**exponent, OPERATIONS["Pow"](x, exponent)):
            actual = np.broadcast_to(evaluate(f, {x: values}), expected.shape)
            np.testing.assert_allclose(actual, expected, rtol=2e-14)
            if abs(exponent) < 8:
                check_derivatives(f, {x: values}, rng)


def test_powers_take_the_cheapest_form() -> None:
    x = Variable(0, 2, 0)
    assert x**2 is OPERATIONS["Square"](x)
    assert x**0.5 is OPERATIONS["Sqrt"](x)
    assert x**-0.5 is OPERATIONS["Rsqrt"](x)
    assert x**1 is x
    assert repr(x**3) == "Pow(Var(0,2,0), 3)"
    assert repr(x**1.5) == "Mult(Var(0,2,0), Sqrt(Var(0,2,0)))"
    assert repr(OPERATIONS["Powf"](x, -2.5)) == "Inv(Abs(Mult(Square(Var(0,2,0)), Sqrt(Var(0,2,0)))))"
    assert (x**1.4).operation.name == (x**9.5).operation.name == "Powf"


def test_powers_of_real_exponents(rng: np.random.Generator) -> None:
    x, p = Variable(0, 3, 0), Variable(1, 1, 2)
    a, e = rng.uniform(0.2, 3, (5, 3)), rng.uniform(-2, 2, 1)
    close(evaluate(x**p, {x: a, p: e}), a**e, 1e-14)
    close(evaluate(x**2.5, {x: a}), a**2.5, 1e-14)
    check_derivatives(x**p, {x: a, p: e}, rng)
    check_derivatives(x**2.5, {x: a}, rng)
    check_derivatives(2**x, {x: a}, rng)


@pytest.mark.parametrize("exponent", [1.5, 2.5, 8.5, -1.5, -2.5, -4.5])
def test_halves_are_products_with_a_root(exponent: float, rng: np.random.Generator) -> None:
    x = Variable(0, 1, 0)
    special = np.array([[0.0], [-0.0], [1.0], [4.0], [-2.0], [np.inf], [np.nan], [1e-30], [1e30]])
    values = np.concatenate([special, rng.uniform(1e-3, 1e3, (50, 1))])
    with np.errstate(all="ignore"):  # -0 counts: 1 / -0 is another infinity
        actual, expected = evaluate(x**exponent, {x: values}), values**exponent
    np.testing.assert_allclose(actual, expected, rtol=2e-15)
    check_derivatives(x**exponent, {x: rng.uniform(0.2, 3, (5, 1))}, rng)


def test_a_negative_base_keeps_the_derivative_of_a_whole_real_power() -> None:
    x = Variable(0, 1, 0)
    from clmapreduce.vector.derivative import gradient

    actual = evaluate(gradient(OPERATIONS["Powf"](x, 3.0), x), {x: np.array([-2.0])})
    close(actual, np.array([12.0]))


@pytest.mark.parametrize("digits", [-1, 0, 1, 3])
def test_round_takes_halves_away_from_zero(digits: int, rng: np.random.Generator) -> None:
    x = Variable(0, 7, 0)
    halves = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999999999999994])
    expected = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0, 0.0])
    if digits == 0:
        np.testing.assert_array_equal(evaluate(OPERATIONS["Round"](x), {x: halves}), expected)
    values = rng.uniform(-100, 100, 7)
    close(evaluate(OPERATIONS["Round"](x, digits), {x: values}), _round(values, digits), 1e-13)


def test_mod_has_its_offset(rng: np.random.Generator) -> None:
    x, m, o = Variable(0, 5, 0), Variable(1, 1, 2), Variable(2, 5, 2)
    values, modulus, offset = rng.uniform(-9, 9, (4, 5)), np.array([2.5]), rng.uniform(-1, 1, 5)
    arrays = {x: values, m: modulus, o: offset}
    expected = values - modulus * np.floor((values - offset) / modulus)
    close(evaluate(OPERATIONS["Mod"](x, m, o), arrays), expected, 1e-14)
    assert ((expected >= offset - 1e-12) & (expected < offset + modulus + 1e-12)).all()
    close(evaluate(OPERATIONS["Mod"](x, m), {x: values, m: modulus}), np.mod(values, modulus), 1e-14)
    periods = rng.integers(-3, 4, (4, 5)) + rng.uniform(0.1, 0.9, (4, 5))
    check_derivatives(OPERATIONS["Mod"](x, m, o), {**arrays, x: offset + modulus * periods}, rng)


def test_clamp_and_ifelse(rng: np.random.Generator) -> None:
    x, a, b = Variable(0, 6, 0), Variable(1, 6, 0), Variable(2, 1, 2)
    arrays = {x: rng.uniform(-2, 2, (5, 6)), a: rng.uniform(-1, 0, (5, 6)), b: np.array([0.7])}
    close(evaluate(OPERATIONS["Clamp"](x, a, b), arrays), np.clip(arrays[x], arrays[a], arrays[b]), 0)
    close(evaluate(OPERATIONS["ClampInt"](x, -1, 1), arrays), np.clip(arrays[x], -1, 1), 0)
    close(evaluate(OPERATIONS["IfElse"](x, a, b), arrays), np.where(arrays[x] >= 0, arrays[a], arrays[b]), 0)
    low, high = arrays[a], arrays[b]
    places = rng.choice([-1.0, 0.0, 1.0], (5, 6)) + rng.uniform(0.1, 0.9, (5, 6))  # below, between and above the bounds
    check_derivatives(OPERATIONS["Clamp"](x, a, b), {**arrays, x: low + places * (high - low)}, rng)
    values = rng.choice([-1, 1], (5, 6)) * rng.uniform(0.1, 2, (5, 6))
    check_derivatives(OPERATIONS["IfElse"](x, a * x, b), {**arrays, x: values}, rng)
    zero = np.zeros(6)
    close(evaluate(OPERATIONS["IfElse"](x, 1, 2), {x: zero}), np.ones(6), 0)
    close(evaluate(OPERATIONS["Clamp"](x, -1, 1), {x: np.full(6, NAN)}), np.full(6, NAN), 0)


def test_nan_and_infinities_pass_as_in_numpy() -> None:
    x = Variable(0, 3, 0)
    values = np.array([NAN, INF, -INF])
    for name, oracle in (
        ("Exp", np.exp),
        ("Abs", np.abs),
        ("Sign", np.sign),
        ("Floor", np.floor),
        ("Square", np.square),
    ):
        np.testing.assert_array_equal(evaluate(OPERATIONS[name](x), {x: values}), oracle(values))
    np.testing.assert_array_equal(evaluate(OPERATIONS["ReLU"](x), {x: values}), [NAN, INF, 0])
    np.testing.assert_array_equal(evaluate(x * 0, {x: values}), [NAN, NAN, NAN])
    np.testing.assert_array_equal(evaluate(x * OPERATIONS["Zero"](3), {x: values}), [0, 0, 0])


def test_derivatives_at_corners() -> None:
    from clmapreduce.vector.derivative import gradient

    x = Variable(0, 1, 0)
    for name, at, expected in [
        ("Sqrt", 0.0, 0.0), ("Rsqrt", 0.0, 0.0), ("SinXDivX", 0.0, 0.0), ("Abs", 0.0, 0.0), ("Norm2", 0.0, 0.0),
    ]:  # fmt: skip
        f = OPERATIONS[name](x)
        close(evaluate(gradient(f, x), {x: np.array([at])}), np.array([expected]), 0)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 8])
def test_all_derivatives_of_sinxdivx_are_accurate_near_zero(order: int) -> None:
    from clmapreduce.vector.derivative import gradient

    x = Variable(0, 1, 0)
    f = OPERATIONS["SinXDivX"](x)
    for _ in range(order):
        f = gradient(f, x)
    at = np.array([-3.0, -1.51, -1.49, -1e-3, 0.0, 1e-9, 0.2, 1.4999, 1.5001, 2.0, 20.0])[:, None]
    # sin(x)/x is the integral of cos(t x) over t in [0, 1]
    nodes, weights = np.polynomial.legendre.leggauss(60)
    t, weights = (nodes + 1) / 2, weights / 2
    expected = (weights * t**order * np.cos(t * at + order * np.pi / 2)).sum(-1, keepdims=True)
    close(evaluate(f, {x: at}), expected, 1e-12)


def test_dimensions_that_do_not_fit_are_named() -> None:
    x, y = Variable(0, 3, 0), Variable(1, 2, 1)
    with pytest.raises(ShapeError, match=r"Add: dimensions 3, 2 do not fit"):
        x + y
    with pytest.raises(ShapeError, match=r"Clamp: dimensions 3, 1, 2"):
        OPERATIONS["Clamp"](x, 0, y)
    with pytest.raises(FormulaError, match=r"exponent must be an integer, not 1\.5"):
        OPERATIONS["Pow"](x, 1.5)
    with pytest.raises(FormulaError, match="neither a formula nor a real number"):
        x + "y"  # type: ignore[operator]
    with pytest.raises(FormulaError, match="3 / 0"):
        OPERATIONS["RatCst"](3, 0)


def test_constants() -> None:
    assert OPERATIONS["IntCst"](3) is Constant((3,))
    assert OPERATIONS["IntInv"](4) is Constant((0.25,))
    assert OPERATIONS["RatCst"](1, 3) is Constant((1 / 3,))
    assert OPERATIONS["Cst"](1, 2.5) is Constant((1.0, 2.5))
