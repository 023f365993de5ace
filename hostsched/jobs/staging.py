"""Copies between host arrays and the device by way of pinned memory, many bytes at a time.

What a driver copies to and from other memory, it copies through a little memory of its own, with one thread, and a
caller that asks for a second copy waits for the first one. On two H100s (driver 580.159) 16 MiB go to the device at
6.6 GB/s so, and at 16.6 through pinned memory that four threads fill; a read that is submitted behind another one holds
the caller until that one's kernel has ended.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import numpy as np

from hostsched.device.device import DeviceFacts
from hostsched.errors import LaunchError, OutOfDeviceMemory
from hostsched.jobs.graph import JobGraph
from hostsched.jobs.job import ReadJob, WriteJob
from hostsched.memory.buffer import Buffer
from hostsched.queue.queue import Queue
from hostsched.queue.submission import Submission

__all__ = ["Staging", "copy_to_device", "copy_to_host", "gains_by_staging"]

THREADS = 4
"""That copy bytes in host memory, at most: more do not help (H100 host, 32 cores)."""
PARALLEL = 1 << 20
"""Bytes from which on several threads copy."""
IDLE = 128 << 20
"""Bytes of pinned memory that a context holds for later copies."""
LEAST = 4096
"""Bytes of the shortest stretch of pinned memory."""
CHUNK = 8 << 20
"""Bytes of a long array that are copied at a time."""
IN_FLIGHT = 2
"""Chunks on their way while the host copies another one."""

Bytes = np.ndarray[Any, Any]


class Staging:
    """Copies of one submission through pinned memory. On devices where this is not faster, jobs use the arrays
    directly.

    Reads are complete after a wait for their submission and a call of `land`. After an error, drop the Staging: the
    queue holds its memory until the device no longer uses it.
    """

    __slots__ = ("_queue", "_reads", "_slots")

    def __init__(self, queue: Queue) -> None:
        self._queue = queue
        self._slots: list[Bytes] = []
        self._reads: list[tuple[Bytes, Bytes]] = []

    def write(self, buffer: Buffer, source: Bytes, offset: int = 0) -> WriteJob:
        """A job that copies bytes to a buffer. If they are staged, the source has been read when this returns."""
        slot = self._slot(source.nbytes)
        if slot is None:
            return WriteJob(buffer, source, offset)
        copy_bytes(slot, source)
        return WriteJob(buffer, slot, offset)

    def read(self, buffer: Buffer, target: Bytes, offset: int = 0) -> ReadJob:
        """A job that copies bytes of a buffer; `land` brings them to `target`."""
        slot = self._slot(target.nbytes)
        if slot is None:
            return ReadJob(buffer, target, offset)
        self._reads.append((target, slot))
        return ReadJob(buffer, slot, offset)

    def land(self) -> None:
        """Copies the bytes of all reads to their targets. All jobs must have ended without an error."""
        for target, slot in self._reads:
            copy_bytes(target, slot)
        self._reads.clear()
        while self._slots:
            _give(self._queue, self._slots.pop())

    def _slot(self, nbytes: int) -> Bytes | None:
        """Pinned memory of so many bytes; None where it wins nothing, or the system has no more of it."""
        if not nbytes or not gains_by_staging(self._queue.facts):
            return None
        size = max(LEAST, 1 << (nbytes - 1).bit_length())
        slot = _idle(self._queue, size)
        if slot is None:
            with suppress(OutOfDeviceMemory, LaunchError):
                slot = self._queue.pin(size)
        if slot is None:
            return None
        self._slots.append(slot)
        return slot[:nbytes]


def copy_bytes(target: Bytes, source: Bytes) -> None:
    """Copies bytes in host memory, long stretches with several threads. Both are contiguous, of the same length."""
    threads = min(THREADS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    if source.nbytes < PARALLEL or threads == 1:
        np.copyto(target, source)
        return
    step = -(-source.nbytes // (threads * LEAST)) * LEAST
    parts = [slice(first, first + step) for first in range(0, source.nbytes, step)]
    try:
        others = [_pool().submit(_copy, [target[part], source[part]]) for part in parts[1:]]
    except RuntimeError:  # at the interpreter's end there are no new threads
        np.copyto(target, source)
        return
    np.copyto(target[parts[0]], source[parts[0]])
    for other in others:
        other.result()


def _copy(arrays: list[Bytes]) -> None:
    """Copies the second array to the first. Once the copy has ended, its thread holds neither: pinned memory is freed
    with its last reference, which takes the driver, and must not be in a thread that nobody waits for.
    """
    source, target = arrays.pop(), arrays.pop()
    np.copyto(target, source)


_pools: dict[int, ThreadPoolExecutor] = {}
"""The threads that copy, by process: a fork has none of its parent's."""


def _pool() -> ThreadPoolExecutor:
    process = os.getpid()
    if process not in _pools:
        _pools[process] = ThreadPoolExecutor(THREADS - 1, "hostsched-copy")
    return _pools[process]


def _idle(queue: Queue, size: int) -> Bytes | None:
    """Free pinned memory of a size."""
    with suppress(KeyError, IndexError):
        return queue.space.staged[size].popleft()
    return None


def _give(queue: Queue, slot: Bytes) -> None:
    """Holds pinned memory for later. What is held in other sizes makes room: this one is likely to come again."""
    if slot.nbytes > IDLE:
        return
    staged = queue.space.staged
    others = [slots for size, slots in list(staged.items()) if size != slot.nbytes]
    while _held(queue) + slot.nbytes > IDLE and any(others):
        with suppress(IndexError):  # another thread took the last one
            max(others, key=len).popleft()
    if _held(queue) + slot.nbytes <= IDLE:
        staged.setdefault(slot.nbytes, deque()).append(slot)


def _held(queue: Queue) -> int:
    """Bytes of pinned memory that nobody uses."""
    return sum(size * len(slots) for size, slots in list(queue.space.staged.items()))


def copy_to_device(queue: Queue, buffer: Buffer, source: Bytes, offset: int = 0) -> None:
    """Copies contiguous bytes to a buffer, from its byte `offset` on, and waits until they have been read. Ctrl-C
    interrupts it. Raises LaunchError or OutOfDeviceMemory if the copy or an earlier command fails.
    """
    _in_chunks(queue, source, lambda staging, part, begin: staging.write(buffer, part, offset + begin))


def copy_to_host(queue: Queue, buffer: Buffer, target: Bytes, offset: int = 0) -> None:
    """Copies the bytes of a buffer from `offset` on to contiguous bytes, and waits. All else is as for
    `copy_to_device`.
    """
    _in_chunks(queue, target, lambda staging, part, begin: staging.read(buffer, part, offset + begin))


def _in_chunks(queue: Queue, whole: Bytes, job: Callable[[Staging, Bytes, int], WriteJob | ReadJob]) -> None:
    """Submits the job of every chunk; two are on their way while the host copies a third."""
    flying: deque[tuple[Staging, Submission]] = deque()
    step = CHUNK if gains_by_staging(queue.facts) else max(1, whole.nbytes)
    for begin in range(0, whole.nbytes, step):
        if len(flying) == IN_FLIGHT:
            _land(*flying.popleft())
        staging = Staging(queue)
        submission = JobGraph([job(staging, whole[begin : begin + step], begin)]).submit(queue)
        flying.append((staging, submission))
    while flying:
        _land(*flying.popleft())


def _land(staging: Staging, submission: Submission) -> None:
    submission.wait()
    staging.land()


def gains_by_staging(facts: DeviceFacts) -> bool:
    """Whether copies through pinned memory are faster, as on devices with separate memory."""
    return facts.maps_memory and not facts.host_unified
