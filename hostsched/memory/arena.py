"""The arena: hands out device memory, and hands it out again once the events that use it have ended."""

from __future__ import annotations

import ctypes
import gc
import weakref
from collections import defaultdict, deque
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, cast

import numpy as np
import pyopencl as cl

from hostsched.device.locked_context import LockedContext
from hostsched.driver import opencl
from hostsched.driver.failures import MEMORY_CODES, code_name, failure_of
from hostsched.driver.waiting import ended
from hostsched.errors import HostSchedError, OutOfDeviceMemory
from hostsched.memory.buffer import Buffer
from hostsched.memory.headroom import host_headroom, memory_limit, resident
from hostsched.settings import switch

__all__ = ["Arena", "size_class"]

_SMALLEST = 256
_LARGEST_POWER = 1 << 20
_CHECKED_FROM = 1 << 20  # looking up the host's free memory takes about 0.1 ms: smaller requests go unchecked
_IDLE_SHARE = 4  # idle memory is freed when it exceeds this part of the device's
# Which idle buffers are asked whether their events have ended: of up to three all, else four of the newest, which may
# still be in the caches, and four of the oldest.
_LOOKS = ((), (-1,), (-1, -2), (-1, -2, -3), (-1, -2, -3, -4, 0, 1, 2, 3))


