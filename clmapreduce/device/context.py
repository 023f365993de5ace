"""Devices and contexts: which device a call runs on, and its cache entries."""

from __future__ import annotations

import atexit
import itertools
import math
import os
import threading
import time
from collections import deque
from collections.abc import MutableMapping, Sequence
from types import TracebackType
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import hostsched
from clmapreduce.checks import is_whole, quoted, switch
from clmapreduce.device.plans.cache import Cache, Caches
from clmapreduce.device.plans.executable import Executable
from clmapreduce.device.plans.launch import SentTable
from clmapreduce.device.runtime import Built, facts_of, translated
from clmapreduce.device.several.devices import several_devices
from clmapreduce.device.tuned import MeasuredBoxes
from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.errors import ArgumentError, DeviceError, SettingError
from clmapreduce.log import LOG
from clmapreduce.plan import Facts, KernelSpec
from clmapreduce.planning.request import PlanRequest
from hostsched import Device as Device

PLANNINGS = 1024
"""Plans whose time a context remembers."""
RATES = 256
"""Calls whose rates on several devices a context remembers."""


def devices() -> list[Device]:
    """Every OpenCL device of this machine, best first: GPUs, then the fastest CPU runtime."""
    with translated():
        return hostsched.devices()


def select_device(spec: Any = None) -> Device:
    """The device that `spec` names.

    spec: None for $CLMR_DEVICE, else $PYOPENCL_CTX, else the best device; "gpu", "cpu", "nvidia", "amd", "intel" or
    "pocl" for the best one of that class; part of a name; "platform:device"; or a Device. Raises DeviceError with a
    list of the devices if none or several fit.
    """
    with translated():
        return hostsched.select_device(spec)


def spelled_device(device: Device) -> str:
    """The text for CLMR_DEVICE and `select_device` that names this device on this host."""
    return hostsched.spec_of(device)


def driver_report() -> list[Any]:
    """What the loader and the installed CPU runtimes offer, and why a driver is missing; for `clmapreduce doctor`."""
    return list(hostsched.report())


def unusable_devices() -> list[str]:
    """Of each device that `devices` leaves out because its compiler builds no kernel, why, and what to install."""
    with translated():
        return hostsched.unusable_devices()


def may_fork() -> bool:
    """Whether a child that this process forks now may use OpenCL: only before this process has used it."""
    return hostsched.may_fork()


