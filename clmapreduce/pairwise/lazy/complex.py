"""LazyTensors of complex numbers: vectors of 2 D reals, alternating real and imaginary parts."""

from __future__ import annotations

from typing import Any, NoReturn

from clmapreduce.errors import FormulaError
from clmapreduce.pairwise.lazy.lazytensor import LazyTensor
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
        return self._apply("Concat", [self, self._as_complex(self._operand(other))], is_complex=True)

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


LazyTensor.kinds[True] = ComplexLazyTensor
