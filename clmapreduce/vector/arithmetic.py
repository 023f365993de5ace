"""Arithmetic of formula strings, powers and constants: one entry each, with its lowering and its partial derivatives.

Arguments have equal dimensions, or 1; a number is a constant. Builders simplify only what changes no bit of any result:
products with 1, double signs, and what KeOps' structural `Zero` absorbs.
"""

from __future__ import annotations

import math
import numbers

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node
from clmapreduce.vector.coordinates import SELECT, filled, selected, spread_join
from clmapreduce.vector.node import Constant, Gradients, Operand, Vector, as_vector, integer
from clmapreduce.vector.operation import MINUS_ONE, ONE, ZERO, Elementwise, common_dim, sum_t, zero
from clmapreduce.vector.registry import OPERATIONS, named


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


HALVES = tuple(whole + 0.5 for whole in range(1, 9))
"""Exponents that are products with a root: each factor rounds once, which a library's power costs many times."""


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
    """a to the power b, as NumPy's: NaN for a negative a unless b is whole. 1.5, 2.5 … 8.5, and their negatives, are
    products with a root.
    """
    a, b = as_vector(a), as_vector(b)
    if isinstance(b, Constant) and len(b.values) == 1 and abs(b.values[0]) in HALVES:
        whole = int(abs(b.values[0]))
        product = power_int(a, whole) * sqrt(a)
        if b.values[0] > 0:
            return product
        return inv(OPERATIONS["Abs"](product) if whole % 2 == 0 else product)  # an even power of -0 is 0, its root -0
    return POWF((a, b))


@named("Power", "**", "^")
def power(a: Operand, b: Operand) -> Vector:
    """a ** b: a whole number gives products, 0.5 and -0.5 roots, everything else `Powf`."""
    if isinstance(b, numbers.Integral):
        return power_int(a, int(b))
    if isinstance(b, numbers.Real) and b in (0.5, -0.5):
        return sqrt(a) if b == 0.5 else rsqrt(a)
    return powf(a, b)


def _pow(x: float, exponent: float) -> float:
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
    lambda a: apply("where", a == 0, 0, 1 / apply("sqrt", a)),
    lambda node, a: (-0.5 * power_int(node, 3),),
)


def _power_int(a: Node, exponent: int) -> Node:
    return a**exponent if exponent > 0 else 1 / a**-exponent


def _powf_partials(node: Vector, a: Vector, b: Vector) -> Gradients:
    by_exponent = None if not b.variables else node * OPERATIONS["Log"](a)
    return b * POWF((a, b - 1)), by_exponent


POW = Elementwise("Pow", _power_int, lambda node, a: (_exponent(node) * power_int(a, _exponent(node) - 1),), _pow)
POWF = Elementwise("Powf", lambda a, b: apply("power", a, b), _powf_partials, _pow)


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
