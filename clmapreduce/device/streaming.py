"""Calls whose host arrays pass through device memory window by window, on one device or several of one kind.

A pass over the data goes so: the copies of a window to the device are submitted to one queue, its launches to the
context's own, the copies of its results to a third one. Waits are on events alone, so that the copies of one window go
beside the launches of another. Two windows are on their way at a time; the host waits for the older one before it
submits a third, and there Ctrl-C and `Context.cancel` end the call.

Several devices share the windows of a pass in which none waits for another. What groups leave (accumulators) comes back
with each window, and goes to the first device, which does all other passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

import hostsched
from clmapreduce.device.context import Context
from clmapreduce.device.host_array import HostArray
from clmapreduce.device.plans.executable import Executable
from clmapreduce.device.runtime import take, translated
from clmapreduce.device.several.spread import Block, spread
from clmapreduce.device.tile_calls import TileCalls
from clmapreduce.domain.line import Window
from clmapreduce.plan import IN_FLIGHT, ROWS, Plan


@dataclass
class _Lane:
    """A device in a pass. slots: buffers of windows by name, used in turn. arrays: all others of the call. left: what
    groups leave, in host memory, where the device is not the one that goes on with it.
    """

    context: Context
    executable: Executable
    slots: list[dict[str, hostsched.Buffer]]
    arrays: dict[str, Any]
    left: Mapping[str, np.ndarray[Any, Any]]
    loans: list[hostsched.Buffer]
    turn: int = 0


@dataclass
class Stream:
    """One call of a plan with windows. hosts: the arrays that pass through, by name. arrays: all others, as
    `Executable.submit` takes them.
    """

    context: Context
    executable: Executable
    window: Window
    hosts: dict[str, HostArray]
    arrays: dict[str, Any]
    _loans: list[hostsched.Buffer] = field(default_factory=list)

    def run(self, wait_for: Sequence[Any], before: Sequence[Any], after: Sequence[Any]) -> None:
        """Returns when all results are in their arrays. before, after: jobs around the launches. Raises Cancelled, what
        a launch raises, and ShapeError where a file that holds an array became shorter.
        """
        queue, plan = self.context.queue, self.executable.plan
        passes, work = plan.passes, self.executable.work
        try:
            with translated():
                hostsched.expect(work)
                hostsched.JobGraph(before).submit(queue, wait_for).wait()
                self._take_scratch(plan, passes)
                for numbers in passes:
                    if plan.stages[numbers[0]].share:
                        self._pass(numbers, work / len(passes))
                    else:
                        jobs = [self.executable.launches[n].job(self.arrays) for n in numbers]
                        hostsched.JobGraph(jobs).submit(queue)
                hostsched.JobGraph(after).submit(queue).wait()
        finally:
            _give_back(queue, self._loans)

    def _take_scratch(self, plan: Plan, passes: Sequence[Sequence[int]]) -> None:
        """Device memory for scratch, host memory for what one pass leaves to a later one."""
        for name, nbytes in plan.scratch.items():
            if name not in self.arrays:
                self.arrays[name] = take(self.context.queue, nbytes)
                self._loans.append(self.arrays[name])
        for name, nbytes in plan.stored.items():
            users = {k for k, numbers in enumerate(passes) for n in numbers if name in plan.stages[n].local
                     and name in (*plan.stages[n].reads, *plan.stages[n].writes)}  # fmt: skip
            if len(users) > 1:
                self.hosts[name] = HostArray(np.empty(self.window.entries * nbytes, np.uint8), nbytes, name)

    def _pass(self, numbers: Sequence[int], work: float) -> None:
        """All windows through some stages. work: operations of the pass."""
        context, plan = self.context, self.executable.plan
        width, total = self.window.length, self.window.entries
        alone = not (context.is_of_one_kind and plan.is_shared(numbers) and self._may_run_again(numbers))
        beside = {name for n in numbers for name in plan.stages[n].writes if name not in self.window.names}
        left = {} if alone else {name: np.empty(plan.scratch[name], np.uint8) for name in beside}
        lanes: dict[Context, _Lane] = {}

        def block(first: int) -> Block:
            entries = min(width, total - first)

            def submit(calls: TileCalls, worker: Context) -> None:
                if worker not in lanes:
                    lanes[worker] = self._lane(worker, numbers, left)
                calls.make_room()
                staging = hostsched.Staging(worker.copy_queues[0])
                submissions = self._window(lanes[worker], numbers, first, entries, staging)
                calls.add(submissions, (), staging, partial(hostsched.advance, work * entries / total))

            return Block(entries, submit, counts=False)

        try:
            spread(context, [block(first) for first in range(0, total, width)], alone=alone)
            jobs = [hostsched.WriteJob(self.arrays[name], values) for name, values in left.items()]
            if jobs:
                hostsched.JobGraph(jobs).submit(context.queue).wait()
        finally:
            for lane in lanes.values():
                _give_back(lane.context.queue, [buffer for slot in lane.slots for buffer in slot.values()])
                _give_back(lane.context.queue, lane.loans)

    def _may_run_again(self, numbers: Sequence[int]) -> bool:
        """Whether a window gives the same results a second time, where devices that fail leave theirs to others: not
        where a result replaces what it was computed from.
        """
        if self.context.on_failure != "redo":
            return True
        stages = [self.executable.plan.stages[n] for n in numbers]
        read = {name for stage in stages for name in stage.reads if name in self.hosts}
        outputs = {name for stage in stages for name in stage.writes if name in self.hosts}
        return not any(self.hosts[a].shares_memory(self.hosts[b]) for a in read for b in outputs if a != b)

    def _lane(self, context: Context, numbers: Sequence[int], left: Mapping[str, np.ndarray[Any, Any]]) -> _Lane:
        """A device's buffers for a pass, and on a device that is not the first its own kernels and copies."""
        width, count = self.window.length, min(IN_FLIGHT, self.window.count)
        names = self.executable.plan.windowed(numbers)
        slots = [{name: take(context.queue, width * self._bytes_of(name)) for name in names} for _ in range(count)]
        if context is self.context:
            return _Lane(context, self.executable, slots, self.arrays, {}, [])
        lane = _Lane(context, context.copy_of(self.executable), slots, {}, left, [])
        for n in numbers:
            stage = self.executable.plan.stages[n]
            for name in (*stage.reads, *stage.writes, *(a for a in stage.arguments if isinstance(a, str))):
                if name not in names and name in self.arrays and name not in lane.arrays:
                    lane.arrays[name] = self._copied(lane, self.arrays[name], name in stage.reads)
        return lane

    def _copied(self, lane: _Lane, value: Any, is_read: bool) -> Any:
        """An array of the first device on another one. is_read: its bytes are needed."""
        if isinstance(value, tuple):
            return (self._copied(lane, value[0], is_read), *value[1:])
        if not isinstance(value, hostsched.Buffer):
            return value
        copy = take(lane.context.queue, value.nbytes)
        lane.loans.append(copy)
        if is_read:
            values = np.empty(value.nbytes, np.uint8)
            hostsched.JobGraph([hostsched.ReadJob(value, values)]).submit(self.context.queue).wait()
            hostsched.JobGraph([hostsched.WriteJob(copy, values)]).submit(lane.context.queue).wait()
        return copy

    def _window(
        self, lane: _Lane, numbers: Sequence[int], first: int, entries: int, staging: hostsched.Staging
    ) -> list[hostsched.Submission]:
        """Submits one window's copies and launches. staging: of the copies."""
        plan, launches = self.executable.plan, lane.executable.launches
        slot = lane.slots[lane.turn % len(lane.slots)]
        lane.turn += 1
        stages = [plan.stages[n] for n in numbers]
        outputs: set[str] = set()
        read: set[str] = set()
        for stage in stages:
            read.update(name for name in stage.reads if name in slot and name not in outputs)
            outputs.update(name for name in stage.writes if name in slot)
        loaded = read | {name for name in outputs if name in self.hosts and self.hosts[name].partly}
        to_device, from_device = lane.context.copy_queues
        arrays = dict(lane.arrays)
        for name, buffer in slot.items():
            arrays[name] = buffer if self.window.of_rows else (buffer, first)
        copies = [staging.write(slot[name], self.hosts[name].part(first, entries)) for name in sorted(loaded)]
        results = [
            staging.read(slot[name], self.hosts[name].part(first, entries))
            for name in sorted(outputs) if name in self.hosts
        ]  # fmt: skip
        submissions = [hostsched.JobGraph(copies).submit(to_device)] if copies else []
        jobs = []
        for number, stage in zip(numbers, stages, strict=True):
            groups = -(-entries // stage.share)
            arrays[ROWS] = launches[number].number(entries)
            begin = 0 if self.window.of_rows else first // stage.share
            jobs.append(launches[number].part(arrays, begin, groups))
            for name in stage.writes:
                if name in lane.left:
                    each = plan.scratch[name] // stage.groups
                    part = lane.left[name][begin * each : (begin + groups) * each]
                    results.append(staging.read(lane.arrays[name], part, begin * each))
        submissions.append(hostsched.JobGraph(jobs).submit(lane.context.queue))
        if results:
            submissions.append(hostsched.JobGraph(results).submit(from_device))
        return submissions

    def _bytes_of(self, name: str) -> int:
        """Bytes of an entry."""
        stored = self.executable.plan.stored
        return stored[name] if name in stored else self.hosts[name].nbytes


def _give_back(queue: hostsched.Queue, buffers: Sequence[hostsched.Buffer]) -> None:
    for buffer in buffers:
        queue.arena.give(buffer)
