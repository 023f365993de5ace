"""The elementwise functions of formula strings: one entry each, with its lowering and its partial derivatives."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clmapreduce.errors import FormulaError
from clmapreduce.formula.functions import alike, apply
from clmapreduce.formula.node import Literal, Node
from clmapreduce.vector.arithmetic import inv, multiply, rsqrt, square
from clmapreduce.vector.node import Gradients, Operand, Vector, as_vector, integer
from clmapreduce.vector.operation import ONE, Elementwise
from clmapreduce.vector.registry import OPERATIONS, named

Unary = Callable[[Operand], Vector]


# ------------------------------------------------------------------------------------------------- functions of one
def _like(node: Node, value: float) -> Node:
    return Literal(value, node.dtype)


def _where(condition: Node, a: Node | float, b: Node | float) -> Node:
    return apply("where", condition, a, b)


def _flag(a: Node, b: Node, comparison: str) -> Node:
    """1 where the comparison holds, else 0, in the arguments' dtype."""
    x, y = alike([a, b])
    return _where(apply(comparison, x, y), _like(x, 1), 0)


def _rounded(a: Node, digits: int) -> Node:
    """Halves away from zero; exact where a float has no fraction left. The number below one half is added, which is too
    little for what is just below a half, and rounds up to it for a half.
    """
    scale = 10.0 ** abs(digits)
    y = a * scale if digits > 0 else a / scale if digits < 0 else a
    almost_half = _like(y, float(np.nextafter(y.dtype.type(0.5), y.dtype.type(0))))
    y = apply("trunc", y + apply("copysign", almost_half, y))
    return y / scale if digits > 0 else y * scale if digits < 0 else y


def _unary(
    name: str,
    scalar: Callable[[Node], Node],
    partial: Callable[[Vector, Vector], Vector | None],
    fold: Callable[[float], float] | None = None,
) -> Unary:
    operation = Elementwise(name, scalar, lambda node, a: (partial(node, a),), fold)

    def build(a: Operand) -> Vector:
        return operation((as_vector(a),))

    OPERATIONS[name] = build
    return build


def _flat(node: Vector, a: Vector) -> None:
    """The derivative of a function in steps."""


exp = _unary("Exp", lambda a: apply("exp", a), lambda node, a: node)
log = _unary("Log", lambda a: apply("log", a), lambda node, a: inv(a))
xlogx = _unary("XLogX", lambda a: _where(a == 0, 0, a * apply("log", a)), lambda node, a: log(a) + 1)
cos: Unary = _unary("Cos", lambda a: apply("cos", a), lambda node, a: -sin(a))
sin: Unary = _unary("Sin", lambda a: apply("sin", a), lambda node, a: cos(a))
asin = _unary("Asin", lambda a: apply("arcsin", a), lambda node, a: rsqrt(1 - square(a)))
acos = _unary("Acos", lambda a: apply("arccos", a), lambda node, a: -rsqrt(1 - square(a)))
atan = _unary("Atan", lambda a: apply("arctan", a), lambda node, a: inv(1 + square(a)))
absolute = _unary("Abs", abs, lambda node, a: sign(a))
sign: Unary = _unary("Sign", lambda a: apply("sign", a), _flat)
step: Unary = _unary("Step", lambda a: _where(a < 0, _like(a, 0), 1), _flat)
relu = _unary("ReLU", lambda a: _where(a < 0, 0, a), lambda node, a: step(a))
floor = _unary("Floor", lambda a: apply("floor", a), _flat)

# the derivatives of sin(x)/x are (p(x) sin x + q(x) cos x) / xⁿ, which cancels near 0: there by their power series
_SERIES_BELOW = 1.5
MAX_ORDER = 8
_SERIES_TERMS = 12


def _sinc_derivative(a: Node, order: int) -> Node:
    """The order-th derivative of sin(x)/x: its power series near 0, elsewhere the recurrence from Leibniz's rule."""
    wave = [apply("sin", a), apply("cos", a)]
    value = wave[0] / a
    for k in range(1, order + 1):  # a f⁽ᵏ⁾ = sin⁽ᵏ⁾ - k f⁽ᵏ⁻¹⁾
        derivative = wave[k % 2] if k % 4 < 2 else -wave[k % 2]
        value = (derivative - k * value) / a
    first = (order + 1) // 2
    terms = [
        (-1.0) ** m / (2 * m + 1) / math.factorial(2 * m - order) for m in range(first, first + _SERIES_TERMS)
    ]  # fmt: skip
    squared = a * a
    series: Any = _like(a, terms[-1])
    for term in reversed(terms[:-1]):
        series = series * squared + term
    if 2 * first > order:
        series = series * a
    return _where(abs(a) < _SERIES_BELOW, series, value)


def _order(node: Vector) -> int:
    (order,) = node.params
    assert isinstance(order, int)
    return order


