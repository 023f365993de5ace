"""The functions of LazyTensors that work coordinate by coordinate, under KeOps' names."""

from __future__ import annotations

import math
from typing import Any, TypeVar

from clmapreduce.pairwise.lazy.operators import Arithmetic

F = TypeVar("F", bound="Functions[Any]")


class Functions(Arithmetic[F]):
    """Elementwise functions. Raises FormulaError for complex numbers, but for abs and exp."""

    __slots__ = ()

    def abs(self) -> F:
        """|x|."""
        return abs(self)

    def exp(self) -> F:
        """eˣ."""
        return self._real_unary("Exp")

    def log(self) -> F:
        """The natural logarithm."""
        return self._real_unary("Log")

    def xlogx(self) -> F:
        """x log x, and 0 at 0."""
        return self._real_unary("XLogX")

    def cos(self) -> F:
        """The cosine."""
        return self._real_unary("Cos")

    def sin(self) -> F:
        """The sine."""
        return self._real_unary("Sin")

    def sinxdivx(self) -> F:
        """sin(x) / x, and 1 at 0."""
        return self._real_unary("SinXDivX")

    def sinc(self) -> F:
        """sin(πx) / (πx), and 1 at 0."""
        scaled: Functions[F] = math.pi * self
        return scaled.sinxdivx()

    def asin(self) -> F:
        """The inverse sine."""
        return self._real_unary("Asin")

    def acos(self) -> F:
        """The inverse cosine."""
        return self._real_unary("Acos")

    def atan(self) -> F:
        """The inverse tangent."""
        return self._real_unary("Atan")

    def atan2(self, other: Any) -> F:
        """The angle of (other, x): y.atan2(x) lies in (-π, π]."""
        return self._real_binary("Atan2", other)

    def sqrt(self) -> F:
        """√x, of derivative 0 at 0."""
        return self._real_unary("Sqrt")

    def rsqrt(self) -> F:
        """1 / √x, and 0 at 0."""
        return self._real_unary("Rsqrt")

    def square(self) -> F:
        """x²."""
        return self._real_unary("Square")

    def power(self, other: Any) -> F:
        """x ** other."""
        return self.__pow__(other)

    def sign(self) -> F:
        """-1, 0 or 1."""
        return self._real_unary("Sign")

    def step(self) -> F:
        """0 where x < 0, else 1."""
        return self._real_unary("Step")

    def relu(self) -> F:
        """0 where x < 0, else x."""
        return self._real_unary("ReLU")

    def floor(self) -> F:
        """The largest integer not above x."""
        return self._real_unary("Floor")

    def clamp(self, other1: Any, other2: Any) -> F:
        """x between other1 and other2, numbers or LazyTensors."""
        return self._real_operation("Clamp", [self, other1, other2])

    def ifelse(self, other1: Any, other2: Any) -> F:
        """other1 where x >= 0, else other2."""
        return self._real_operation("IfElse", [self, other1, other2])

    def mod(self, modulus: Any, offset: Any = 0) -> F:
        """x - modulus · ⌊(x - offset) / modulus⌋."""
        return self._real_operation("Mod", [self, modulus, offset])

    def round(self, other: int = 0) -> F:
        """x to `other` decimal digits, halves away from zero."""
        return self._real_unary("Round", other)
