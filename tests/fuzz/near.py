"""Numbers with a bound on what rounding may have done to them: a formula computed on them says what a device may give."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from support.oracles import UNIT64, logsumexp, logsumexp_tolerance, scan_tolerance, tolerance, unit

FUNCTION = 16
"""Units in the last place (halves of one) by which OpenCL's functions may be off: 5 ulp for tanh, 4 for sine and cosine."""


class Near:
    """value: what would come out without rounding. far: how far from it a device may be that computes in `dtype`, one
    rounding per operation. Lines lie along the last axis.
    """

    __array_ufunc__ = None  # NumPy's numbers leave arithmetic to this class

    def __init__(self, value: Any, far: Any, dtype: Any) -> None:
        self.value = np.asarray(value, np.longdouble)
        self.far = np.asarray(far, np.float64)
        self.dtype = np.dtype(dtype)
        self.unit = unit(dtype)

    @classmethod
    def of(cls, x: Any, dtype: Any = None) -> Near:
        x = np.asarray(x)
        return cls(x, np.zeros(x.shape), x.dtype if dtype is None else dtype)

    def _number(self, other: Any) -> Near:
        return other if isinstance(other, Near) else Near(self.dtype.type(other), 0.0, self.dtype)

    def _with_rounding(self, value: Any, far: Any, units: float = 1.0) -> Near:
        own = units * self.unit * (np.abs(value) + far)
        tiny = 2 * float(np.finfo(self.dtype).tiny)  # devices may flush what is below
        return Near(value, (np.asarray(far + own, np.float64) + tiny) * 1.001, self.dtype)

    def __add__(self, other: Any) -> Near:
        other = self._number(other)
        return self._with_rounding(self.value + other.value, self.far + other.far)

    def __sub__(self, other: Any) -> Near:
        return self + -self._number(other)

    def __mul__(self, other: Any) -> Near:
        other = self._number(other)
        far = np.abs(self.value) * other.far + np.abs(other.value) * self.far + self.far * other.far
        return self._with_rounding(self.value * other.value, far)

    def __truediv__(self, other: Any) -> Near:
        other = self._number(other)
        value = self.value / other.value
        room = np.maximum(np.abs(other.value) - other.far, 1e-300)
        return self._with_rounding(value, (self.far + np.abs(value) * other.far) / room, 5)

    def __radd__(self, other: Any) -> Near:
        return self._number(other) + self

    def __rsub__(self, other: Any) -> Near:
        return self._number(other) - self

    def __rmul__(self, other: Any) -> Near:
        return self._number(other) * self

    def __neg__(self) -> Near:
        return Near(-self.value, self.far, self.dtype)

    def __abs__(self) -> Near:
        return Near(np.abs(self.value), self.far, self.dtype)

    # ------------------------------------------------------------------------------------------------- functions
    def decaying(self) -> Near:
        """exp(-|self|)."""
        value = np.exp(-np.abs(self.value))
        return self._with_rounding(value, value * np.expm1(np.minimum(self.far, 50.0)), FUNCTION)

    def root(self) -> Near:
        """The square root of the magnitude."""
        value = np.sqrt(np.abs(self.value))
        far = np.minimum(np.sqrt(self.far), self.far / np.maximum(value, 1e-300))
        return self._with_rounding(value, far, FUNCTION)

    def smooth(self, function: Any) -> Near:
        """A NumPy function whose slope is at most 1, such as sin."""
        return self._with_rounding(function(self.value), self.far, FUNCTION)

    def larger(self, other: Any, function: Any = np.maximum) -> Near:
        other = self._number(other)
        return Near(function(self.value, other.value), np.maximum(self.far, other.far), self.dtype)

    # ------------------------------------------------------------------------------------------- along the lines
    def reduce_line(self, name: str, accumulate: str, fp64: bool) -> Near:
        """A reduction by name, (…, 1)."""
        length = self.value.shape[-1]
        if name in ("minimum", "maximum"):
            value = getattr(np, name).reduce(self.value, -1, keepdims=True, initial=np.inf if name == "minimum" else -np.inf)
            return Near(value, self.far.max(-1, keepdims=True, initial=0), self.dtype)
        if name == "logsumexp":
            rows = self.value.reshape(math.prod(self.value.shape[:-1]), length)
            value = np.array([logsumexp(row) for row in rows]).reshape(*self.value.shape[:-1], 1)
            far = self.far.max(-1, keepdims=True, initial=0)
            return Near(value, np.where(np.isfinite(value), logsumexp_tolerance(self.dtype, value, length) + far * 1.001, 0), self.dtype)
        assert name == "sum"
        value = self.value.sum(-1, keepdims=True)
        sizes = (np.abs(self.value) + self.far).sum(-1, keepdims=True)
        far = tolerance(self.dtype, value, sizes, max(length, 1), accumulate, fp64)
        return Near(value, self.far.sum(-1, keepdims=True) * 1.001 + far, self.dtype)

    def scan_line(self, name: str, exclusive: bool) -> Near:
        """All prefixes, of sums or extrema."""
        if name == "sum":
            value, far = self.value.cumsum(-1), self.far.cumsum(-1)
            sizes = np.abs(self.value).cumsum(-1) + far
            length = max(self.value.shape[-1], 1)
            far = far * 1.001 + scan_tolerance(self.dtype, value, sizes, length) + length * UNIT64 * sizes
            first = 0.0
        else:
            value = getattr(np, name).accumulate(self.value, -1)
            far = np.maximum.accumulate(self.far, -1)
            first = np.inf if name == "minimum" else -np.inf
        if exclusive:
            value, far = (np.concatenate([np.full((*v.shape[:-1], 1), f), v[..., :-1]], -1)[..., : v.shape[-1]] for v, f in ((value, first), (far, 0.0)))
        return Near(value, far, self.dtype)

    def check(self, result: Any, words: object = "") -> None:
        """Asserts that this may have come out. What leaves half of the dtype's range is not looked at."""
        result = np.asarray(result)
        assert result.dtype == self.dtype, f"dtype {result.dtype}, expected {self.dtype} {words}"
        assert result.shape == self.value.shape, f"shape {result.shape}, expected {self.value.shape} {words}"
        value = self.value
        with np.errstate(all="ignore"):
            inside = np.abs(value) + self.far < float(np.finfo(self.dtype).max) / 4
            off = np.abs(result.astype(np.longdouble) - value)
            wrong = inside & ~(off <= self.far)
        if wrong.any():
            at = tuple(int(i) for i in np.argwhere(wrong)[0])
            raise AssertionError(
                f"{int(wrong.sum())} of {wrong.size} differ, first at {at}: {result[at]!r}, expected {value[at]!r} within {self.far[at]:.3g} {words}"
            )


def where(condition: Any, one: Near, otherwise: Near) -> Near:
    """Of one or the other; the condition is exact."""
    return Near(np.where(condition, one.value, otherwise.value), np.where(condition, one.far, otherwise.far), one.dtype)
