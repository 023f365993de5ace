"""Commands: the only file that enqueues them."""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, cast

import numpy as np
import pyopencl as cl

from hostsched.device.device import Device, DeviceFacts
from hostsched.driver import opencl
from hostsched.driver.failures import failure_of
from hostsched.driver.refusal import guard, refuse_if_forked
from hostsched.errors import ForkedProcess
from hostsched.kernels.program import Kernel
from hostsched.memory.buffer import Buffer
from hostsched.queue.command_queue import take_queue
from hostsched.queue.grid import Grid
from hostsched.queue.in_flight import Entry, InFlight, keep_for_ever
from hostsched.queue.shared_context import SharedContext, shared_context

__all__ = ["Commands"]

_PATTERNS = (1, 2, 4, 8, 16, 32, 64, 128)
_QUICK_PATTERN = 16  # an H200 fills 3.1 TB/s with patterns of 16 bytes, 1.4 with 4 and 0.4 with 1 (driver 580.159)
# Longer fills go in pieces: the same driver never ends one of 2^31 patterns, and does nothing at all for 2^32.
_LONGEST_FILL = 1 << 30
_FEW = 16
"""Commands whose events a wait for all of them looks at one by one."""


class Commands:
    """A command queue on one device, out of order where the device offers it, and what is enqueued in it.

    Every method that enqueues takes the events to wait for and returns the command's event without waiting; none
    derives waits (that is JobGraph's part). Buffers and kernels of another context are refused with ValueError:
    drivers crash on them. Driver errors become LaunchError or OutOfDeviceMemory. May be used from several threads.
    With `profile` (or $CLMR_TRACE set, or after `keep_times`) every command is kept, with its label and bytes, in `log`
    for profile.Profile.
    `context` puts the queue into a caller's own OpenCL context in place of the one that hostsched keeps per device.
    """

    def __init__(self, device: Device, profile: bool = False, context: cl.Context | None = None) -> None:
        self.device = device
        self.facts: DeviceFacts = device.facts
        self.short_offsets = device.facts.traits.short_offsets
        self.space: SharedContext = shared_context(device, context)
        self.context: cl.Context = self.space.cl
        self.lock: AbstractContextManager[Any] = self.space.lock
        self.profile = profile or bool(os.environ.get("CLMR_TRACE"))
        self.log: list[tuple[cl.Event, str, int | None]] = []
        self._in_flight = InFlight()
        self._recent: deque[cl.Event | None] = deque(maxlen=_FEW)
        """The last commands since a wait for all of them. None stands for one that is being enqueued."""
        self._is_sent = True
        """Whether nothing was enqueued since the last flush."""
        self._take_queue(self.profile)
        guard(self)

    def _take_queue(self, keeps_times: bool) -> None:
        self._queue, properties = take_queue(self.space, keeps_times)
        self._lay_by = weakref.finalize(self, _lay_by, self.space, properties, self._queue, self._in_flight)
        self._lay_by.atexit = False

    def keep_times(self, keep: bool) -> None:
        """Keeps the times of commands from now on, as a queue made with `profile` does, or no more and forgets them.
        Commands go to another command queue then, and may wait for those before by their events.
        """
        with self.lock:
            if keep != self.profile:
                lay_by = self._lay_by
                self._take_queue(keep)
                self.profile = keep
                lay_by()
                if not keep:
                    self.log.clear()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} on {self.device!r}>"

    def launch(
        self,
        kernel: Kernel,
        groups: int,
        group_size: int,
        args: Sequence[Buffer | np.generic[Any]],
        waits: Sequence[cl.Event] = (),
        first: int = 0,
    ) -> cl.Event:
        """Runs `groups` work-groups of `group_size` work-items of `kernel`; 0 groups give an event all the same.

        `first` is the number of groups that another launch runs, and that stand before these: the global offset tells
        the kernel.
        """
        self.check_kernel(kernel, len(args), group_size)
        space = self.space
        buffers: list[Any] = []
        scalars: list[Any] = []
        borrowed = False
        for position, arg in enumerate(args):
            if type(arg) is Buffer:
                if arg.space is not space:
                    raise self._stranger(arg)
                if arg.host is not None:
                    borrowed = True
                buffers += (position, arg.cl)
            elif isinstance(arg, np.generic):
                scalars += (position, arg)
            else:
                raise TypeError(
                    f"argument {position} of kernel {kernel.name} is a {type(arg).__name__}; pass a Buffer, "
                    "or a NumPy scalar of the type that the kernel declares"
                )
        if groups == 0:
            return self.marker(waits)
        with self.lock:
            grid = Grid(groups, group_size, self.short_offsets, first)
            return self.launch_checked(
                kernel, grid, tuple(buffers), tuple(scalars), waits, args if borrowed else None
            )

    def check_kernel(self, kernel: Kernel, arguments: int, group_size: int) -> None:
        """Raises ValueError unless `kernel` runs on this queue, with so many arguments and groups of this size."""
        if kernel.space is not self.space:
            raise ValueError(
                f"kernel {kernel.name} was built for another context than that of {self!r}; build it with this queue"
            )
        if arguments != kernel.num_args:
            raise ValueError(f"kernel {kernel.name} takes {kernel.num_args} arguments, {arguments} were given")
        if group_size > kernel.max_group_size:
            raise ValueError(
                f"kernel {kernel.name} runs in groups of at most {kernel.max_group_size} on {self.facts.name!r}, "
                f"{group_size} were asked for"
            )

    def launch_checked(
        self,
        kernel: Kernel,
        grid: Grid,
        buffers: tuple[Any, ...],
        scalars: tuple[Any, ...],
        waits: Sequence[cl.Event],
        owned: object,
    ) -> cl.Event:
        """What `launch` does with one group or more, on arguments that were checked. The lock is held.

        `buffers` and `scalars` are `(i, cl.Buffer, j, cl.Buffer, …)` and `(i, scalar, …)`; arguments not among them
        stay as they are. `owned`, unless None, is kept alive until the command has ended.
        """
        versions = kernel.versions
        if versions is not None:
            waits = versions.waits(grid.groups * grid.group_size, grid.first > 0, waits)
        entry = None if owned is None else self._in_flight.expect(owned)
        self._recent.append(None)
        try:
            if buffers:
                opencl.set_buffers(kernel.cl, buffers)
            if scalars:
                opencl.set_scalars(kernel.cl, scalars)
            event = opencl.enqueue_kernel(self._queue, kernel.cl, *grid.sizes, waits or None)
        except cl.Error as error:
            self._recent.pop()
            if entry is not None:
                self._in_flight.forget(entry)
            raise failure_of(
                error, f"kernel {kernel.name} with {grid.groups} groups of {grid.group_size} on {self.facts.name!r}"
            ) from error
        self._recent[-1] = event
        self._is_sent = False
        if versions is not None:
            versions.note(event)
        if entry is not None:
            self._in_flight.keep(entry, event)
        if self.profile:
            self.log.append((event, kernel.name, None))
        return event

    def read(
        self, buffer: Buffer, target: np.ndarray[Any, Any], offset: int = 0, waits: Sequence[cl.Event] = ()
    ) -> cl.Event:
        """Copies `target.nbytes` bytes of `buffer`, from byte `offset` on, into the C-contiguous, writable `target`."""
        self._check(buffer, offset, target.nbytes)
        if not target.flags.c_contiguous or not target.flags.writeable:
            raise ValueError("a read needs a C-contiguous, writable array; pass one and copy from it")
        source, place = _place(buffer, offset, target.nbytes, "src_offset")
        there = cl.SVM(target) if isinstance(source, cl.SVM) and target.nbytes else target
        place["is_blocking"] = False
        return self._transfer("read", there, source, target.nbytes, (buffer, target), waits, place)

    def write(
        self, buffer: Buffer, source: np.ndarray[Any, Any], offset: int = 0, waits: Sequence[cl.Event] = ()
    ) -> cl.Event:
        """Copies the C-contiguous `source` into `buffer`, from byte `offset` on; `source` must not change meanwhile."""
        self._check(buffer, offset, source.nbytes)
        if not source.flags.c_contiguous:
            raise ValueError("a write needs a C-contiguous array; copy it with numpy.ascontiguousarray")
        target, place = _place(buffer, offset, source.nbytes, "dst_offset")
        there = cl.SVM(source) if isinstance(target, cl.SVM) and source.nbytes else source
        place["is_blocking"] = False
        return self._transfer("write", target, there, source.nbytes, (buffer, source), waits, place)

    def copy(
        self,
        source: Buffer,
        target: Buffer,
        nbytes: int,
        source_offset: int = 0,
        target_offset: int = 0,
        waits: Sequence[cl.Event] = (),
    ) -> cl.Event:
        """Copies `nbytes` bytes between two buffers, or two ranges of one that do not overlap."""
        self._check(source, source_offset, nbytes)
        self._check(target, target_offset, nbytes)
        if isinstance(source.cl, cl.SVM) and source.host is not None:  # an array of the host's
            return self.write(target, source.host[source_offset : source_offset + nbytes], target_offset, waits)
        if isinstance(target.cl, cl.SVM) and target.host is not None:
            return self.read(source, target.host[target_offset : target_offset + nbytes], source_offset, waits)
        place = {"byte_count": nbytes, "src_offset": source_offset, "dst_offset": target_offset}
        return self._transfer("copy", target.cl, source.cl, nbytes, (source, target), waits, place)

    def fill(self, buffer: Buffer, pattern: bytes, nbytes: int, waits: Sequence[cl.Event] = ()) -> cl.Event:
        """Repeats `pattern` (1, 2, 4, … 128 bytes) over the first `nbytes` bytes, a multiple of its length."""
        self._check(buffer, 0, nbytes)
        target = buffer.cl
        if isinstance(target, cl.SVM):
            raise ValueError(f"{buffer!r} is memory of an array of yours; fill the array")
        width = len(pattern)
        if width not in _PATTERNS or nbytes % width:
            raise ValueError(f"{nbytes} bytes cannot be filled with a pattern of {width}; take 1, 2, 4, … or 128")
        if nbytes == 0:
            return self.marker(waits)
        if width < _QUICK_PATTERN and nbytes % _QUICK_PATTERN == 0:
            pattern *= _QUICK_PATTERN // width
        with self.lock:
            for begin in range(0, nbytes, _LONGEST_FILL):
                size = min(_LONGEST_FILL, nbytes - begin)
                entry = self._in_flight.expect((buffer,))
                try:
                    event = opencl.fill(self._queue, target, pattern, begin, size, waits or None)
                except cl.Error as error:
                    self._in_flight.forget(entry)
                    raise failure_of(error, f"fill of {nbytes} bytes on {self.facts.name!r}") from error
                waits = [self._track(entry, event, "fill", size)]
        return waits[0]

    def map(self, buffer: Buffer, waits: Sequence[cl.Event] = ()) -> cl.Event:
        """Maps a borrowed buffer and unmaps it again: afterwards its `host` array shows what the device wrote. Copies
        where the driver cannot map.
        """
        host = buffer.host
        if host is None:
            raise ValueError(f"{buffer!r} has no host array: only what Arena.borrow made can be mapped")
        if isinstance(buffer.cl, cl.SVM):
            return self.marker(waits)
        if not self.facts.maps_memory:
            return self.read(buffer, host, waits=waits)
        self._check(buffer, 0, host.nbytes)
        with self.lock:
            entry = self._in_flight.expect((buffer,))
            whole = (cl.map_flags.READ, 0, (host.nbytes,), np.uint8)
            where = {"wait_for": waits or None, "is_blocking": False}
            try:
                view, mapped = opencl.map_buffer(self._queue, buffer.cl, *whole, **where)
            except cl.Error as error:
                self._in_flight.forget(entry)
                raise failure_of(error, f"mapping {buffer!r}") from error
            try:
                event = opencl.unmap(view.base, self._queue, [mapped])
            except cl.Error as error:
                keep_for_ever(view)  # its destructor unmaps, and ends the process where that fails
                raise failure_of(error, f"unmapping {buffer!r}") from error
            return self._track(entry, event, "map", host.nbytes)

    def map_new(self, nbytes: int) -> tuple[np.ndarray[Any, Any], cl.Event]:
        """New host memory that the device copies to and from without a detour, as bytes, and the event from which on it
        is there; freed with the array.
        """
        flags = cl.mem_flags.READ_WRITE | cl.mem_flags.ALLOC_HOST_PTR
        with self.lock:
            try:
                buffer = opencl.new_buffer(self.context, flags, nbytes)
                whole = (cl.map_flags.READ | cl.map_flags.WRITE, 0, (nbytes,), np.uint8)
                view, mapped = opencl.map_buffer(self._queue, buffer, *whole, is_blocking=False)
            except cl.Error as error:
                raise failure_of(error, f"pinning {nbytes} bytes for {self.facts.name!r}") from error
            self._recent.append(mapped)
            self._is_sent = False
        return cast("np.ndarray[Any, Any]", view), mapped

    def marker(self, waits: Sequence[cl.Event] = ()) -> cl.Event:
        """An event that ends when all of `waits` have; without any, when everything enqueued so far has."""
        with self.lock:
            try:
                event = opencl.marker(self._queue, waits or None)
            except cl.Error as error:
                raise failure_of(error, f"setting a marker on {self.facts.name!r}") from error
            self._is_sent = False
        if self.profile:
            self.log.append((event, "marker", None))
        return event

    def flush(self) -> None:
        """Sends what was enqueued to the device."""
        with self.lock:
            try:
                opencl.flush(self._queue)
            except cl.Error as error:
                raise failure_of(error, f"flushing the queue of {self.facts.name!r}") from error
            self._is_sent = True

    def last_event(self) -> cl.Event:
        """An event that ends when everything enqueued so far has. Takes no lock: the end of the process, and a
        fork, must not wait for one.
        """
        event = opencl.marker(self._queue)
        opencl.flush(self._queue)
        return event

    def _transfer(
        self,
        label: str,
        target: Any,
        source: Any,
        nbytes: int,
        owned: object,
        waits: Sequence[cl.Event],
        place: dict[str, Any],
    ) -> cl.Event:
        """Copies between buffers and arrays; `place` holds what differs: offsets, and the flag that arrays need."""
        if nbytes == 0:
            return self.marker(waits)
        with self.lock:
            entry = self._in_flight.expect(owned)
            try:
                event = opencl.copy(self._queue, target, source, wait_for=waits or None, **place)
            except cl.Error as error:
                self._in_flight.forget(entry)
                raise failure_of(error, f"{label} of {nbytes} bytes on {self.facts.name!r}") from error
            return self._track(entry, event, label, nbytes)

    def _unended(self) -> list[cl.Event]:
        """Events of which all end once everything enqueued so far has: those of the commands since the last wait for
        all, where they are few and known, else that of a marker, which an H200 needs 5 us for. The lock is held.
        """
        unknown = not all(self._recent) or any(entry.event is None for entry in self._in_flight.all())
        if unknown or len(self._recent) == _FEW:
            event = self.marker()
            self._recent.clear()
            self._recent.append(event)
        return list(filter(None, self._recent))

    def _forget(self, events: Sequence[cl.Event]) -> None:
        """Forgets commands that have ended. The lock is held."""
        for event in events:
            if self._recent and self._recent[0] is event:
                self._recent.popleft()

    def _check(self, buffer: Buffer, offset: int, nbytes: int) -> None:
        if buffer.space is not self.space:
            raise self._stranger(buffer)
        if offset < 0 or nbytes < 0 or offset + nbytes > buffer.nbytes:
            raise ValueError(f"bytes {offset} to {offset + nbytes} were asked for of {buffer!r}")

    def _stranger(self, buffer: Buffer) -> ValueError:
        return ValueError(f"{buffer!r} belongs to another context than {self!r}; copy it through the host")

    def _track(self, entry: Entry, event: cl.Event, label: str, nbytes: int) -> cl.Event:
        """The plain event of a command on host memory, whose memory is kept alive until it has ended. The lock is held.

        pyopencl's own event of a copy to or from an array blocks, deaf to Ctrl-C, when it is dropped before the copy
        has ended, and keeps the array for as long as the event lives: it stays in here.
        """
        self._in_flight.keep(entry, event)
        plain = cl.Event.from_int_ptr(event.int_ptr) if isinstance(event, cl.NannyEvent) else event
        self._recent.append(plain)
        self._is_sent = False
        if self.profile:
            self.log.append((plain, label, nbytes))
        return plain


def _lay_by(space: SharedContext, properties: int, queue: cl.CommandQueue, in_flight: InFlight) -> None:
    """Keeps the command queue of a Queue that is no more."""
    with suppress(cl.Error, ForkedProcess):
        refuse_if_forked()
        last = opencl.marker(queue)
        opencl.flush(queue)
        space.idle_queues.put(properties, queue, last, in_flight)


def _place(buffer: Buffer, offset: int, nbytes: int, name: str) -> tuple[Any, dict[str, Any]]:
    """Some bytes of a buffer as a copy takes them: the buffer and an offset, or just these bytes of the host's memory.
    """
    if not isinstance(buffer.cl, cl.SVM):
        return buffer.cl, {name: offset}
    assert buffer.host is not None
    return (cl.SVM(buffer.host[offset : offset + nbytes]) if nbytes else buffer.cl), {}
