"""The arithmetic operators and comparisons of LazyTensors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from clmapreduce.device.array import DeviceArray
from clmapreduce.pairwise.lazy.base import KINDS, Symbolic, apply, built, lifted
from clmapreduce.pairwise.user_arrays import is_number

if TYPE_CHECKING:
    from clmapreduce.pairwise.lazy.lazytensor import LazyTensor


def is_complex_data(x: Any) -> bool:
    """Whether `x` is, or has, complex numbers that are not lazy yet."""
    if isinstance(x, list):
        return any(isinstance(value, (complex, np.complexfloating)) for value in x)
    if isinstance(x, (np.ndarray, DeviceArray, np.generic)):
        return bool(x.dtype.kind == "c")
    return isinstance(x, complex)


def operand(x: Any) -> LazyTensor:
    """`x` as a LazyTensor, complex where its numbers are."""
    return lifted(x) if isinstance(x, Symbolic) or not is_complex_data(x) else KINDS[True](x)


class Arithmetic(Symbolic):
    """Operators. Operands broadcast: batch axes as in NumPy, vectors of dimension 1 over the others' coordinates.

    Other operands become LazyTensors: numbers and lists as constants, arrays by their shape. Raises ShapeError for
    dimensions, lengths or batch axes that do not fit, DTypeError for arrays of different dtypes.
    """

    __slots__ = ()

    def _arithmetic(self, name: str, left: Any, right: Any) -> LazyTensor:
        """`name` of two operands, one of which is this LazyTensor."""
        left, right = operand(left), operand(right)
        if left.is_complex or right.is_complex:
            from clmapreduce.pairwise.lazy.complex import combined

            return combined(name, left, right)
        return apply(name, [left, right])

    def _zero(self) -> LazyTensor:
        """Zeros in this one's shape, whatever its values are."""
        return self._like(built("Zero", self.ndim), is_complex=self.is_complex)

    def _itself(self) -> LazyTensor:
        return self._like(self.formula, is_complex=self.is_complex)

    def __add__(self, other: Any) -> LazyTensor:
        if is_number(other) and other == 0:
            return self._itself()
        return self._arithmetic("Add", self, other)

    def __radd__(self, other: Any) -> LazyTensor:
        if is_number(other) and other == 0:
            return self._itself()
        return self._arithmetic("Add", other, self)

    def __sub__(self, other: Any) -> LazyTensor:
        if is_number(other) and other == 0:
            return self._itself()
        return self._arithmetic("Subtract", self, other)

    def __rsub__(self, other: Any) -> LazyTensor:
        if is_number(other) and other == 0:
            return -self
        return self._arithmetic("Subtract", other, self)

    def __mul__(self, other: Any) -> LazyTensor:
        """The product; with the number 0 it is zero even where this one is infinite or NaN."""
        if is_number(other) and other in (0, 1, -1):
            return self._zero() if other == 0 else self._itself() if other == 1 else -self
        return self._arithmetic("Mult", self, other)

    def __rmul__(self, other: Any) -> LazyTensor:
        if is_number(other) and other in (0, 1, -1):
            return self.__mul__(other)
        return self._arithmetic("Mult", other, self)

    def __truediv__(self, other: Any) -> LazyTensor:
        if is_number(other) and other == 1:
            return self._itself()
        return self._arithmetic("Divide", self, other)

    def __rtruediv__(self, other: Any) -> LazyTensor:
        if is_number(other) and other == 0:
            return self._zero()
        return self._arithmetic("Divide", other, self)

    def __neg__(self) -> LazyTensor:
        return self._unary("Minus", is_complex=self.is_complex)

    def __pos__(self) -> LazyTensor:
        return self._itself()

    def __abs__(self) -> LazyTensor:
        return self._real_unary("Abs")

    def __pow__(self, other: Any) -> LazyTensor:
        """An int gives products, exact in every dtype; 0.5 the square root; -0.5 its inverse, 0 at 0; all else powf."""
        self._refuse_complex("**")
        if isinstance(other, (int, np.integer)) and not isinstance(other, (bool, np.bool_)):
            return self._unary("Square") if other == 2 else self._unary("Pow", int(other))
        if isinstance(other, (float, np.floating)) and abs(other) == 0.5:
            return self._unary("Sqrt" if other > 0 else "Rsqrt")
        return self._real_binary("Powf", other)

    def __rpow__(self, other: Any) -> LazyTensor:
        self._refuse_complex("**")
        return lifted(other)._real_binary("Powf", self)

    def __or__(self, other: Any) -> LazyTensor:
        """The scalar product (x | y), of dimension 1."""
        return self._real_binary("Scalprod", other)

    def __ror__(self, other: Any) -> LazyTensor:
        return lifted(other)._real_binary("Scalprod", self)

    def __eq__(self, other: Any) -> LazyTensor:  # type: ignore[override]
        """1 where equal, else 0."""
        return self._real_binary("Equal", other)

    def __ne__(self, other: Any) -> LazyTensor:  # type: ignore[override]
        return self._real_binary("NotEqual", other)

    def __lt__(self, other: Any) -> LazyTensor:
        return self._real_binary("LessThan", other)

    def __le__(self, other: Any) -> LazyTensor:
        return self._real_binary("LessOrEqual", other)

    def __gt__(self, other: Any) -> LazyTensor:
        return lifted(other)._real_binary("LessThan", self)

    def __ge__(self, other: Any) -> LazyTensor:
        return lifted(other)._real_binary("LessOrEqual", self)

    __hash__ = object.__hash__
