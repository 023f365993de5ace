"""Keeps the host memory of commands alive until they have ended."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Iterable

import pyopencl as cl

from hostsched.driver.waiting import ended

__all__ = ["Entry", "InFlight", "keep_for_ever"]

_SWEEP = 64


def keep_for_ever(owned: object) -> None:
    """Keeps an object alive until the process has ended: Python's own end frees it no more than anyone before."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(owned))


class Entry:
    """What keeps the memory of one command alive, and the command's event once it is enqueued.

    An entry without an event belongs to a command that is being enqueued, or to one whose caller was interrupted in
    that moment: it is unknown whether it runs, so the entry stays until the whole queue has ended.
    """

    __slots__ = ("event", "owned")

    def __init__(self, owned: object) -> None:
        self.event: cl.Event | None = None
        self.owned: object = owned

    @property
    def ended(self) -> bool:
        return self.event is not None and ended(self.event)


class InFlight:
    """The commands of a queue that use host memory. The queue's lock guards it.

    Memory is noted before its command is enqueued: an interrupt may come between any two steps.
    """

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._sweep_at = _SWEEP

    def __len__(self) -> int:
        return len(self._entries)

    def expect(self, owned: object) -> Entry:
        """Holds on to `owned`, for a command that is about to be enqueued."""
        entry = Entry(owned)
        self._entries.append(entry)
        return entry

    def keep(self, entry: Entry, event: cl.Event) -> None:
        """Holds on until the command of `event` has ended and a later call notices."""
        entry.event = event
        self.release()

    def forget(self, entry: Entry) -> None:
        """Lets go of the memory of a command that was refused."""
        self.drop((entry,))

    def all(self) -> list[Entry]:
        """Every entry there is."""
        return list(self._entries)

    def drop(self, entries: Iterable[Entry]) -> None:
        """Lets go of entries whose commands have ended, or never ran."""
        dropped = set(map(id, entries))
        for _ in range(len(self._entries)):
            entry = self._entries.popleft() if self._entries else None
            if entry is not None and id(entry) not in dropped:
                self._entries.append(entry)

    def release(self) -> None:
        """Lets go of what belongs to commands that have ended: the oldest at once, now and then those that overtook
        them.

        Dropping an array may run a finalizer that comes back in here, so every step leaves a sound deque behind.
        """
        entries = self._entries
        while entries:
            event = entries[0].event
            if event is None or not ended(event):
                break
            entries.popleft()
        if len(entries) >= self._sweep_at:
            for _ in range(len(entries)):
                entry = entries.popleft() if entries else None
                if entry is not None and not entry.ended:
                    entries.append(entry)
            self._sweep_at = max(_SWEEP, 2 * len(entries))

    def leak(self) -> None:
        """Keeps all memory until the process ends, for commands for which no wait is possible."""
        for entry in self._entries:
            keep_for_ever(entry)
