"""The elementwise operations of formula strings: one entry each, with its lowering and its partial derivatives.

Arguments have equal dimensions, or 1; a number is a constant. Builders simplify only what changes no bit of any result:
products with 1, double signs, and what KeOps' structural `Zero` absorbs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.functions import alike, apply
from clmapreduce.formula.node import Literal, Node
from clmapreduce.vector.coordinates import SELECT, filled, selected, spread_join
from clmapreduce.vector.node import Constant, Operand, Vector, as_vector, integer
from clmapreduce.vector.operation import (
    MINUS_ONE,
    ONE,
    OPERATIONS,
    ZERO,
    Elementwise,
    Gradients,
    common_dim,
    named,
    sum_t,
    zero,
)

Unary = Callable[[Operand], Vector]


# -------------------------------------------------------------------------------------------------------- arithmetic
@named("Add", "+")
def add(a: Operand, b: Operand) -> Vector:
    """a + b."""
    a, b = as_vector(a), as_vector(b)
    if a.operation is ZERO or b.operation is ZERO:
        dim = common_dim("Add", (a, b))
        return sum_t(a if b.operation is ZERO else b, dim)
    if b.operation is MINUS:
        return subtract(a, b.args[0])
    joined = spread_join(a, b) if a.operation is SELECT else None
    return ADD((a, b)) if joined is None else joined


@named("Subtract", "-")
def subtract(a: Operand, b: Operand) -> Vector:
    """a - b."""
    a, b = as_vector(a), as_vector(b)
    if a.operation is ZERO or b.operation is ZERO:
        dim = common_dim("Subtract", (a, b))
        return sum_t(a if b.operation is ZERO else minus(b), dim)
    if b.operation is MINUS:
        return add(a, b.args[0])
    return SUBTRACT((a, b))


@named("Minus")
def minus(a: Operand) -> Vector:
    """-a."""
    a = as_vector(a)
    if a.operation is ZERO:
        return a
    if a.operation is SELECT and -1 in a.params:
        where, back = filled(a)
        return selected(minus(selected(a, where)), back)
    return a.args[0] if a.operation is MINUS else MINUS((a,))


@named("Mult", "*")
def multiply(a: Operand, b: Operand) -> Vector:
    """a · b."""
    a, b = as_vector(a), as_vector(b)
    if a.operation is ZERO or b.operation is ZERO:
        return zero(common_dim("Mult", (a, b)))
    if a is ONE or b is ONE:
        return b if a is ONE else a
    if a is MINUS_ONE or b is MINUS_ONE:
        return minus(b if a is MINUS_ONE else a)
    if a is b:
        return square(a)
    for x, y in ((a, b), (b, a)):
        if x.operation is SELECT and -1 in x.params:
            common_dim("Mult", (a, b))
            where, back = filled(x)
            return selected(multiply(selected(x, where), y if y.dim == 1 else selected(y, where)), back)
    return MULT((a, b))


@named("Divide", "/")
def divide(a: Operand, b: Operand) -> Vector:
    """a / b."""
    a, b = as_vector(a), as_vector(b)
    if a.operation is ZERO:
        return zero(common_dim("Divide", (a, b)))
    if b is ONE:
        return a
    return inv(b) if a is ONE else DIVIDE((a, b))


@named("Inv")
def inv(a: Operand) -> Vector:
    """1 / a."""
    a = as_vector(a)
    return a if a is ONE else INV((a,))


@named("Square")
def square(a: Operand) -> Vector:
    """a²."""
    a = as_vector(a)
    if a.operation is MINUS:
        a = a.args[0]
    return a if a.operation is ZERO else SQUARE((a,))


@named("Sqrt")
def sqrt(a: Operand) -> Vector:
    """√a, of derivative 0 at 0."""
    return SQRT((as_vector(a),))


@named("Rsqrt")
def rsqrt(a: Operand) -> Vector:
    """1 / √a, and 0 at 0."""
    return RSQRT((as_vector(a),))


# ------------------------------------------------------------------------------------------------------------- powers
def _exponent(node: Vector) -> int:
    (exponent,) = node.params
    assert isinstance(exponent, int)
    return exponent


@named("Pow")
def power_int(a: Operand, exponent: int) -> Vector:
    """a to a whole power, by repeated products: as exact as those in every dtype. a⁰ is 1."""
    a, exponent = as_vector(a), integer(exponent, "Pow: the exponent")
    if exponent == 0:
        return sum_t(ONE, a.dim)
    if exponent in (1, 2, -1):
        return (a, square(a), inv(a))[(1, 2, -1).index(exponent)]
    return POW((a,), (exponent,))


@named("Powf")
def powf(a: Operand, b: Operand) -> Vector:
    """a to the power b, as NumPy's: NaN for a negative a unless b is whole."""
    return POWF((as_vector(a), as_vector(b)))


