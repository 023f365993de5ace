"""The functions as users call them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from clmapreduce.calls.options import Options
from clmapreduce.calls.progress import followed
from clmapreduce.device.context import Context
from clmapreduce.series.functions.catalogue import FUNCTIONS
from clmapreduce.series.functions.dispatch import evaluated

Function = Callable[..., Any]

ARGUMENTS = """x: a scalar or an array of floats, integers or numbers in several floats, or texts, Decimals, Fractions;
    the result has the same shape. digits: the number of right decimal digits, 1 to 60, within one unit of the last one;
    the default is that of x's dtype. Up to 16 digits give float64 (a float32 and up to 7 digits float32), up to 31
    `cm.dd`, more `cm.qd`. Without float64, up to 14 give `cm.df`, up to 28 `cm.qf`. dtype: of the result, one of these.
    Raises ArgumentError for wrong digits, and for x in host memory outside the domain (on a device the result is NaN);
    DTypeError for complex x and for dtypes that cannot hold the digits."""


def by_digits(name: str) -> Function:
    """The function of one argument by this name."""

    @followed
    def function(
        x: Any,
        *,
        digits: Any = None,
        dtype: Any = None,
        mode: str = "auto",
        context: Context | None = None,
        wait_for: Sequence[Any] = (),
        out: Any = None,
        progress: Any = None,
    ) -> Any:
        return evaluated(name, [x], digits, dtype, Options(mode, context, wait_for, out))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"{name} x for {FUNCTIONS[name].domain}, right to `digits` digits.\n\n    {ARGUMENTS}\n    "
    return function


expm1 = by_digits("expm1")
log = by_digits("log")
tan = by_digits("tan")
asin = by_digits("asin")
acos = by_digits("acos")
tanh = by_digits("tanh")
asinh = by_digits("asinh")
acosh = by_digits("acosh")
atanh = by_digits("atanh")
sqrt = by_digits("sqrt")
cbrt = by_digits("cbrt")
erf = by_digits("erf")
erfc = by_digits("erfc")
gamma = by_digits("gamma")
lgamma = by_digits("lgamma")
zeta = by_digits("zeta")
bessel_j0 = by_digits("bessel_j0")


@followed
def power(
    x: Any,
    y: Any,
    *,
    digits: Any = None,
    dtype: Any = None,
    mode: str = "auto",
    context: Context | None = None,
    wait_for: Sequence[Any] = (),
    out: Any = None,
    progress: Any = None,
) -> Any:
    """x to the power y, broadcast, right to `digits` digits; x may be negative if y is an integer.

    All else is as for `cm.series.log`. Zeros, infinities and NaN follow IEEE 754's pow: x⁰ is 1.
    """
    return evaluated("power", [x, y], digits, dtype, Options(mode, context, wait_for, out))
