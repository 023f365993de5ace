"""`cm.series`: powers, factorials and power series, built from unfold, map, reduce and kept partials; functions that
are right to `digits=`; integers of any size.
"""

from clmapreduce.series.constants import constant, e, pi
from clmapreduce.series.exact import binomials, catalan, fibonacci
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
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_j0", "binomials", "catalan", "cbrt", "constant", "cos",
    "cosh", "e", "erf", "erfc", "exp", "expm1", "factorials", "fibonacci", "gamma", "geometric", "lgamma", "log",
    "log1p", "pi", "power", "power_series", "powers", "sin", "sinh", "sqrt", "tan", "tanh", "zeta",
]  # fmt: skip
