"""Blocks hold exactly the pairs of their mask, each once, in the documented order."""

from __future__ import annotations

import numpy as np
import pytest
from support.masks import check_promises, mask_of_blocks, mask_of_half, random_half

from clmapreduce.domain import transposed as module
from clmapreduce.domain.blocks import Blocks, blocks, joined
from clmapreduce.domain.transposed import transposed


def of_half(half: tuple[np.ndarray, ...], rows: int, columns: int) -> Blocks:
    return blocks(half[0], np.concatenate([[0], half[1]]), half[2], rows, columns)


@pytest.mark.parametrize("repeat", range(30))
def test_lists_in_any_order_become_the_pairs_they_stand_for(repeat: int, rng: np.random.Generator) -> None:
    rows, columns = (int(n) for n in rng.integers(0, 40, 2))
    half = random_half(rng, rows, columns)
    blocks, mask = of_half(half, rows, columns), mask_of_half(half, rows, columns)
    check_promises(blocks)
    assert (mask_of_blocks(blocks) == mask).all()
    assert blocks.pairs == mask.sum() and blocks.longest == mask.sum(axis=1).max(initial=0)
    assert blocks.covered == mask.any(axis=1).sum()
    assert blocks.density == (mask.mean() if mask.size else 0)


def test_intervals_that_touch_are_one() -> None:
    offsets, intervals = joined(np.array([0, 3, 5]), np.array([[4, 6], [0, 2], [2, 4], [0, 1], [2, 3]]), 9)
    assert offsets.tolist() == [0, 1, 3]
    assert intervals.tolist() == [[0, 6], [0, 1], [2, 3]]


def test_an_interval_inside_another_ends_nothing() -> None:
    offsets, intervals = joined(np.array([0, 3]), np.array([[0, 9], [1, 2], [8, 10]]), 10)
    assert (offsets.tolist(), intervals.tolist()) == ([0, 1], [[0, 10]])


def test_lists_of_nothing_at_all() -> None:
    for intervals in (np.zeros((0, 2), np.int64), np.array([[3, 3], [5, 5]])):
        offsets, intervals_of_none = joined(np.array([0, 0, len(intervals)]), intervals, 9)
        assert offsets.tolist() == [0, 0, 0] and intervals_of_none.shape == (0, 2) and intervals_of_none.dtype == np.int64


def test_more_cells_than_an_index_counts_are_refused() -> None:
    with pytest.raises(OverflowError, match="2 lists"):
        joined(np.array([0, 1, 2]), np.array([[0, 1], [0, 1]]), 2**62)


def test_balance_is_the_mean_over_the_most() -> None:
    blocks = Blocks(np.array([[0, 2], [2, 4]]), np.array([0, 1, 2]), np.array([[0, 3], [0, 9]]), 4, 9)
    assert blocks.balance == (2 * 3 + 2 * 9) / (4 * 9)
    assert blocks.sizes.tolist() == [2, 2] and blocks.counts.tolist() == [1, 1] and blocks.lengths.tolist() == [3, 9]


# ------------------------------------------------------------------------------------------------------------ transposed
@pytest.mark.parametrize("sparse", [False, True], ids=["matrix", "sorted"])
@pytest.mark.parametrize("repeat", range(20))
def test_the_transposed_holds_the_same_pairs(
    repeat: int, sparse: bool, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SPARSE", 0 if sparse else 10**9)
    rows, columns = (int(n) for n in rng.integers(0, 40, 2))
    blocks = of_half(random_half(rng, rows, columns), rows, columns)
    other_side = transposed(blocks)
    check_promises(other_side)
    assert (other_side.rows, other_side.columns) == (columns, rows)
    assert (mask_of_blocks(other_side) == mask_of_blocks(blocks).T).all()
    assert (mask_of_blocks(transposed(other_side)) == mask_of_blocks(blocks)).all()


@pytest.mark.parametrize("repeat", range(10))
def test_staircases_turn_without_looking_at_pairs(
    repeat: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_of_lists", None)
    count = int(rng.integers(1, 20))
    starts = np.sort(rng.integers(0, 50, count))
    ends = np.maximum.accumulate(starts + rng.integers(1, 9, count))
    clusters = 7 + np.stack([np.arange(count), np.arange(count) + 1], axis=1)
    blocks = Blocks(clusters, np.arange(count + 1), np.stack([starts, ends], axis=1), 40, 60)
    other_side = transposed(blocks)
    check_promises(other_side)
    assert (mask_of_blocks(other_side) == mask_of_blocks(blocks).T).all()


def test_few_intervals_far_out_need_no_table() -> None:
    blocks = Blocks(np.array([[5, 6], [9, 11]]), np.array([0, 1, 2]), np.array([[7, 10**12], [8, 9]]), 20, 10**13)
    other_side = transposed(blocks)
    assert other_side.clusters.tolist() == [[7, 8], [8, 9], [9, 10**12]]
    assert other_side.intervals.tolist() == [[5, 6], [5, 6], [9, 11], [5, 6]] and other_side.offsets.tolist() == [0, 1, 3, 4]
