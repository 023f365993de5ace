"""Sparse matrices by name: banded, random and near columns; equal, power-law, long, mixed and half empty rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Lengths = Callable[[int, Any], Any]
"""Of a size and a generator: the rows' lengths."""
Columns = Callable[[Any, Any, int, Any], Any]
"""Of each entry's row and place in that row, the number of columns and a generator: the entries' columns."""


def equal(length: int, share: int = 1) -> Lengths:
    """size / share rows."""
    return lambda size, rng: np.full(size // share, length, np.int32)


def power_law(size: int, rng: Any) -> Any:
    """Exponent 1.2, mean about 16, none longer than a quarter of the size."""
    lengths = np.floor(3.2 * (1 - rng.random(size)) ** (-1 / 1.2))
    return np.minimum(lengths, size // 4).astype(np.int32)


def long(size: int, rng: Any) -> Any:
    return np.full(64, size // 4, np.int32)


def mixture(size: int, rng: Any) -> Any:
    """8, and 32 long rows."""
    lengths = np.full(size, 8, np.int32)
    lengths[77 :: size // 32] = size // 4
    return lengths


def half_empty(size: int, rng: Any) -> Any:
    return 32 * rng.integers(0, 2, size, np.int32)


def short(size: int, rng: Any) -> Any:
    return rng.integers(1, 5, 4 * size, np.int32)


def band(rows: Any, places: Any, width: int, rng: Any) -> Any:
    """Side by side, from 8 before the diagonal on."""
    return (rows + places - 8) % width


def anywhere(rows: Any, places: Any, width: int, rng: Any) -> Any:
    return rng.integers(0, width, rows.size, np.int32)


def near(rows: Any, places: Any, width: int, rng: Any) -> Any:
    """Within 32768 of the diagonal."""
    return (rows + rng.integers(-32768, 32768, rows.size, np.int32)) % width


def runs(rows: Any, places: Any, width: int, rng: Any) -> Any:
    """Side by side, from a random column of each row on."""
    begins = rng.integers(0, width, int(rows[-1]) + 1, np.int32)
    return (begins[rows] + places) % width


@dataclass(frozen=True)
class Kind:
    lengths: Lengths
    columns: Columns
    square: bool = True


MATRICES = {
    "banded, 16": Kind(equal(16), band),
    "random, 16": Kind(equal(16), anywhere),
    "banded, 64": Kind(equal(64, share=4), band),
    "power law, random": Kind(power_law, anywhere),
    "power law, near": Kind(power_law, near),
    "64 long rows": Kind(long, runs, square=False),
    "of 8, and 32 long rows": Kind(mixture, near),
    "half empty, near": Kind(half_empty, near),
    "short, near": Kind(short, near),
}


class Csr:
    """A matrix, the vectors it meets, side by side where there are several, and what float64 makes of them. size: rows
    of most matrices, at least 4096.
    """

    def __init__(self, name: str, size: int, vectors: int = 1) -> None:
        rng, kind = np.random.default_rng(size), MATRICES[name]
        lengths = kind.lengths(size, rng)
        self.rows = lengths.size
        self.begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        width = self.rows if kind.square else size
        rows = np.repeat(np.arange(self.rows, dtype=np.int32), lengths)
        places = np.arange(rows.size, dtype=np.int32) - self.begins[rows]
        self.columns = kind.columns(rows, places, width, rng)
        self.values = rng.random(rows.size, dtype=np.float32)
        self.x = rng.random(width if vectors == 1 else (width, vectors), dtype=np.float32)
        self.nbytes = sum(a.nbytes for a in (self.begins, self.columns, self.values, self.x)) + 4 * vectors * self.rows
        each = [self._exact(x) for x in self.x.reshape(width, vectors).T]
        self.exact = each[0] if vectors == 1 else np.stack(each, -1)

    def _exact(self, x: Any) -> Any:
        """(rows,) float64; all terms are positive."""
        terms = self.values.astype(np.float64) * x[self.columns]
        full = np.diff(self.begins) > 0
        exact = np.zeros(self.rows)
        exact[full] = np.add.reduceat(terms, self.begins[:-1][full])
        return exact
