"""The classic power series about 0. Each is one line: its coefficient as a formula of the index k and of k!."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from clmapreduce.series.power import checked, most_terms, summed
from clmapreduce.series.sequences import check_order, conversion, default_dtype, factorials

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


def _series(
    name: str, formula: str, coefficient: Coefficient, domain: str, over_factorials: bool = True
) -> Callable[..., Any]:
    @followed
    def series(
        x: Any,
        terms: int,
        *,
        dtype: Any = None,
        mode: str = "auto",
        context: Context | None = None,
        wait_for: Sequence[Any] = (),
        out: Any = None,
        progress: Any = None,
    ) -> Any:
        check_order(terms, "terms")
        arguments, home, working = checked([x], (), dtype, mode, context, out)
        coefficients = table(coefficient, over_factorials, int(terms), working, home) if terms else array([], home)
        options = Options(mode, home, wait_for, out)
        return summed(coefficients, arguments.inputs[0].value, working, options, arguments.on_device)

    series.__name__ = series.__qualname__ = name
    series.__doc__ = f"""{formula}, the terms x⁰ … xᵗᵉʳᵐˢ⁻¹ of the power series about 0, which converges for {domain}.

    x: a scalar or an array; returns the same shape. dtype: of the computation; default that of x, else float64.
    Powers come before coefficients: the sum overflows where the power of a coefficient that is not 0 does. Series over
    factorials do beyond |x| = 10 in float32 and 64 in float64, given enough terms.
    Raises ShapeError for terms < 0, DTypeError for complex x.
    """
    return series


exp = _series("exp", "Σ xᵏ/k!", lambda f: 1 / f, "every x")
sin = _series("sin", "Σ (−1)ᵏ x²ᵏ⁺¹/(2k+1)!", lambda f: ODD * SIGN / f, "every x")
cos = _series("cos", "Σ (−1)ᵏ x²ᵏ/(2k)!", lambda f: (1 - ODD) * SIGN / f, "every x")
sinh = _series("sinh", "Σ x²ᵏ⁺¹/(2k+1)!", lambda f: ODD / f, "every x")
cosh = _series("cosh", "Σ x²ᵏ/(2k)!", lambda f: (1 - ODD) / f, "every x")
log1p = _series(
    "log1p",
    "Σ (−1)ᵏ⁺¹ xᵏ/k",
    lambda one: where(index == 0, 0.0, (2 * ODD - 1) * one / where(index == 0, 1, index)),
    "−1 < x ≤ 1",
    over_factorials=False,
)
atan = _series(
    "atan",
    "Σ (−1)ᵏ x²ᵏ⁺¹/(2k+1)",
    lambda one: ODD * SIGN * one / where(index == 0, 1, index),
    "|x| ≤ 1",
    over_factorials=False,
)
geometric = _series("geometric", "Σ xᵏ", lambda one: one, "|x| < 1", over_factorials=False)
