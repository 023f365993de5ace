"""B-splines and soft dynamic time warping, built from elementwise steps: differentiable as these are."""

from __future__ import annotations

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node
from clmapreduce.vector.arithmetic import add, divide, multiply, square, subtract
from clmapreduce.vector.coordinates import elem, extract
from clmapreduce.vector.elementwise import divide_or_zero, exp, less_or_equal, less_than
from clmapreduce.vector.node import Gradients, Operand, Vector, as_vector, integer
from clmapreduce.vector.operation import Elementwise, common_dim, zero
from clmapreduce.vector.registry import named


@named("BSpline")
def bspline(knots: Operand, x: Operand, order: int = 0) -> Vector:
    """The B-splines of degree `order` on the knots t, non-decreasing, at x of dimension 1.

    Returns knots.dim - order - 1 values; spline i is supported on [t_i, t_{i+order+1}). Repeated knots are allowed.
    Differentiable by x and the knots, as one-sided limits from the right at knots. Raises ShapeError, FormulaError.
    Method: the recursion of de Boor and Cox, with 0/0 = 0.
    """
    t, x, order = as_vector(knots), as_vector(x), integer(order, "BSpline: the order")
    if order < 0:
        raise FormulaError(f"BSpline: the order is {order}; it must be at least 0")
    if x.dim != 1 or t.dim < order + 2:
        raise ShapeError(
            f"BSpline of order {order}: {t.dim} knots and x of dimension {x.dim}; give {order + 2} knots or more, and "
            "x of dimension 1"
        )
    count = t.dim - 1
    splines = multiply(less_or_equal(extract(t, 0, count), x), less_than(x, extract(t, 1, count)))
    for degree in range(1, order + 1):
        lower = extract(t, 0, count)
        rising = divide_or_zero(subtract(x, lower), subtract(extract(t, degree, count), lower))
        count -= 1
        splines = add(
            multiply(extract(rising, 0, count), extract(splines, 0, count)),
            multiply(subtract(1, extract(rising, 1, count)), extract(splines, 1, count)),
        )
    return splines


def _soft_min(gamma: Node, *values: Node) -> Node:
    lowest = values[0]
    for value in values[1:]:
        lowest = apply("minimum", lowest, value)
    total = apply("exp", (lowest - values[0]) / gamma)
    for value in values[1:]:
        total = total + apply("exp", (lowest - value) / gamma)
    return lowest - gamma * apply("log", total)


def _soft_min_partials(node: Vector, gamma: Vector, *values: Vector) -> Gradients:
    weights = [exp(divide(subtract(node, value), gamma)) for value in values]
    mean = zero(1)
    for weight, value in zip(weights, values, strict=True):
        mean = add(mean, multiply(weight, value))
    return (divide(subtract(node, mean), gamma), *weights)


SOFT_MIN = Elementwise("SoftMin", _soft_min, _soft_min_partials)


@named("SoftMin")
def soft_min(gamma: Operand, *values: Operand) -> Vector:
    """-gamma log Σ exp(-value / gamma), elementwise; gamma > 0. Raises ShapeError."""
    vectors = [as_vector(value) for value in values]
    if not vectors:
        raise FormulaError("SoftMin: give at least one vector")
    common_dim("SoftMin", vectors)
    return SOFT_MIN((as_vector(gamma), *vectors))


@named("SoftDTW_SqDist")
def softdtw_sqdist(x: Operand, y: Operand, gamma: Operand) -> Vector:
    """The soft dynamic time warping of two series of numbers with squared differences; gamma > 0 of dimension 1.

    Returns dimension 1. Differentiable by all three. Raises ShapeError. Method: Cuturi and Blondel (2017), the table
    written out: x.dim · y.dim cells.
    """
    x, y, gamma = as_vector(x), as_vector(y), as_vector(gamma)
    if gamma.dim != 1:
        raise ShapeError(f"SoftDTW_SqDist: gamma has dimension {gamma.dim}; it must have 1")
    above: list[Vector] = []
    for j in range(y.dim):
        row: list[Vector] = []
        for i in range(x.dim):
            cost = square(subtract(elem(x, i), elem(y, j)))
            before = [*row[-1:], *above[i : i + 1], *(above[i - 1 : i] if i else ())]
            row.append(cost if not before else add(cost, soft_min(gamma, *before) if len(before) > 1 else before[0]))
        above = row
    return above[-1]
