"""A few of our kernels against NumPy on one device."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.doctor import driver_cases
from clmapreduce.doctor.pair_cases import pair_cases, segment_cases

LENGTH = 10_007  # a prime: no block, tile or lane count divides it
QUICK = ("comparisons counted", "scan", "sum over pairs", "segments", "70,001 turns of a loop")
"""The checks that are run unless all are asked for, in the device's own mode: one of each kind of kernel, and what
drivers were seen to get wrong. Each one more costs a driver 0.1 to 0.6 s of compiling.
"""

Check = tuple[Callable[..., Any], object]


def cases() -> dict[str, Check]:
    """Name → (operation taking `mode` and `context`, what NumPy gives).

    Every float32 value and partial sum is a small multiple of 1/2, so all orders of summation give the same bits
    and the results must be equal, not close.
    """
    index = np.arange(LENGTH)
    b, c = (index % 17).astype(np.float32), (index % 11).astype(np.float32)
    half = cm.Map(lambda b, c: b * c / 2)
    fused = half >> cm.Reduce("sum")
    total, largest, prefix = cm.Reduce("sum"), cm.Reduce("maximum"), cm.Scan("sum")
    return {
        "map": (lambda **how: half(b, c, **how), b * c / 2),
        "float16": (lambda **how: half(b.astype("f2"), c.astype("f2"), **how), (b * c / 2).astype("f2")),
        "sum": (lambda **how: total(b, **how), b.sum()),
        "maximum": (lambda **how: largest(c, **how), c.max()),
        "scan": (lambda **how: prefix(b, **how), b.cumsum()),
        "fused map and sum": (lambda **how: fused(b, c, **how), (b * c / 2).sum()),
        "factorials": (
            lambda **how: cm.series.factorials(20, dtype=np.int64, **how),
            [math.factorial(n) for n in range(21)],
        ),
        **pair_cases(),
        **segment_cases(),
    }


def run(context: cm.Context, full: bool = True) -> dict[str, str]:
    """Check, with its mode → "" where the result equals NumPy's, else what went wrong. full: all checks in every mode;
    else those of QUICK in the mode that calls take by themselves.
    """
    checks = cases() | driver_cases.cases()
    names, modes = (tuple(checks), context.device.modes) if full else (QUICK, ("auto",))
    return {
        f"{name}, {mode}": _complaint(*checks[name], mode, context) for name in names for mode in modes
    }


def _complaint(operation: Callable[..., Any], expected: object, mode: str, context: cm.Context) -> str:
    try:
        result = operation(mode=mode, context=context)
    except cm.ClMapReduceError as error:
        return f"{type(error).__name__}: {error}"
    return "" if np.array_equal(result, np.asarray(expected)) else "differs from NumPy"


def run_on(index: int, full: bool) -> dict[str, str]:
    """`run` on `devices()[index]`; for a process of its own, because a broken driver may abort or hang."""
    with cm.Context(cm.devices()[index]) as context:
        return run(context, full)
