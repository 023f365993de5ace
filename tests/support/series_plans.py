"""Plans of series in numbers of several words, for the tests that look at every kernel."""

from __future__ import annotations

from collections.abc import Iterator

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DF, FLOAT32, FLOAT64, QD
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.line.series.power_sum import PowerSum, plan_power_sum
from clmapreduce.schemes.line.series.series_function import plan_series_function
from clmapreduce.series.functions.digits import Asked
from clmapreduce.series.functions.kernels import complex_function, series_function

NAMES = ("acosh", "acos", "sinh", "cbrt", "power", "erfc", "bessel_j0")
"""Of functions, one at least for each template."""


def every_series_plan(facts: Facts, mode: ComputeMode, length: int) -> Iterator[tuple[str, Plan]]:
    """Functions of real and complex numbers, and power sums, in few words and in many."""
    how = (Line(length), mode, facts, launch_box("series_function", mode, facts))
    narrow = Asked(DF, 48, FLOAT32)
    contents = [*(series_function(name, narrow, FLOAT32) for name in NAMES), complex_function("log", narrow)]
    if facts.fp64:
        contents.append(series_function("zeta", Asked(QD, 201, FLOAT64), FLOAT64))
    for content in contents:
        yield f"{content.function} in {content.words} words", plan_series_function(content, *how)
    box = launch_box("power_sum", mode, facts)
    for centred, derived in ((False, False), (True, True)):
        sums = PowerSum("float", 3, 2, 2, "float", "0x1p-64", "0x1p-48", centred, derived)
        yield f"power sum, centred {centred}", plan_power_sum(sums, 20, Line(length), mode, facts, box)
