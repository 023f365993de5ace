"""The arithmetic operators and comparisons of LazyTensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.calls.chunked import is_chunked
from clmapreduce.device.array import DeviceArray
from clmapreduce.errors import ShapeError
from clmapreduce.pairwise.guest import GuestArray
from clmapreduce.pairwise.lazy.base import L, Symbolic, built
from clmapreduce.pairwise.user_arrays import is_number


def is_complex_data(x: Any) -> bool:
    """Whether `x` is, or has, complex numbers that are not lazy yet."""
    if isinstance(x, list):
        return any(isinstance(value, (complex, np.complexfloating)) for value in x)
    if isinstance(x, (np.ndarray, DeviceArray, GuestArray, np.generic)) or (is_chunked(x) and hasattr(x, "dtype")):
        return bool(x.dtype.kind == "c")
    return isinstance(x, complex)


class Arithmetic(Symbolic[L]):
    """Operators. Operands broadcast: batch axes as in NumPy, vectors of dimension 1 over the others' coordinates.

    Other operands become LazyTensors: numbers and lists as constants, arrays by their shape. Raises ShapeError for
    dimensions, lengths or batch axes that do not fit, DTypeError for arrays of different dtypes.
    """

    __slots__ = ()

    def _operand(self, x: Any) -> L:
        """`x` as a LazyTensor, complex where its numbers are."""
        x = self.array_of(x)
        if isinstance(x, Symbolic) or not is_complex_data(x):
            return self._lift(x)
        lazy: L = self.kinds[True](x)
        return lazy

    def _arithmetic(self, name: str, left: Any, right: Any) -> L:
        """`name` of two operands, one of which is this LazyTensor."""
        left, right = self._operand(left), self._operand(right)
        if left.is_complex or right.is_complex:
            return self._complex_arithmetic(name, left, right)
        return self._apply(name, [left, right])

    def _complex_arithmetic(self, name: str, left: L, right: L) -> L:
        """Add, Subtract, Mult or Divide where one side is complex; one number broadcasts. Raises ShapeError."""
        if not right.is_complex and right.ndim == 1 and name in ("Mult", "Divide"):
            return self._apply(name, [left, right], is_complex=True)
        if not left.is_complex and left.ndim == 1 and name == "Mult":
            return self._apply(name, [left, right], is_complex=True)
        left, right = self._as_complex(left), self._as_complex(right)
        dims = left.ndim // 2, right.ndim // 2
        if dims[0] != dims[1] and 1 not in dims:
            raise ShapeError(f"{name}: {dims[0]} and {dims[1]} complex numbers do not fit; give as many, or 1")
        left, right = self._spread(left, max(dims)), self._spread(right, max(dims))
        complex_name = {"Mult": "ComplexMult", "Divide": "ComplexDivide"}.get(name, name)
        return self._apply(complex_name, [left, right], is_complex=True)

    def _as_complex(self, x: L) -> L:
        """`x` as complex numbers, of imaginary part 0 where it is real."""
        return x if x.is_complex else self._new(built("Real2Complex", x.formula), x.inputs, x.choices, True)

    def _spread(self, x: L, count: int) -> L:
        """One complex number `count` times."""
        if x.ndim == 2 * count:
            return x
        return self._new(built("ComplexSumT", x.formula, 2 * count), x.inputs, x.choices, True)

    def _zero(self) -> L:
        """Zeros in this one's shape, whatever its values are."""
        return self._like(built("Zero", self.ndim), is_complex=self.is_complex)

    def _itself(self) -> L:
        return self._like(self.formula, is_complex=self.is_complex)

    def __add__(self, other: Any) -> L:
        if is_number(other) and other == 0:
            return self._itself()
        return self._arithmetic("Add", self, other)

    def __radd__(self, other: Any) -> L:
        if is_number(other) and other == 0:
            return self._itself()
        return self._arithmetic("Add", other, self)

    def __sub__(self, other: Any) -> L:
        if is_number(other) and other == 0:
            return self._itself()
        return self._arithmetic("Subtract", self, other)

    def __rsub__(self, other: Any) -> L:
        if is_number(other) and other == 0:
            return -self
        return self._arithmetic("Subtract", other, self)

    def __mul__(self, other: Any) -> L:
        """The product; with the number 0 it is zero even where this one is infinite or NaN."""
        if is_number(other) and other in (0, 1, -1):
            return self._zero() if other == 0 else self._itself() if other == 1 else -self
        return self._arithmetic("Mult", self, other)

    def __rmul__(self, other: Any) -> L:
        if is_number(other) and other in (0, 1, -1):
            return self.__mul__(other)
        return self._arithmetic("Mult", other, self)

    def __truediv__(self, other: Any) -> L:
        if is_number(other) and other == 1:
            return self._itself()
        return self._arithmetic("Divide", self, other)

    def __rtruediv__(self, other: Any) -> L:
        if is_number(other) and other == 0:
            return self._zero()
        return self._arithmetic("Divide", other, self)

    def __neg__(self) -> L:
        return self._unary("Minus", is_complex=self.is_complex)

    def __pos__(self) -> L:
        return self._itself()

    def __abs__(self) -> L:
        return self._real_unary("Abs")

    def __pow__(self, other: Any) -> L:
        """An int gives products, exact in every dtype; 0.5 the square root; -0.5 its inverse, 0 at 0; all else powf."""
        self._refuse_complex("**")
        if isinstance(other, (int, np.integer)) and not isinstance(other, (bool, np.bool_)):
            return self._unary("Square") if other == 2 else self._unary("Pow", int(other))
        if isinstance(other, (float, np.floating)) and abs(other) == 0.5:
            return self._unary("Sqrt" if other > 0 else "Rsqrt")
        return self._real_binary("Powf", other)

    def __rpow__(self, other: Any) -> L:
        self._refuse_complex("**")
        return self._real_operation("Powf", [other, self])

    def __or__(self, other: Any) -> L:
        """The scalar product (x | y), of dimension 1."""
        return self._real_binary("Scalprod", other)

    def __ror__(self, other: Any) -> L:
        return self._real_operation("Scalprod", [other, self])

    def __eq__(self, other: Any) -> L:  # type: ignore[override]
        """1 where equal, else 0."""
        return self._real_binary("Equal", other)

    def __ne__(self, other: Any) -> L:  # type: ignore[override]
        return self._real_binary("NotEqual", other)

    def __lt__(self, other: Any) -> L:
        return self._real_binary("LessThan", other)

    def __le__(self, other: Any) -> L:
        return self._real_binary("LessOrEqual", other)

    def __gt__(self, other: Any) -> L:
        return self._real_operation("LessThan", [other, self])

    def __ge__(self, other: Any) -> L:
        return self._real_operation("LessOrEqual", [other, self])

    __hash__ = object.__hash__
