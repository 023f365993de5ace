"""Checks of the self-test for known silent faults of drivers."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.mode import choose_mode

TURNS = 70_001
"""llvmpipe (Mesa 22.3.6) ends a work-item's loops after 65,535 turns and goes on behind them."""
_steps = itertools.count(1)
"""What the next long loop counts by: memory that an earlier one filled holds no right number for it."""


def cases() -> dict[str, tuple[Callable[..., Any], object]]:
    """Name → (operation taking `mode` and `context`, what NumPy gives): as in `selftest.cases`.

    llvmpipe (Mesa 22.3.6) takes no lane of a vector `w ? a : b` whose w are 64 bits wide and come from a comparison of
    32: counts of what is true, 64 bits wide, are then 0.
    """
    ones = np.ones(TURNS, np.int32)
    ends = np.array([-np.inf, -np.inf, 0, -np.inf], np.float32)
    ramp = (np.arange(10_007) % 16).astype(np.float32)
    count, top = cm.Scan("sum"), cm.Reduce("logsumexp")
    above = cm.Map(lambda x, low: x > low) >> cm.Reduce("sum")

    def count_above(mode: str, context: cm.Context) -> Any:
        one_item = choose_mode(mode, context.facts) is ComputeMode.SEQUENTIAL
        step = next(_steps)
        return count(ones * step, tiles=1 if one_item else None, mode=mode, context=context) // step

    return {
        "70,001 turns of a loop": (count_above, np.arange(1, TURNS + 1)),
        "comparisons counted": (lambda **how: above(ramp, 7.5, **how), (ramp > 7.5).sum()),
        "logsumexp with infinities": (lambda **how: top(ends, **how), np.float32(0)),
        "logsumexp of -inf": (lambda **how: top(ends[:2], **how), np.float32(-np.inf)),
    }
