"""Strips of an array shared among threads: NumPy's loops run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Thread
from typing import TypeVar

S = TypeVar("S")

THREADS = min(8, os.cpu_count() or 1)
"""At most so many, the caller's among them: more would wait for memory, and for Python between two loops."""
EACH = 4
"""Strips for every thread, at least. A strip takes half a millisecond, to start a thread a tenth."""


def shared(strips: Sequence[S], worker: Callable[[Sequence[S]], None]) -> None:
    """worker(some of the strips) in this thread, and in others where there are many. Each has neighbours, in order:
    memory that is touched first has large pages, and two threads that touch one clear it twice. Workers write to places
    of their strips alone.

    Raises what a worker raises; of several errors the one of the first strips, as one thread would.
    """
    threads = max(1, min(THREADS, len(strips) // EACH))
    cuts = [len(strips) * t // threads for t in range(threads + 1)]
    failed: dict[int, BaseException] = {}

    def run(t: int) -> None:
        try:
            worker(strips[cuts[t] : cuts[t + 1]])
        except BaseException as error:  # raised below, in the caller's thread
            failed[t] = error

    helpers = [Thread(target=run, args=(t,)) for t in range(1, threads)]
    alive = 0
    with suppress(RuntimeError):  # no more threads to be had
        for helper in helpers:
            helper.start()
            alive += 1
    for t in (0, *range(alive + 1, threads)):
        run(t)
    for helper in helpers[:alive]:
        helper.join()
    if failed:
        raise failed[min(failed)]
