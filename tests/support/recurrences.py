"""What recurrences must give: step by step in long doubles or exactly, and how far rounding may lead away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from support.oracles import unit

Rows = Sequence[Any]


def linear(a: Rows, b: Any, initial: Rows, kind: Any = np.longdouble) -> Any:
    """y_k = Σ a[j][k] y_(k-1-j) + b[k], step by step in a dtype; `kind` object counts in Python's integers."""
    rows = [np.broadcast_to(np.asarray(row), np.shape(b)).astype(kind) for row in a]
    before, results = [np.asarray(s).astype(kind)[()] for s in initial], np.empty(np.shape(b), kind)
    b = np.asarray(b).astype(kind)
    for k in range(len(b)):
        now = b[k]
        for row, y in zip(rows, before, strict=True):
            now = now + row[k] * y
        before = [now, *before[:-1]]
        results[k] = now
    return results


def linear_limit(a: Rows, b: Any, initial: Rows, dtype: Any) -> Any:
    """How far such numbers in a dtype may be off.

    Y, the same recurrence of magnitudes, bounds every number on the way. In order a step rounds twice per coefficient:
    R_k = Σ |a_j| R_(k-1-j) + 2 m u Y_k. Maps of stretches add a few products at each of the levels that merge them, in
    all less than 100, and each rounds a part of the sum that Y_k is.
    """
    magnitudes = [np.abs(np.asarray(row)).astype(np.float64) for row in a]
    b = np.abs(np.asarray(b)).astype(np.float64)
    initial = [float(np.abs(s)) for s in initial]
    largest = linear(magnitudes, b, initial, np.float64)
    times = 4 if np.dtype(dtype).kind == "c" else 1
    own = times * 2 * len(a) * unit(dtype)
    return linear(magnitudes, own * largest, [0.0] * len(a), np.float64) + 100 * own * largest


def walked(step: Callable[..., Any], coefficients: Rows, initial: Any, length: int) -> list[Any]:
    """y_k = step(y_(k-1), coefficients[k]…)."""
    y, results = initial, []
    for k in range(length):
        y = step(y, *(c[k] for c in coefficients))
        results.append(y)
    return results
