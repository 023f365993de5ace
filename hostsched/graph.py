"""Derives which events a job waits for, from what it reads and writes. The only place that does, but for replay.py,
which does so beforehand.

A job waits for the last write of what it reads (read after write), and for the readers of what it writes (write after
read) or, if there are none, its last write (write after write). Each reader has itself waited for the last write, so
where there are readers that wait would say nothing new. The state lives in the buffers (`last_write`, `readers`), so
waits are found across graphs, and a graph may be submitted again. Nothing here talks to a driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from .submission import Submission

if TYPE_CHECKING:
    from .queue import Queue

__all__ = ["JobGraph", "add_reader", "derive_waits", "record"]

_MAX_READERS = 16


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
    """A job that can be handed to a queue."""

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
    """Notes that the command of `event` reads the buffer as it was last written. Forgets readers that have ended, once
    there are many.
    """
    readers = buffer.readers
    if len(readers) >= _MAX_READERS:
        readers[:] = [reader for reader in readers if reader.command_execution_status > 0]
    readers.append(event)


class JobGraph:
    """Jobs in an order that would be right one by one; run in any order that gives the same result."""

    __slots__ = ("jobs",)

    def __init__(self, jobs: Iterable[Submittable]) -> None:
        self.jobs = tuple(jobs)

    def submit(self, queue: Queue, wait_for: Iterable[Any] = ()) -> Submission:
        """Enqueues every job with the waits that follow from its reads and writes, and returns without waiting.

        `wait_for` holds events, Submissions, or objects with an `.event`; no job starts before all of them have ended.
        Raises what the queue raises (LaunchError, OutOfDeviceMemory, ValueError); jobs before the failing one are
        enqueued.
        """
        first_waits = queue.admit(wait_for) if wait_for else []
        events: list[Any] = []
        own: set[int] = set()
        unwaited: dict[int, Any] = {}  # events of this graph that no later job of it waits for
        with queue.lock:
            for job in self.jobs:
                waits = derive_waits(job)
                if first_waits and own.isdisjoint(waits):  # else it waits for a job that has waited for them
                    waits.update((id(event), event) for event in first_waits)
                event = job.enqueue(queue, list(waits.values()))
                record(job, event)
                for key in waits:
                    unwaited.pop(key, None)
                events.append(event)
                own.add(id(event))
                unwaited[id(event)] = event
            if not events:
                event = queue.marker(first_waits)
                events, unwaited = [event], {id(event): event}
            queue.flush()
        return Submission(queue, events, list(unwaited.values()))
