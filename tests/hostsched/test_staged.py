"""Reads of a device with memory of its own: by way of pinned memory, or waited for inside the driver. Devices that
share the host's memory say here that they do not.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from hostsched import (
    FillJob,
    JobGraph,
    LaunchError,
    OutOfDeviceMemory,
    Queue,
    ReadJob,
    WriteJob,
    opencl,
    read_back,
    waiting,
)
from hostsched import queue as queue_module
from hostsched import staged as staged_module
from hostsched.staged import SLOT


@pytest.fixture
def apart(queue: Queue) -> Iterator[Queue]:
    """A queue whose device says that it has memory of its own."""
    queue.facts = replace(queue.facts, host_unified=False)
    queue.space.staged.free.clear()
    yield queue
    queue.space.staged.free.clear()


@pytest.fixture
def only_sure_reads(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Refuses reads that a driver may end before their bytes are there; gives how many bytes each other read had."""
    if not queue.facts.maps_memory:
        pytest.skip("the driver pins nothing")
    pinned: list[tuple[int, int]] = []
    seen: list[int] = []
    copy, map_buffer = opencl.copy, opencl.map_buffer

    def mapped(*args: Any, **more: Any) -> Any:
        view, event = map_buffer(*args, **more)
        pinned.append((view.ctypes.data, view.nbytes))
        return view, event

    def checked(queue: Any, target: Any, source: Any, **more: Any) -> Any:
        if isinstance(target, np.ndarray):
            at = target.ctypes.data
            through = any(begin <= at and at + target.nbytes <= begin + nbytes for begin, nbytes in pinned)
            assert through or more["is_blocking"], f"a read of {target.nbytes} bytes to ordinary memory"
            seen.append(target.nbytes)
        return copy(queue, target, source, **more)

    monkeypatch.setattr(opencl, "map_buffer", mapped)
    monkeypatch.setattr(opencl, "copy", checked)
    return seen


@pytest.mark.parametrize("nbytes", [1, 8, SLOT - 1, SLOT, SLOT + 1, 3 * SLOT])
def test_bytes_arrive(apart: Queue, nbytes: int, only_sure_reads: list[int]) -> None:
    rng = np.random.default_rng(nbytes)
    given = rng.integers(256, size=nbytes + 5).astype("u1")
    buffer = apart.arena.take(given.nbytes)
    JobGraph([WriteJob(buffer, given)]).submit(apart)
    for offset in (0, 5, 3):
        target = np.full(nbytes, 77, "u1")
        read_back(apart, buffer, target, offset)
        np.testing.assert_array_equal(target, given[offset : offset + nbytes])
        job = np.full(nbytes, 77, "u1")
        JobGraph([ReadJob(buffer, job, offset)]).submit(apart).wait()
        np.testing.assert_array_equal(job, target)
    assert len(apart.space.staged.free) == (nbytes <= SLOT), "one slot is used over and over"
    assert len(only_sure_reads) == 6


