"""Operations that see a whole vector: sums and norms, extrema, one-hot.

`Sum` is the only contraction over coordinates; norms, distances and scalar products are builders around it, so that
`Sum(elementwise(...))` stays visible.
"""

from __future__ import annotations

from collections.abc import Sequence

from clmapreduce.errors import ShapeError
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Literal, Node
from clmapreduce.vector.arithmetic import multiply, rsqrt, sqrt, square, subtract
from clmapreduce.vector.coordinates import SELECT, concat, coordinates_of, elem, selected
from clmapreduce.vector.node import Gradients, Operand, Operation, Params, Vector, as_vector, integer, make
from clmapreduce.vector.operation import SUM_T, ZERO, sum_t, zero
from clmapreduce.vector.registry import named


# --------------------------------------------------------------------------------------------------- sums and norms
class _Sum(Operation):
    name = "Sum"

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        return 1

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        total = args[0][0]
        for part in args[0][1:]:
            total = total + part
        return [total]

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        return (sum_t(g, node.args[0].dim),)


SUM = _Sum()


@named("Sum")
def total(x: Operand) -> Vector:
    """The sum of the coordinates, in their order."""
    x = as_vector(x)
    if x.dim == 1:
        return x
    if x.operation is ZERO:
        return zero(1)
    if x.operation is SELECT and -1 in x.params:
        return total(selected(x.args[0], tuple(k for k in coordinates_of(x) if k >= 0)))
    return multiply(x.dim, x.args[0]) if x.operation is SUM_T else make(SUM, (x,))


@named("SqNorm2")
def sqnorm2(x: Operand) -> Vector:
    """|x|²."""
    return total(square(x))


@named("Norm2")
def norm2(x: Operand) -> Vector:
    """|x|, of derivative 0 at 0."""
    return sqrt(sqnorm2(x))


@named("Normalize")
def normalize(x: Operand) -> Vector:
    """x / |x|, and 0 at 0."""
    return multiply(x, rsqrt(sqnorm2(x)))


@named("SqDist")
def sqdist(x: Operand, y: Operand) -> Vector:
    """|x - y|²."""
    return sqnorm2(subtract(x, y))


@named("Scalprod", "|")
def scalprod(x: Operand, y: Operand) -> Vector:
    """The scalar product; a vector of dimension 1 broadcasts. Raises ShapeError."""
    x, y = as_vector(x), as_vector(y)
    if x.dim != y.dim and 1 in (x.dim, y.dim):
        return multiply(total(x), total(y))
    if x.dim != y.dim:
        raise ShapeError(f"Scalprod: dimensions {x.dim}, {y.dim} do not fit; they must be equal, or 1")
    return total(multiply(x, y))


@named("SqNormIso")
def sqnorm_iso(s: Operand, x: Operand) -> Vector:
    """s |x|², s of dimension 1."""
    s = as_vector(s)
    if s.dim != 1:
        raise ShapeError(f"SqNormIso: the weight has dimension {s.dim}; it must have 1")
    return multiply(s, sqnorm2(x))


@named("SqNormDiag")
def sqnorm_diag(s: Operand, x: Operand) -> Vector:
    """Σ s_k x_k², s of x's dimension."""
    s, x = as_vector(s), as_vector(x)
    if s.dim != x.dim:
        raise ShapeError(f"SqNormDiag: {s.dim} weights for a vector of dimension {x.dim}; give as many")
    return total(multiply(s, square(x)))


@named("SymSqNorm")
def sym_sqnorm(s: Operand, x: Operand) -> Vector:
    """xᵀ S x, s the symmetric matrix S row by row."""
    from clmapreduce.vector.tensors import matvecmult

    s, x = as_vector(s), as_vector(x)
    if s.dim != x.dim**2:
        raise ShapeError(f"SymSqNorm: a matrix of {s.dim} numbers for a vector of dimension {x.dim}; give {x.dim**2}")
    return scalprod(x, matvecmult(s, x))


