"""Contexts with little memory, and calls that must stream through it."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.domain.line import LEAST_WINDOW

LIMIT = 3 << 20
"""Bytes of the contexts of these tests."""

LENGTH = 900_001
"""A prime: float32 of this length has no room in LIMIT, and the last tile is not full."""


def tiles_of(function: Any, *values: Any, **keywords: Any) -> tuple[int, int, int]:
    """(tiles, elements of one, passes) of a call, as it explains itself; (0, 0, 0) where it is not streamed."""
    text = function.explain(*values, **keywords)
    match = re.search(r"streamed: ([\d,]+) tiles? of ([\d,]+) \w+, .* (\d+) pass", text)
    return tuple(int(number.replace(",", "")) for number in match.groups()) if match else (0, 0, 0)  # type: ignore[return-value]


def call_streamed(function: Any, *values: Any, **keywords: Any) -> Any:
    """The result of a call that must be streamed, in several tiles, and in no more memory than its context has."""
    assert tiles_of(function, *values, **{k: v for k, v in keywords.items() if k != "progress"})[0] > 1
    arena = keywords["context"].queue.arena
    result = function(*values, **keywords)
    assert arena.peak_bytes <= arena.limit
    return result


def lengths() -> list[int]:
    """Lines about a whole number of the shortest tiles, and a prime."""
    return [30 * LEAST_WINDOW - 1, 30 * LEAST_WINDOW, 30 * LEAST_WINDOW + 1, LENGTH]


def floats(rng: np.random.Generator, length: int, dtype: Any = "f4") -> np.ndarray:
    return rng.standard_normal(length).astype(dtype)


@cm.fuse
def softmax(x: Any) -> Any:
    weights = cm.math.exp(x - cm.Reduce("maximum")(x))
    return weights / cm.Reduce("sum")(weights), cm.Reduce("maximum")(x)


@cm.fuse
def below_their_peak(x: Any) -> Any:
    """A scan that a later launch reads again: it is as long as the line."""
    prefixes = cm.Scan("sum")(x)
    return prefixes - cm.Reduce("maximum")(prefixes)
