"""Complex vectors, stored as interleaved real and imaginary parts: n complex numbers are a vector of dimension 2 n.

All are built from real operations on the two halves; one complex number (dimension 2) broadcasts. Derivatives are those
of the real parts.
"""

from __future__ import annotations

from clmapreduce.errors import ShapeError
from clmapreduce.vector.algebra import total
from clmapreduce.vector.arithmetic import add, divide, minus, multiply, sqrt, square, subtract
from clmapreduce.vector.coordinates import concat, selected
from clmapreduce.vector.elementwise import atan2, cos, exp, sin
from clmapreduce.vector.node import Operand, Vector, as_vector, integer
from clmapreduce.vector.operation import sum_t, zero
from clmapreduce.vector.registry import named


def _parts(name: str, z: Operand) -> tuple[Vector, Vector]:
    """Real and imaginary parts. Raises ShapeError."""
    z = as_vector(z)
    if z.dim % 2:
        raise ShapeError(f"{name}: a vector of dimension {z.dim} holds no complex numbers; the dimension must be even")
    return selected(z, tuple(range(0, z.dim, 2))), selected(z, tuple(range(1, z.dim, 2)))


def _joined(re: Vector, im: Vector) -> Vector:
    """The complex vector of these parts; one of dimension 1 is repeated."""
    n = max(re.dim, im.dim)
    both = concat(sum_t(re, n), sum_t(im, n))
    return selected(both, tuple(part for k in range(n) for part in (k, n + k)))


@named("ComplexReal")
def real(z: Operand) -> Vector:
    """The real parts."""
    return _parts("ComplexReal", z)[0]


@named("ComplexImag")
def imag(z: Operand) -> Vector:
    """The imaginary parts."""
    return _parts("ComplexImag", z)[1]


@named("Real2Complex")
def real2complex(x: Operand) -> Vector:
    """x + 0 i."""
    x = as_vector(x)
    return _joined(x, zero(x.dim))


@named("Imag2Complex")
def imag2complex(x: Operand) -> Vector:
    """0 + x i."""
    x = as_vector(x)
    return _joined(zero(x.dim), x)


@named("Conj")
def conj(z: Operand) -> Vector:
    """The complex conjugates."""
    re, im = _parts("Conj", z)
    return _joined(re, minus(im))


@named("ComplexSquareAbs")
def square_abs(z: Operand) -> Vector:
    """|z|² of every number."""
    re, im = _parts("ComplexSquareAbs", z)
    return add(square(re), square(im))


@named("ComplexAbs")
def absolute(z: Operand) -> Vector:
    """|z| of every number, of derivative 0 at 0."""
    return sqrt(square_abs(z))


@named("ComplexAngle")
def angle(z: Operand) -> Vector:
    """The angle of every number, in (-π, π]."""
    re, im = _parts("ComplexAngle", z)
    return atan2(im, re)


@named("ComplexAdd")
def complex_add(a: Operand, b: Operand) -> Vector:
    """a + b."""
    (ar, ai), (br, bi) = _parts("ComplexAdd", a), _parts("ComplexAdd", b)
    return _joined(add(ar, br), add(ai, bi))


@named("ComplexSubtract")
def complex_subtract(a: Operand, b: Operand) -> Vector:
    """a - b."""
    (ar, ai), (br, bi) = _parts("ComplexSubtract", a), _parts("ComplexSubtract", b)
    return _joined(subtract(ar, br), subtract(ai, bi))


@named("ComplexMult", "ComplexScal")
def complex_multiply(a: Operand, b: Operand) -> Vector:
    """a · b."""
    (ar, ai), (br, bi) = _parts("ComplexMult", a), _parts("ComplexMult", b)
    return _joined(
        subtract(multiply(ar, br), multiply(ai, bi)),
        add(multiply(ar, bi), multiply(ai, br)),
    )


@named("ComplexRealScal")
def complex_real_scal(a: Operand, b: Operand) -> Vector:
    """A real number times complex ones; either argument may be the real one, of dimension 1."""
    a, b = as_vector(a), as_vector(b)
    scale, z = (a, b) if a.dim == 1 else (b, a)
    if scale.dim != 1:
        raise ShapeError(f"ComplexRealScal: dimensions {a.dim}, {b.dim}; one must be 1")
    _parts("ComplexRealScal", z)
    return multiply(scale, z)


@named("ComplexDivide")
def complex_divide(a: Operand, b: Operand) -> Vector:
    """a / b."""
    (ar, ai), (br, bi) = _parts("ComplexDivide", a), _parts("ComplexDivide", b)
    scale = add(square(br), square(bi))
    return _joined(
        divide(add(multiply(ar, br), multiply(ai, bi)), scale),
        divide(subtract(multiply(ai, br), multiply(ar, bi)), scale),
    )


@named("ComplexExp")
def complex_exp(z: Operand) -> Vector:
    """e to the power z."""
    re, im = _parts("ComplexExp", z)
    size = exp(re)
    return _joined(multiply(size, cos(im)), multiply(size, sin(im)))


@named("ComplexExp1j")
def complex_exp1j(x: Operand) -> Vector:
    """e to the power i x, for real x."""
    x = as_vector(x)
    return _joined(cos(x), sin(x))


@named("ComplexSum")
def complex_sum(z: Operand) -> Vector:
    """The sum of the numbers, of dimension 2."""
    re, im = _parts("ComplexSum", z)
    return _joined(total(re), total(im))


@named("ComplexSumT")
def complex_sum_t(z: Operand, dim: int) -> Vector:
    """One complex number repeated to the even dimension `dim`. Raises ShapeError."""
    z, dim = as_vector(z), integer(dim, "ComplexSumT: the dimension")
    if z.dim != 2 or dim < 2 or dim % 2:
        raise ShapeError(
            f"ComplexSumT: dimension {z.dim} to {dim}; give one complex number, of dimension 2, and an even one"
        )
    re, im = _parts("ComplexSumT", z)
    return _joined(sum_t(re, dim // 2), sum_t(im, dim // 2))
