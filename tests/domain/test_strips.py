"""Threads change nothing: strips are shared among any number of them, and their errors arrive."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Thread, get_ident
from typing import Any

import numpy as np
import pytest
from support.masks import random_clusters

import clmapreduce as cm
from clmapreduce.domain import packed_intervals, runs, strips
from clmapreduce.domain.blocks import from_counts


@pytest.fixture(params=[1, 2, 5])
def threads(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """So many, however few strips there are."""
    monkeypatch.setattr(strips, "THREADS", request.param)
    monkeypatch.setattr(strips, "EACH", 1)
    return int(request.param)


@pytest.mark.parametrize("count", [0, 1, 2, 7, 1000])
def test_every_strip_is_worked_on_once(count: int, threads: int) -> None:
    calls = []

    def worker(mine: Sequence[int]) -> None:
        calls.append((get_ident(), list(mine)))

    strips.shared(range(count), worker)
    assert sorted(s for _, mine in calls for s in mine) == list(range(count))
    assert all(mine == list(range(mine[0], mine[-1] + 1)) for _, mine in calls if mine)
    assert len(calls) == max(1, min(threads, count))
    assert get_ident() in {who for who, _ in calls}


def test_few_strips_need_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strips, "THREADS", 8)
    sizes: list[int] = []
    for count in (0, 1, 2 * strips.EACH - 1, 2 * strips.EACH, 100 * strips.EACH):
        sizes.clear()
        strips.shared(range(count), lambda mine: sizes.append(len(mine)))
        assert len(sizes) == max(1, min(8, count // strips.EACH)) and sum(sizes) == count


@pytest.mark.parametrize("wrong", [{0}, {99}, {13, 14}, {60, 95}, set(range(100))])
def test_the_first_error_arrives(wrong: set[int], threads: int) -> None:
    """The error that a single thread would raise; strips before it have run."""
    finishes: list[int] = []

    def worker(mine: Sequence[int]) -> None:
        for s in mine:
            if s in wrong:
                raise MemoryError(f"strip {s}")
            finishes.append(s)

    with pytest.raises(MemoryError, match=f"strip {min(wrong)}$"):
        strips.shared(range(100), worker)
    assert set(range(min(wrong))) <= set(finishes)


def test_no_more_threads_to_be_had(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread does what others cannot be started for."""
    starts: list[Thread] = []

    class Scarce(Thread):
        def start(self) -> None:
            if starts:
                raise RuntimeError("can't start new thread")
            starts.append(self)
            super().start()

    monkeypatch.setattr(strips, "Thread", Scarce)
    strips_done: list[int] = []
    strips.shared(range(100), strips_done.extend)
    assert sorted(strips_done) == list(range(100))


def random_matrix(rng: np.random.Generator) -> tuple[Any, Any, Any]:
    """Clusters of rows and of columns, some empty, some apart, and a matrix of any density, that of each row its own."""
    shape = int(rng.integers(1, 90)), int(rng.integers(1, 200))
    rows, columns = (random_clusters(rng, n, 20 * n, bool(rng.integers(2))) for n in shape)
    return rows, columns, rng.random(shape) < rng.choice([0.03, 0.07, 0.5, 1.0]) * rng.random((shape[0], 1)) ** 0.2


def test_blocks_of_a_matrix_are_the_same(
    threads: int, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(30):
        rows, columns, keep = random_matrix(rng)
        results = []
        for count, cells, intervals in ((1, 1 << 19, 1 << 15), (threads, int(rng.choice([1, 500, 3000])), 7)):
            monkeypatch.setattr(strips, "THREADS", count)
            monkeypatch.setattr(runs, "STRIP", cells)
            monkeypatch.setattr(packed_intervals, "STRIP", intervals)
            half = cm.Ranges.from_matrix(rows, columns, keep).half(1, 20 * len(rows), 20 * len(columns))
            results.append((half.clusters, half.offsets, half.packed.places, half.intervals, half.lengths))
            again = packed_intervals.pack(half.intervals, half.offsets, np.int64)
            assert (again.places == half.packed.places).all() and again.places.dtype == np.int64
        for one, many in zip(*results, strict=True):
            assert one.dtype == many.dtype and one.shape == many.shape and (one == many).all()


def test_positions_are_counted_along_lists(threads: int, rng: np.random.Generator) -> None:
    """Against a walk, column by column; and back to the intervals."""
    counts = rng.integers(0, 5, 40)
    steps = rng.integers(1, 30, (counts.sum(), 2))
    lists = [np.cumsum(part.ravel()).reshape(-1, 2) for part in np.split(steps, np.cumsum(counts)[:-1])]
    offsets, intervals = from_counts(counts), np.concatenate(lists)
    layout = packed_intervals.pack(intervals, offsets, np.int32)
    for mine, a, b in zip(lists, offsets[:-1], offsets[1:], strict=True):
        columns = np.concatenate([np.zeros(0, int), *(np.arange(*pair) for pair in mine)])
        ends = layout.places[a:b, 0]
        position = np.arange(len(columns))
        shift = layout.places[a:b, 1][np.searchsorted(ends, position, side="right")] if len(mine) else position
        assert (position + shift == columns).all()
        assert len(columns) == (ends[-1] if len(mine) else 0)
    assert (packed_intervals.lengths_of(layout, offsets) == [int((m[:, 1] - m[:, 0]).sum()) for m in lists]).all()
    assert (packed_intervals.intervals_of(layout, offsets) == intervals).all()
