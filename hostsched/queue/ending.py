"""Lets the interpreter end cleanly, and fork, whatever is in flight.

Kernels on CPUs read and write NumPy arrays in place. Where the interpreter frees these under a running kernel, or ends
a thread that waits inside a driver, the process crashes. So at exit nothing is launched any more, and what runs is
waited for: two pieces of a long call at most (see jobs/pieces). Commands that do not end are left alone with their
memory.

PoCL loads a kernel's code, as a shared library, in a thread of its own when the kernel is first launched. A child that
is forked meanwhile inherits a half-done list of libraries, and ends at the next one that it loads: "Inconsistency
detected by ld.so". So before a fork, commands of such drivers are waited for, if they do not take long.
"""

from __future__ import annotations

import atexit
import logging
import os
import weakref
from contextlib import suppress
from typing import Protocol

import pyopencl as cl

from hostsched.device.device import DeviceFacts
from hostsched.driver.beside import join_threads
from hostsched.driver.refusal import is_forked, refuse_from_now_on
from hostsched.driver.waiting import COMPLETE, poll
from hostsched.errors import InterpreterEnding
from hostsched.queue.shared_context import SharedContext

__all__ = ["watch"]

_LONGEST = 60.0
"""Seconds after which commands count as stuck."""
_LOCKED = 10.0
"""Seconds that another thread may go on with what it began, such as a build."""
_BEFORE_FORK = 0.3
"""Seconds that a fork waits at most: loading takes some milliseconds, and a piece of a long call 0.2 s."""
_log = logging.getLogger("clmapreduce.hostsched")


class Watched(Protocol):
    """What the end of the interpreter, and a fork, ask of a queue."""

    @property
    def space(self) -> SharedContext: ...

    @property
    def facts(self) -> DeviceFacts: ...

    def cancel(self) -> None: ...

    def last_event(self) -> cl.Event: ...

    def leak(self) -> None: ...


_queues: weakref.WeakSet[Watched] = weakref.WeakSet()
_spaces: weakref.WeakSet[SharedContext] = weakref.WeakSet()


def watch(queue: Watched) -> None:
    """Waits for the commands of this queue, and of those used before it in its context, when the interpreter ends."""
    _queues.add(queue)
    _spaces.add(queue.space)


@atexit.register
def _end() -> None:
    if is_forked():
        return
    for queue in list(_queues):
        queue.cancel()
    refuse_from_now_on(InterpreterEnding, _LOCKED)
    events = []
    for queue in list(_queues):
        with suppress(cl.Error):
            events.append(queue.last_event())
    for space in list(_spaces):
        events += space.idle_queues.last_events()
    if not (_patiently(events) and join_threads(1.0)):
        _log.warning("commands on a device do not end; their memory stays until the process has ended")
        for queue in list(_queues):
            queue.leak()
        for space in list(_spaces):
            space.idle_queues.leak()


def _patiently(events: list[cl.Event]) -> bool:
    """Whether all have ended. The first Ctrl-C does not end the wait, the second one does."""
    interrupts = 0
    for event in events:
        ended = False
        while not ended:
            try:
                if poll(event, in_driver=True, seconds=_LONGEST, alone=True) > COMPLETE:
                    return False
                ended = True
            except KeyboardInterrupt:
                interrupts += 1
                if interrupts > 1:
                    return False
    return True


def _before_fork() -> None:
    if is_forked():
        return
    for queue in list(_queues):
        if queue.facts.traits.loads_late:
            with suppress(cl.Error):
                poll(queue.last_event(), seconds=_BEFORE_FORK)


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(before=_before_fork)
