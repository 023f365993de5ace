"""Calls over lines whose arrays lie on several devices: every device computes its pieces of the line.

Nothing is copied but what groups leave (accumulators) and single values, by way of the host. The first device does what
needs the whole line.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import hostsched
from clmapreduce.device.context import Context, is_empty
from clmapreduce.device.plans.executable import Executable
from clmapreduce.device.runtime import take, translated, translation
from clmapreduce.device.several.split import Piece
from clmapreduce.domain.line import Window
from clmapreduce.plan import ROWS


@dataclass
class _Share:
    """A piece of the line. begin, end: its elements. arrays: of the call, windows as (buffer, begin)."""

    context: Context
    executable: Executable
    begin: int
    end: int
    arrays: dict[str, Any]
    loans: list[hostsched.Buffer] = field(default_factory=list)

    def take(self, nbytes: int) -> hostsched.Buffer:
        """Memory on the device until the call has run."""
        self.loans.append(take(self.context.queue, nbytes))
        return self.loans[-1]


@dataclass
class SplitRun:
    """One call of a plan whose windows are shared. pieces: of the arrays that lie on several devices, by name. arrays:
    all others, as `Executable.submit` takes them.
    """

    context: Context
    executable: Executable
    window: Window
    pieces: Mapping[str, Sequence[Piece]]
    arrays: dict[str, Any]
    _left: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)

    def run(self, wait_for: Sequence[Any], before: Sequence[Any], after: Sequence[Any]) -> None:
        """Submits everything. Waits only for accumulators and single values that go from one device to another. Raises
        what a launch raises, with the device's name.
        """
        queue, plan = self.context.queue, self.executable.plan
        shares: list[_Share] = []
        loans: list[hostsched.Buffer] = []
        try:
            with translated():
                if not is_empty(wait_for):
                    hostsched.JobGraph(before).submit(queue, wait_for).wait()
                elif before:
                    hostsched.JobGraph(before).submit(queue)
                for name, nbytes in plan.scratch.items():
                    if name not in self.arrays:
                        self.arrays[name] = take(queue, nbytes)
                        loans.append(self.arrays[name])
                shares += self._shares()
                homes = {share.context: [s for s in shares if s.context is share.context] for share in shares}
                for numbers in plan.passes:
                    if plan.stages[numbers[0]].share:
                        self._pass(homes, numbers)
                    else:
                        jobs = [self.executable.launches[n].job(self.arrays) for n in numbers]
                        hostsched.JobGraph(jobs).submit(queue)
                        for name in (name for n in numbers for name in plan.stages[n].writes):
                            self._left.pop(name, None)
                if after:
                    hostsched.JobGraph(after).submit(queue)
        finally:
            for share in shares:
                _give_back(share.context, share.loans)
            _give_back(self.context, loans)

    def _shares(self) -> list[_Share]:
        some = next(iter(self.pieces.values()))
        row = self.window.entries // some[-1].end
        shares = []
        for number, piece in enumerate(some):
            begin, end = piece.first * row, piece.end * row
            here = piece.context is self.context
            executable = self.executable if here else piece.context.copy_of(self.executable)
            arrays: dict[str, Any] = {
                name: (pieces[number].array.memory, begin) for name, pieces in self.pieces.items()
            }
            shares.append(_Share(piece.context, executable, begin, end, arrays))
        return shares

    def _pass(self, homes: Mapping[Context, Sequence[_Share]], numbers: Sequence[int]) -> None:
        """Some stages on all devices; then what their groups left goes to the first one."""
        plan = self.executable.plan
        assert plan.is_shared(numbers)
        others: dict[Context, dict[str, Any]] = {home: {} for home in homes}
        for step in (self._complete, self._launch):  # no copy waits behind a launch
            for home, shares in homes.items():
                with _named(home):
                    step(shares, numbers, others[home])
        self._collect(homes, numbers, others)

    def _collect(
        self, homes: Mapping[Context, Sequence[_Share]], numbers: Sequence[int],
        others: Mapping[Context, Mapping[str, Any]],
    ) -> None:  # fmt: skip
        """Brings what groups left on all devices to the host, and from there to the first device. All reads are on
        their way before one is waited for.
        """
        plan = self.executable.plan
        beside = {name: n for n in numbers for name in plan.stages[n].writes if name not in self.window.names}
        reads = []
        for name in beside:
            self._left[name] = np.empty(plan.scratch[name], np.uint8)
        for home, shares in homes.items():
            staging, jobs = hostsched.Staging(home.queue), []
            for name, n in beside.items():
                each, share = plan.scratch[name] // plan.stages[n].groups, plan.stages[n].share
                begin, end = shares[0].begin // share * each, -(-shares[-1].end // share) * each
                jobs.append(staging.read(others[home][name], self._left[name][begin:end], begin))
            if jobs:
                with _named(home):
                    reads.append((home, staging, hostsched.JobGraph(jobs).submit(home.queue)))
        for home, staging, submission in reads:
            with _named(home):
                submission.wait()
            staging.land()
        writes = [hostsched.WriteJob(self.arrays[name], self._left[name]) for name in beside]
        if writes:
            hostsched.JobGraph(writes).submit(self.context.queue)

    def _complete(self, shares: Sequence[_Share], numbers: Sequence[int], others: dict[str, Any]) -> None:
        """Takes memory for what some stages leave to later ones, and gives a device what they need beside its pieces of
        the line: single values, what all groups left. others: these arrays on the device.
        """
        plan, stored = self.executable.plan, self.executable.plan.stored
        for n in numbers:
            stage = plan.stages[n]
            arguments = (a for a in stage.arguments if isinstance(a, str))
            for name in dict.fromkeys((*stage.reads, *stage.writes, *arguments)):
                if name in stored:
                    for share in shares:
                        if name not in share.arrays:
                            share.arrays[name] = (share.take((share.end - share.begin) * stored[name]), share.begin)
                elif name not in self.window.names and name in self.arrays and name not in others:
                    is_first = shares[0].context is self.context
                    value = self.arrays[name]
                    is_read = name in stage.reads
                    others[name] = value if is_first else self._copied(shares[0], value, is_read, self._left.get(name))

    def _copied(self, share: _Share, value: Any, is_read: bool, left: np.ndarray[Any, Any] | None) -> Any:
        """A value of the first device on another one. is_read: its bytes are needed. left: these, if the host has them.
        """
        if isinstance(value, tuple):
            return (self._copied(share, value[0], is_read, left), *value[1:])
        if not isinstance(value, hostsched.Buffer):
            return value
        copy = share.take(value.nbytes)
        if is_read:
            if left is None:
                left = np.empty(value.nbytes, np.uint8)
                hostsched.read_back(self.context.queue, value, left)
            hostsched.JobGraph([hostsched.WriteJob(copy, left)]).submit(share.context.queue)
        return copy

    def _launch(self, shares: Sequence[_Share], numbers: Iterable[int], others: Mapping[str, Any]) -> None:
        """Submits some stages on one device, for all its pieces."""
        plan, jobs = self.executable.plan, []
        for share in shares:
            for n in numbers:
                stage, launch = plan.stages[n], share.executable.launches[n]
                arrays = {**others, **share.arrays, ROWS: launch.number(share.end - share.begin)}
                first, last = share.begin // stage.share, -(-share.end // stage.share)
                jobs.append(launch.part(arrays, first, last - first))
        hostsched.JobGraph(jobs).submit(shares[0].context.queue)


@contextmanager
def _named(home: Context) -> Iterator[None]:
    """Puts the device's name in front of what it raises."""
    try:
        yield
    except hostsched.HostSchedError as error:
        kind = type(translation(error))
        raise kind(f"{home.device!r} failed in a call on several devices: {error}") from error


def _give_back(context: Context, buffers: Sequence[hostsched.Buffer]) -> None:
    for buffer in buffers:
        context.queue.arena.give(buffer)
