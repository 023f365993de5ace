"""Blocks cut into pieces: every pair once, rows without columns too, work in equal parts, accumulators apart."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.random_blocks import drawn_blocks, mask_of

from clmapreduce.domain import packed_intervals
from clmapreduce.domain.blocks import Blocks
from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.sparse import FEW, BlockSparse, PartitionLimits, sparse


def drawn_cut(rng: np.random.Generator, **how: Any) -> PartitionLimits:
    block, tile = int(rng.choice([1, 4, 32])), int(rng.choice([1, 8, 64]))
    limits: dict[str, Any] = {
        "block": block, "vectors": int(rng.choice([1, 2, 8])), "tile": tile, "least": tile * int(rng.choice([1, 4])),
        "most": tile * int(rng.choice([3, 1000])), "groups": int(rng.choice([1, 10, 1000])), "parts": 1 << 40,
        "backend": str(rng.choice(["auto", "1D", "2D"])), "sharing": bool(rng.integers(2)),
        "whole": bool(rng.integers(2)), "aligned": int(rng.choice([1, block])),
    }  # fmt: skip
    return PartitionLimits(**{**limits, **how})


def domain_of(blocks: Blocks, elements: int = 0) -> BlockSparse:
    return sparse(Pairwise(blocks.rows, blocks.columns, 1, elements), blocks)


def visits(domain: BlockSparse, cut: PartitionLimits) -> Any:
    """How often kernels visit each pair as they walk pieces; -1 for rows of no piece."""
    numbers = np.full((domain.rows, domain.columns), -1)
    work = domain.work(cut)
    intervals = work.intervals.values
    for first, last, interval, begin, end, _, slots, wide in work.pieces.values:
        rows = numbers[first:last]
        rows[rows < 0] = 0
        assert 0 < last - first <= cut.rows and wide <= cut.block
        assert last - first <= wide or wide == cut.block
        assert last - first // cut.aligned * cut.aligned <= cut.rows
        while begin < end:
            over, shift = min(intervals[interval, 0], end), intervals[interval, 1]
            assert over > begin
            rows[:, begin + shift : over + shift] += 1
            begin, interval = over, interval + 1
        assert slots >= end - begin
    return numbers


@pytest.mark.parametrize("size", [(1, 1), (40, 50), (300, 7), (7, 3000)])
def test_every_pair_is_met_once(
    size: tuple[int, int], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Intervals are looked at list by list, some lists at a time, or all at once."""
    for _ in range(20):
        monkeypatch.setattr(packed_intervals, "STRIP", int(rng.choice([1, 5, 1 << 15])))
        random_blocks = drawn_blocks(rng, *size)
        blocks = replace(random_blocks, lists=random_blocks.intervals.astype(rng.choice(["i4", "i8"])))
        np.testing.assert_array_equal(visits(domain_of(blocks), drawn_cut(rng)), mask_of(blocks))


@pytest.mark.parametrize("leaving", [False, True])
def test_merges_find_every_accumulator_once(rng: np.random.Generator, leaving: bool) -> None:
    """Of rows whose columns are cut, or of all."""
    for _ in range(20):
        blocks = drawn_blocks(rng, 60, 2000)
        work = domain_of(blocks).work(drawn_cut(rng, least=8, tile=8, backend="2D", leaving=leaving))
        assert not leaving or (work.pieces.values[:, 5] >= 0).all()
        places = {}
        for first, last, _, begin, _, slot, slots, _ in work.pieces.values:
            for row in range(first, last) if slot >= 0 else ():
                places[slot + row - first] = row, begin, slots
        assert sorted(places) == list(range(work.parts))
        for first, last, slot, splits, count in work.merges.values:
            for row in range(first, last):
                accumulators = [places.pop(slot + s * (last - first) + row - first) for s in range(splits)]
                assert {(r, n) for r, _, n in accumulators} == {(row, count)} and len({b for _, b, _ in accumulators}) == splits > (not leaving)
        assert not places


