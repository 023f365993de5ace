"""Threads that wait inside a driver for others, so that these stay open to Ctrl-C."""

from __future__ import annotations

import os
import sys
import threading
import time
from queue import SimpleQueue

import pyopencl as cl

from hostsched.driver import opencl

__all__ = ["COMPLETE", "join_threads", "true_status", "wait_beside"]

COMPLETE = int(cl.command_execution_status.COMPLETE)
_NAP = 1e-3  # seconds
_MOST_IDLE = 4
"""Threads that stay for later waits."""


class _Wait:
    """A wait inside the driver for an event. code: 0, or the (negative) code with which it failed."""

    __slots__ = ("code", "done", "event")

    def __init__(self, event: cl.Event) -> None:
        self.event: cl.Event | None = event
        self.code, self.done = COMPLETE, threading.Event()


class _Waiter:
    """A thread that waits inside drivers for others, one event after another: starting a thread for each takes 0.05 to
    0.1 ms. It is a daemon: who is interrupted does not wait for it, and the end of the interpreter does so by
    `join_threads`.
    """

    def __init__(self) -> None:
        self._waits: SimpleQueue[_Wait] = SimpleQueue()
        threading.Thread(target=self._run, name="hostsched-wait", daemon=True).start()

    def begin(self, wait: _Wait) -> None:
        """Lets the thread wait."""
        _running.add(wait)
        self._waits.put(wait)

    def _run(self) -> None:
        stays = True
        while stays:
            wait = self._waits.get()
            try:
                assert wait.event is not None
                wait.code = true_status(wait.event)
                with _lock:
                    stays = len(_idle) < _MOST_IDLE
                    if stays:
                        _idle.append(self)
            finally:
                wait.event = None
                _running.discard(wait)
                wait.done.set()
                del wait


_idle: list[_Waiter] = []
_running: set[_Wait] = set()
_lone: list[_Wait] = []
"""The last wait inside a driver in which one thread may wait."""
_lock = threading.RLock()
"""Guards these lists."""
if hasattr(os, "register_at_fork"):  # a child has no threads
    for _each in (_idle, _running, _lone):
        os.register_at_fork(after_in_child=_each.clear)


def join_threads(seconds: float) -> bool:
    """Whether all waits inside a driver have ended, in so many seconds at most.

    A thread that comes back from a driver while the interpreter ends is ended by it, inside pyopencl, which aborts the
    process.
    """
    until = time.perf_counter() + seconds
    return all(wait.done.wait(max(0.0, until - time.perf_counter())) for wait in list(_running))


def wait_beside(event: cl.Event, seconds: float, alone: bool) -> int:
    """Returns when `event` has ended, or after some seconds; a thread waits for it inside the driver. Gives the
    (negative) code with which the wait failed, else 0. Raises RuntimeError where there are no threads.

    alone: returns after a sleep if another thread waits inside the driver.
    """
    wait = _Wait(event)
    if not alone:
        _begin(wait)
    elif (other := _begin_alone(wait)) is not wait:
        other.done.wait(_NAP)
        return COMPLETE
    until = time.perf_counter() + seconds
    while not wait.done.wait(max(0.0, min(0.05, until - time.perf_counter()))) and time.perf_counter() < until:
        pass
    return wait.code


def _begin(wait: _Wait) -> None:
    if sys.is_finalizing():
        raise RuntimeError("no thread runs while the interpreter ends")
    try:
        waiter = _idle.pop()
    except IndexError:
        waiter = _Waiter()
    waiter.begin(wait)


def _begin_alone(wait: _Wait) -> _Wait:
    """Begins a wait, unless another one is inside the driver; returns the one that is."""
    with _lock:
        if all(other.done.is_set() for other in _lone):
            _begin(wait)
            _lone[:] = [wait]
        return _lone[0]


def true_status(event: cl.Event) -> int:
    """The final status of an event, 0 or negative, after a wait inside the driver. No signal is handled meanwhile."""
    try:
        opencl.wait(event)
    except cl.Error as error:
        return error.code
    return COMPLETE
