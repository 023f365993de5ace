"""LazyTensor: a matrix, or batch of matrices, of vectors that is a formula; never stored, reduced on the fly."""

from __future__ import annotations

from typing import Any

from clmapreduce.no_arithmetic import without_arithmetic
from clmapreduce.pairwise.lazy.linear import Matrix
from clmapreduce.pairwise.lazy.operators import is_complex_data
from clmapreduce.pairwise.lazy.variables import Variables


@without_arithmetic("use the operations of cm.LazyTensor; v @ K is K.t() @ v")
class LazyTensor(Matrix["LazyTensor"]):
    """A formula F(x_i, y_j, p) for all pairs (i, j), under the names and shapes of `pykeops.numpy`.

    x: an array (M, D) with axis=0, indexed by i; (N, D) with axis=1, indexed by j; without axis (.., M, 1, D) for i,
    (.., 1, N, D) for j, (.., 1, 1, D) or (D,) for a parameter; a number or a list of them, a constant; or a placeholder
    (index, dimension, category) for an array that comes with the call. Arrays are float16, bfloat16, float32, float64
    or complex: NumPy's, DeviceArrays, or anything `cm.array` takes. They are not copied: a reduction reads the values
    that they have at that time.

    Raises ShapeError for shapes that fit none of these, DTypeError for integers and other dtypes.
    """

    __slots__ = ("__weakref__",)

    def __new__(cls, x: Any = None, axis: int | None = None) -> LazyTensor:
        """A ComplexLazyTensor for complex numbers."""
        return object.__new__(cls.kinds[True] if is_complex_data(cls.array_of(x)) else cls)

    def real2complex(self) -> LazyTensor:
        """The same numbers, as complex ones."""
        return self._unary("Real2Complex", is_complex=True)

    def imag2complex(self) -> LazyTensor:
        """1j times these numbers."""
        return self._unary("Imag2Complex", is_complex=True)

    def exp1j(self) -> LazyTensor:
        """exp(1j x)."""
        return self._unary("ComplexExp1j", is_complex=True)


LazyTensor.kinds[False] = LazyTensor

_variables = Variables(LazyTensor)
Var, Vi, Vj, Pm = _variables.Var, _variables.Vi, _variables.Vj, _variables.Pm
