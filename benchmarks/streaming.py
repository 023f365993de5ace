"""How fast host arrays are streamed through little device memory: calls beside the copies that they need, in GB/s.

The copies are those of the call alone: tiles of 32 MiB to the device (and back, where the call gives an array), two in
flight, on the queues that streams use. The ways take turns within each repetition; printed are medians of bytes that
crossed, a second, and the part of the copies' rate that the call reaches.

    python benchmarks/streaming.py
    python benchmarks/streaming.py --device pocl --mebibytes 4096 --limit 512M
    python benchmarks/streaming.py --pairs 100000 10000000     a Gaussian sum through 64 MB, beside arrays on the device
    python benchmarks/streaming.py --file samples.f32 --gib 24  the sum of a file, beside reading it alone
"""

from __future__ import annotations

import argparse
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import clmapreduce as cm
import hostsched
from clmapreduce.calls.windows import TILE


@cm.fuse
def softmax(x: Any) -> Any:
    weights = cm.math.exp(x - cm.Reduce("maximum")(x))
    return weights / cm.Reduce("sum")(weights)


def copies(context: cm.Context, x: np.ndarray, out: np.ndarray | None) -> None:
    """The tiles of x to the device, and back to out, by way of pinned memory where the device gains by it."""
    to_device, from_device = context.copy_queues
    source = x.view(np.uint8)
    slots = [context.queue.arena.take(TILE) for _ in range(2)]
    flying: deque[tuple[hostsched.Staging, list[hostsched.Submission]]] = deque()
    for number, first in enumerate(range(0, source.nbytes, TILE)):
        if len(flying) == 2:
            land(flying)
        slot, staging = slots[number % 2], hostsched.Staging(to_device)
        jobs = [hostsched.JobGraph([staging.write(slot, source[first : first + TILE])]).submit(to_device)]
        if out is not None:
            job = staging.read(slot, out.view(np.uint8)[first : first + TILE])
            jobs.append(hostsched.JobGraph([job]).submit(from_device))
        flying.append((staging, jobs))
    while flying:
        land(flying)
    for slot in slots:
        context.queue.arena.give(slot)


def land(flying: deque[tuple[hostsched.Staging, list[hostsched.Submission]]]) -> None:
    """Waits for the oldest tile."""
    staging, jobs = flying.popleft()
    for submission in jobs:
        submission.wait()
    staging.land()


