"""`cm.series`: powers, factorials and power series, built from unfold, map, reduce and kept partials."""

from clmapreduce.series.named import atan, cos, cosh, exp, geometric, log1p, sin, sinh
from clmapreduce.series.power import power_series
from clmapreduce.series.sequences import factorials, powers

__all__ = [
    "atan",
    "cos",
    "cosh",
    "exp",
    "factorials",
    "geometric",
    "log1p",
    "power_series",
    "powers",
    "sin",
    "sinh",
]
