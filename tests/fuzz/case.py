"""One case: its random numbers, its device, and notes of its calls."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import clmapreduce as cm

NEIGHBOURS = 128
"""So many neighbouring seeds make the same kind of call, on other data: they share its kernels."""

EDGES = sorted({0, 1, 2, 3, 7, 9, 1009, 4099, 5, *(2**k + d for k in range(3, 13) for d in (-1, 0, 1))})
LARGE = (65_535, 65_536, 65_537, 100_003, 131_071, 262_145, 524_287)

Shape = Callable[["Case"], None]
"""A kind of call: makes it on data drawn from a case, and asserts that its results are right."""


@dataclass
class Home:
    """Where cases run."""

    context: cm.Context
    modes: tuple[str, ...] = ("sequential", "parallel", "auto")

    @property
    def fp64(self) -> bool:
        return bool(self.context.facts.fp64)

    def dtypes(self, kinds: str) -> list[np.dtype[Any]]:
        """The scalar dtypes of some kinds ("b" "i" "u" "f" "c") that the device computes with."""
        codes = {"b": "?", "i": "i1 i2 i4 i8", "u": "u1 u2 u4 u8", "f": "f2 f4 f8", "c": "c8 c16"}
        dtypes_here = [np.dtype(code) for kind in kinds for code in codes[kind].split()]
        return [d for d in dtypes_here if self._has(d)]

    def _has(self, dtype: np.dtype[Any]) -> bool:
        return self.fp64 or dtype not in (np.float64, np.complex128)


@dataclass
class Case:
    """Random numbers for one call."""

    home: Home
    rng: np.random.Generator
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Lines of the reproducer that a finding prints."""
        self.notes.append(text)

    def one(self, choices: Sequence[Any]) -> Any:
        return choices[int(self.rng.integers(len(choices)))]

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def below(self, end: int, first: int = 0) -> int:
        return int(self.rng.integers(first, end))

    def length(self, most: int = 1 << 20, least: int = 0) -> int:
        """Around powers of two and tiles more often than not, long now and then."""
        draw = self.rng.random()
        if draw < 0.5:
            length = self.one(EDGES)
        elif draw < 0.93:
            length = self.below(3000)
        elif draw < 0.995:
            length = int(2 ** self.rng.uniform(0, 16.2))
        else:
            length = self.one(LARGE)
        return max(least, min(int(length), most))

    def how(self, tiles: bool = False) -> dict[str, Any]:
        """Keywords of every call."""
        mode = self.one(self.home.modes)
        keywords = {"context": self.home.context, "mode": mode}
        if tiles and mode == "sequential" and self.chance(0.2):
            keywords["tiles"] = 1
        return keywords


def streams(family: str, seed: int) -> tuple[np.random.Generator, np.random.Generator]:
    """(random numbers of the kind of call, of its data)."""
    word = zlib.crc32(family.encode())
    return np.random.default_rng([word, 0, seed // NEIGHBOURS]), np.random.default_rng([word, 1, seed])
