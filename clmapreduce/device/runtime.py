"""From plans to running kernels: render, build, keep, submit.

The scheduler's and the renderer's errors become ours here.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Mapping, MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import fields
from functools import partial
from types import TracebackType
from typing import Any

import numpy as np

import hostsched
from cl_templates import RenderError, divides_correctly, may_contract, render
from clmapreduce.device.exchange.shared import let_go
from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.errors import (
    ArgumentError,
    BuildError,
    Cancelled,
    ClMapReduceError,
    DeviceError,
    DeviceMemoryError,
    SettingError,
    TimedOut,
)
from clmapreduce.formula.text.source import SOURCE_MARK
from clmapreduce.plan import Facts, KernelSpec, Plan, Stage
from hostsched.compiler import disk_cache

BUILD_OPTIONS = ("-w",)  # PoCL counts warnings on stderr
CONTRACTING = ("-cl-mad-enable",)
"""Options of kernels in which products and sums may be fused."""
MOST_COMPILERS = 4
"""Threads that build kernels at once."""
FEW_KERNELS = 2
"""So many are built one after the other. NVIDIA's compiler holds a lock for part of the time, so two gain nothing."""

PATIENCE = 0.5
"""Seconds that a first call waits to see whether kernels for what was given up are needed; about as long as building
one takes.
"""


class _Translated:
    """A context manager of its own: it stands on the path of every call, where a generator's costs a microsecond."""

    __slots__ = ()

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, (hostsched.HostSchedError, RenderError)):
            raise translation(error) from error


_TRANSLATED = _Translated()


def translated() -> _Translated:
    """Turns errors of the scheduler and the renderer into ours, cause kept."""
    return _TRANSLATED


def translation(error: Exception) -> ClMapReduceError:
    """Our error for one of the scheduler's or the renderer's."""
    if isinstance(error, hostsched.OutOfDeviceMemory):
        return DeviceMemoryError(str(error))
    if isinstance(error, hostsched.InvalidSetting):
        return SettingError(str(error))
    if isinstance(error, hostsched.WrongArgument):
        return ArgumentError(str(error))
    if isinstance(error, hostsched.Cancelled):
        return Cancelled(str(error))
    if isinstance(error, hostsched.TimedOut):
        return TimedOut(str(error))
    if isinstance(error, hostsched.ProgramBuildError) and SOURCE_MARK in error.source:
        return BuildError(f"a kernel with the text of a cm.c_source, marked {SOURCE_MARK}: {error}")
    if isinstance(error, (hostsched.ProgramBuildError, RenderError)):
        return BuildError(str(error))
    return DeviceError(str(error))


def facts_of(device: hostsched.Device) -> Facts:
    """What planning needs to know of a device: its own facts, and its driver's traits, by the names of their fields."""
    facts, traits = device.facts, device.facts.traits
    names = (field.name for field in fields(Facts))
    return Facts(**{name: getattr(facts if hasattr(facts, name) else traits, name) for name in names})


def source_of(spec: KernelSpec) -> str:
    """The complete OpenCL C of a kernel."""
    with translated():
        return render(spec.template, spec.context())


def recall(*parts: str) -> bytes | None:
    """What `remember` kept on disk under these words; None if there is nothing or anything about it is odd."""
    with translated():
        return disk_cache.load(disk_cache.cache_key(*parts))


def remember(data: bytes, *parts: str) -> None:
    """Keeps bytes on disk, beside the kernels, unless the cache is turned off."""
    with translated():
        disk_cache.store(disk_cache.cache_key(*parts), data)


class Built:
    """The kernel of a spec; launches that need it keep it. compiled: whether from source, in this process."""

    __slots__ = ("__weakref__", "compiled", "kernel")

    def __init__(self, kernel: hostsched.Kernel, compiled: bool) -> None:
        self.kernel, self.compiled = kernel, compiled


