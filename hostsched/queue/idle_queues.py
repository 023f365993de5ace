"""Command queues that are no longer used, stored for reuse instead of a release.

Intel's CPU runtime (2026.2) destroys a queue where its last reference is dropped. Released right after a wait, that is
the thread which is still ending the last command: it waits for itself, for ever, and so does what is enqueued after.
Where other processes keep the cores busy, one queue of several hundred ends so.
"""

from __future__ import annotations

import contextlib
from collections import deque

import pyopencl as cl

from hostsched.driver import opencl
from hostsched.driver.waiting import ended
from hostsched.queue.in_flight import InFlight

__all__ = ["IdleQueues"]


class IdleQueues:
    """The idle command queues of one context. Takes no lock: garbage is collected anywhere, also under another lock."""

    def __init__(self) -> None:
        self._idle: deque[tuple[int, cl.CommandQueue, cl.Event, InFlight]] = deque()

    def __len__(self) -> int:
        return len(self._idle)

    def put(self, properties: int, queue: cl.CommandQueue, last: cl.Event, in_flight: InFlight) -> None:
        """Keeps a queue made with these properties. `last` ends when everything enqueued in it has; `in_flight` holds
        the host memory of that.
        """
        self._idle.append((properties, queue, last, in_flight))
        for *_, idle in tuple(self._idle):
            idle.release()

    def take(self, properties: int) -> cl.CommandQueue | None:
        """A queue with these properties whose commands have all ended; None where there is none."""
        for _ in range(len(self._idle)):
            with contextlib.suppress(IndexError):  # another thread took the last one
                entry = self._idle.popleft()
                if entry[0] == properties and ended(entry[2]):
                    return entry[1]
                self._idle.append(entry)
        return None

    def last_events(self) -> list[cl.Event]:
        """An event per queue that ends when everything in it has."""
        return [last for _, _, last, _ in tuple(self._idle)]

    def leak(self) -> None:
        """Keeps the host memory of all until the process ends."""
        for *_, in_flight in tuple(self._idle):
            in_flight.leak()

    def release(self) -> None:
        """Lets go of all, when their commands have ended: without the context they are useless."""
        while self._idle:
            with contextlib.suppress(cl.Error):  # of commands that nobody waited for
                opencl.finish(self._idle.pop()[1])