@lru_cache(maxsize=1024)
def size_class(nbytes: int) -> int:
    """The size a request is rounded up to: powers of two from 256 bytes to 1 MiB, then eighths of a power of two."""
    if nbytes <= _SMALLEST:
        return _SMALLEST
    power = 1 << (nbytes - 1).bit_length()
    if power <= _LARGEST_POWER:
        return power
    step = power // 16  # an eighth of the power of two below
    return -(-nbytes // step) * step


def exact_size(nbytes: int) -> int:
    """The size itself; 1 for 0, which no buffer may have."""
    return max(1, nbytes)


class Arena:
    """The device memory of one context: it allocates buffers and reuses them. Several threads may use it.

    Memory that was returned by `give` is reused once the events of its last writer and readers have ended. A Buffer
    that is dropped without `give` is freed. `limit` is the most bytes to hold, None for the device's memory;
    $CLMR_MEMORY_LIMIT applies too. `peak_bytes` is the largest number of bytes that was held at one time.
    """

    def __init__(self, space: LockedContext) -> None:
        self._space = space
        self._facts = space.device.facts
        self._idle: defaultdict[int, deque[Buffer]] = defaultdict(deque)
        self._idle_bytes = 0
        self._idle_cap = self._facts.global_memory // _IDLE_SHARE
        self._reserved = 0
        self.limit: int | None = None
        self.peak_bytes = 0
        # Memory checkers see what lies outside of a buffer, not what lies outside of what was asked for.
        self._size_of = exact_size if switch("CLMR_EXACT_BUFFERS") else size_class
        # Both are appended to by finalizers, which may run at any point, in the midst of our own methods too: appending
        # to a deque needs no lock.
        self._returned: deque[Buffer] = deque()
        self._lost: deque[int] = deque()
        self._resident_before = resident()

    @property
    def idle_bytes(self) -> int:
        """Bytes that were returned and are not in use."""
        with self._space.lock:
            self._collect()
            return self._idle_bytes

    @property
    def reserved_bytes(self) -> int:
        """Bytes held here: those in use and the idle ones."""
        with self._space.lock:
            self._collect()
            return self._reserved

    @property
    def least_limit(self) -> int | None:
        """The smaller of the two limits in bytes, or None without a limit. Raises InvalidSetting for a wrong
        $CLMR_MEMORY_LIMIT.
        """
        limits = [limit for limit in (self.limit, memory_limit()) if limit is not None]
        return min(limits, default=None)

    @property
    def room(self) -> int:
        """Bytes that can be allocated: the limit, or the device's memory, minus the bytes in use."""
        limit = self.least_limit
        most = self._facts.global_memory if limit is None else min(limit, self._facts.global_memory)
        with self._space.lock:
            self._collect()
            return max(0, most - (self._reserved - self._idle_bytes))

    def rounded(self, nbytes: int) -> int:
        """The bytes that a Buffer of `nbytes` bytes occupies."""
        size, limit = self._size_of(nbytes), self.limit
        if limit is not None and nbytes <= limit < size:
            return nbytes
        return self._facts.max_allocation if nbytes <= self._facts.max_allocation < size else size

    def take(self, nbytes: int) -> Buffer:
        """A Buffer of at least `nbytes` bytes (0 gives the smallest), contents undefined, all earlier uses of it ended.

        Raises OutOfDeviceMemory if the device's largest allocation, its memory, $CLMR_MEMORY_LIMIT or, on a CPU, the
        host's free memory leave no room, or if the driver says so; ValueError if `nbytes` is negative.
        """
        if nbytes < 0:
            raise ValueError(f"a buffer of {nbytes} bytes was asked for; sizes are 0 or more")
        size = self.rounded(nbytes)
        with self._space.lock:
            if self._returned or self._lost:
                self._collect()
            if self._idle_bytes > self._idle_cap:
                self.trim()
            buffer = self._reuse(size)
            if buffer is None:
                buffer = self._allocate(size, nbytes)
            return buffer

    def give(self, buffer: Buffer) -> None:
        """Returns a Buffer that came from `take` to the arena; Python frees any other. May be called from a finalizer.

        Raises ValueError if it was returned before, because it may be in use again.
        """
        if buffer.arena is not self:
            return
        if buffer.idle:
            raise ValueError(f"{buffer!r} was given back twice")
        buffer.idle = True
        self._returned.append(buffer)

    def lend(self, buffer: Buffer) -> cl.Buffer:
        """Another reference to a Buffer's memory, which the caller may hold for any time. The memory is not reused
        after that: `give` leaves it to Python.
        """
        with self._space.lock:
            buffer.arena = None
            return opencl.shared(cast(cl.Buffer, buffer.cl))

    def trim(self) -> int:
        """Frees the idle buffers whose events have ended; returns how many bytes that were."""
        with self._space.lock:
            self._collect()
            freed = 0
            for size, idle in list(self._idle.items()):
                busy = deque(buffer for buffer in idle if not _unused(buffer))
                freed += size * (len(idle) - len(busy))
                self._idle[size] = busy
            self._idle_bytes -= freed
            idle = busy = deque()  # let go of the last references before the finalizers' notes are read
            self._collect()
            return freed

    def borrow(self, array: np.ndarray[Any, Any], writable: bool) -> Buffer:
        """A Buffer in the memory of `array` where the device can use that, else with a copy that the driver makes.

        `array` is C-contiguous and not empty, and writable if `writable` is; it is kept alive by the Buffer and by
        every command that uses it. After a kernel wrote to it, a MapJob makes the result visible in `array`. Raises
        ValueError for an array that does not fit, OutOfDeviceMemory as `take` does.
        """
        if not array.flags.c_contiguous or array.nbytes == 0:
            raise ValueError(
                f"an array of shape {array.shape} and strides {array.strides} cannot be lent to a device; "
                "pass a C-contiguous array that is not empty, or copy it with numpy.ascontiguousarray"
            )
        if writable and not array.flags.writeable:
            raise ValueError("a read-only array was lent for writing; pass a writable one or a copy")
        self._check_size(array.nbytes, array.nbytes)
        if self._facts.host_pointers:
            with self._space.lock:
                # pyopencl takes writable memory only; a kernel that reads leaves a read-only array as it is
                memory = (ctypes.c_char * array.nbytes).from_address(array.ctypes.data)
                return Buffer(cl.SVM(memory), array.nbytes, self._space, host=array)
        access = cl.mem_flags.READ_WRITE if writable else cl.mem_flags.READ_ONLY
        place = cl.mem_flags.USE_HOST_PTR if self._facts.maps_memory else cl.mem_flags.COPY_HOST_PTR
        with self._space.lock:
            create = partial(opencl.new_buffer, self._space.cl, access | place, hostbuf=array)
            buffer = self._create(create, array.nbytes)
        return Buffer(buffer, array.nbytes, self._space, host=array)

    def from_cl(self, buffer: cl.Buffer, nbytes: int, host: np.ndarray[Any, Any] | None = None) -> Buffer:
        """A Buffer around a caller's OpenCL buffer of at least `nbytes` bytes, which the caller still owns. `host` is
        the array that it uses in place (USE_HOST_PTR); the default is the one that pyopencl knows.

        Waits are derived per Buffer object: keep one for as long as the memory is in use, and pass the events of
        commands enqueued elsewhere as `wait_for`. Raises ValueError if it belongs to another context or is too small.
        """
        if buffer.context != self._space.cl:
            raise ValueError(
                f"the OpenCL buffer belongs to another context than this queue's on {self._facts.name!r}; "
                "make the Queue with context=buffer.context, or copy the data through the host"
            )
        if buffer.size < nbytes:
            raise ValueError(f"the OpenCL buffer has {buffer.size} bytes, {nbytes} were asked for")
        used = cast("np.ndarray[Any, Any] | None", buffer.hostbuf) if host is None else host
        return Buffer(buffer, nbytes, self._space, used)

    def _collect(self) -> None:
        """Sorts what finalizers and `give` left behind. The lock is held."""
        while self._returned:
            buffer = self._returned.popleft()
            if buffer.counted is None or not buffer.counted.alive:
                self._count(buffer)  # a finalizer gave it back when it was already counted as freed
            self._idle[buffer.nbytes].append(buffer)
            self._idle_bytes += buffer.nbytes
        while self._lost:
            self._reserved -= self._lost.popleft()

    def _reuse(self, size: int) -> Buffer | None:
        """An idle buffer of this size whose events have ended, if one of some is found."""
        idle = self._idle.get(size)
        if not idle:
            return None
        for index in _LOOKS[min(len(idle), len(_LOOKS) - 1)]:
            buffer = idle[index]
            if _unused(buffer):
                del idle[index]
                self._idle_bytes -= size
                buffer.last_write = None
                buffer.readers = []
                buffer.idle = False
                return buffer
        return None

    def _allocate(self, size: int, nbytes: int) -> Buffer:
        self._check_size(size, nbytes)
        self._make_room(size, nbytes)
        create = partial(opencl.new_buffer, self._space.cl, cl.mem_flags.READ_WRITE, size=size)
        buffer = Buffer(self._create(create, nbytes), size, self._space)
        buffer.arena = self
        self._count(buffer)
        return buffer

    def _count(self, buffer: Buffer) -> None:
        """Counts the buffer as reserved until Python frees it."""
        self._reserved += buffer.nbytes
        self.peak_bytes = max(self.peak_bytes, self._reserved)
        buffer.counted = weakref.finalize(buffer, self._lost.append, buffer.nbytes)
        buffer.counted.atexit = False

    def _create(self, make: Callable[[], cl.Buffer], nbytes: int) -> cl.Buffer:
        """What `make` returns; when the driver is out of memory, a second try after freeing what is idle, or held by
        contexts that nobody uses any more.
        """
        try:
            return make()
        except cl.Error as error:
            if error.code not in MEMORY_CODES:
                raise self._failure(error, nbytes) from error
        gc.collect()
        self.trim()
        try:
            return make()
        except cl.Error as error:
            if error.code not in MEMORY_CODES:
                raise self._failure(error, nbytes) from error
            raise self._refusal(nbytes, f"the driver says {code_name(error.code)}") from error

    def _check_size(self, size: int, nbytes: int) -> None:
        if size > self._facts.max_allocation:
            raise self._refusal(nbytes, f"its largest allocation is {self._facts.max_allocation} bytes")

    def _make_room(self, size: int, nbytes: int) -> None:
        """Checks the limits before any driver call, after freeing what is idle if need be."""
        if self._shortage(size) is not None:
            self.trim()
            reason = self._shortage(size)
            if reason is not None:
                raise self._refusal(nbytes, reason)

    def _shortage(self, size: int) -> str | None:
        """Why `size` more bytes are too many, None if they are not."""
        reserved = self._reserved
        limit = self.least_limit
        if limit is not None and reserved + size > limit:
            name = "memory_limit" if limit == self.limit else "CLMR_MEMORY_LIMIT"
            return f"{name} is {limit} bytes, {reserved} of them are in use"
        if reserved + size > self._facts.global_memory:
            return f"it has {self._facts.global_memory} bytes, {reserved} of them are in use"
        if self._facts.kind == "cpu" and size >= _CHECKED_FROM:
            # Memory that was reserved but never touched does not show in the host's figures yet: count it as taken.
            touched = min(reserved, max(0, resident() - self._resident_before))
            room = host_headroom() * 15 // 16 - (reserved - touched)  # a sixteenth stays for the driver itself
            if size > room:
                return f"the host has {max(0, room)} bytes left for it"
        return None

    def _failure(self, error: cl.Error, nbytes: int) -> HostSchedError:
        return failure_of(error, f"making a buffer of {nbytes} bytes on {self._facts.name!r}")

    def _refusal(self, nbytes: int, reason: str) -> OutOfDeviceMemory:
        return OutOfDeviceMemory(
            f"{nbytes} bytes were asked for on {self._facts.name!r} ({self._facts.platform}), but {reason}; "
            "work on smaller pieces, or free arrays that are no longer needed"
        )


def _unused(buffer: Buffer) -> bool:
    """Whether every command that uses the buffer has ended. What reads it has waited for what wrote it last."""
    last = buffer.last_write
    return all(map(ended, buffer.readers or (() if last is None else (last,))))
