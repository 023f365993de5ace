"""Numbers with a bound on how far a device may be from them: running error analysis (Higham 2002, section 3.3).

Tolerances so follow from dtypes, lengths and values alone. NumPy computes the numbers in extended precision.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from support.oracles import unit


class UnclearError(Exception):
    """Rounding, overflow or a missing meaning leaves open what the result is; choose another operator."""


@dataclass(frozen=True, eq=False)
class Bounded:
    """Numbers (integers as int64, others as longdouble), the dtype a device gives them, and how far it may be off."""

    numbers: Any
    dtype: np.dtype
    error: Any

    @classmethod
    def exact(cls, x: Any) -> Bounded:
        """The numbers of an array, without an error."""
        x = np.asarray(x)
        return cls(
            x.astype(np.longdouble if x.dtype.kind == "f" else np.int64), x.dtype, np.zeros(x.shape, np.longdouble)
        )

    @property
    def floats(self) -> bool:
        return self.dtype.kind == "f"

    def astype(self, dtype: Any) -> Bounded:
        """As a device converts: integers wrap, floats round."""
        dtype = np.dtype(dtype)
        if dtype == self.dtype:
            return self
        if dtype.kind == "f":
            digits = np.finfo(dtype).nmant + 1
            exact = not self.floats and bool((np.abs(self.numbers) < 2**digits).all())
            exact = exact or (self.floats and dtype.itemsize > self.dtype.itemsize)
            return with_rounding(self.numbers.astype(np.longdouble), self.error, dtype, 0 if exact else 1)
        if dtype.kind == "b":
            return Bounded((self.numbers != 0).astype(np.int64), dtype, is_undecided(self.numbers, self.error))
        if self.floats and not (np.isfinite(self.numbers) & (np.abs(self.numbers) < np.iinfo(dtype).max)).all():
            raise UnclearError(f"out of range for {dtype}")
        return Bounded(np.asarray(self.numbers).astype(np.int64).astype(dtype).astype(np.int64), dtype, self.error)

    # ----------------------------------------------------------------------------------------------- arithmetic
    def _both(self, other: Any, least: Any = None) -> tuple[Bounded, Bounded]:
        """Both operands in NumPy's common dtype."""
        if isinstance(other, Bounded):
            dtype = np.result_type(self.dtype, other.dtype)
        else:
            dtype = np.result_type(np.empty(0, self.dtype), other)
            other = Bounded.exact(np.asarray(other, dtype))
        if least is not None and dtype.kind != "f":
            dtype = np.dtype(least)
        return self.astype(dtype), other.astype(dtype)

    def __add__(self, other: Any) -> Bounded:
        a, b = self._both(other)
        if a.dtype.kind == "b":
            raise UnclearError("bools have no sum of their own")
        return with_rounding(a.numbers + b.numbers, a.error + b.error, a.dtype)

    def __sub__(self, other: Any) -> Bounded:
        a, b = self._both(other)
        return a + -b

    def __mul__(self, other: Any) -> Bounded:
        a, b = self._both(other)
        error = np.abs(a.numbers) * b.error + np.abs(b.numbers) * a.error + a.error * b.error
        return with_rounding(a.numbers * b.numbers, error, a.dtype)

    def __truediv__(self, other: Any) -> Bounded:
        a, b = self._both(other, least=np.float64)
        room = np.abs(b.numbers) - b.error
        if not (room > 0).all():
            raise UnclearError("a division by what may be 0")
        quotient = a.numbers / b.numbers
        return with_rounding(quotient, (a.error + np.abs(quotient) * b.error) / room, a.dtype, 5)  # OpenCL: within 2.5 ulp

    def __mod__(self, other: int) -> Bounded:
        assert not self.floats
        return with_rounding(np.mod(self.numbers, other), whole(self.error), self.dtype)

    def __neg__(self) -> Bounded:
        if self.dtype.kind == "b":
            raise UnclearError("a bool has no negative")
        if not self.floats:
            return with_rounding(-self.numbers, self.error, self.dtype)  # of the lowest integer itself
        return Bounded(-self.numbers, self.dtype, self.error)

    def __abs__(self) -> Bounded:
        if not self.floats:
            return with_rounding(np.abs(self.numbers), self.error, self.dtype)  # of the lowest integer itself
        return Bounded(np.abs(self.numbers), self.dtype, self.error)

    def _compare(self, other: Any, sign: Callable[[Any, Any], Any]) -> Bounded:
        a, b = self._both(other)
        apart = a.numbers - b.numbers
        return Bounded(sign(a.numbers, b.numbers).astype(np.int64), np.dtype(bool), is_undecided(apart, a.error + b.error))

    def __lt__(self, other: Any) -> Bounded:
        return self._compare(other, operator.lt)

    def __gt__(self, other: Any) -> Bounded:
        return self._compare(other, operator.gt)

    __radd__, __rmul__ = __add__, __mul__

    def part(self, i: Any) -> Bounded:
        """Some of the numbers."""
        return Bounded(self.numbers[i], self.dtype, self.error[i])


def with_rounding(numbers: Any, error: Any, dtype: np.dtype, roundings: int = 1) -> Bounded:
    """A result of `dtype`, rounded so many times; integers wrap."""
    if dtype.kind != "f":
        return Bounded(np.asarray(numbers).astype(dtype).astype(np.int64), dtype, error)
    rounding = roundings * (unit(dtype) * (np.abs(numbers) + error) + float(np.finfo(dtype).tiny))
    return Bounded(numbers, dtype, error + rounding)


def is_undecided(distance: Any, error: Any) -> Any:
    """1 where the error hides the sign of a distance, or whether it is 0."""
    return ((np.abs(distance) <= error) & (error > 0)).astype(np.longdouble)


def whole(error: Any) -> Any:
    """An error that must be 0."""
    if np.any(error):
        raise UnclearError("a remainder of what is not exact")
    return error


class Meaning:
    """What chains' functions call besides operators, on `Bounded` numbers."""

    def __init__(self, length: int) -> None:
        self.index = Bounded.exact(np.arange(length))

    @staticmethod
    def where(condition: Bounded, value: Bounded, otherwise: Bounded) -> Bounded:
        a, b = value._both(otherwise)
        condition_holds = condition.numbers != 0
        numbers, error = np.where(condition_holds, a.numbers, b.numbers), np.where(condition_holds, a.error, b.error)
        other, its = np.where(condition_holds, b.numbers, a.numbers), np.where(condition_holds, b.error, a.error)
        return Bounded(
            numbers, a.dtype, np.where(condition.error > 0, np.maximum(error, np.abs(other - numbers) + its), error)
        )

    @staticmethod
    def maximum(a: Bounded, b: Bounded) -> Bounded:
        a, b = a._both(b)
        return Bounded(np.maximum(a.numbers, b.numbers), a.dtype, np.maximum(a.error, b.error))

    @staticmethod
    def exp(x: Bounded) -> Bounded:
        x = x.astype(x.dtype if x.floats else np.float64)
        power = np.exp(x.numbers)
        return with_rounding(power, power * np.expm1(x.error), x.dtype, 6)  # OpenCL: within 3 ulp

    @staticmethod
    def floor(x: Bounded) -> Bounded:
        low, high = np.floor(x.numbers - x.error), np.floor(x.numbers + x.error)
        middle = np.floor(x.numbers)
        return Bounded(middle, x.dtype, np.maximum(high - middle, middle - low))
