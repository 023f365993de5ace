"""Long copies by way of pinned memory; devices that share the host's memory are set up as if they did not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hostsched import JobGraph, OutOfDeviceMemory, Queue, Staging, WriteJob, copy_to_device, copy_to_host
from hostsched.jobs import staging as module
from hostsched.jobs.staging import IDLE, LEAST, PARALLEL, copy_bytes

CHUNK = 1 << 16


@pytest.fixture
def apart(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> Iterator[Queue]:
    """A queue whose device says that it has memory of its own; chunks are short."""
    if not queue.facts.maps_memory:
        pytest.skip("the driver maps no memory")
    queue.facts = replace(queue.facts, host_unified=False)
    monkeypatch.setattr(module, "CHUNK", CHUNK)
    queue.space.staged.clear()
    yield queue
    queue.space.staged.clear()


def random_bytes(nbytes: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(nbytes).integers(256, size=nbytes).astype("u1")


@pytest.mark.parametrize("nbytes", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 77])
def test_bytes_go_to_the_device_and_back(apart: Queue, nbytes: int) -> None:
    source = random_bytes(nbytes)
    buffer = apart.arena.take(nbytes + 9)
    JobGraph([WriteJob(buffer, np.full(nbytes + 9, 7, "u1"))]).submit(apart).wait()
    copy_to_device(apart, buffer, source, 5)
    whole = np.full(nbytes + 9, 99, "u1")
    copy_to_host(apart, buffer, whole)
    np.testing.assert_array_equal(whole, np.concatenate([np.full(5, 7), source, np.full(4, 7)]))
    part = np.full(nbytes, 99, "u1")
    copy_to_host(apart, buffer, part, 5)
    np.testing.assert_array_equal(part, source)


def test_pinned_memory_is_used_again(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    buffer, sizes, pin = apart.arena.take(9 * CHUNK), [], apart.pin
    monkeypatch.setattr(apart, "pin", lambda nbytes: sizes.append(nbytes) or pin(nbytes))
    for _ in range(3):
        copy_to_device(apart, buffer, random_bytes(9 * CHUNK))
    assert 1 <= len(sizes) <= 3 and set(sizes) == {CHUNK}


def test_little_pinned_memory_is_held(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "IDLE", 4 * LEAST)
    for nbytes in (LEAST, 2 * LEAST, 4 * LEAST, 8 * LEAST):
        buffer = apart.arena.take(nbytes)
        copy_to_device(apart, buffer, random_bytes(nbytes))
    total = sum(size * len(slots) for size, slots in apart.space.staged.items())
    assert 0 < total <= 4 * LEAST < IDLE


def test_other_sizes_make_room_for_the_last_one(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call whose copies have another length than those of the call before pins memory once, not for each copy."""
    monkeypatch.setattr(module, "IDLE", 4 * LEAST)
    sizes, pin = [], apart.pin
    monkeypatch.setattr(apart, "pin", lambda nbytes: sizes.append(nbytes) or pin(nbytes))
    for length in (LEAST, 2 * LEAST, LEAST):
        sizes.clear()
        buffers = [apart.arena.take(length) for _ in range(2)]
        for _ in range(5):
            staging = Staging(apart)
            JobGraph([staging.write(buffer, random_bytes(length)) for buffer in buffers]).submit(apart).wait()
            staging.land()
        assert len(sizes) <= 2
        assert sum(size * len(slots) for size, slots in apart.space.staged.items()) <= 4 * LEAST


def test_without_pinned_memory_copies_go_the_other_way(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(nbytes: int) -> None:
        raise OutOfDeviceMemory(f"no {nbytes} bytes")

    monkeypatch.setattr(apart, "pin", none)
    source, buffer = random_bytes(3 * CHUNK), apart.arena.take(3 * CHUNK)
    copy_to_device(apart, buffer, source)
    target = np.zeros_like(source)
    copy_to_host(apart, buffer, target)
    np.testing.assert_array_equal(target, source)


def test_devices_that_share_memory_need_none(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "pin", lambda nbytes: pytest.fail("memory was pinned"))
    queue.facts = replace(queue.facts, host_unified=True)
    source, buffer = random_bytes(1000), queue.arena.take(1000)
    copy_to_device(queue, buffer, source)
    target = np.zeros_like(source)
    copy_to_host(queue, buffer, target)
    np.testing.assert_array_equal(target, source)


def test_what_was_read_is_there_once_it_has_landed(apart: Queue) -> None:
    source, buffer = random_bytes(777), apart.arena.take(777)
    target = np.full(777, 1, "u1")
    staging = Staging(apart)
    jobs = [staging.write(buffer, source), staging.read(buffer, target)]
    source[:] = 0  # it was read already
    JobGraph(jobs).submit(apart).wait()
    assert (target == 1).all()
    staging.land()
    np.testing.assert_array_equal(target, random_bytes(777))


@pytest.mark.parametrize("nbytes", [0, PARALLEL - 1, PARALLEL, PARALLEL + 12_345, 7 * PARALLEL + 1])
def test_several_threads_copy_every_byte(nbytes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    source, target = random_bytes(nbytes), np.full(nbytes, 77, "u1")
    copy_bytes(target, source)
    np.testing.assert_array_equal(target, source)


def test_threads_hold_no_array_that_they_have_copied(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the last reference to pinned memory might be a thread's, which holds its task a little longer."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    tasks, submit = [], ThreadPoolExecutor.submit

    def recorded(self: ThreadPoolExecutor, *task: Any) -> Any:
        tasks.append(task)
        return submit(self, *task)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", recorded)
    source, target = random_bytes(3 * PARALLEL), np.empty(3 * PARALLEL, "u1")
    copy_bytes(target, source)
    np.testing.assert_array_equal(target, source)
    assert tasks and all(arrays == [] for _, arrays in tasks)


def test_threads_that_copy_at_once(apart: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(8), raising=False)
    monkeypatch.setattr(module, "PARALLEL", CHUNK // 4)

    def there_and_back(number: int) -> bool:
        source = random_bytes(3 * CHUNK + number)
        buffer, target = apart.arena.take(source.nbytes), np.zeros_like(source)
        copy_to_device(apart, buffer, source)
        copy_to_host(apart, buffer, target)
        return bool((target == source).all())

    with ThreadPoolExecutor(4) as threads:
        assert all(threads.map(there_and_back, range(24)))