def seconds(call: Callable[[], object]) -> float:
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def in_turn(ways: dict[str, Callable[[], object]], repeats: int) -> dict[str, float]:
    """Median seconds of each way, after one call that is not counted."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(repeats + 1):
        for name, way in ways.items():
            duration = seconds(way)
            if turn:
                times[name].append(duration)
    return {name: median(duration) for name, duration in times.items()}


def pairs(device: Any, rows: int, columns: int, repeats: int) -> None:
    """A Gaussian sum over pairs in three dimensions, through 64 MB and with its arrays on the device."""
    rng = np.random.default_rng(0)
    shapes = (rows, 3), (columns, 3), (columns, 1)
    arrays = [rng.standard_normal(shape, dtype=np.float32) for shape in shapes]
    gaussian = cm.Genred("Exp(-SqDist(x, y)) * b", ["x = Vi(3)", "y = Vj(3)", "b = Vj(1)"], axis=1)
    small, whole = cm.Context(device, memory_limit="64M"), cm.Context(device)
    resident = [cm.array(each, whole) for each in arrays]
    results: dict[str, Any] = {}

    def streamed() -> None:
        with small:
            results["streamed"] = gaussian(*arrays)

    def on_device() -> None:
        with whole:
            results["resident"] = gaussian(*resident).to_numpy()

    times = in_turn({"streamed": streamed, "resident": on_device}, repeats)
    error = np.abs(results["streamed"] - results["resident"]).max() / np.abs(results["resident"]).max()
    print(
        f"  Gaussian sum, {rows:,} x {columns:,}: streamed {times['streamed']:.4f} s"
        f"   resident {times['resident']:.4f} s   {times['resident'] / times['streamed']:4.0%}"
        f"   largest difference {error:.1e}\n"
        f"  at most {small.queue.arena.peak_bytes:,} bytes of device memory were held, of {small.queue.arena.limit:,}"
    )


def file_sum(device: Any, path: Path, gib: float, repeats: int) -> None:
    """The sum of a mapped file, beside reading it and beside the copies alone."""
    count = int(gib * 2**28)
    if not path.exists() or path.stat().st_size != 4 * count:
        part = np.random.default_rng(0).standard_normal(2**24, dtype=np.float32)
        with path.open("wb") as file:
            for first in range(0, count, len(part)):
                part[: count - first].tofile(file)
    x = np.memmap(path, np.float32, "r")
    context = cm.Context(device, memory_limit="256M")
    block = bytearray(2**24)

    def read() -> None:
        with path.open("rb", buffering=0) as file:
            while file.readinto(block):
                pass

    ways: dict[str, Callable[[], object]] = {
        "sum": lambda: cm.Reduce("sum")(x, context=context),
        "reading alone": read,
        "copies alone": lambda: copies(context, x, None),
        "NumPy's sum": x.sum,
    }
    times = in_turn(ways, repeats)
    print(f"  file of {gib} GiB: " + "   ".join(f"{name} {x.nbytes / t / 1e9:.2f} GB/s" for name, t in times.items()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="part of a device's name; every device where left out")
    parser.add_argument("--mebibytes", type=int, default=1024, help="of the array")
    parser.add_argument("--limit", default="128M", help="of device memory")
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--pairs", type=int, nargs=2, metavar=("ROWS", "COLUMNS"), help="pairs in place of lines")
    parser.add_argument("--file", type=Path, help="a file of float32 in place of lines; written where it is missing")
    parser.add_argument("--gib", type=float, default=1.0, help="of the file")
    options = parser.parse_args()
    choices = cm.devices() if options.device is None else [cm.select_device(options.device)]
    if options.pairs or options.file:
        for device in choices:
            print(f"{device!r}")
            if options.pairs:
                pairs(device, *options.pairs, options.repeats)
            if options.file:
                file_sum(device, options.file, options.gib, options.repeats)
        return
    x = np.random.default_rng(0).standard_normal(options.mebibytes << 18, dtype=np.float32)
    out = np.empty_like(x)
    print(f"{x.nbytes / 2**20:.0f} MiB of float32 through {options.limit}")
    for device in choices:
        context = cm.Context(device, memory_limit=options.limit)
        calls: dict[str, tuple[Callable[[], object], list[np.ndarray | None]]] = {
            "sum": (lambda c=context: cm.Reduce("sum")(x, context=c), [None]),  # type: ignore[misc]
            "map": (lambda c=context: cm.Map(lambda v: v * v + 1)(x, out=out, context=c), [out]),  # type: ignore[misc]
            "scan": (lambda c=context: cm.Scan("sum")(x, out=out, context=c), [out]),  # type: ignore[misc]
            "softmax": (lambda c=context: softmax(x, out=out, context=c), [None, None, out]),  # type: ignore[misc]
        }
        print(f"{device!r}")
        for name, (call, targets) in calls.items():

            def copies_of_passes(context: cm.Context = context, targets: list[Any] = targets) -> None:
                for target in targets:
                    copies(context, x, target)

            call()
            times = [(seconds(call), seconds(copies_of_passes)) for _ in range(options.repeats)]
            crossings = sum(1 if target is None else 2 for target in targets)
            own, copies_alone = (crossings * x.nbytes / median(each) / 1e9 for each in zip(*times, strict=True))
            print(f"  {name:8} {own:6.2f} GB/s   copies {copies_alone:6.2f} GB/s   {own / copies_alone:4.0%}")
        peak, limit = context.queue.arena.peak_bytes, context.queue.arena.limit
        print(f"  at most {peak:,} bytes of device memory were held, of {limit:,}")


if __name__ == "__main__":
    main()
