"""Lengths of segments, by name: constant, uniform, half empty, a power law, one giant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Lengths = Callable[[int, Any], Any]
"""Of n elements and a generator: lengths that reach n together."""


def constant(length: int) -> Lengths:
    return lambda n, rng: np.full(-(-n // length), length, np.int32)


def uniform(low: int, high: int) -> Lengths:
    """Lengths from `low` to `high`."""
    return lambda n, rng: rng.integers(low, high + 1, int(2.2 * n / (low + high)) + 64, np.int32)


def half_empty(n: int, rng: Any) -> Any:
    """Nothing, or 1 to 16."""
    lengths = rng.integers(1, 17, int(n / 4.25 * 1.05) + 512, np.int32)
    lengths[rng.random(lengths.size, np.float32) < 0.5] = 0
    return lengths


def pareto(least: int) -> Lengths:
    """A power law of exponent 1.2 from `least` on, cut off at n/16: its mean is about 5 × `least`."""

    def lengths(n: int, rng: Any) -> Any:
        draws = least * (1 - rng.random(int(1.2 * n / (5 * least)) + 512)) ** (-1 / 1.2)
        return np.maximum(np.minimum(draws, n / 16), 1).astype(np.int32)

    return lengths


GEOMETRIES: dict[str, Lengths] = {
    "all of 1": constant(1),
    "1 to 7": uniform(1, 7),
    "all of 4": constant(4),
    "1 to 8": uniform(1, 8),
    "half empty": half_empty,
    "all of 8": constant(8),
    "all of 10": constant(10),
    "1 to 20": uniform(1, 20),
    "all of 32": constant(32),
    "1 to 200": uniform(1, 200),
    "1 to 2000": uniform(1, 2000),
    "all of 10,000": constant(10**4),
    "1 to 2·10⁵": uniform(1, 200_000),
    "1 to 2·10⁶": uniform(1, 2_000_000),
    "pareto, mean 10": pareto(2),
    "pareto, mean 100": pareto(20),
    "one": lambda n, rng: np.array([n]),
}


def offsets_of(name: str, n: int) -> Any:
    """(S + 1,) int32, where the segments of a geometry of n elements begin; the last is cut off at n."""
    ends = np.cumsum(GEOMETRIES[name](n, np.random.default_rng(n)), dtype=np.int64)
    count = int(np.searchsorted(ends, n)) + 1
    offsets = np.empty(count + 1, np.int32)
    offsets[0], offsets[1:count], offsets[count] = 0, ends[: count - 1], n
    return offsets


class Line:
    """n random float32, here and on a device, and what float64 makes of them."""

    def __init__(self, x: Any, dx: Any) -> None:
        self.x, self.dx, self._wide = x, dx, x.astype(np.float64)

    def sums(self, offsets: Any) -> Any:
        """(S,) float64 sums of the segments."""
        full = np.diff(offsets) > 0
        if full.all():
            return np.add.reduceat(self._wide, offsets[:-1])
        totals = np.zeros(offsets.size - 1)
        totals[full] = np.add.reduceat(self._wide, offsets[:-1][full])
        return totals


def worst(result: Any, exact: Any) -> float:
    """The largest |s − s64| / Σ|terms| of sums of positive terms; NaN if one is."""
    result, block = np.asarray(result), 1 << 20
    errors = []
    for at in range(0, len(exact), block):
        true = exact[at : at + block]
        error = np.abs(result[at : at + block] - true)
        errors.append(np.divide(error, true, out=error, where=true > 0).max())
    return float(np.max(errors))
