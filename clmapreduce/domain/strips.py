"""Strips of an array handed to several threads: NumPy's loops run side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from threading import Lock, Thread
from typing import TypeVar

S = TypeVar("S")

THREADS = min(8, os.cpu_count() or 1)
"""At most so many, the caller's among them: more would wait for memory, and for Python between two loops."""
EACH = 4
"""Strips for every thread, at least. A strip takes some tenths of a millisecond, to start a thread one tenth."""


def shared(strips: Sequence[S], worker: Callable[[Iterator[S]], None]) -> None:
    """worker(iterator) in this thread, and in others where there are many strips. The iterators hand out each strip
    once, the first ones first; workers write to places of their strips alone.

    Raises what a worker raises; of several errors, that of the first strip, as one thread would.
    """
    threads = max(1, min(THREADS, len(strips) // EACH))
    if threads == 1:
        worker(iter(strips))
        return
    lock, source = Lock(), iter(enumerate(strips))
    failed: list[tuple[int, BaseException]] = []

    def run() -> None:
        at = -1

        def mine() -> Iterator[S]:
            nonlocal at
            while True:
                with lock:
                    given = None if failed else next(source, None)
                if given is None:
                    return
                at, strip = given
                yield strip

        try:
            worker(mine())
        except BaseException as error:  # raised below, in the caller's thread
            failed.append((at, error))

    helpers = [Thread(target=run) for _ in range(threads - 1)]
    started = []
    with suppress(RuntimeError):  # no more threads to be had: those there are do all of it
        for helper in helpers:
            helper.start()
            started.append(helper)
    run()
    for helper in started:
        helper.join()
    if failed:
        raise min(failed, key=lambda told: told[0])[1]
