"""`cm.series`: powers, factorials, power series, from unfold, map, reduce and kept partials; integers of any size."""

from clmapreduce.series.exact import binomials, catalan, fibonacci
from clmapreduce.series.named import atan, cos, cosh, exp, geometric, log1p, sin, sinh
from clmapreduce.series.power import power_series
from clmapreduce.series.sequences import factorials, powers

__all__ = [
    "atan",
    "binomials",
    "catalan",
    "cos",
    "cosh",
    "exp",
    "factorials",
    "fibonacci",
    "geometric",
    "log1p",
    "power_series",
    "powers",
    "sin",
    "sinh",
]
