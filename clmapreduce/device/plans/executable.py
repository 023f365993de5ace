"""Plans with their kernels, ready to be launched."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

import hostsched
from clmapreduce.device.plans.launch import Launch, SentTable
from clmapreduce.device.runtime import Built, build_kernels, compiles_beside, take, translated, translation
from clmapreduce.domain.launch_table import LaunchTable
from clmapreduce.errors import ClMapReduceError, DeviceError
from clmapreduce.plan import KernelSpec, Plan, Stage

PATIENCE = 0.5
"""Seconds that a first call waits to see whether kernels for what was given up are needed; about as long as building
one takes.
"""
LONG_WORK = 5e10
"""Operations from which on a call is long. Until all kernels are built, calls wait between launches to read marks;
short calls would notice that.
"""


class Executable:
    """A plan whose kernels are built on one queue; `submit` launches it. on_device: gives a table's copy on the device.
    work: the plan's operations, roughly: each of its launches has so many at most; those of one group have none, where
    others have more groups.

    Where the driver compiles in threads, kernels that compute again what others gave up come later: a long first call
    builds those for what was given up, a short one all of them if there is something; then a thread builds the others,
    one after the other.

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
        self._queue, self._known, self._on_device = queue, kernels, on_device
        self._replays: dict[Hashable, hostsched.Replay] = {}
        self._completing = threading.RLock()
        self._compiler: threading.Thread | None = None
        self._late: Any = None
        self._lean: Executable | None = None
        self._launches: dict[int, Launch] = {}
        may_wait = compiles_beside(queue)
        self._build([n for n, stage in enumerate(plan.stages) if not (stage.redo and may_wait)])
        self._build([n for n, stage in enumerate(plan.stages) if stage.spec in kernels])

    def _build(self, numbers: Iterable[int]) -> None:
        """Builds the kernels of those of some stages that have none."""
        numbers = [n for n in numbers if n not in self._launches]
        stages = [self.plan.stages[n] for n in numbers]
        built = build_kernels([stage.spec for stage in stages], self._queue, self._known)
        for n, stage, kernel in zip(numbers, stages, built, strict=True):
            self._launches[n] = Launch(stage, kernel, self._work_of(stage))

    def _work_of(self, stage: Stage) -> float:
        """Operations of a stage at most."""
        alone = stage.groups <= 1 and any(other.groups > 1 for other in self.plan.stages)
        return 0.0 if alone else self.work

    @property
    def lean(self) -> Executable | None:
        """That of the lean plan, if there is one."""
        if self._lean is None and self.plan.lean is not None:
            with self._completing:
                self._lean = self._lean or Executable(
                    self.plan.lean, self._queue, self._known, self._on_device, self.work
                )  # fmt: skip
        return self._lean

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
                self._build(range(len(self.plan.stages)))

    def _build_for(self, marks: str) -> None:
        """Builds the kernels that are needed where an array marks something; in a short call all kernels."""
        if self.work < LONG_WORK:
            self.complete()
            return
        with self._completing:
            self._build(n for n, stage in enumerate(self.plan.stages) if stage.redo == marks)

    def _complete_beside(self) -> None:
        """Lets a thread build the kernels that are not built yet. Before Python ends, it waits for one of them."""

        def rest() -> None:
            with suppress(ClMapReduceError):  # raised where the kernels are needed
                for n in range(len(self.plan.stages)):
                    if not threading.main_thread().is_alive():
                        return
                    with self._completing:
                        self._build([n])

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

    def repeated(self, constants: Mapping[str, tuple[int, ...]], numbers: tuple[str, ...]) -> hostsched.Replay:
        """A replay of the launches, the same for the same constants and names of numbers."""
        key = (*constants.items(), numbers)
        replay = self._replays.get(key)
        if replay is None:
            replay = self._replays.setdefault(key, self.replay(constants, numbers))
        return replay

    def submit(
        self, arrays: dict[str, Any], wait_for: Sequence[Any], before: Sequence[Any] = (), after: Sequence[Any] = ()
    ) -> hostsched.Submission:
        """Launches the jobs `before`, every stage on the named arrays, the jobs `after`. An array by the name of one of
        the plan's tables takes its place.

        Scratch comes and goes; nothing is waited for. Where it has no room, the lean plan is launched, if there is one.
        """
        named = arrays
        arrays = {name: table.buffer for name, table in self.tables.items()} | arrays
        try:
            scratch = self._take_scratch(arrays)
        except hostsched.OutOfDeviceMemory as error:
            if self.lean is None:
                raise translation(error) from error
            return self.lean.submit(named, wait_for, before, after)
        arrays |= scratch
        try:
            if not self.is_complete and isinstance(wait_for, (tuple, list)) and not wait_for:
                return self._submit_needed(arrays, before, after)
            jobs = [*before, *(launch.job(arrays) for launch in self.launches), *after]
            return hostsched.JobGraph(jobs).submit(self._queue, wait_for)
        except hostsched.HostSchedError as error:
            raise translation(error) from error
        finally:
            for buffer in scratch.values():
                self._queue.arena.give(buffer)

    def _take_scratch(self, arrays: Mapping[str, Any]) -> dict[str, hostsched.Buffer]:
        """Memory for the arrays between stages that are not among these; none is held if not all has room."""
        scratch: dict[str, hostsched.Buffer] = {}
        try:
            for name, nbytes in self.plan.scratch.items():
                if name not in arrays:
                    scratch[name] = take(self._queue, nbytes)
        except BaseException:
            for buffer in scratch.values():
                self._queue.arena.give(buffer)
            raise
        return scratch

    def _submit_needed(
        self, arrays: Mapping[str, Any], before: Sequence[Any], after: Sequence[Any]
    ) -> hostsched.Submission:
        """As `submit`, for a call that waits for nothing. Looks at what was given up before it builds the kernels for
        that; then a thread builds those that were not needed.
        """
        queue, idle = self._queue, set[str]()
        jobs = [*before]
        for n, stage in enumerate(self.plan.stages):
            if stage.redo not in idle and n not in self._launches:
                submission = hostsched.JobGraph(jobs).submit(queue)
                jobs = []
                if self._is_marked(stage.redo, arrays):
                    self._build_for(stage.redo)
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


def check_groups(plan: Plan, facts: hostsched.DeviceFacts) -> None:
    """Raises DeviceError where a plan has groups of several work-items and the driver computes those wrongly."""
    if not facts.sound_groups and any(stage.group_size > 1 for stage in plan.stages):
        raise DeviceError(
            f"{facts.platform} {facts.driver} computes groups of several work-items wrongly, so none are launched on "
            f"{facts.name!r}; use mode='sequential' or another driver"
        )