@named("WeightedSqNorm")
def weighted_sqnorm(s: Operand, x: Operand) -> Vector:
    """The squared norm with a scalar weight, one per coordinate, or a symmetric matrix; the length of s decides."""
    s, x = as_vector(s), as_vector(x)
    if s.dim == 1:
        return sqnorm_iso(s, x)
    if s.dim == x.dim:
        return sqnorm_diag(s, x)
    if s.dim == x.dim**2:
        return sym_sqnorm(s, x)
    raise ShapeError(
        f"WeightedSqNorm: {s.dim} weights for a vector of dimension {x.dim}; give 1, {x.dim} or {x.dim**2} of them"
    )


@named("WeightedSqDist")
def weighted_sqdist(s: Operand, x: Operand, y: Operand) -> Vector:
    """The weighted squared norm of x - y."""
    return weighted_sqnorm(s, subtract(x, y))


@named("DifferenceMatrix")
def difference_matrix(x: Operand, y: Operand) -> Vector:
    """All x_k - y_l, row by row."""
    x, y = as_vector(x), as_vector(y)
    return concat(*(subtract(elem(x, k), y) for k in range(x.dim)))


# ------------------------------------------------------------------------------------------------------------ extrema
class _Extremum(Operation):
    """The largest (smallest) coordinate, or its place: the first of equal ones. NaN are passed over but at place 0."""

    def __init__(self, name: str, comparison: str, place: bool) -> None:
        self.name, self.comparison, self.place = name, comparison, place

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        return 1

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        best, *others = args[0]
        place: Node = Literal(0, best.dtype)
        for k, value in enumerate(others, start=1):
            better = apply(self.comparison, value, best)
            best = apply("where", better, value, best)
            place = apply("where", better, Literal(k, best.dtype), place)
        return [place if self.place else best]

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        (x,) = node.args
        if self.place:
            return (None,)
        where = make(ARGMAX if self is MAX else ARGMIN, (x,))
        return (multiply(g, one_hot(where, x.dim)),)


class _OneHot(Operation):
    name = "OneHot"

    def dim(self, args: tuple[Vector, ...], params: Params) -> int:
        (dim,) = params
        assert isinstance(dim, int)
        return dim

    def scalars(self, args: Sequence[Sequence[Node]], params: Params) -> list[Node]:
        (x,) = args[0]
        nearest = apply("floor", x + 0.5)
        return [apply("where", nearest == k, Literal(1, x.dtype), 0) for k in range(self.dim((), params))]

    def gradient(self, node: Vector, g: Vector) -> Gradients:
        return (None,)


MAX, MIN = _Extremum("Max", "greater", False), _Extremum("Min", "less", False)
ARGMAX, ARGMIN = _Extremum("ArgMax", "greater", True), _Extremum("ArgMin", "less", True)
ONE_HOT = _OneHot()


@named("Max")
def maximum(x: Operand) -> Vector:
    """The largest coordinate."""
    x = as_vector(x)
    return x if x.dim == 1 else make(MAX, (x,))


@named("Min")
def minimum(x: Operand) -> Vector:
    """The smallest coordinate."""
    x = as_vector(x)
    return x if x.dim == 1 else make(MIN, (x,))


@named("ArgMax")
def argmax(x: Operand) -> Vector:
    """The place of the largest coordinate, the first of equal ones."""
    return make(ARGMAX, (as_vector(x),))


@named("ArgMin")
def argmin(x: Operand) -> Vector:
    """The place of the smallest coordinate, the first of equal ones."""
    return make(ARGMIN, (as_vector(x),))


@named("OneHot")
def one_hot(x: Operand, dim: int) -> Vector:
    """1 at the place nearest to x, of dimension 1, and 0 elsewhere; all 0 for a place outside. Raises ShapeError."""
    x, dim = as_vector(x), integer(dim, "OneHot: the dimension")
    if x.dim != 1 or dim < 1:
        raise ShapeError(
            f"OneHot: a vector of dimension {x.dim} into {dim} places; give one number, and a place or more"
        )
    return make(ONE_HOT, (x,), (dim,))


@named("Identity", "AutoFactorize")
def identity(x: Operand) -> Vector:
    """x: equal parts of a formula are shared as they are."""
    return as_vector(x)


@named("Factorize")
def factorize(x: Operand, common: Operand) -> Vector:
    """x: equal parts of a formula are shared as they are, `common` among them."""
    as_vector(common)
    return as_vector(x)
