"""Derives which events a job waits for, from what it reads and writes. The only place that does, but for replay.py,
which does so beforehand.

A job waits for the last write of what it reads (read after write), and for the readers of what it writes (write after
read) or, if there are none, its last write (write after write). Each reader has itself waited for the last write, so
where there are readers that wait would say nothing new. The state lives in the buffers (`last_write`, `readers`), so
waits are found across graphs, and a graph may be submitted again. Nothing here talks to a driver.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

from hostsched.driver.waiting import COMPLETE, ended, status_of
from hostsched.errors import HostSchedError
from hostsched.jobs.pieces import AT_ONCE, in_pieces, is_long
from hostsched.jobs.progress import expect
from hostsched.kernels.pace import share_among
from hostsched.queue.queue import Queue
from hostsched.queue.submission import NO_EVENTS, Submission

__all__ = ["COUNTED", "JobGraph", "add_reader", "derive_waits", "record", "settle"]

_MAX_READERS = 16
COUNTED = 1e-3
"""Seconds of work from which on a submission counts among what is on its way."""


class Tracked(Protocol):
    """What the waits of a piece of memory are derived from."""

    last_write: Any
    readers: list[Any]


class Touching(Protocol):
    """What a job tells of itself to have its waits derived."""

    @property
    def reads(self) -> Sequence[Tracked]: ...

    @property
    def writes(self) -> Sequence[Tracked]: ...


class Submittable(Touching, Protocol):
    """A job that can be handed to a queue. `seconds` is how long it takes, 0 if its operations are not counted; one
    that takes longer can also be handed over in pieces (see pieces.Divisible).
    """

    @property
    def seconds(self) -> float: ...

    def enqueue(self, queue: Any, waits: Sequence[Any]) -> Any: ...


def derive_waits(job: Touching) -> dict[int, Any]:
    """The events that `job` must wait for, each once, by identity."""
    waits: dict[int, Any] = {}
    for buffer in job.reads:
        event = buffer.last_write
        if event is not None:
            waits[id(event)] = event
    for buffer in job.writes:
        if buffer.readers:
            for event in buffer.readers:
                waits[id(event)] = event
        elif buffer.last_write is not None:
            waits[id(buffer.last_write)] = buffer.last_write
    return waits


def record(job: Touching, event: Any) -> None:
    """Notes in the buffers that `event` is the one of `job`. To be called in the order in which jobs are enqueued."""
    for buffer in job.reads:
        add_reader(buffer, event)
    for buffer in job.writes:
        buffer.last_write = event
        buffer.readers = []


def add_reader(buffer: Tracked, event: Any) -> None:
    """Notes that the command of `event` reads the buffer as it was last written. Once there are many readers, forgets
    those that have ended: the oldest, up to one that has not, and all others only when their number has doubled. So a
    call far ahead of the device takes no longer than others.
    """
    readers = buffer.readers
    if len(readers) >= _MAX_READERS:
        over = 0
        while over < len(readers) and ended(readers[over]):
            over += 1
        del readers[:over]
        if len(readers) >= _MAX_READERS and not len(readers) & (len(readers) - 1):
            readers[:] = [reader for reader in readers if not ended(reader)]
    readers.append(event)


class JobGraph:
    """Jobs, listed in an order in which they would be right one after the other. They run in any order with the same
    result.
    """

    __slots__ = ("jobs",)

    def __init__(self, jobs: Iterable[Submittable]) -> None:
        self.jobs = tuple(jobs)

    def submit(self, queue: Queue, wait_for: Collection[Any] = NO_EVENTS) -> Submission:
        """Enqueues every job with the waits that are derived from its reads and writes. It returns without waiting,
        except for long launches: these are cut into pieces, and it returns when the last pieces are enqueued.

        `wait_for` holds events, Submissions, or objects with an `.event`; no job starts before all of them have ended.
        Raises WrongArgument for other things in `wait_for`, what the queue raises (LaunchError, OutOfDeviceMemory,
        ValueError) and Cancelled; jobs before the failing one are enqueued. An exception that comes from outside, such
        as KeyboardInterrupt, leaves every buffer waiting for what was enqueued.
        """
        order = _Order(queue, [] if wait_for is NO_EVENTS else queue.admit(wait_for))
        jobs: Sequence[Any] = self.jobs
        seconds = 0.0
        for job in jobs:
            seconds += job.seconds
        in_parts = seconds > AT_ONCE and any(map(is_long, jobs))
        try:
            if in_parts:
                order.enqueue_long(self.jobs)
            else:
                with queue.lock:
                    for job in self.jobs:
                        order.enqueue(job)
                    if not order.events:
                        order.mark()
                    queue.flush()
        except BaseException:
            settle(queue, self.jobs)
            raise
        submission = order.submission()
        if seconds > COUNTED:
            learning = jobs if seconds <= AT_ONCE else ()  # what is long learns from its pieces
            counted = [(job.pace, job.work) for job in learning if job.seconds]
            left = min(seconds, AT_ONCE) if in_parts else seconds  # of pieces, only the last are on their way
            queue.keep_short(submission.done, left, partial(share_among, counted))
        return submission


class _Order:
    """The events of one submission: what has been enqueued, and what no later job of it waits for."""

    __slots__ = ("_before", "_first_waits", "_own", "_unwaited", "events", "queue")

    def __init__(self, queue: Queue, first_waits: Sequence[Any]) -> None:
        self.queue = queue
        self.events: list[Any] = []
        self._first_waits = first_waits
        self._own: set[int] = set()
        self._before: dict[int, Any] = {}
        self._unwaited: dict[int, Any] = {}

    def enqueue(self, job: Submittable) -> None:
        """Enqueues a job. The queue's lock is held."""
        waits = self._waits(job)
        event = job.enqueue(self.queue, list(waits.values()))
        record(job, event)
        self._add(event, waits)

    def enqueue_long(self, jobs: Iterable[Any]) -> None:
        """Enqueues jobs of which some go out in pieces. The queue's lock is not held."""
        before = self.queue.cancellations
        jobs = tuple(jobs)
        expect(sum(job.work for job in jobs if is_long(job)))
        for job in jobs:
            if not is_long(job):
                with self.queue.lock:
                    self.enqueue(job)
                continue
            with self.queue.lock:
                waits = self._waits(job)
            event = in_pieces(
                self.queue, job, list(waits.values()), partial(record, job),
                lambda: bool(self.queue.cancellations != before),
            )  # fmt: skip
            with self.queue.lock:
                record(job, event)
            self._add(event, waits)
        self.queue.flush()

    def mark(self) -> None:
        """Adds an event for no job at all."""
        self._add(self.queue.marker(self._first_waits), {})

    def submission(self) -> Submission:
        return Submission(self.queue, self.events, list(self._unwaited.values()), list(self._before.values()))

    def _waits(self, job: Submittable) -> dict[int, Any]:
        waits = derive_waits(job)
        if self.queue.has_failed:
            _forgive(job, waits)
        self._before.update(waits)
        if self._first_waits and self._own.isdisjoint(waits):  # else it waits for a job that has waited for them
            waits.update((id(event), event) for event in self._first_waits)
        return waits

    def _add(self, event: Any, waits: Iterable[int]) -> None:
        for key in waits:
            self._unwaited.pop(key, None)
        self.events.append(event)
        self._own.add(id(event))
        self._unwaited[id(event)] = event


def _forgive(job: Touching, waits: dict[int, Any]) -> None:
    """Takes failed readers of what `job` writes out of its waits: drivers fail who waits for a failed command. The last
    write takes a reader's place, since one that fails early has not waited for it.
    """
    last_writes = {id(buffer.last_write) for buffer in job.reads}
    for buffer in job.writes:
        for event in buffer.readers:
            if id(event) not in last_writes and status_of(event) < COMPLETE:
                waits.pop(id(event), None)
                last = buffer.last_write
                if last is not None and status_of(last) >= COMPLETE:
                    waits[id(last)] = last


def settle(queue: Queue, jobs: Iterable[Touching]) -> None:
    """After an exception in the midst of submitting, which may have come between a command and the note of its event:
    all buffers wait for everything that was enqueued.
    """
    try:
        with queue.lock:
            event = queue.marker()
            for job in jobs:
                record(job, event)
            queue.flush()
    except HostSchedError:
        with suppress(HostSchedError):  # where this fails too, the device is lost, and nothing runs on it
            queue.drain()
