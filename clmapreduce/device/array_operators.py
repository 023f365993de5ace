"""The operators of a DeviceArray, by name: what computes them is set by `clmapreduce.arrays`, the package
above the primitives, once, when it is imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeVar

S = TypeVar("S", bound="ArrayOperators")


class Operations(Protocol):
    """What computes on arrays."""

    def operator(self, name: str, operands: Sequence[Any], out: Any = None, /) -> Any:
        """A function of NumPy's, elementwise, of operands of which one is an array; NotImplemented where another one
        knows better.
        """

    def call(self, name: str, /, *values: Any, **keywords: Any) -> Any:
        """A function of the array namespace."""

    def stored(self, what: str, result: Any, out: Any, /) -> Any:
        """A result in `out`."""

    def selected(self, array: Any, key: Any, /) -> Any:
        """array[key]."""

    def assign(self, array: Any, key: Any, value: Any, /) -> None:
        """array[key] = value."""

    def ufunc(self, ufunc: Any, method: str, operands: Sequence[Any], keywords: dict[str, Any], /) -> Any:
        """A call of a ufunc of NumPy's, or of one of its methods."""

    def function(self, function: Any, values: Sequence[Any], keywords: dict[str, Any], /) -> Any:
        """A call of another function of NumPy's."""

    def math(self, name: str, operands: Sequence[Any], /) -> Any:
        """A function of `cm.math`."""

    def namespace(self, version: str | None, /) -> Any:
        """The array namespace."""


class ArrayOperators:
    """Python's operators: each hands its operands to `operations`."""

    __slots__ = ()
    operations: ClassVar[Operations]
    """Set by `clmapreduce.arrays`."""

    def __add__(self: S, other: Any) -> S:
        return self._operator("add", self, other)

    def __radd__(self: S, other: Any) -> S:
        return self._operator("add", other, self)

    def __iadd__(self: S, other: Any) -> S:
        return self._operator("add", self, other, out=self)

    def __sub__(self: S, other: Any) -> S:
        return self._operator("subtract", self, other)

    def __rsub__(self: S, other: Any) -> S:
        return self._operator("subtract", other, self)

    def __isub__(self: S, other: Any) -> S:
        return self._operator("subtract", self, other, out=self)

    def __mul__(self: S, other: Any) -> S:
        return self._operator("multiply", self, other)

    def __rmul__(self: S, other: Any) -> S:
        return self._operator("multiply", other, self)

    def __imul__(self: S, other: Any) -> S:
        return self._operator("multiply", self, other, out=self)

    def __truediv__(self: S, other: Any) -> S:
        return self._operator("divide", self, other)

    def __rtruediv__(self: S, other: Any) -> S:
        return self._operator("divide", other, self)

    def __itruediv__(self: S, other: Any) -> S:
        return self._operator("divide", self, other, out=self)

    def __floordiv__(self: S, other: Any) -> S:
        return self._operator("floor_divide", self, other)

    def __rfloordiv__(self: S, other: Any) -> S:
        return self._operator("floor_divide", other, self)

    def __ifloordiv__(self: S, other: Any) -> S:
        return self._operator("floor_divide", self, other, out=self)

    def __mod__(self: S, other: Any) -> S:
        return self._operator("remainder", self, other)

    def __rmod__(self: S, other: Any) -> S:
        return self._operator("remainder", other, self)

    def __imod__(self: S, other: Any) -> S:
        return self._operator("remainder", self, other, out=self)

    def __divmod__(self: S, other: Any) -> tuple[S, S]:
        pair: tuple[S, S] = self.operations.operator("divmod", (self, other))
        return pair

    def __rdivmod__(self: S, other: Any) -> tuple[S, S]:
        pair: tuple[S, S] = self.operations.operator("divmod", (other, self))
        return pair

    def __pow__(self: S, other: Any) -> S:
        return self._operator("power", self, other)

    def __rpow__(self: S, other: Any) -> S:
        return self._operator("power", other, self)

    def __ipow__(self: S, other: Any) -> S:
        return self._operator("power", self, other, out=self)

    def __and__(self: S, other: Any) -> S:
        return self._operator("bitwise_and", self, other)

    def __rand__(self: S, other: Any) -> S:
        return self._operator("bitwise_and", other, self)

    def __iand__(self: S, other: Any) -> S:
        return self._operator("bitwise_and", self, other, out=self)

    def __or__(self: S, other: Any) -> S:
        return self._operator("bitwise_or", self, other)

    def __ror__(self: S, other: Any) -> S:
        return self._operator("bitwise_or", other, self)

    def __ior__(self: S, other: Any) -> S:
        return self._operator("bitwise_or", self, other, out=self)

    def __xor__(self: S, other: Any) -> S:
        return self._operator("bitwise_xor", self, other)

    def __rxor__(self: S, other: Any) -> S:
        return self._operator("bitwise_xor", other, self)

    def __ixor__(self: S, other: Any) -> S:
        return self._operator("bitwise_xor", self, other, out=self)

    def __lshift__(self: S, other: Any) -> S:
        return self._operator("left_shift", self, other)

    def __rlshift__(self: S, other: Any) -> S:
        return self._operator("left_shift", other, self)

    def __ilshift__(self: S, other: Any) -> S:
        return self._operator("left_shift", self, other, out=self)

    def __rshift__(self: S, other: Any) -> S:
        return self._operator("right_shift", self, other)

    def __rrshift__(self: S, other: Any) -> S:
        return self._operator("right_shift", other, self)

    def __irshift__(self: S, other: Any) -> S:
        return self._operator("right_shift", self, other, out=self)

    def __lt__(self: S, other: Any) -> S:
        return self._operator("less", self, other)

    def __le__(self: S, other: Any) -> S:
        return self._operator("less_equal", self, other)

    def __gt__(self: S, other: Any) -> S:
        return self._operator("greater", self, other)

    def __ge__(self: S, other: Any) -> S:
        return self._operator("greater_equal", self, other)

    def __eq__(self: S, other: object) -> S:  # type: ignore[override]  # elementwise, as NumPy's
        return self._operator("equal", self, other)

    def __ne__(self: S, other: object) -> S:  # type: ignore[override]
        return self._operator("not_equal", self, other)

    __hash__ = None  # type: ignore[assignment]  # as NumPy's

    def __neg__(self: S) -> S:
        return self._operator("negative", self)

    def __pos__(self: S) -> S:
        return self._operator("positive", self)

    def __abs__(self: S) -> S:
        return self._operator("absolute", self)

    def __invert__(self: S) -> S:
        return self._operator("invert", self)

    def _operator(self: S, name: str, *operands: Any, out: Any = None) -> S:
        result: S = self.operations.operator(name, operands, out)
        return result
