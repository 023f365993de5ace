"""LazyTensors of complex numbers: vectors of 2 D reals, real and imaginary parts by turns."""

from __future__ import annotations

from typing import Any, NoReturn

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.pairwise.lazy.base import KINDS, apply, built, made
from clmapreduce.pairwise.lazy.lazytensor import LazyTensor
from clmapreduce.pairwise.lazy.operators import operand
from clmapreduce.pairwise.user_arrays import as_complex


class ComplexLazyTensor(LazyTensor):
    """A LazyTensor of complex numbers. `shape` and indexing count complex numbers, `_shape` and `ndim` reals.

    Sums, means and matrix products give complex results; what orders numbers raises FormulaError.
    """

    __slots__ = ()
    is_complex = True

    @property
    def real(self) -> LazyTensor:
        """The real parts."""
        return self._unary("ComplexReal")

    @property
    def imag(self) -> LazyTensor:
        """The imaginary parts."""
        return self._unary("ComplexImag")

    def angle(self) -> LazyTensor:
        """The arguments, in (-π, π]."""
        return self._unary("ComplexAngle")

    def conj(self) -> LazyTensor:
        """The complex conjugates."""
        return self._unary("Conj", is_complex=True)

    def __abs__(self) -> LazyTensor:
        return self._unary("ComplexAbs")

    def exp(self) -> LazyTensor:
        """eᶻ."""
        return self._unary("ComplexExp", is_complex=True)

    def elem(self, i: int) -> LazyTensor:
        """The complex number i."""
        return self._unary("Extract", 2 * i, 2, is_complex=True)

    def extract(self, i: int, d: int) -> LazyTensor:
        """The d complex numbers from i on."""
        return self._unary("Extract", 2 * i, 2 * d, is_complex=True)

    def concat(self, other: Any) -> LazyTensor:
        """These complex numbers, then other's."""
        return apply("Concat", [self, as_complex_lazy(operand(other))], is_complex=True)

    def real2complex(self) -> NoReturn:
        raise FormulaError("this LazyTensor is complex already")

    def imag2complex(self) -> NoReturn:
        raise FormulaError("this LazyTensor is complex already; multiply by 1j")

    def exp1j(self) -> NoReturn:
        raise FormulaError("exp1j is for real LazyTensors; write (1j * z).exp()")

    def _inner_sum(self) -> LazyTensor:
        return self._unary("ComplexSum", is_complex=True)

    def _adjoint(self) -> LazyTensor:
        return self.conj().t()

    def _finished(self, result: Any) -> Any:
        return as_complex(result)


KINDS[True] = ComplexLazyTensor


def as_complex_lazy(x: LazyTensor) -> LazyTensor:
    """`x` as complex numbers, of imaginary part 0 where it is real."""
    return x if x.is_complex else x.real2complex()


def combined(name: str, left: LazyTensor, right: LazyTensor) -> LazyTensor:
    """Add, Subtract, Mult or Divide where one side is complex; one number broadcasts. Raises ShapeError."""
    if not right.is_complex and right.ndim == 1 and name in ("Mult", "Divide"):
        return apply(name, [left, right], is_complex=True)
    if not left.is_complex and left.ndim == 1 and name == "Mult":
        return apply(name, [left, right], is_complex=True)
    left, right = as_complex_lazy(left), as_complex_lazy(right)
    dims = left.ndim // 2, right.ndim // 2
    if dims[0] != dims[1] and 1 not in dims:
        raise ShapeError(f"{name}: {dims[0]} and {dims[1]} complex numbers do not fit; give as many, or 1")
    left, right = _widened(left, max(dims)), _widened(right, max(dims))
    complex_name = {"Mult": "ComplexMult", "Divide": "ComplexDivide"}.get(name, name)
    return apply(complex_name, [left, right], is_complex=True)


def _widened(x: LazyTensor, count: int) -> LazyTensor:
    """One complex number `count` times."""
    if x.ndim == 2 * count:
        return x
    return made(built("ComplexSumT", x.formula, 2 * count), x.inputs, x.choices, True)
