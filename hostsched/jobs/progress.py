"""Reports of the progress of a thread's calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["advance", "announce", "expect", "following"]


class _Following:
    """The operations of a call that are launched and ended, and the function that reports them."""

    __slots__ = ("done", "report", "say", "total")

    def __init__(self, report: Callable[[float, float], None], say: Callable[[str], None] | None) -> None:
        self.report, self.say = report, say
        self.done = self.total = 0.0


_thread = threading.local()


@contextmanager
def following(
    report: Callable[[float, float], None], say: Callable[[str], None] | None = None
) -> Iterator[None]:
    """Counts the operations that this thread launches inside the block. `report(done, total)` is called after every
    piece of a long launch, and at the end; total is the number of operations known so far. An error in `report` ends
    the call. say: is called with a short text before other long work, such as a compilation, and with "" after it.
    """
    outer = getattr(_thread, "following", None)
    own = _thread.following = _Following(report, say)
    try:
        yield
    finally:
        _thread.following = outer
    report(own.total, own.total)


def expect(operations: float) -> None:
    """Counts operations that are about to be launched by this thread."""
    following: _Following | None = getattr(_thread, "following", None)
    if following is not None:
        following.total += operations


def advance(operations: float) -> None:
    """Counts operations that are done, and reports them."""
    following: _Following | None = getattr(_thread, "following", None)
    if following is not None:
        following.done += operations
        following.report(min(following.done, following.total), following.total)


def announce(what: str) -> None:
    """Reports to `following` what this thread does now; "" means launches only."""
    following: _Following | None = getattr(_thread, "following", None)
    if following is not None and following.say is not None:
        following.say(what)
