"""Blocks of pairs drawn at random: uneven clusters, rows outside all of them, lists that are empty, full or torn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.domain.blocks import Blocks


@dataclass(frozen=True, eq=False)
class Halves:
    """Ranges that know the blocks of one axis alone."""

    axis: int
    blocks: Blocks

    def half(self, axis: int, m: int, n: int) -> Blocks:
        assert axis == self.axis and (m, n)[axis == 0] == self.blocks.rows and (m, n)[axis == 1] == self.blocks.columns
        return self.blocks


def drawn_blocks(rng: np.random.Generator, rows: int, columns: int) -> Blocks:
    """Clusters of all sizes from one row on, some left out; every list torn, whole, short or empty."""
    cuts = rng.integers(0, rows + 1, int(rng.integers(1, 2 + min(rows, 12))))
    ends = np.unique([0, rows, *cuts, *(cut + 1 for cut in cuts[:2] if cut < rows)])
    clusters = np.stack([ends[:-1], ends[1:]], 1)
    clusters = clusters[rng.random(len(clusters)) < rng.choice([0.6, 1.0])]
    lists = [_intervals(_columns(rng, columns)) for _ in clusters]
    offsets = np.cumsum([0, *map(len, lists)])
    return Blocks(clusters, offsets, np.concatenate([np.zeros((0, 2), int), *lists]), rows, columns)


def mask_of(blocks: Blocks) -> Any:
    """Which pairs count: (rows, columns) booleans."""
    keep = np.zeros((blocks.rows, blocks.columns), bool)
    for first, end, columns in columns_of(blocks):
        keep[first:end, columns] = True
    return keep


def _columns(rng: np.random.Generator, columns: int) -> Any:
    """Which columns a cluster meets."""
    kind = rng.choice(["torn", "runs", "whole", "last", "none"], p=[0.25, 0.4, 0.1, 0.1, 0.15])
    if kind == "torn":
        return rng.random(columns) < rng.random()
    if kind == "runs":
        ends = np.sort(rng.integers(0, columns + 1, 2 * int(rng.integers(1, 6))))
        places = np.arange(columns)
        return ((places[:, None] >= ends[0::2]) & (places[:, None] < ends[1::2])).any(1)
    flags = np.full(columns, kind == "whole")
    flags[-1] = kind != "none"
    return flags


def _intervals(flags: Any) -> Any:
    return np.flatnonzero(np.diff(np.concatenate([[0], flags, [0]]).astype(int))).reshape(-1, 2)


def columns_of(blocks: Blocks) -> Iterator[tuple[int, int, Any]]:
    """(first row, end, the columns that they meet) for all rows in order."""
    before = 0
    for (first, end), a, b in zip(blocks.clusters, blocks.offsets, blocks.offsets[1:], strict=False):
        yield before, first, np.zeros(0, int)
        yield first, end, np.concatenate([np.zeros(0, int), *(np.arange(*part) for part in blocks.intervals[a:b])])
        before = end
    yield before, blocks.rows, np.zeros(0, int)