def test_no_piece_does_much_more_than_others(rng: np.random.Generator) -> None:
    """One cluster meets everything, the others little; heavy pieces come first."""
    count, size, columns = 200, 32, 100_000
    clusters = np.arange(count * size).reshape(count, size)[:, [0, -1]] + [0, 1]
    intervals = np.stack([np.zeros(count, int), rng.integers(1, 500, count)], 1)
    intervals[rng.integers(count), 1] = columns
    blocks = Blocks(clusters, np.arange(count + 1), intervals, count * size, columns)
    cut = drawn_cut(rng, block=32, vectors=1, tile=64, least=128, most=10**6, groups=500, backend="auto")
    work = domain_of(blocks).work(cut)
    pieces = work.pieces.values
    lengths = pieces[:, 4] - pieces[:, 3]
    assert lengths.max() <= max(FEW * lengths.sum() / 500 + cut.tile, cut.least + cut.tile)
    assert (lengths[1:] <= lengths[:-1] * 2**0.5 + 1).all() and lengths[0] == lengths.max()
    assert len(work.merges) == 1
    assert len(domain_of(blocks).work(drawn_cut(rng, backend="1D", block=32, vectors=1)).pieces) == count


def test_accumulators_are_limited(rng: np.random.Generator) -> None:
    blocks = Blocks(np.array([[0, 1000]]), np.array([0, 1]), np.array([[0, 10**6]]), 1000, 10**6)
    for parts in (1, 1000, 5000):
        cut = drawn_cut(rng, tile=8, least=8, most=10**7, groups=10**6, parts=parts, backend="2D")
        assert domain_of(blocks).work(cut).parts <= max(parts, 0)


def test_items_share_rows_of_small_clusters() -> None:
    ends = np.cumsum([1, 2, 3, 16, 17, 31, 33])
    clusters = np.stack([ends - np.diff(ends, prepend=0), ends], 1)
    blocks = Blocks(clusters, np.arange(8), np.tile([[0, 5]], (7, 1)), int(ends[-1]), 5)
    cut = PartitionLimits(32, 8, 64, 64, 6400, 1, 1 << 40, sharing=True)
    pieces = domain_of(blocks).work(cut).pieces.values
    wide = {int(last - first): int(w) for first, last, *_, w in pieces}
    assert wide == {1: 1, 2: 2, 3: 4, 16: 16, 17: 32, 31: 32, 33: 32}


def test_tables_are_made_once_and_as_wide_as_indices(rng: np.random.Generator) -> None:
    blocks = drawn_blocks(rng, 40, 50)
    narrow, wide = domain_of(blocks), domain_of(blocks, 2**31)
    cut = drawn_cut(rng)
    assert narrow.work(cut) is domain_of(blocks).work(cut) and narrow.work(cut) is not wide.work(cut)
    others = narrow.work(replace(cut, groups=cut.groups + 1, whole=False)), narrow.work(replace(cut, whole=False))
    assert others[0].intervals is others[1].intervals
    for domain, code in ((narrow, "i4"), (wide, "i8")):
        work = domain.work(cut)
        assert {t.values.dtype for t in (work.intervals, work.pieces)} == {np.dtype(code)}


def test_whole_tiles_come_first(rng: np.random.Generator) -> None:
    """As many as there are, each side by side; then the rest."""
    for _ in range(20):
        blocks, tile = drawn_blocks(rng, 60, 2000), int(rng.choice([2, 16, 64]))
        work = domain_of(blocks).work(drawn_cut(rng, tile=tile, backend="1D", block=64, vectors=1, whole=True))
        ends, shifts = work.intervals.values.T
        for first, _, interval, begin, end, *_ in work.pieces.values:
            (own,) = np.flatnonzero((blocks.clusters[:, 0] <= first) & (first < blocks.clusters[:, 1])) if end else [0]
            lists = blocks.intervals[blocks.offsets[own] : blocks.offsets[own + 1]] if end else np.zeros((0, 2), int)
            expected = np.maximum(lists[:, 1] // tile - -(-lists[:, 0] // tile), 0).sum()
            count = 0
            for at in range(begin, end, tile):
                while at >= ends[interval]:
                    interval += 1
                count += ends[interval] >= at + tile and (at + shifts[interval]) % tile == 0
            assert count == expected
