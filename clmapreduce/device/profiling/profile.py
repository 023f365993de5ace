"""`cm.profile`: records what a context does inside a block, and tells afterwards why it took so long."""

from __future__ import annotations

import time
from types import TracebackType

import hostsched
from clmapreduce.device.context import Context, context_of
from clmapreduce.device.profiling.breakdown import Breakdown
from clmapreduce.device.profiling.text import lines
from clmapreduce.device.runtime import translated
from clmapreduce.errors import ModeError

LINES = 20
"""Of a report, at most."""


class profile:
    """A block whose calls are timed: `with cm.profile() as p: …`, then `print(p.report())`.

    context: the context to watch; the default is this thread's context at the start of the block. The end of the block
    waits for its commands. Inside, each command takes a few microseconds more, and NVIDIA's driver leaves 60 us between
    two launches. Calls of other threads on the context count too. Raises DeviceError for an argument that is not a
    context.
    """

    def __init__(self, context: Context | None = None) -> None:
        self._argument = context
        self._breakdowns: list[Breakdown] | None = None

    def __enter__(self) -> profile:
        self.context = context_of(self._argument)
        self._workers = [_Worker(context) for context in (self.context, *self.context.members)]
        for worker in self._workers:
            worker.begin()
        self._begin = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.context.wait()
        finally:
            wall = time.perf_counter() - self._begin
            self._breakdowns = [worker.end(self._begin, wall) for worker in self._workers]

    @property
    def breakdowns(self) -> list[Breakdown]:
        """What each device did, as numbers. Raises ModeError inside the block."""
        if self._breakdowns is None:
            raise ModeError("a report is of a whole block; ask for it behind `with cm.profile() as p:`")
        used = [own for own in self._breakdowns if own.commands or own.builds]
        return used or self._breakdowns[:1]

    def report(self) -> str:
        """Where the time went, in at most LINES lines; of several devices the busiest ones. Raises ModeError inside the
        block.
        """
        busiest = sorted(self.breakdowns, key=lambda own: own.parts["kernels"], reverse=True)
        text = [line for own in busiest for line in lines(own)]
        return "\n".join(text if len(text) <= LINES else [*text[: LINES - 1], "  …"])

    def __repr__(self) -> str:
        return "cm.profile, under way" if self._breakdowns is None else self.report()


class _Worker:
    """One device inside the block. logged: commands that its queues knew before; switched: queues that kept no times.
    """

    def __init__(self, context: Context) -> None:
        self.context = context

    def begin(self) -> None:
        context = self.context
        with translated():
            self.switched = [queue for queue in context.queues if not queue.profile]
            for queue in self.switched:
                queue.keep_times(True)
        self.logged = {queue: len(queue.log) for queue in context.queues}

    def end(self, begin: float, wall: float) -> Breakdown:
        context = self.context
        with translated():
            commands: list[hostsched.Record] = []
            for queue in context.queues:
                commands += hostsched.Profile(queue).records(self.logged.get(queue, 0))
            for queue in context.queues:
                if queue in self.switched or queue not in self.logged:
                    queue.keep_times(False)
        builds = [build for build in list(context.queue.space.builds) if build.began >= begin]
        planned = sum(seconds for began, seconds in list(context.plannings) if began >= begin)
        return Breakdown(f"{context.device.name} ({context.device.platform})", wall, commands, builds, planned)
