"""How many terms of a power series about 0 reach so many digits at a point."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from clmapreduce.device.array import DeviceArray
from clmapreduce.errors import ArgumentError
from clmapreduce.series.functions.call import as_array

MOST = 1 << 40


def check_reach(
    log_weight: Callable[[int], float], function: Callable[[float], float], x: Any, terms: int, digits: int
) -> None:
    """Raises ArgumentError where the first term that is left out is greater than a unit of the last digit of the
    function, at the x of greatest magnitude. log_weight: of the logarithm of the weight of each power, -inf for 0.
    Arrays on a device are refused, because their values are not read.
    """
    points = as_array(x)
    if isinstance(points, DeviceArray):
        raise ArgumentError(
            "terms= and digits= together need x in host memory, where it is seen whether the terms reach the digits; "
            "leave out one of them"
        )
    sizes = np.abs(points[np.isfinite(points)])
    largest = float(points[np.isfinite(points)][np.argmax(sizes)]) if sizes.size else 0.0
    if largest == 0:
        return

    def reached(n: int) -> bool:
        following = next((n + i for i in range(4) if log_weight(n + i) > -math.inf), n)
        return log_weight(following) + following * math.log(abs(largest)) <= bound

    bound = math.log(10) * (math.floor(_log10(function, largest)) - digits + 1)
    if reached(terms) and terms >= min(abs(largest), 1e9):
        return
    needed = max(terms, min(int(abs(largest)), MOST))
    while not reached(needed) and needed < MOST:
        needed *= 2
        needed += 1
    if needed >= MOST:
        raise ArgumentError(f"no number of terms reaches {digits} digits at x = {largest!r}; leave out terms")
    low = max(terms, int(abs(largest)))
    while low < needed:
        middle = (low + needed) // 2
        low, needed = (low, middle) if reached(middle) else (middle + 1, needed)
    raise ArgumentError(
        f"terms={terms} cannot reach {digits} digits at x = {largest!r}, which takes {needed}; leave out terms"
    )


def _log10(function: Callable[[float], float], x: float) -> float:
    """Of the magnitude of a function's value; 308 where it is beyond float64."""
    try:
        value = abs(function(x))
    except (OverflowError, ValueError, ZeroDivisionError):
        return 308.0
    return math.log10(value) if 0 < value < math.inf else 308.0 if value else -308.0
