"""The classic power series about 0. Each is one line: its coefficient as a formula of the index k and of k!."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from clmapreduce.calls.options import Options
from clmapreduce.calls.progress import followed
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import DType
from clmapreduce.formula.node import Node, index
from clmapreduce.math import where
from clmapreduce.primitives.map import Map
from clmapreduce.series.functions.catalogue import FUNCTIONS
from clmapreduce.series.functions.digits import check_digits
from clmapreduce.series.functions.dispatch import evaluated
from clmapreduce.series.functions.front import ARGUMENTS
from clmapreduce.series.functions.reach import check_reach
from clmapreduce.series.functions.sums import power_sum
from clmapreduce.series.sequences import check_order, conversion, default_dtype, factorials
from clmapreduce.series.taylor import checked, is_many, most_terms, summed

FACTORIALS = 171
"""Coefficients that float64 tells from 0 beside those before them."""
Coefficient = Callable[[Node], Node]
ODD = index % 2
SIGN = 1 - 2 * ((index // 2) % 2)
"""+, +, −, −, …: the sign of the k-th derivative of sine and cosine at 0."""


@lru_cache(maxsize=128)
def table(coefficient: Coefficient, over_factorials: bool, terms: int, dtype: DType, home: Context) -> DeviceArray:
    """The first `terms` coefficients on the device, computed there once. Those over factorials end where k! leaves the
    device's widest float: 1/171! is below what float64 tells from 0 beside the terms before it.
    """
    wide = default_dtype(home)
    if over_factorials:
        inverse = array(factorials(min(terms, most_terms(home)) - 1, dtype=wide, context=home), home)
    else:
        inverse = Map(lambda: (index * 0).astype(wide) + 1)(length=terms, context=home)
        inverse = array(inverse, home)
    coefficients: DeviceArray = Map(lambda f: coefficient(f).astype(wide))(inverse)
    return coefficients if coefficients.dtype == dtype else conversion(dtype)(coefficients)


@dataclass(frozen=True)
class Plain:
    """A power series about 0. formula, domain: in words. coefficient: of the index, and of k! or 1. sign: that of the
    coefficient of xᵏ, 0 where there is none. divisor: its denominator. limit: the function in float64.
    """

    formula: str
    coefficient: Coefficient
    domain: str
    sign: Callable[[int], int]
    divisor: Callable[[int], int]
    limit: Callable[[float], float]

    @property
    def over_factorials(self) -> bool:
        return self.divisor is math.factorial

    def weight(self, k: int) -> Fraction:
        """The coefficient of xᵏ, exact."""
        return Fraction(self.sign(k), self.divisor(k))

    def log_weight(self, k: int) -> float:
        """The logarithm of its magnitude."""
        if not self.sign(k):
            return -math.inf
        return -math.lgamma(k + 1) if self.over_factorials else -math.log(self.divisor(k))


def _series(name: str, plain: Plain) -> Callable[..., Any]:
    weight = plain.weight

    @followed
    def series(
        x: Any,
        terms: Any = None,
        *,
        digits: Any = None,
        dtype: Any = None,
        mode: str = "auto",
        context: Context | None = None,
        wait_for: Sequence[Any] = (),
        out: Any = None,
        progress: Any = None,
    ) -> Any:
        options = Options(mode, context, wait_for, out)
        if terms is None and name in FUNCTIONS:
            return evaluated(name, [x], digits, dtype, options)
        check_order(terms, "terms")
        if digits is not None or is_many([dtype, x]):
            if digits is not None:
                check_reach(plain.log_weight, plain.limit, x, int(terms), check_digits(digits))
            used = min(int(terms), FACTORIALS) if plain.over_factorials else int(terms)
            return power_sum(weight, used, [x], digits, dtype, options)[0]
        arguments, home, working = checked([x], (), dtype, mode, context, out)
        coefficients = array([], home)
        if terms:
            coefficients = table(plain.coefficient, plain.over_factorials, int(terms), working, home)
        options = Options(mode, home, wait_for, out)
        return summed(coefficients, arguments.inputs[0].value, working, options, arguments.on_device)

    series.__name__ = series.__qualname__ = name
    series.__doc__ = f"""{name} x, right to `digits` digits; with `terms`, the partial sum {plain.formula}.

    {ARGUMENTS}
    terms: the number of terms of the power series about 0, x⁰ … xᵗᵉʳᵐˢ⁻¹, which converges for {plain.domain}; it is
    computed in float32 or float64, or in the words of `dtype`. Powers come before coefficients: the sum overflows if
    the power of a coefficient that is not 0 does. With many terms, series over factorials do so beyond |x| = 10 in
    float32 and 64 in float64. If `digits` is passed too, ArgumentError says how many terms are needed. Raises
    ShapeError for terms < 0.
    """
    return series


def _one_in(first: int, step: int, alternating: bool) -> Callable[[int], int]:
    """Signs of a series that has every `step`-th power from `first` on."""
    return lambda k: 0 if (k - first) % step or k < first else -1 if alternating and (k - first) // step % 2 else 1


def _number(k: int) -> int:
    return max(1, k)


exp = _series("exp", Plain("Σ xᵏ/k!", lambda f: 1 / f, "every x", _one_in(0, 1, False), math.factorial, math.exp))
sin = _series(
    "sin",
    Plain("Σ (−1)ᵏ x²ᵏ⁺¹/(2k+1)!", lambda f: ODD * SIGN / f, "every x", _one_in(1, 2, True), math.factorial, math.sin),
)
EVEN = 1 - ODD
cos = _series(
    "cos",
    Plain("Σ (−1)ᵏ x²ᵏ/(2k)!", lambda f: EVEN * SIGN / f, "every x", _one_in(0, 2, True), math.factorial, math.cos),
)
sinh = _series(
    "sinh",
    Plain("Σ x²ᵏ⁺¹/(2k+1)!", lambda f: ODD / f, "every x", _one_in(1, 2, False), math.factorial, math.sinh),
)
cosh = _series(
    "cosh", Plain("Σ x²ᵏ/(2k)!", lambda f: EVEN / f, "every x", _one_in(0, 2, False), math.factorial, math.cosh)
)
log1p = _series(
    "log1p",
    Plain(
        "Σ (−1)ᵏ⁺¹ xᵏ/k",
        lambda one: where(index == 0, 0.0, (2 * ODD - 1) * one / where(index == 0, 1, index)),
        "−1 < x ≤ 1", _one_in(1, 1, True), _number, math.log1p,
    ),
)  # fmt: skip
atan = _series(
    "atan",
    Plain(
        "Σ (−1)ᵏ x²ᵏ⁺¹/(2k+1)",
        lambda one: ODD * SIGN * one / where(index == 0, 1, index),
        "|x| ≤ 1", _one_in(1, 2, True), _number, math.atan,
    ),
)  # fmt: skip
geometric = _series(
    "geometric",
    Plain("Σ xᵏ", lambda one: one, "|x| < 1", _one_in(0, 1, False), lambda k: 1, lambda x: 1 / (1 - x)),
)