class Launch:
    """A stage with its kernel built and its numbers typed: only the buffers are missing."""

    __slots__ = ("_arguments", "_built", "_group_size", "_groups", "_index", "_reads", "_work", "_writes", "kernel")

    def __init__(self, stage: Stage, built: Built, narrow: bool, work: float) -> None:
        index = np.int32 if narrow else np.int64
        self._index = index
        self._built, self.kernel = built, built.kernel
        self._groups, self._group_size = stage.groups, stage.group_size
        self._arguments: tuple[str | np.generic[Any], ...] = tuple(
            a if isinstance(a, str) else (index(a[1]) if a[0] == "idx" else np.int32(a[1])) for a in stage.arguments
        )
        self._reads, self._writes = stage.reads, stage.writes
        self._work = work

    def job(self, arrays: Mapping[str, Any]) -> hostsched.KernelJob:
        """The job on named arrays: Buffers, NumPy scalars for values passed as arguments, tuples of a Buffer and whole
        numbers.
        """
        return self._job(arrays, 0, self._groups, self._work)

    def part(self, arrays: Mapping[str, Any], first: int, groups: int) -> hostsched.KernelJob:
        """As `job`, for some of the groups, from number `first` on. They go out as one launch."""
        return self._job(arrays, first, groups, 0.0)

    def number(self, value: int) -> np.generic[Any]:
        """A whole number of the type that its indices have."""
        return self._index(value)

    def _job(self, arrays: Mapping[str, Any], first: int, groups: int, work: float) -> hostsched.KernelJob:
        args: list[Any] = []
        for name in self._arguments:
            value = arrays[name] if isinstance(name, str) else name
            if isinstance(value, tuple):  # an array and its strides, as wide as this kernel's own indices
                args += (value[0], *map(self._index, value[1:]))
            else:
                args.append(value)
        return hostsched.KernelJob(
            self.kernel,
            groups,
            self._group_size,
            tuple(args),
            _buffers(self._reads, arrays),
            _buffers(self._writes, arrays),
            work,
            first,
        )

    def slots(self, constants: Mapping[str, tuple[Any, ...]], numbers: Collection[str]) -> hostsched.Launch:
        """As a launch of a replay, arrays by name."""
        args: list[Any] = []
        for name in self._arguments:
            args.append(name)
            if isinstance(name, str):
                args += map(self._index, constants.get(name, ()))
        reads = tuple(name for name in self._reads if name not in numbers)
        return hostsched.Launch(
            self.kernel, self._groups, self._group_size, tuple(args), reads, self._writes, self._work
        )


def _buffers(names: Sequence[str], arrays: Mapping[str, Any]) -> tuple[hostsched.Buffer, ...]:
    buffers = []
    for name in names:
        value = arrays[name]
        if isinstance(value, tuple):
            value = value[0] if value else None
        if isinstance(value, hostsched.Buffer):
            buffers.append(value)
    return tuple(buffers)


def take(queue: hostsched.Queue, nbytes: int) -> hostsched.Buffer:
    """Device memory for `nbytes` bytes. Where there is no room, memory given back comes free once its last command has
    ended, so that everything submitted is waited for, and asked again. So does memory that pyopencl's arrays shared.
    """
    try:
        return queue.arena.take(nbytes)
    except hostsched.OutOfDeviceMemory:
        queue.finish()
        let_go()
        return queue.arena.take(nbytes)


class SentTable:
    """A table's copy in device memory, which returns to the arena with it. Stages that read it wait for the copy on the
    device: contexts make these tables under their lock, where no thread may wait for a driver.
    """

    __slots__ = ("_queue", "buffer")

    def __init__(self, table: LaunchTable, queue: hostsched.Queue) -> None:
        values = table.values.reshape(-1).view(np.uint8)
        with translated():
            self._queue, self.buffer = queue, take(queue, values.nbytes)
            if values.size:  # the queue keeps the values until the copy has ended
                hostsched.JobGraph([hostsched.WriteJob(self.buffer, values)]).submit(queue)

    def __del__(self) -> None:
        if hasattr(self, "buffer"):
            self._queue.arena.give(self.buffer)


