"""The queue: commands, and the one call that waits for them."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any, cast

import numpy as np
import pyopencl as cl

from hostsched.device.device import Device
from hostsched.driver import opencl
from hostsched.driver.failures import failure, failure_of
from hostsched.driver.waiting import COMPLETE, ended, poll
from hostsched.errors import TimedOut, WrongArgument
from hostsched.memory.arena import Arena
from hostsched.queue.backlog import Backlog
from hostsched.queue.commands import Commands
from hostsched.queue.ending import watch
from hostsched.queue.submission import events_of

__all__ = ["Queue"]

_SPIN_US, _SHORT_SPIN_US, _SHORT_SPINS = 150, 20, 32
"""How long a wait polls before it sleeps, or lets a thread wait inside the driver. On CPUs, after a wait that took
longer than this, the next _SHORT_SPINS waits poll for the shorter time. Polling helps short kernels, because entering
a driver and waking take 0.1 ms. It slows long ones down, because the thread that polls takes a core from them: Intel's
runtime starts one thread fewer than there are cores, and the thread that waits is its last worker.
"""


class Queue(Commands):
    """Commands on one device, as their class describes them with its arguments; waits for them; the arena of their
    buffers.

    Waits may be made from several threads. `cancellations` counts the calls of `cancel`. When the interpreter ends,
    what was enqueued here is waited for.
    """

    def __init__(self, device: Device, profile: bool = False, context: cl.Context | None = None) -> None:
        super().__init__(device, profile, context)
        self._short_spins = 0
        self._waits_in_driver = self.facts.kind == "cpu"
        self._waits_alone = self.facts.traits.one_waiter
        self.arena: Arena = self.space.arena
        self.cancellations = 0
        self.backlog = Backlog(self.lock)
        self._in_order: cl.CommandQueue | None = None
        watch(self)

    def wait(self, event: cl.Event, seconds: float = math.inf) -> None:
        """Waits until `event` has ended. Ctrl-C interrupts it. Raises LaunchError or OutOfDeviceMemory if its command
        failed, TimedOut if it has not ended after so many seconds.

        It polls: during pyopencl's finish() and wait() no signal is handled, and on PoCL polling is twice as fast for
        short jobs.
        """
        status = self.settle(event, seconds)
        if status < COMPLETE:
            self.space.failed = True
            raise failure(status, f"a command on {self.facts.name!r} failed")
        if status > COMPLETE:
            raise TimedOut(f"a command on {self.facts.name!r} has not ended after {seconds:g} s; it goes on")

    def wait_for(self, events: Collection[Any], seconds: float = math.inf) -> None:
        """Waits until all of `events` have ended: what `admit` takes. As `wait`, with one limit for all of them."""
        until = time.perf_counter() + seconds
        events = events_of(events)
        for event in events:
            self._look_at(event)
        for event in events:
            self.wait(event, max(0.0, until - time.perf_counter()))

    def settle(self, event: cl.Event, seconds: float = math.inf) -> int:
        """Waits until `event` has ended, failed or not, and returns its final status; a positive one if it has not
        ended after so many seconds. Ctrl-C interrupts it.
        """
        with self.lock:  # which no forked child gets
            if not self._is_sent:
                self.flush()
        alone = self._waits_alone or seconds < math.inf  # who asks again and again starts one thread, not one each time
        began, spin_us = time.perf_counter(), _SHORT_SPIN_US if self._short_spins else _SPIN_US
        status = poll(event, spin_us, self._waits_in_driver, seconds, alone)
        took = 1e6 * (time.perf_counter() - began)
        if self._waits_in_driver and took > _SHORT_SPIN_US:
            if self._short_spins:
                self._short_spins -= 1
            elif took > _SPIN_US:
                self._short_spins = _SHORT_SPINS
        if self._in_flight:
            with self.lock:
                self._in_flight.release()
        return status

    def finish(self) -> None:
        """Waits until everything that was submitted to this queue has ended, failed or not. Ctrl-C interrupts it.
        Raises LaunchError or OutOfDeviceMemory if the driver cannot be asked.
        """
        with self.lock:
            unfinished = self._in_flight.all()
            events = self._unended()
        for event in reversed(events):  # the last one usually waits for the others
            if not ended(event):
                status = self.settle(event)
                if not ended(event):
                    raise failure(status, f"waiting for all commands on {self.facts.name!r}")
        with self.lock:
            if unfinished:
                self._in_flight.drop(unfinished)
            self._forget(events)

    def pin(self, nbytes: int) -> np.ndarray[Any, Any]:
        """New pinned host memory, as bytes, for direct copies to and from the device. It is freed with the array."""
        view, mapped = self.map_new(nbytes)
        self.wait(mapped)
        return view

    def admit(self, wait_for: Collection[Any]) -> list[cl.Event]:
        """The events of what a caller wants to wait for: events, Submissions, objects with an `.event` (None is
        skipped).

        Commands of other queues are flushed, since nobody else may, and those of another context are waited for here:
        a command may only wait for events of its own context.
        """
        return [event for event in events_of(wait_for) if self._is_near(event)]

    def drain(self) -> None:
        """As `finish`, inside the driver and deaf to Ctrl-C: the last resort where no marker can be set."""
        with self.lock:
            try:
                opencl.finish(self._queue)
            except cl.Error as error:
                raise failure_of(error, f"finishing the queue of {self.facts.name!r}") from error

    def leak(self) -> None:
        """Keeps the host memory of commands that did not end until the process has ended."""
        self._in_flight.leak()

    @property
    def has_failed(self) -> bool:
        """Whether a command in this context has failed: events that buffers remember may be failed ones."""
        return self.space.failed

    def joined(self, events: Sequence[cl.Event]) -> cl.Event:
        """An event that ends when all of `events`, at least one, have."""
        return events[0] if len(events) == 1 else self.marker(events)

    @property
    def in_order(self) -> cl.CommandQueue:
        """A second, in-order queue of this context, for callers who enqueue with pyopencl."""
        with self.lock:
            if self._in_order is None:
                try:
                    self._in_order = opencl.new_queue(self.context, self.device.cl_device, cast(Any, 0))
                except cl.Error as error:
                    raise failure_of(error, f"making a queue on {self.facts.name!r}") from error
            return self._in_order

    def cancel(self) -> None:
        """Drops what the long calls on this queue have not launched yet. These calls raise Cancelled."""
        self.cancellations += 1

    def keep_short(self, event: cl.Event, seconds: float, learn: Callable[[float], None]) -> None:
        """Notes that `event` ends after about `seconds` of work, and waits while too much work is on its way. Ctrl-C
        gets through. learn: is called with the seconds that it took, where they are seen.
        """
        self.backlog.add(event, seconds, learn, self.settle)

    def _is_near(self, event: cl.Event) -> bool:
        """Whether commands here can wait for `event`; if not, it has ended on return."""
        near = self._look_at(event)
        if not near:
            self.wait(event)
        return near

    def _look_at(self, event: cl.Event) -> bool:
        """Whether `event` is of this context. Flushes its queue, where that is another one. Raises WrongArgument for
        what is no event.
        """
        if not isinstance(event, cl.Event):
            raise WrongArgument(
                f"wait_for holds a {type(event).__name__}; pass events, Submissions or objects with an .event"
            )
        try:
            if not ended(event):
                other = opencl.queue_of(event)
                if isinstance(other, cl.CommandQueue) and other != self._queue:
                    opencl.flush(other)
            return bool(opencl.context_of(event) == self.context)
        except cl.Error as error:
            raise failure_of(error, f"looking at an event of wait_for on {self.facts.name!r}") from error
