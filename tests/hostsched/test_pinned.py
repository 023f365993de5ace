"""Reads of a few bytes by way of pinned memory; devices that share the host's memory are set up as if they did not."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from hostsched import JobGraph, OutOfDeviceMemory, Queue, WriteJob, read_back
from hostsched.jobs.pinned import SLOT


@pytest.fixture
def apart(queue: Queue) -> Iterator[Queue]:
    """A queue whose device says that it has memory of its own."""
    queue.facts = replace(queue.facts, host_unified=False)
    queue.space.pinned.clear()
    yield queue
    queue.space.pinned.clear()


@pytest.mark.parametrize("nbytes", [1, 8, SLOT - 1, SLOT, SLOT + 1, 3 * SLOT])
def test_bytes_arrive(apart: Queue, nbytes: int) -> None:
    rng = np.random.default_rng(nbytes)
    source = rng.integers(256, size=nbytes + 5).astype("u1")
    buffer = apart.arena.take(source.nbytes)
    JobGraph([WriteJob(buffer, source)]).submit(apart)
    for offset in (0, 5, 3):
        target = np.full(nbytes, 77, "u1")
        read_back(apart, buffer, target, offset)
        np.testing.assert_array_equal(target, source[offset : offset + nbytes])
    assert len(apart.space.pinned) == (nbytes <= SLOT and apart.facts.maps_memory), "one slot is used over and over"


def test_devices_that_share_memory_need_none(queue: Queue) -> None:
    queue.facts = replace(queue.facts, host_unified=True)
    queue.space.pinned.clear()
    target, buffer = np.zeros(8, "u1"), queue.arena.take(8)
    JobGraph([WriteJob(buffer, np.arange(8, dtype="u1"))]).submit(queue)
    read_back(queue, buffer, target)
    assert target.tolist() == list(range(8)) and not queue.space.pinned


def test_drivers_that_cannot_map_pin_nothing(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "pin", lambda nbytes: pytest.fail("memory was pinned"))
    apart.facts = replace(apart.facts, maps_memory=False)
    target, buffer = np.zeros(8, "u1"), apart.arena.take(8)
    JobGraph([WriteJob(buffer, np.arange(8, dtype="u1"))]).submit(apart)
    read_back(apart, buffer, target)
    assert target.tolist() == list(range(8)) and not apart.space.pinned


def test_without_more_pinned_memory_reads_go_the_other_way(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(nbytes: int) -> None:
        raise OutOfDeviceMemory(f"no {nbytes} bytes")

    monkeypatch.setattr(apart, "pin", none)
    target, buffer = np.zeros(8, "u1"), apart.arena.take(8)
    JobGraph([WriteJob(buffer, np.arange(8, dtype="u1"))]).submit(apart)
    read_back(apart, buffer, target)
    assert target.tolist() == list(range(8)) and not apart.space.pinned


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
    assert not wrong and apart.facts.maps_memory <= len(apart.space.pinned) <= 4 * apart.facts.maps_memory
