"""The time of a submission: a chain of launches of one work-item, alone, as a JobGraph and as a Replay, in us.

Bare is set_args and enqueue_nd_range_kernel with arguments prepared beforehand, and one flush; no launch waits for
another. Ordered adds the waits that a right result needs: the extra time is the driver's. The ways take turns
within each repetition, on buffers that change with every call, and an event holds the device back meanwhile: CPU
runtimes would compete for the cores. It prints medians of the times, and by how much each way exceeds the bare one.

    python benchmarks/replay.py
    python benchmarks/replay.py --running    # the device is idle at first, and not held back
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Mapping
from statistics import median

import numpy as np
import pyopencl as cl

from hostsched import JobGraph, KernelJob, Launch, Queue, Replay, build, devices

SOURCE = """
__kernel void cmr_step(__global const float* x, __global float* y, float scale, int add)
{
    y[get_global_id(0)] = scale * x[get_global_id(0)] + add;
}
"""
SETS = 8
COMPLETE = cl.command_execution_status.COMPLETE


class Chain:
    """As many launches, each of which reads what the one before it wrote. Each way submits on a set of buffers."""

    def __init__(self, queue: Queue, launches: int) -> None:
        self.queue = queue
        self.kernel = build(queue, SOURCE).kernel("cmr_step")
        self.sets = [[queue.arena.take(256) for _ in range(launches + 1)] for _ in range(SETS)]
        self.scalars = (np.float32(1), np.int32(1))
        self.links = range(launches)
        self.names = [f"b{at}" for at in range(launches + 1)]
        self.recording = Replay(queue, (self.launch(*self.names[at : at + 2]) for at in self.links))
        self.own = [cl.Kernel(self.kernel.program, "cmr_step") for _ in self.links]
        for one in self.own:
            one.set_scalar_arg_dtypes([None, None, np.float32, np.int32])
        self.arguments = [[(b[at].cl, b[at + 1].cl, 1.0, 1) for at in self.links] for b in self.sets]
        self.before: list[list[cl.Event]] = [[] for _ in self.sets]

    def launch(self, source: str, target: str) -> Launch:
        return Launch(self.kernel, 1, 1, (source, target, *self.scalars), (source,), (target,))

    def hold(self, choice: int) -> cl.UserEvent:
        """An event that all submissions on this set wait for."""
        gate = self.sets[choice][0].last_write = cl.UserEvent(self.queue.context)
        return gate

    def bare(self, choice: int, gate: cl.Event | None) -> object:
        waits = None if gate is None else [gate]
        for one, args in zip(self.own, self.arguments[choice], strict=True):
            one.set_args(*args)
            event = cl.enqueue_nd_range_kernel(self.queue._queue, one, (1,), (1,), None, waits)
        self.queue._queue.flush()
        return event

    def in_order(self, choice: int, gate: cl.Event | None) -> object:
        events: list[cl.Event] = []
        before = self.before[choice]
        waits = [] if gate is None else [gate]
        for at, (one, args) in enumerate(zip(self.own, self.arguments[choice], strict=True)):
            one.set_args(*args)
            waits += before[at : at + 1]
            event = cl.enqueue_nd_range_kernel(self.queue._queue, one, (1,), (1,), None, waits or None)
            events.append(event)
            waits = [event]
        self.queue._queue.flush()
        self.before[choice] = events
        return events

    def graph(self, choice: int, gate: cl.Event | None) -> object:
        b = self.sets[choice]
        jobs = [
            KernelJob(self.kernel, 1, 1, (b[at], b[at + 1], *self.scalars), (b[at],), (b[at + 1],)) for at in self.links
        ]
        return JobGraph(jobs).submit(self.queue)

    def replay(self, choice: int, gate: cl.Event | None) -> object:
        return self.recording.submit(dict(zip(self.names, self.sets[choice], strict=True)))


def measure(
    chain: Chain, ways: Mapping[str, Callable[[int, cl.Event | None], object]], repeats: int, with_gate: bool
) -> str:
    """The row of one chain."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for at in range(repeats):
        for name, submit in ways.items():
            chain.queue.finish()
            gate = chain.hold(at % SETS) if with_gate else None
            begin = time.perf_counter_ns()
            result = submit(at % SETS, gate)
            times[name].append((time.perf_counter_ns() - begin) / 1e3)
            if gate is not None:
                gate.set_status(COMPLETE)
            del result
    chain.queue.finish()
    row = []
    for name, seconds in times.items():
        beyond = median(ours - bare for ours, bare in zip(seconds, times["bare"], strict=True))
        row.append(f"{name} {median(seconds):6.1f} ({beyond:+6.1f})")
    return "  ".join(row)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=2000)
    parser.add_argument("--running", action="store_true", help="do not hold the device back")
    options = parser.parse_args()
    gc.disable()
    for device in devices():
        for launches in (1, 2, 3, 4):
            chain = Chain(Queue(device), launches)
            ways = {"bare": chain.bare, "ordered": chain.in_order, "JobGraph": chain.graph, "Replay": chain.replay}
            print(
                f"{device.vendor:6} {launches}: {measure(chain, ways, options.repeats, not options.running)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