class Context:
    """A device, its queue, scratch memory and built kernels. A context manager: inside the block it is the default.

    device: anything that `select_device` takes; or a list of such, "all" or "all gpu", whose devices share long calls,
    while every other call runs on the first device. on_failure: what happens if one of several devices fails: "raise",
    or "redo", where the others compute its share. profile: records every event, so that `trace` can write them.
    memory_limit: the most bytes of memory to use on each device, an integer or a text such as "256M"; calls on host
    arrays that do not fit are streamed. A context with a limit has separate memory: it shares no DeviceArrays with
    other contexts of the device. Raises ArgumentError for a wrong limit, DeviceError for a mix of devices with and
    without float64. Threads may share it. It holds a few hundred of the plans and kernels that were used last; a kernel
    lives as long as a plan needs it.
    """

    def __init__(
        self, device: Any = None, profile: bool = False, *, cl_context: Any = None,
        memory_limit: int | str | None = None, on_failure: str = "raise",
    ) -> None:  # fmt: skip
        profile = switch(profile, "profile")
        limit = None if memory_limit is None else _bytes_of(memory_limit)
        if limit is not None and cl_context is not None:
            raise ArgumentError("memory_limit limits a context's own memory; leave cl_context out, or the limit")
        if on_failure not in ("raise", "redo"):
            raise ArgumentError(f"on_failure is {quoted(on_failure)}; use 'raise' or 'redo'")
        self.on_failure = on_failure
        several = several_devices(device)
        if several is not None and cl_context is not None:
            raise ArgumentError("cl_context is of one device; leave it out, or name one device")
        self.device = several[0] if several else select_device(device)
        self.members: tuple[Context, ...] = tuple(_Member(each, profile, memory_limit=limit) for each in several or ())
        self.rates: Cache[dict[Context, float]] = Cache(RATES)
        with translated():
            if self.members:  # what it does on its own takes the first one's memory
                cl_context = self.members[0].queue.context
            elif limit is not None:
                cl_context = hostsched.new_context(self.device)
            self.queue: hostsched.Queue = hostsched.Queue(self.device, profile, cl_context)
        if limit is not None:  # another context of this memory may have set one
            self.queue.arena.limit = limit
        self._copy_queues: tuple[hostsched.Queue, ...] = ()
        self.facts: Facts = facts_of(self.device)
        self._kernels: MutableMapping[KernelSpec, Built] = WeakValueDictionary()
        self._caches = Caches()
        self._boxes = MeasuredBoxes(self.device)
        self._tables: WeakKeyDictionary[LaunchTable, SentTable] = WeakKeyDictionary()
        self._plan_copies: WeakKeyDictionary[Executable, Executable] = WeakKeyDictionary()
        self._owned: WeakKeyDictionary[Any, Caches] = WeakKeyDictionary()
        self._lock = threading.RLock()
        self.plannings: deque[tuple[float, float]] = deque(maxlen=PLANNINGS)
        """When the last plans were made, by `time.perf_counter`, and the seconds that each took, builds included."""
        self._trace_at_exit()
        LOG.info("a context on %s (%s)", self.device.name, self.device.platform)

    def _trace_at_exit(self) -> None:
        """Has its trace written when the process ends, where $CLMR_TRACE names a file."""
        if os.environ.get("CLMR_TRACE"):
            _check_trace(os.environ["CLMR_TRACE"])
            atexit.register(self.trace, numbered(os.environ["CLMR_TRACE"], next(_traces)))

    def __deepcopy__(self, _memo: Any) -> Context:
        """The context itself, as for `copy.copy`: copies of what uses it go on using it."""
        return self

    def __copy__(self) -> Context:
        return self

    def __reduce__(self) -> Any:
        """A context belongs to its process. Raises TypeError."""
        raise TypeError(
            f"{self!r} belongs to this process and cannot be pickled; make another one there, cm.Context(name), or "
            "leave it out: what is unpickled uses the context of the thread"
        )

    def __repr__(self) -> str:
        return f"Context({[member.device for member in self.members] or self.device!r})"

    def __enter__(self) -> Context:
        _default.outer = (getattr(_default, "context", None), getattr(_default, "outer", None))
        _default.context = self
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _default.context, _default.outer = _default.outer

    @property
    def workers(self) -> tuple[Context, ...]:
        """The contexts that share long calls: one per device, or only this one."""
        return self.members or (self,)

    @property
    def is_of_one_kind(self) -> bool:
        """Whether it has several devices, all of one kind: plans for one of them suit the others."""
        return bool(self.members) and all(member.facts == self.facts for member in self.members)

    @property
    def copy_queues(self) -> tuple[hostsched.Queue, ...]:
        """Two queues for copies to and from the device, beside the launches in `queue`; made once."""
        with self._lock, translated():
            if not self._copy_queues:
                queue = self.queue
                self._copy_queues = tuple(
                    hostsched.Queue(self.device, queue.profile, queue.context) for _ in range(2)
                )  # fmt: skip
            return self._copy_queues

    def caches(self, owner: Any = None) -> Caches:
        """The caches of this context; with an owner, ranges or a user's plan, those that go when either goes. No entry
        may refer to the owner.
        """
        if owner is None:
            return self._caches
        with self._lock:
            caches = self._owned.get(owner)
            if caches is None:
                caches = self._owned[owner] = Caches()
            return caches

    def measured(self, request: PlanRequest) -> PlanRequest:
        """The request in the launch boxes that `cm.tune` measured for it on this device; as it is where there are
        none.
        """
        return self._boxes.of(request, self.facts)

    def executable(self, request: PlanRequest, owner: Any = None) -> Executable:
        """The built plan of a request, in measured boxes where there are some; equal requests share it. owner: of the
        cache, if not the context.
        """
        request = self.measured(request)
        key = request.key
        with self._lock:
            plans = self.caches(owner).plans
            entry = plans.get(key)
            if entry is None:
                begin = time.perf_counter()
                plan = request.planned(self.facts)
                entry = Executable(plan, self.queue, self._kernels, self._on_device, request.work)
                entry.key = key
                self.plannings.append((begin, time.perf_counter() - begin))
                LOG.debug("planned %s: %s, %s", type(request).__name__, entry.plan.scope.name, entry.plan.why)
                plans.put(key, entry)
            return entry

    def copy_of(self, executable: Executable) -> Executable:
        """Another context's built plan, built here; both have devices of one kind."""
        with self._lock:
            copy = self._plan_copies.get(executable)
            if copy is None:
                copy = Executable(executable.plan, self.queue, self._kernels, self._on_device, executable.work)
                self._plan_copies[executable] = copy
            return copy

    def _on_device(self, table: LaunchTable) -> SentTable:
        """A table's copy, made once."""
        copy = self._tables.get(table)
        if copy is None:
            copy = self._tables[table] = SentTable(table, self.queue)
        return copy

    def cancel(self) -> None:
        """Drops what the running long calls of this context have not launched yet: each raises `cm.Cancelled` in its
        own thread. Later calls are not affected. May be called from any thread, a signal handler or a `progress`
        function.
        """
        for context in (self, *self.members):
            context.queue.cancel()

    def wait(self) -> None:
        """Waits until everything that was submitted has ended. Ctrl-C interrupts it."""
        with translated():
            for context in (self, *self.members):
                context.queue.finish()

    def wait_for(self, events: Sequence[Any], seconds: float = math.inf) -> None:
        """Waits until events have ended; takes what calls take as `wait_for`. Ctrl-C interrupts it. Raises TimedOut if
        they have not ended after so many seconds.
        """
        if not is_empty(events):
            with translated():
                self.queue.wait_for(events, seconds)

    def trace(self, path: str) -> None:
        """Writes the times of all commands of every queue as Chrome-trace JSON, for Perfetto. Needs profile=True.

        Each device has its own clock: times of two devices cannot be compared.
        """
        with translated():
            hostsched.write_trace([queue for context in (self, *self.members) for queue in context.queues], path)

    @property
    def queues(self) -> tuple[hostsched.Queue, ...]:
        """Its own queue, and those of copies where there are any."""
        return (self.queue, *self._copy_queues)