def test_long_reads_go_in_pieces(
    apart: Queue, monkeypatch: pytest.MonkeyPatch, only_sure_reads: list[int], rng: np.random.Generator
) -> None:
    monkeypatch.setattr(queue_module, "_LONGEST_READ", 1000)
    given = rng.integers(256, size=2 * SLOT + 1).astype("u1")
    buffer = apart.arena.take(given.nbytes)
    JobGraph([WriteJob(buffer, given)]).submit(apart)
    target = np.zeros(given.nbytes - 3, "u1")
    read_back(apart, buffer, target, 3)
    np.testing.assert_array_equal(target, given[3:])
    assert only_sure_reads == [1000] * (target.nbytes // 1000) + [target.nbytes % 1000]


def test_jobs_wait_for_what_comes_before(apart: Queue, only_sure_reads: list[int]) -> None:
    """Reads of one buffer between its writes, which are all submitted before anything is waited for."""
    buffer = apart.arena.take(4 * SLOT)
    outs = [np.full(n, 9, np.float32) for n in (1, SLOT // 4, SLOT // 4 + 1, SLOT)]
    submissions = []
    for k, out in enumerate(outs):
        jobs = [FillJob(buffer, np.float32(k).tobytes(), 4 * SLOT), ReadJob(buffer, out)]
        submissions.append(JobGraph(jobs).submit(apart))
    submissions[-1].wait()
    for submission in submissions:
        submission.wait()
    for k, out in enumerate(outs):
        np.testing.assert_array_equal(out, np.float32(k))
    assert not apart.space.staged


def test_calls_read_by_sure_ways_alone(queue: Queue, only_sure_reads: list[int], rng: np.random.Generator) -> None:
    context = cm.Context(queue.device)
    context.queue.facts = replace(context.queue.facts, host_unified=False)
    context.queue.space.staged.free.clear()
    for length in (3, SLOT // 8, SLOT // 8 + 1, 3 * SLOT):
        x = rng.integers(-9, 9, length)
        held = cm.array(x, context)
        np.testing.assert_array_equal(cm.Map(lambda a: a * 3)(held).to_numpy(), 3 * x)
        np.testing.assert_array_equal(cm.Scan("sum")(x, context=context), np.cumsum(x))
        into = x.copy()
        cm.Map(lambda a: a + 1)(into[::-1], out=into, context=context)
        np.testing.assert_array_equal(into, x[::-1] + 1)
        assert cm.Reduce("sum")(x, context=context) == x.sum()
    assert max(only_sure_reads) > SLOT
    context.queue.space.staged.free.clear()


def test_a_read_counts_until_its_bytes_are_there(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread that waits looks at the count without the lock."""
    if not apart.facts.maps_memory:
        pytest.skip("the driver pins nothing")
    staged, target, counts = apart.space.staged, np.zeros(8, "u1"), []

    def status(event: Any) -> int:
        counts.append(len(staged))
        return waiting.status_of(event)

    monkeypatch.setattr(staged_module, "status_of", status)
    buffer = apart.arena.take(8)
    JobGraph([WriteJob(buffer, np.arange(8, dtype="u1"))]).submit(apart)
    read_back(apart, buffer, target)
    assert min(counts) == 1 and target.tolist() == list(range(8)) and not staged


def test_devices_that_share_memory_need_none(queue: Queue) -> None:
    queue.facts = replace(queue.facts, host_unified=True)
    queue.space.staged.free.clear()
    target, buffer = np.zeros(8, "u1"), queue.arena.take(8)
    JobGraph([WriteJob(buffer, np.arange(8, dtype="u1"))]).submit(queue)
    read_back(queue, buffer, target)
    assert target.tolist() == list(range(8)) and not queue.space.staged.free


def test_drivers_that_cannot_map_pin_nothing(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "pin", lambda nbytes: pytest.fail("memory was pinned"))
    apart.facts = replace(apart.facts, maps_memory=False)
    target, buffer = np.zeros(8, "u1"), apart.arena.take(8)
    JobGraph([WriteJob(buffer, np.arange(8, dtype="u1"))]).submit(apart)
    read_back(apart, buffer, target)
    assert target.tolist() == list(range(8)) and not apart.space.staged.free


def test_without_more_pinned_memory_reads_go_the_other_way(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(nbytes: int) -> None:
        raise OutOfDeviceMemory(f"no {nbytes} bytes")

    monkeypatch.setattr(apart, "pin", none)
    target, buffer = np.zeros(8, "u1"), apart.arena.take(8)
    JobGraph([WriteJob(buffer, np.arange(8, dtype="u1"))]).submit(apart)
    read_back(apart, buffer, target)
    assert target.tolist() == list(range(8)) and not apart.space.staged.free


def test_a_failed_read_gives_its_slot_back(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    if not apart.facts.maps_memory:
        pytest.skip("the driver pins nothing")
    buffer, target = apart.arena.take(8), np.full(8, 7, "u1")
    read_back(apart, buffer, target.copy())
    with monkeypatch.context() as patch:
        patch.setattr(apart, "_transfer", _refused)
        with pytest.raises(LaunchError):
            JobGraph([ReadJob(buffer, target)]).submit(apart).wait()
    assert len(apart.space.staged.free) == 1 and (target == 7).all()


def _refused(*args: Any) -> None:
    raise LaunchError("refused by the test", -5)


def test_threads_have_slots_of_their_own(apart: Queue) -> None:
    buffers = [apart.arena.take(64) for _ in range(4)]
    JobGraph([WriteJob(b, np.full(64, k, "u1")) for k, b in enumerate(buffers)]).submit(apart).wait()
    wrong: list[int] = []

    def read(k: int) -> None:
        target = np.zeros(64, "u1")
        for _ in range(50):
            target[...] = 99
            read_back(apart, buffers[k], target)
            if (target != k).any():
                wrong.append(k)

    threads = [threading.Thread(target=read, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    free = len(apart.space.staged.free)
    assert not wrong and apart.facts.maps_memory <= free <= 4 * apart.facts.maps_memory
