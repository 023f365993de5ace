"""How fast host arrays are streamed through little device memory: calls beside the copies that they need, in GB/s.

The copies are those of the call alone: tiles of 16 MiB to the device (and back, where the call gives an array), two in
flight, on the queues that streams use. The ways take turns within each repetition; printed are medians of bytes that
crossed, a second, and the part of the copies' rate that the call reaches.

    python benchmarks/streaming.py
    python benchmarks/streaming.py --device pocl --mebibytes 4096 --limit 512M
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.calls.windows import TILE
from hostsched import JobGraph, ReadJob, WriteJob


@cm.fuse
def softmax(x: Any) -> Any:
    weights = cm.math.exp(x - cm.Reduce("maximum")(x))
    return weights / cm.Reduce("sum")(weights)


def copies(context: cm.Context, x: np.ndarray, out: np.ndarray | None) -> None:
    """The tiles of x to the device, and back to out."""
    to_device, from_device = context.copy_queues
    source = x.view(np.uint8)
    slots = [context.queue.arena.take(TILE) for _ in range(2)]
    flying: deque[list[Any]] = deque()
    for number, first in enumerate(range(0, source.nbytes, TILE)):
        if len(flying) == 2:
            land(flying)
        slot, part = slots[number % 2], source[first : first + TILE]
        flying.append([JobGraph([WriteJob(slot, part)]).submit(to_device)])
        if out is not None:
            job = ReadJob(slot, out.view(np.uint8)[first : first + TILE])
            flying[-1].append(JobGraph([job]).submit(from_device))
    while flying:
        land(flying)
    for slot in slots:
        context.queue.arena.give(slot)


def land(flying: deque[list[Any]]) -> None:
    """Waits for the oldest tile."""
    for submission in flying.popleft():
        submission.wait()


def seconds(call: Callable[[], object]) -> float:
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="part of a device's name; every device where left out")
    parser.add_argument("--mebibytes", type=int, default=1024, help="of the array")
    parser.add_argument("--limit", default="128M", help="of device memory")
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    x = np.random.default_rng(0).standard_normal(options.mebibytes << 18, dtype=np.float32)
    out = np.empty_like(x)
    print(f"{x.nbytes / 2**20:.0f} MiB of float32 through {options.limit}")
    choices = cm.devices() if options.device is None else [cm.select_device(options.device)]
    for device in choices:
        context = cm.Context(device, memory_limit=options.limit)
        calls: dict[str, tuple[Callable[[], object], np.ndarray | None, int]] = {
            "sum": (lambda c=context: cm.Reduce("sum")(x, context=c), None, 1),  # type: ignore[misc]
            "map": (lambda c=context: cm.Map(lambda v: v * v + 1)(x, out=out, context=c), out, 2),  # type: ignore[misc]
            "scan": (lambda c=context: cm.Scan("sum")(x, out=out, context=c), out, 2),  # type: ignore[misc]
            "softmax": (lambda c=context: softmax(x, out=out, context=c), None, 4),  # type: ignore[misc]
        }
        print(f"{device!r}")
        for name, (call, target, crossings) in calls.items():
            call()
            times = [(seconds(call), seconds(lambda t=target: copies(context, x, t))) for _ in range(options.repeats)]  # type: ignore[misc]  # noqa: B023
            own = crossings * x.nbytes / median(t for t, _ in times) / 1e9
            bare = (1 if target is None else 2) * x.nbytes / median(t for _, t in times) / 1e9
            print(f"  {name:8} {own:6.2f} GB/s   copies {bare:6.2f} GB/s   {own / bare:4.0%}")
        peak, limit = context.queue.arena.peak_bytes, context.queue.arena.limit
        print(f"  at most {peak:,} bytes of device memory were held, of {limit:,}")


if __name__ == "__main__":
    main()
