"""One call on one device and on several: seconds, how many times faster, and whether the bits are the same.

Arrays lie in host memory. "alone" is a context of the device, "1" one of a list with that device: it cuts calls into
the blocks that others would share. The contexts take turns within each repetition; printed are medians. The floor is
the time alone divided by the number of devices where computing bounds a row, and the host's copies where those do.
Devices that read host memory in place share pairs alone: --limit makes them share lines and segments too.

    python benchmarks/devices.py                          all devices of the best one's kind
    python benchmarks/devices.py --device pocl --queues 2  one device twice, to see what sharing costs
    python benchmarks/devices.py --scale 0.01              smaller problems
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np

import clmapreduce as cm

Call = Callable[[], Any]


def points(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
    return rng.standard_normal((count, dim), dtype=np.float32)


def distances(x: np.ndarray, y: np.ndarray) -> Any:
    return ((cm.LazyTensor(x[:, None]) - cm.LazyTensor(y[None])) ** 2).sum(-1)


def rows(scale: float, rng: np.random.Generator) -> dict[str, Call]:
    """Calls on the default context, by name."""
    many, few, long = int(1e6 * scale), int(1e5 * scale**0.5), int(2**30 * scale)
    x, y, b = points(rng, many, 3), points(rng, many, 3), points(rng, many, 1)
    wide, others, weights = points(rng, few, 50), points(rng, few, 50), points(rng, few, 1)
    line = rng.standard_normal(long // 64 * 64, dtype=np.float32)
    offsets = np.arange(0, len(line) + 1, 64, dtype=np.int32)
    sizes = np.arange(0, long // 64 + 1, 16, dtype=np.int32)
    columns = rng.integers(0, many, int(sizes[-1]), dtype=np.int32)
    entries = rng.standard_normal(int(sizes[-1]), dtype=np.float32)
    pipeline = cm.Map(lambda v: cm.math.exp(-v * v)) >> cm.Reduce("sum")
    return {
        f"Gaussian sum, {many:,}², D = 3": lambda: (-distances(x, y)).exp() @ b,
        f"Gaussian sum, {few:,}², D = 50": lambda: (-0.02 * distances(wide, others)).exp() @ weights,
        f"argKmin 10, {few:,}², D = 50": lambda: distances(wide, others).argKmin(10, axis=1),
        f"sum, {long:,}": lambda: cm.Reduce("sum")(line),
        f"exp and sum, {long:,}": lambda: pipeline(line),
        f"scan, {long:,}": lambda: cm.Scan("sum")(line),
        f"segments of 64, {long:,}": lambda: cm.segmented_reduce(line, offsets),
        f"sparse matrix, {len(sizes) - 1:,} rows of 16": lambda: cm.spmv((sizes, columns, entries), x[:, 0].copy()),
    }


def measured(call: Call, context: cm.Context) -> tuple[float, bytes]:
    """Seconds of a call on a context, and the bits of its result."""
    with context:
        before = time.perf_counter()
        result = np.asarray(call())
        return time.perf_counter() - before, result.tobytes()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="part of a device's name; the best one where left out")
    parser.add_argument("--queues", type=int, default=1, help="how often every device is named")
    parser.add_argument("--scale", type=float, default=1.0, help="of the rows' operations and bytes")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--limit", help="of device memory")
    parser.add_argument("--trace", help="writes a trace of the first row on all devices to this file")
    options = parser.parse_args()
    best = cm.select_device(options.device)
    team = [d for d in cm.devices() if (d.kind, d.vendor) == (best.kind, best.vendor)] * options.queues
    counts = sorted({1, *(2**k for k in range(1, 8) if 2**k <= len(team)), len(team)})
    lists = {"alone": team[0]} | {str(count): team[:count] for count in counts}
    contexts = {name: cm.Context(each, memory_limit=options.limit) for name, each in lists.items()}
    print(f"{len(team)} devices, the first {best!r}")
    calls = rows(options.scale, np.random.default_rng(0))
    for name, call in calls.items():
        for context in contexts.values():
            measured(call, context)  # builds kernels, measures rates
        times: dict[str, list[float]] = {count: [] for count in contexts}
        bits = set()
        for _ in range(options.repeats):
            for count, context in contexts.items():
                seconds, result = measured(call, context)
                times[count].append(seconds)
                bits |= {result} if count != "alone" else set()
        one = median(times["alone"])
        each = "   ".join(f"{n}: {median(t):8.4f} s ({one / median(t):4.2f} x)" for n, t in times.items())
        print(f"  {name:36} {each}   {'same bits' if len(bits) == 1 else 'OTHER BITS'}")
    if options.trace:
        context = cm.Context(team, profile=True)
        measured(next(iter(calls.values())), context)
        context.trace(options.trace)


if __name__ == "__main__":
    main()
