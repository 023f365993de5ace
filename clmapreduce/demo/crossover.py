"""Both modes over the length of a line: from which length on the parallel one is faster, if it ever is."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Sequence

import numpy as np

import clmapreduce as cm
from clmapreduce.terminal.fold import fold
from clmapreduce.terminal.progress import steps

LENGTHS = tuple(2**power for power in range(4, 21, 2))
REPEATS = 15
CLEARLY = 1.05
"""How many times faster counts as faster."""


def times() -> dict[str, list[float]]:
    """Milliseconds of one warm scan for each of LENGTHS, by mode; the modes take turns within a repetition."""
    context = cm.array(np.zeros(1, np.float32)).context
    scan, modes = cm.Scan("sum"), context.device.modes
    medians: dict[str, list[float]] = {mode: [] for mode in modes}
    for length in steps(LENGTHS, len(LENGTHS), "lengths"):
        x = cm.array(np.ones(length, np.float32), context)
        seconds: dict[str, list[float]] = {mode: [] for mode in modes}
        for _ in range(REPEATS + 1):
            for mode in modes:
                start = time.perf_counter()
                scan(x, mode=mode)
                context.wait()
                seconds[mode].append(time.perf_counter() - start)
        for mode in modes:
            medians[mode].append(1e3 * statistics.median(seconds[mode][1:]))
    return medians


def crossover(lengths: Sequence[int], sequential: Sequence[float], parallel: Sequence[float]) -> float | None:
    """The length from which on the parallel mode is clearly faster, between two lengths by interpolation of logarithms;
    the first length where it always is, None where it is not at the last one.
    """
    ahead = [math.log(s / (CLEARLY * p)) for s, p in zip(sequential, parallel, strict=True)]
    if ahead[-1] <= 0:
        return None
    behind = [k for k, gain in enumerate(ahead) if gain <= 0]
    if not behind:
        return float(lengths[0])
    k = behind[-1]
    share = -ahead[k] / (ahead[k + 1] - ahead[k])
    return float(lengths[k] * (lengths[k + 1] / lengths[k]) ** share)


def described(medians: dict[str, list[float]]) -> str:
    """What the times say, in words."""
    if len(medians) < 2:
        return "  one mode on this device"
    at = crossover(LENGTHS, medians["sequential"], medians["parallel"])
    last = ", ".join(f"{mode} {values[-1]:.3f} ms" for mode, values in medians.items())
    start = f"{LENGTHS[-1]:,} numbers: {last}; "
    if at is None:
        return fold(start + "parallel is not faster", indent=2)
    where = "at every length" if at <= LENGTHS[0] else f"from {at:,.0f} on"
    return fold(f"{start}parallel is faster {where}", indent=2)
