"""Long launches go out in pieces: an interrupt, a cancellation or the end of the process drops what is not launched.

A piece is some of a launch's groups, side by side. Groups know nothing of each other, so the results are the same bits.
Two pieces are on the device at a time: one runs, one waits behind it, and the device is never idle. The time between
the ends of two pieces gives the kernel's pace, and the size of the next piece.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from hostsched.errors import Cancelled
from hostsched.jobs.progress import advance
from hostsched.kernels.pace import Pace
from hostsched.queue.queue import Queue

__all__ = ["AT_ONCE", "Divisible", "in_pieces", "is_long"]

PIECE = 0.12
"""Seconds that a piece should take."""
AT_ONCE = 0.18
"""Seconds of work that go out as one launch."""
FIRST = 0.01
"""Seconds that the first piece of a kernel should take whose pace is an estimate."""
GROWTH = 8.0
"""So many times as large as the one before a piece may be: the first ones may say little about the others."""
_FILLING = {"cpu": 1, "gpu": 16}
"""Groups per compute unit that fill a device."""


class Divisible(Protocol):
    """A launch that may go out in pieces, unless it is `whole`. `work` is its operations, `seconds` what they take at
    its pace.
    """

    @property
    def groups(self) -> int: ...

    @property
    def whole(self) -> bool: ...

    @property
    def work(self) -> float: ...

    @property
    def pace(self) -> Pace: ...

    @property
    def seconds(self) -> float: ...

    def enqueue_piece(self, queue: Any, first: int, groups: int, waits: Sequence[Any]) -> Any: ...


def is_long(job: Divisible) -> bool:
    """Whether a launch takes more than a piece's time, as far as its pace tells."""
    return job.seconds > AT_ONCE and job.groups > 1 and not job.whole


def in_pieces(
    queue: Queue, job: Divisible, waits: Sequence[Any], recorded: Callable[[Any], None], unless: Callable[[], bool]
) -> Any:
    """Enqueues a long launch piece by piece and returns when the last two are on their way; the event ends with both.

    `waits` are the events that every piece waits for; `recorded` is called with each piece's event, under the queue's
    lock; `unless` says whether to stop, which raises Cancelled. No lock is held between pieces: other threads launch
    meanwhile. Raises what the queue raises for a launch, and for a piece that failed.
    """
    pace, groups = job.pace, job.groups
    each = job.work / groups
    filling = queue.facts.compute_units * _FILLING.get(queue.facts.kind, 1)
    if not pace.measured:  # nothing else on the device, or the first piece's time says nothing
        for event in waits:
            queue.settle(event)
    first, count = 0, _rounded((PIECE if pace.measured else FIRST) / (pace.seconds * each), filling)
    flying: deque[tuple[Any, int, float]] = deque()
    ended = 0.0
    while first < groups:
        count = _balanced(groups - first, count)
        with queue.lock:
            event = job.enqueue_piece(queue, first, count, [flying[-1][0]] if flying else waits)
            recorded(event)
            queue.flush()
        flying.append((event, count, time.perf_counter()))
        first += count
        while flying and (len(flying) > 1 or not pace.measured):
            event, done, enqueued = flying.popleft()
            queue.wait(event)
            now = time.perf_counter()
            pace.note(done * each, now - max(ended, enqueued))
            ended = now
            advance(done * each)
            if unless():
                raise Cancelled(f"the call was cancelled with {first} of {groups} groups launched")
            largest = int(GROWTH * done)
            count = min(largest, _rounded(PIECE / (pace.seconds * each), filling))
    advance(sum(count for _, count, _ in flying) * each)  # as good as done
    return queue.joined([event for event, *_ in flying])


def _rounded(groups: float, filling: int) -> int:
    """A number of groups that fills the device a whole number of times, at least once."""
    return max(1, round(groups / filling)) * filling


def _balanced(left: int, count: int) -> int:
    """`count`, or a bit more or less so that no small piece is left at the end."""
    pieces = max(1, round(left / count))
    return -(-left // pieces)
