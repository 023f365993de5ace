"""Segments of every shape, as offsets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def from_lengths(lengths: Any) -> Any:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


def power_law(rng: np.random.Generator, count: int, mean: float) -> Any:
    return np.clip(mean / 6 * rng.random(count) ** (-1 / 1.2), 0, 20_000).astype(np.int64)


GEOMETRIES: dict[str, Callable[[np.random.Generator], Any]] = {
    "one of nothing": lambda rng: from_lengths([0]),
    "all empty": lambda rng: from_lengths(np.zeros(5000, int)),
    "ones": lambda rng: from_lengths(np.ones(9001, int)),
    "eights": lambda rng: from_lengths(np.full(3000, 8)),
    "one tile each": lambda rng: from_lengths(np.full(40, 512)),
    "one more than a tile": lambda rng: from_lengths(np.full(40, 513)),
    "0 to 2": lambda rng: from_lengths(rng.integers(0, 3, 20_000)),
    "1 to 40": lambda rng: from_lengths(rng.integers(1, 41, 2000)),
    "1 to 4000": lambda rng: from_lengths(rng.integers(1, 4001, 40)),
    "power law": lambda rng: from_lengths(power_law(rng, 3000, 20)),
    "one giant": lambda rng: from_lengths([100_003]),
    "a giant among ones": lambda rng: from_lengths(np.concatenate([np.ones(500, int), [60_000], np.ones(700, int)])),
    "empty ones, then one": lambda rng: from_lengths(np.append(np.zeros(40_000, int), 5000)),
    "one, then empty ones": lambda rng: from_lengths(np.append(5000, np.zeros(40_000, int))),
    "empty ones between": lambda rng: from_lengths(np.concatenate([np.ones(3000, int), np.zeros(9000, int), np.full(300, 7)])),
    "at the ends of chunks": lambda rng: from_lengths(np.tile([4094, 0, 0, 4096, 1], 6)),
}  # fmt: skip
