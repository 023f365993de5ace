"""The work that calls which do not wait leave to a device; there is little of it, because an interrupted caller waits
for all of it.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from hostsched.driver.waiting import ended

__all__ = ["Backlog"]

LONGEST = 0.12
"""Seconds of work, as far as it was counted, that calls which do not wait leave to the device."""

AT_LEAST = 2
"""Entries that are left on their way however long they take: while one runs, the next one waits for the device."""

Learn = Callable[[float], None]


class Backlog:
    """What is on its way on one queue.

    Where the host waits for two entries in a row, the second one has run alone between their ends: its seconds are
    known then, and its kernels learn their pace.
    """

    __slots__ = ("_entries", "_last_end", "_lock", "seconds")

    def __init__(self, lock: AbstractContextManager[Any]) -> None:
        self._lock = lock
        self._entries: deque[tuple[Any, float, Learn, float]] = deque()
        self._last_end = 0.0
        self.seconds = 0.0

    def add(self, event: Any, seconds: float, learn: Learn, settle: Callable[[Any], object]) -> None:
        """Notes that `event` ends after about `seconds` of work, and waits while too much work is on its way. Ctrl-C
        gets through. learn: is called with the seconds that it took, where they are seen. settle: waits for an event.
        """
        with self._lock:
            self._entries.append((event, seconds, learn, time.perf_counter()))
            self.seconds += seconds
        while self.seconds > LONGEST:
            with self._lock:
                if len(self._entries) <= AT_LEAST:
                    return
                oldest, seconds, learn, submitted = self._entries.popleft()
                self.seconds -= seconds
            if ended(oldest):
                self._last_end = 0.0
                continue
            settle(oldest)
            now = time.perf_counter()
            if submitted < self._last_end:
                learn(now - self._last_end)
            self._last_end = now