@named("Power", "**", "^")
def power(a: Operand, b: Operand) -> Vector:
    """a ** b: a whole number gives products, 0.5 and -0.5 roots, everything else `Powf`."""
    if isinstance(b, int):
        return power_int(a, b)
    if isinstance(b, float) and b in (0.5, -0.5):
        return sqrt(a) if b == 0.5 else rsqrt(a)
    return powf(a, b)


def _raised(x: float, exponent: float) -> float:
    value = math.pow(x, exponent)
    if math.isinf(value):
        raise OverflowError
    return value


ADD = Elementwise("Add", lambda a, b: a + b, lambda node, a, b: (ONE, ONE), lambda a, b: a + b)
SUBTRACT = Elementwise("Subtract", lambda a, b: a - b, lambda node, a, b: (ONE, MINUS_ONE), lambda a, b: a - b)
MINUS = Elementwise("Minus", lambda a: -a, lambda node, a: (MINUS_ONE,), lambda a: -a)
MULT = Elementwise("Mult", lambda a, b: a * b, lambda node, a, b: (b, a), lambda a, b: a * b)
DIVIDE = Elementwise("Divide", lambda a, b: a / b, lambda node, a, b: (inv(b), -(node / b)), lambda a, b: a / b)
INV = Elementwise("Inv", lambda a: 1 / a, lambda node, a: (-square(node),), lambda a: 1 / a)
SQUARE = Elementwise("Square", lambda a: a * a, lambda node, a: (2 * a,), lambda a: a * a)
SQRT = Elementwise("Sqrt", lambda a: apply("sqrt", a), lambda node, a: (0.5 * rsqrt(a),), math.sqrt)
RSQRT = Elementwise(
    "Rsqrt",
    lambda a: _where(a == 0, 0, 1 / apply("sqrt", _where(a == 0, 1, a))),
    lambda node, a: (-0.5 * power_int(node, 3),),
)


def _power_int(a: Node, exponent: int) -> Node:
    return a**exponent if exponent > 0 else 1 / a**-exponent


def _powf_partials(node: Vector, a: Vector, b: Vector) -> Gradients:
    by_exponent = None if not b.variables else node * log(a)
    return b * POWF((a, b - 1)), by_exponent


POW = Elementwise("Pow", _power_int, lambda node, a: (_exponent(node) * power_int(a, _exponent(node) - 1),), _raised)
POWF = Elementwise("Powf", lambda a, b: apply("power", a, b), _powf_partials, _raised)


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
    """Halves away from zero; exact where a float has no fraction left."""
    scale = 10.0 ** abs(digits)
    y = a * scale if digits > 0 else a / scale if digits < 0 else a
    whole = apply("trunc", y)
    y = whole + _where(abs(y - whole) >= 0.5, apply("sign", y), 0)
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
xlogx = _unary("XLogX", lambda a: _where(a == 0, 0, a * apply("log", _where(a == 0, 1, a))), lambda node, a: log(a) + 1)
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
_SERIES_BELOW = 0.5
MAX_ORDER = 8
_SERIES_TERMS = 12


def _sinc_derivative(a: Node, order: int) -> Node:
    """The order-th derivative of sin(x)/x: its power series near 0, elsewhere the recurrence from Leibniz's rule."""
    x = _where(abs(a) < _SERIES_BELOW, 1, a)
    value = apply("sin", x) / x
    wave = [apply("sin", x), apply("cos", x)]
    for k in range(1, order + 1):  # x f⁽ᵏ⁾ = sin⁽ᵏ⁾ - k f⁽ᵏ⁻¹⁾
        turned = wave[k % 2] if k % 4 < 2 else -wave[k % 2]
        value = (turned - k * value) / x
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


def _sinc_partials(node: Vector, a: Vector) -> Gradients:
    return (sinxdivx_derivative(a, _exponent(node) + 1),)


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
    lambda a: _where(a == 0, 1, apply("sin", a) / _where(a == 0, 1, a)),
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
    lambda a, b: _where(b == 0, 0, a / _where(b == 0, 1, b)),
    lambda node, a, b: (divide_or_zero(1, b), -divide_or_zero(node, b)),
)


# ---------------------------------------------------------------------------------------------------------- constants
@named("IntCst")
def int_cst(value: int) -> Vector:
    """A whole number."""
    return Constant((float(integer(value, "IntCst: the number")),))


@named("RatCst")
def rat_cst(numerator: int, denominator: int) -> Vector:
    """A fraction of whole numbers. Raises ShapeError, FormulaError."""
    numerator, denominator = (
        integer(numerator, "RatCst: the numerator"),
        integer(denominator, "RatCst: its denominator"),
    )
    if denominator == 0:
        raise FormulaError(f"RatCst: {numerator} / 0 is no number")
    return Constant((numerator / denominator,))


@named("IntInv")
def int_inv(value: int) -> Vector:
    """One over a whole number."""
    return rat_cst(1, value)


@named("Cst")
def cst(*values: float) -> Vector:
    """A vector of these numbers."""
    if not values:
        raise ShapeError("Cst: give at least one number")
    return Constant(values)
