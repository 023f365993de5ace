"""Makes one call of a real driver fail, and says what a failure must leave behind."""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import TracebackType
from typing import Any

import pyopencl as cl
from pyopencl._cl import _ErrorRecord

import clmapreduce as cm
from hostsched import Queue
from hostsched.driver import opencl
from support.exact_calls import Family
from support.oracles import assert_same

CODES = {
    "out of memory": cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
    "out of resources": cl.status_code.OUT_OF_RESOURCES,
    "out of host memory": cl.status_code.OUT_OF_HOST_MEMORY,
    "invalid operation": cl.status_code.INVALID_OPERATION,
    "build failure": cl.status_code.BUILD_PROGRAM_FAILURE,
    "lost device": cl.status_code.DEVICE_NOT_AVAILABLE,
    "no compiler": cl.status_code.COMPILER_NOT_AVAILABLE,
}
_MEMORY = ("out of memory", "out of resources", "out of host memory")
ENQUEUES = ("enqueue_kernel", "copy", "fill", "unmap", "marker")
"""The calls that give an event whose status may become an error later on."""
CALLS = [name for name in opencl.__all__ if name not in ("get_devices", "get_platforms", "profiled")]


def error_of(fault: str, routine: str) -> cl.Error:
    """The exception that pyopencl raises where a driver answers so."""
    code = int(CODES[fault])
    kind = cl.MemoryError if fault in _MEMORY else cl.LogicError if code <= -30 else cl.RuntimeError
    return kind(_ErrorRecord(f"{routine} failed", code, routine))


class Driver:
    """While inside, calls to the driver are counted by name, and one of them may fail instead.

    fails: the name and the number (from 0) of the call that fails, or None for every call of that name. late: whether
    it is made, and its event has the error, as have the events of the commands that wait for it.
    `fired`: whether the call came.
    """

    def __init__(
        self, fails: tuple[str, int | None] | None = None, fault: str = "lost device", late: bool = False
    ) -> None:
        self.counts: Counter[str] = Counter()
        self.fired = False
        self._fails, self._fault, self._late = fails, fault, late
        self._real: dict[str, Callable[..., Any]] = {}
        self._faults: dict[int, tuple[cl.Event, int]] = {}  # by address, which no other event has while this one lives
        self._lock = threading.RLock()

    def __enter__(self) -> Driver:
        for name in CALLS:
            self._real[name] = getattr(opencl, name)
            setattr(opencl, name, partial(self._call, name, self._real[name]))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name, real in self._real.items():
            setattr(opencl, name, real)

    def _call(self, name: str, real: Callable[..., Any], *args: Any, **more: Any) -> Any:
        with self._lock:
            fails = self._fails in ((name, self.counts[name]), (name, None))
            self.counts[name] += 1
            self.fired = self.fired or fails
        if fails and not self._late:
            raise error_of(self._fault, name)
        if name in ("status", "wait") and args[0].int_ptr in self._faults:
            self._real["wait"](args[0])  # the command runs: until it has ended, no other may have its memory
            code = self._faults[args[0].int_ptr][1]
            if name == "status":
                return code
            raise cl.RuntimeError(_ErrorRecord("the wait failed", -14, "clWaitForEvents"))
        result = real(*args, **more)
        if name in ENQUEUES:
            if fails:
                self._faults[result.int_ptr] = (result, int(CODES[self._fault]))
            elif any(event.int_ptr in self._faults for event in _waits(args, more)):
                self._faults[result.int_ptr] = (result, -14)
        return result


def _waits(args: Sequence[Any], more: dict[str, Any]) -> list[cl.Event]:
    """The wait list among the arguments of a call: the last one, or by name."""
    events = more.get("wait_for", args[-1])
    return [event for event in events if isinstance(event, cl.Event)] if isinstance(events, list) else []


def in_use(queue: Queue) -> int:
    """Bytes of device memory that somebody holds."""
    return queue.arena.reserved_bytes - queue.arena.idle_bytes


@contextmanager
def no_leak(queue: Queue) -> Iterator[None]:
    """Asserts that what happens inside leaves no more memory of the device in use than before, and no host memory held
    for commands that have ended.
    """
    before = in_use(queue)
    yield
    queue.finish()
    if in_use(queue) > before:
        gc.collect()
    assert in_use(queue) <= before, "device memory was not released"
    memory = [entry.owned for entry in queue._in_flight.all()]
    assert not memory, f"host memory is still held for commands that have ended: {memory}"


def places(context: cm.Context, family: Family, every: bool = False) -> list[tuple[str, int]]:
    """The driver calls of a warm call, by name and number: the first two of each name and the last, or all."""
    family.call(context)
    with Driver() as driver:
        family.call(context)
    some = {name: range(count) if every else {0, 1, count - 1} for name, count in driver.counts.items()}
    return [(name, n) for name, numbers in some.items() for n in sorted(numbers) if n < driver.counts[name]]


def fails_cleanly(context: cm.Context, family: Family, driver: Driver) -> str:
    """Asserts that the call is right or raises an error of ours that says what happened, and that the next is right.
    Gives the error's words.
    """
    words = ""
    with driver:
        try:
            result = family.call(context)
        except cm.ClMapReduceError as error:
            words = str(error)
            assert driver.fired and (" failed" in words or isinstance(error, cm.BuildError)), error
        else:
            assert_same(result, family.expected)
    assert_same(family.call(context), family.expected)
    return words
