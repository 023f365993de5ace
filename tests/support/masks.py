"""Masks of pairs, spelled out: the oracle for blocks and ranges."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.domain.blocks import Blocks


def mask_of_blocks(blocks: Blocks) -> np.ndarray[Any, Any]:
    """(rows, columns) booleans, pair by pair; a pair in two blocks is an error."""
    mask = np.zeros((blocks.rows, blocks.columns), bool)
    for k, (begin, end) in enumerate(blocks.clusters):
        for first, last in blocks.intervals[blocks.offsets[k] : blocks.offsets[k + 1]]:
            assert not mask[begin:end, first:last].any()
            mask[begin:end, first:last] = True
    return mask


def check_promises(blocks: Blocks) -> None:
    """What the docstring of Blocks promises of its arrays."""
    assert blocks.clusters.dtype == blocks.offsets.dtype == np.int64
    assert blocks.intervals.dtype in (np.int32, np.int64)
    assert blocks.clusters.shape == (len(blocks.offsets) - 1, 2) and blocks.intervals.shape == (blocks.offsets[-1], 2)
    assert blocks.offsets[0] == 0 and (np.diff(blocks.offsets) >= 0).all()
    _check_sorted(blocks.clusters, blocks.rows, apart=0)
    for k in range(len(blocks.clusters)):
        _check_sorted(blocks.intervals[blocks.offsets[k] : blocks.offsets[k + 1]], blocks.columns, apart=1)


def _check_sorted(pairs: Any, limit: int, apart: int) -> None:
    assert (pairs[:, 0] >= 0).all() and (pairs[:, 1] > pairs[:, 0]).all() and (pairs[:, 1] <= limit).all()
    assert (pairs[1:, 0] >= pairs[:-1, 1] + apart).all()


def random_clusters(rng: np.random.Generator, count: int, length: int, gaps: bool) -> np.ndarray[Any, Any]:
    """(count, 2) starts and ends within a length, in order, empty ones among them; with gaps between some."""
    if not gaps:
        cuts = np.concatenate([[0], np.sort(rng.integers(0, length + 1, count - 1)), [length]])
        return np.stack([cuts[:-1], cuts[1:]], axis=1)
    return np.sort(rng.integers(0, length + 1, 2 * count)).reshape(count, 2)


def random_half(rng: np.random.Generator, rows: int, columns: int) -> tuple[Any, Any, Any]:
    """Three of KeOps' arrays: clusters with gaps, lists in any order, that overlap, some of them empty."""
    count = int(rng.integers(1, 7))
    lengths = rng.integers(0, 5, count)
    intervals = np.sort(rng.integers(0, columns + 1, (lengths.sum(), 2)), axis=1)
    return random_clusters(rng, count, rows, bool(rng.integers(2))), np.cumsum(lengths), intervals


def mask_of_half(half: tuple[Any, Any, Any], rows: int, columns: int) -> np.ndarray[Any, Any]:
    """(rows, columns) booleans that three of KeOps' arrays stand for."""
    mask = np.zeros((rows, columns), bool)
    begin = 0
    for (first, last), end in zip(half[0], half[1], strict=True):
        for low, high in half[2][begin:end]:
            mask[first:last, low:high] = True
        begin = end
    return mask
