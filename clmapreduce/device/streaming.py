"""Calls whose host arrays pass through device memory window by window.

A pass over the data goes so: the copies of a window to the device are submitted to one queue, its launches to the
context's own, the copies of its results to a third one. Waits are on events alone, so that the copies of one window go
beside the launches of another. Two windows are on their way at a time; the host waits for the older one before it
submits a third, and there Ctrl-C and `Context.cancel` end the call.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import hostsched
from clmapreduce.device.context import Context
from clmapreduce.device.host_array import HostArray
from clmapreduce.device.runtime import Executable, take, translated
from clmapreduce.domain.line import Window
from clmapreduce.plan import IN_FLIGHT, ROWS, Plan


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
                        self._pass(numbers, lambda part: hostsched.advance(work * part / len(passes)))
                    else:
                        jobs = [self.executable.launches[n].job(self.arrays) for n in numbers]
                        hostsched.JobGraph(jobs).submit(queue)
                hostsched.JobGraph(after).submit(queue).wait()
        finally:
            self._give_back(self._loans)

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

    def _pass(self, numbers: Sequence[int], advance: Callable[[float], None]) -> None:
        """All windows through some stages."""
        width, count, total = self.window.length, self.window.count, self.window.entries
        names = self.executable.plan.windowed(numbers)
        slots: list[dict[str, hostsched.Buffer]] = []
        flying: deque[tuple[list[hostsched.Submission], int]] = deque()
        cancellations = self.context.queue.cancellations
        try:
            for _ in range(min(IN_FLIGHT, count)):
                slots.append({})
                for name in names:
                    slots[-1][name] = take(self.context.queue, width * self._bytes_of(name))
            for number in range(count):
                if len(flying) == len(slots):
                    advance(_land(flying) / total)
                if self.context.queue.cancellations != cancellations:
                    raise hostsched.Cancelled(f"the call was cancelled with {number} of {count} tiles submitted")
                first = number * width
                entries = min(width, total - first)
                flying.append((self._window(numbers, slots[number % len(slots)], first, entries), entries))
            while flying:
                advance(_land(flying) / total)
        except BaseException:
            for queue in (self.context.queue, *self.context.copy_queues):
                with suppress(hostsched.HostSchedError):  # nothing writes to the caller's arrays any more
                    queue.finish()
            raise
        finally:
            self._give_back([buffer for slot in slots for buffer in slot.values()])

    def _window(
        self, numbers: Sequence[int], slot: Mapping[str, hostsched.Buffer], first: int, entries: int
    ) -> list[hostsched.Submission]:
        """Submits one window's copies and launches."""
        plan, launches = self.executable.plan, self.executable.launches
        stages = [plan.stages[n] for n in numbers]
        outputs: set[str] = set()
        read: set[str] = set()
        for stage in stages:
            read.update(name for name in stage.reads if name in slot and name not in outputs)
            outputs.update(name for name in stage.writes if name in slot)
        loaded = read | {name for name in outputs if name in self.hosts and self.hosts[name].partly}
        to_device, from_device = self.context.copy_queues
        arrays = dict(self.arrays)
        for name, buffer in slot.items():
            arrays[name] = buffer if self.window.of_rows else (buffer, first)
        copies = [hostsched.WriteJob(slot[name], self.hosts[name].part(first, entries)) for name in sorted(loaded)]
        results = [
            hostsched.ReadJob(slot[name], self.hosts[name].part(first, entries))
            for name in sorted(outputs) if name in self.hosts
        ]  # fmt: skip
        submissions = [hostsched.JobGraph(copies).submit(to_device)] if copies else []
        jobs = []
        for number, stage in zip(numbers, stages, strict=True):
            groups = -(-entries // stage.share)
            arrays[ROWS] = launches[number].number(entries)
            begin = 0 if self.window.of_rows else first // stage.share
            jobs.append(launches[number].part(arrays, begin, groups))
        submissions.append(hostsched.JobGraph(jobs).submit(self.context.queue))
        if results:
            submissions.append(hostsched.JobGraph(results).submit(from_device))
        return submissions

    def _bytes_of(self, name: str) -> int:
        """Bytes of an entry."""
        stored = self.executable.plan.stored
        return stored[name] if name in stored else self.hosts[name].nbytes

    def _give_back(self, buffers: Sequence[hostsched.Buffer]) -> None:
        for buffer in buffers:
            self.context.queue.arena.give(buffer)


def _land(flying: deque[tuple[list[hostsched.Submission], int]]) -> int:
    """Waits for the oldest window, and gives its entries. Ctrl-C gets through. Each queue is waited for: it keeps what
    its copies use until then.
    """
    for submission in flying[0][0]:
        submission.wait()
    return flying.popleft()[1]