def _sinc_partials(node: Vector, a: Vector) -> Gradients:
    return (sinxdivx_derivative(a, _order(node) + 1),)


def sinxdivx_derivative(a: Operand, order: int) -> Vector:
    """The order-th derivative of sin(a)/a. Raises FormulaError."""
    order = integer(order, "SinXDivXDerivative: the order")
    if not 1 <= order <= MAX_ORDER:
        raise FormulaError(f"SinXDivXDerivative: order {order}; use 1 … {MAX_ORDER}")
    return SINC_DERIVATIVE((as_vector(a),), (order,))


SINC_DERIVATIVE = Elementwise("SinXDivXDerivative", _sinc_derivative, _sinc_partials)
OPERATIONS["SinXDivXDerivative"] = sinxdivx_derivative
sinxdivx = _unary(
    "SinXDivX",
    lambda a: _where(a == 0, 1, apply("sin", a) / a),
    lambda node, a: sinxdivx_derivative(a, 1),
)


@named("Sinc")
def sinc(a: Operand) -> Vector:
    """sin(πa) / (πa), and 1 at 0."""
    return sinxdivx(multiply(math.pi, a))


ROUND = Elementwise("Round", _rounded, lambda node, a: (None,))


@named("Round")
def rounded(a: Operand, digits: int = 0) -> Vector:
    """a to this many decimal digits, halves away from zero; negative digits round to tens, hundreds, …"""
    digits = integer(digits, "Round: the number of digits")
    if abs(digits) > 300:
        raise FormulaError(f"Round: {digits} digits; use a number between -300 and 300")
    return ROUND((as_vector(a),), (digits,))


# ---------------------------------------------------------------------------------------- functions of two and three
def _compared(name: str, comparison: str) -> Callable[[Operand, Operand], Vector]:
    operation = Elementwise(name, lambda a, b: _flag(a, b, comparison), lambda node, a, b: (None, None))

    def build(a: Operand, b: Operand) -> Vector:
        return operation((as_vector(a), as_vector(b)))

    OPERATIONS[name] = build
    return build


equal = _compared("Equal", "equal")
not_equal = _compared("NotEqual", "not_equal")
less_than = _compared("LessThan", "less")
less_or_equal = _compared("LessOrEqual", "less_equal")


def _atan2_partials(node: Vector, y: Vector, x: Vector) -> Gradients:
    scale = inv(square(x) + square(y))
    return x * scale, -(y * scale)


ATAN2 = Elementwise("Atan2", lambda y, x: apply("arctan2", y, x), _atan2_partials, math.atan2)
MOD = Elementwise(
    "Mod",
    lambda a, modulus, offset: a - modulus * apply("floor", (a - offset) / modulus),
    lambda node, a, modulus, offset: (ONE, -floor((a - offset) / modulus), None),
)
IF_ELSE = Elementwise(
    "IfElse",
    lambda condition, a, b: _where(condition >= 0, *alike([a, b])),
    lambda node, condition, a, b: (None, step(condition), 1 - step(condition)),
)
CLAMP = Elementwise(
    "Clamp",
    lambda x, low, high: _where(x < low, low, _where(x > high, high, x)),
    lambda node, x, low, high: (
        less_or_equal(low, x) * less_or_equal(x, high),
        less_than(x, low),
        less_or_equal(low, x) * less_than(high, x),
    ),
)


@named("Atan2")
def atan2(y: Operand, x: Operand) -> Vector:
    """The angle of (x, y), in (-π, π]."""
    return ATAN2((as_vector(y), as_vector(x)))


@named("Mod")
def mod(a: Operand, modulus: Operand, offset: Operand = 0) -> Vector:
    """a - modulus · ⌊(a - offset) / modulus⌋, between offset and offset + modulus."""
    return MOD((as_vector(a), as_vector(modulus), as_vector(offset)))


@named("IfElse")
def if_else(condition: Operand, a: Operand, b: Operand) -> Vector:
    """a where condition ≥ 0, else b (where it is NaN too)."""
    return IF_ELSE((as_vector(condition), as_vector(a), as_vector(b)))


@named("Clamp", "ClampInt")
def clamp(x: Operand, low: Operand, high: Operand) -> Vector:
    """low where x < low, high where x > high, else x, NaN included."""
    return CLAMP((as_vector(x), as_vector(low), as_vector(high)))


@named("DivideOrZero")
def divide_or_zero(a: Operand, b: Operand) -> Vector:
    """a / b, and 0 where b is 0."""
    return DIVIDE_OR_ZERO((as_vector(a), as_vector(b)))


DIVIDE_OR_ZERO = Elementwise(
    "DivideOrZero",
    lambda a, b: _where(b == 0, 0, a / b),
    lambda node, a, b: (divide_or_zero(1, b), -divide_or_zero(node, b)),
)
