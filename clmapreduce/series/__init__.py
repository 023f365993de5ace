"""`cm.series`: powers, factorials and power series, built from unfold, map, reduce and kept partials, and functions
that are right to the digits asked for.
"""

from clmapreduce.series.constants import constant, e, pi
from clmapreduce.series.functions.front import (
    acos,
    acosh,
    asin,
    asinh,
    atanh,
    bessel_j0,
    cbrt,
    erf,
    erfc,
    expm1,
    gamma,
    lgamma,
    log,
    power,
    sqrt,
    tan,
    tanh,
    zeta,
)
from clmapreduce.series.named import atan, cos, cosh, exp, geometric, log1p, sin, sinh
from clmapreduce.series.sequences import factorials, powers
from clmapreduce.series.taylor import power_series

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_j0", "cbrt", "constant", "cos", "cosh", "e",
    "erf", "erfc", "exp", "expm1", "factorials", "gamma", "geometric", "lgamma", "log", "log1p", "pi",
    "power", "power_series", "powers", "sin", "sinh", "sqrt", "tan", "tanh", "zeta",
]  # fmt: skip