class Executable:
    """A plan whose kernels are built on one queue; `submit` launches it. on_device: gives a table's copy on the device.
    work: the plan's operations, roughly: each of its launches has so many at most.

    Where the driver compiles in threads and the kernels are not on disk, those that compute again what others gave up
    come later: a thread builds them after the first call, or that call does if something was given up.

    tables: the copies of the plan's tables. key: under which a context's cache holds it.
    """

    key: Hashable = None

    def __init__(
        self, plan: Plan, queue: hostsched.Queue, kernels: MutableMapping[KernelSpec, Built],
        on_device: Callable[[LaunchTable], SentTable], work: float = 0.0,
    ) -> None:  # fmt: skip
        check_groups(plan, queue.facts)
        self.plan, self.work = plan, work
        self.tables = {name: on_device(table) for name, table in plan.tables.items()}
        self._queue, self._known = queue, kernels
        self._replays: dict[Hashable, hostsched.Replay] = {}
        self._completing = threading.RLock()
        self._compiler: threading.Thread | None = None
        self._late: Any = None
        self._launches: dict[int, Launch] = {}
        needed, redoing = ([n for n, s in enumerate(plan.stages) if bool(s.redo) is redo] for redo in (False, True))
        compiled = self._build(needed)
        if not compiled or all(plan.stages[n].spec in kernels for n in redoing) or not compiles_beside(queue):
            self._build(redoing)

    def _build(self, numbers: Sequence[int]) -> bool:
        """Builds the kernels of some stages. Whether the compiler did one of them."""
        stages = [self.plan.stages[n] for n in numbers]
        built = _build_kernels([stage.spec for stage in stages], self._queue, self._known)
        for n, stage, kernel in zip(numbers, stages, built, strict=True):
            self._launches[n] = Launch(stage, kernel, stage_narrow(stage), self.work)
        return any(kernel.compiled for kernel in built)

    @property
    def is_complete(self) -> bool:
        """Whether all kernels are built."""
        return len(self._launches) == len(self.plan.stages)

    @property
    def launches(self) -> list[Launch]:
        """One for each stage."""
        self.complete()
        return [self._launches[n] for n in range(len(self.plan.stages))]

    def complete(self) -> None:
        """Builds the kernels that are not built yet."""
        if not self.is_complete:
            with self._completing:
                self._build([n for n in range(len(self.plan.stages)) if n not in self._launches])

    def _complete_beside(self) -> None:
        """Lets a thread build the kernels that are not built yet. Python waits for it before it ends."""

        def rest() -> None:
            with suppress(ClMapReduceError):  # raised where the kernels are needed
                self.complete()

        if self._compiler is None:
            self._compiler = threading.Thread(target=rest, name="clmapreduce-compiler")
            self._compiler.start()

    @property
    def kernels(self) -> set[hostsched.Kernel]:
        """The kernels that it launches."""
        return {launch.kernel for launch in list(self._launches.values())}

    def replay(self, constants: Mapping[str, tuple[int, ...]], numbers: Collection[str]) -> hostsched.Replay:
        """The launches, to be submitted many times on changing arrays.

        constants: numbers that follow an array among a kernel's arguments. numbers: names of arguments that are no
        arrays.
        """
        with translated():
            return hostsched.Replay(self._queue, [launch.slots(constants, numbers) for launch in self.launches])

    def repeated(self, constants: Mapping[str, tuple[int, ...]]) -> hostsched.Replay:
        """A replay of launches whose arguments are all arrays, the same for the same constants."""
        key = tuple(constants.items())
        replay = self._replays.get(key)
        if replay is None:
            replay = self._replays.setdefault(key, self.replay(constants, ()))
        return replay

    def submit(
        self, arrays: dict[str, Any], wait_for: Sequence[Any], before: Sequence[Any] = (), after: Sequence[Any] = ()
    ) -> hostsched.Submission:
        """Launches the jobs `before`, every stage on the named arrays, the jobs `after`. An array by the name of one of
        the plan's tables takes its place.

        Scratch comes and goes; nothing is waited for.
        """
        scratch = []
        arrays = {name: table.buffer for name, table in self.tables.items()} | arrays
        try:
            for name, nbytes in self.plan.scratch.items():
                if name not in arrays:
                    arrays[name] = take(self._queue, nbytes)
                    scratch.append(arrays[name])
            if not self.is_complete and isinstance(wait_for, (tuple, list)) and not wait_for:
                return self._submit_needed(arrays, before, after)
            jobs = [*before, *(launch.job(arrays) for launch in self.launches), *after]
            return hostsched.JobGraph(jobs).submit(self._queue, wait_for)
        except hostsched.HostSchedError as error:
            raise translation(error) from error
        finally:
            for buffer in scratch:
                self._queue.arena.give(buffer)

    def _submit_needed(
        self, arrays: Mapping[str, Any], before: Sequence[Any], after: Sequence[Any]
    ) -> hostsched.Submission:
        """As `submit`, for a call that waits for nothing. Looks at what was given up before it builds a kernel for
        that; then a thread builds those that were not needed.
        """
        queue, idle = self._queue, set[str]()
        jobs = [*before]
        for n, stage in enumerate(self.plan.stages):
            if stage.redo not in idle and n not in self._launches:
                submission = hostsched.JobGraph(jobs).submit(queue)
                jobs = []
                if self._is_marked(stage.redo, arrays):
                    self.complete()
                else:
                    idle.add(stage.redo)
            if stage.redo in idle:
                idle.update(stage.writes)  # marks of a launch that does not run
            else:
                jobs.append(self._launches[n].job(arrays))
        jobs += after
        if jobs:
            submission = hostsched.JobGraph(jobs).submit(queue)
        self._complete_beside()
        return submission

    def _is_marked(self, name: str, arrays: Mapping[str, Any]) -> bool:
        """Whether an array marks something; also where that takes longer to see than a kernel takes to be built."""
        marks = np.empty(self.plan.scratch[name], np.uint8)
        submission = hostsched.JobGraph([hostsched.ReadJob(arrays[name], marks)]).submit(self._queue)
        try:
            self._queue.wait_for([submission], PATIENCE)
        except hostsched.TimedOut:
            self._late = submission, marks  # the copy goes on
            return True
        return bool(marks.any())


