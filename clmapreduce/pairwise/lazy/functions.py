"""The functions of LazyTensors that work coordinate by coordinate, under KeOps' names."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from clmapreduce.pairwise.lazy.operators import Arithmetic

if TYPE_CHECKING:
    from clmapreduce.pairwise.lazy.lazytensor import LazyTensor


class Functions(Arithmetic):
    """Elementwise functions. Raises FormulaError for complex numbers, but for abs and exp."""

    __slots__ = ()

    def abs(self) -> LazyTensor:
        """|x|."""
        return abs(self)

    def exp(self) -> LazyTensor:
        """eˣ."""
        return self._real_unary("Exp")

    def log(self) -> LazyTensor:
        """The natural logarithm."""
        return self._real_unary("Log")

    def xlogx(self) -> LazyTensor:
        """x log x, and 0 at 0."""
        return self._real_unary("XLogX")

    def cos(self) -> LazyTensor:
        """The cosine."""
        return self._real_unary("Cos")

    def sin(self) -> LazyTensor:
        """The sine."""
        return self._real_unary("Sin")

    def sinxdivx(self) -> LazyTensor:
        """sin(x) / x, and 1 at 0."""
        return self._real_unary("SinXDivX")

    def sinc(self) -> LazyTensor:
        """sin(πx) / (πx), and 1 at 0."""
        return (math.pi * self).sinxdivx()

    def asin(self) -> LazyTensor:
        """The inverse sine."""
        return self._real_unary("Asin")

    def acos(self) -> LazyTensor:
        """The inverse cosine."""
        return self._real_unary("Acos")

    def atan(self) -> LazyTensor:
        """The inverse tangent."""
        return self._real_unary("Atan")

    def atan2(self, other: Any) -> LazyTensor:
        """The angle of (other, x): y.atan2(x) lies in (-π, π]."""
        return self._real_binary("Atan2", other)

    def sqrt(self) -> LazyTensor:
        """√x, of derivative 0 at 0."""
        return self._real_unary("Sqrt")

    def rsqrt(self) -> LazyTensor:
        """1 / √x, and 0 at 0."""
        return self._real_unary("Rsqrt")

    def square(self) -> LazyTensor:
        """x²."""
        return self._real_unary("Square")

    def power(self, other: Any) -> LazyTensor:
        """x ** other."""
        return self.__pow__(other)

    def sign(self) -> LazyTensor:
        """-1, 0 or 1."""
        return self._real_unary("Sign")

    def step(self) -> LazyTensor:
        """0 where x < 0, else 1."""
        return self._real_unary("Step")

    def relu(self) -> LazyTensor:
        """0 where x < 0, else x."""
        return self._real_unary("ReLU")

    def floor(self) -> LazyTensor:
        """The largest integer not above x."""
        return self._real_unary("Floor")

    def clamp(self, other1: Any, other2: Any) -> LazyTensor:
        """x between other1 and other2, numbers or LazyTensors."""
        return self._real_operation("Clamp", [self, other1, other2])

    def ifelse(self, other1: Any, other2: Any) -> LazyTensor:
        """other1 where x >= 0, else other2."""
        return self._real_operation("IfElse", [self, other1, other2])

    def mod(self, modulus: Any, offset: Any = 0) -> LazyTensor:
        """x - modulus · ⌊(x - offset) / modulus⌋."""
        return self._real_operation("Mod", [self, modulus, offset])

    def round(self, other: int = 0) -> LazyTensor:
        """x to `other` decimal digits, halves away from zero."""
        return self._real_unary("Round", other)