def is_empty(wait_for: Any) -> bool:
    """Whether a call waits for nothing. What is no list of events is not empty: submitting raises for it."""
    return isinstance(wait_for, (tuple, list)) and not wait_for


class _Member(Context):
    """The context of one of several devices."""

    def _trace_at_exit(self) -> None:
        """Its commands are in the trace of all of them."""


def numbered(path: str, number: int) -> str:
    """`path` for the first trace of a process, `path` with a number before its ending for later ones."""
    stem, ending = os.path.splitext(path)
    return path if number == 1 else f"{stem}-{number}{ending}"


def _check_trace(path: str) -> None:
    """Raises SettingError where no trace can be written at exit."""
    folder = os.path.dirname(path) or "."
    if os.path.isdir(path) or not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise SettingError(f"CLMR_TRACE is {path!r}, where no file can be written; name one in a folder of yours")


def _bytes_of(limit: Any) -> int:
    """A limit of device memory in bytes. Raises ArgumentError for a wrong limit."""
    if is_whole(limit) and limit > 0:
        return int(limit)
    if isinstance(limit, str):
        try:
            nbytes = hostsched.as_bytes(limit, "memory_limit")
        except hostsched.InvalidSetting as error:
            raise ArgumentError(str(error)) from None
        if nbytes > 0:
            return nbytes
    raise ArgumentError(f"memory_limit is {quoted(limit)}; give bytes above 0, or a text such as '256M' or '4G'")


_traces = itertools.count(1)
_default = threading.local()
"""Per thread: `context`, the default, and `outer`, what it was before the `with` blocks, innermost first."""
_shared: dict[Device, Context] = {}
_shared_lock = threading.RLock()


def shared_context(device: Device) -> Context:
    """The process-wide context of a device."""
    with _shared_lock:
        if device not in _shared:
            _shared[device] = Context(device)
        return _shared[device]


def current_context() -> Context:
    """This thread's default context: the innermost `with Context`, else what `use` set, else the best device's."""
    context: Context | None = getattr(_default, "context", None)
    if context is None:
        context = shared_context(select_device())
        _default.context = context
    return context


def context_of(context: Context | None) -> Context:
    """The context of a call's keyword, or this thread's. Raises DeviceError for any other object."""
    if context is None:
        return current_context()
    if not isinstance(context, Context):
        raise DeviceError(f"context is {quoted(context)}; pass a cm.Context, which takes a device or its name")
    return context


class use:
    """Sets this thread's default device, or several; `with cm.use("cpu"):` restores the previous default at the end of
    the block. spec_or_device: anything that `Context` takes, or a Context.
    """

    def __init__(self, spec_or_device: Any) -> None:
        self._outer: Context | None = getattr(_default, "context", None)
        spec = spec_or_device
        if isinstance(spec, Context):
            self.context = spec
        else:
            self.context = shared_context(select_device(spec)) if several_devices(spec) is None else Context(spec)
        _default.context = self.context

    def __enter__(self) -> Context:
        return self.context

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _default.context = self._outer