def compiles_beside(queue: hostsched.Queue) -> bool:
    """Whether the driver may compile while others use it."""
    return queue.facts.traits.compiles_at_once


def check_groups(plan: Plan, facts: hostsched.DeviceFacts) -> None:
    """Raises DeviceError where a plan has groups of several work-items and the driver computes those wrongly."""
    if not facts.sound_groups and any(stage.group_size > 1 for stage in plan.stages):
        raise DeviceError(
            f"{facts.platform} {facts.driver} computes groups of several work-items wrongly, so none are launched on "
            f"{facts.name!r}; use mode='sequential' or another driver"
        )


def stage_narrow(stage: Stage) -> bool:
    """Whether the stage's kernel has int indices."""
    return stage.spec.narrow


def _build_kernels(
    specs: Sequence[KernelSpec], queue: hostsched.Queue, kernels: MutableMapping[KernelSpec, Built]
) -> list[Built]:
    """The kernels of some specs. Those that are not among `kernels` are built, at once where the driver gains by it."""
    known = {spec: kernels.get(spec) for spec in specs}
    new = [spec for spec, built in known.items() if built is None]
    at_once = queue.facts.traits.compiles_at_once and len(new) > FEW_KERNELS
    with ThreadPoolExecutor(MOST_COMPILERS) if at_once else nullcontext() as pool:
        builds = [partial(_build_kernel, spec, queue) for spec in new]
        waits = [build if pool is None else pool.submit(build).result for build in builds]
        for number, (spec, wait) in enumerate(zip(new, waits, strict=True), start=1):
            hostsched.announce(f"compiling {spec.kernel}, {number} of {len(new)}")
            known[spec] = kernels[spec] = wait()
    if new:
        hostsched.announce("")
    return [built for spec in specs if (built := known[spec]) is not None]


def _build_kernel(spec: KernelSpec, queue: hostsched.Queue) -> Built:
    with translated():
        source = source_of(spec)
        options = (*(CONTRACTING if may_contract(source) else ()), *BUILD_OPTIONS, *spec.options)
        if divides_correctly(source):
            options = (*options, *queue.facts.traits.correct_division)
        program = hostsched.build(queue, source, options, dump_name=spec.kernel)
        return Built(program.kernel(spec.kernel), program.compiled)
