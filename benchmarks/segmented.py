"""Segmented sums and sums by key beside their peers, in one run: NumPy and pandas on CPUs, CUB on NVIDIA's GPUs.

    python benchmarks/segmented.py --device intel
    python benchmarks/segmented.py --device nvidia --log2n 28 --table segments

Arrays live on the device, as in benchmarks/primitives.py, whose races these are: on CPUs ratios are medians over rounds
of peer time / our time. For an empty segment reduceat gives an element; here it gets the begins of the others
alone, computed beforehand. Ours is a SegmentPlan's reduction, whose offsets are checked once; a single call checks new
offsets, and the "first call" is one that does, waiting included. GPU rows are times per call of calls queued one
behind another, CUB's too (on the same numbers, by benchmarks/peers/cuda.py). A floor is the least bytes (elements,
offsets and results, once each) at the speed of a plain sum of the same elements, measured in the same run. Errors are
|s − s64| / Σ|terms| against float64, the worst of all segments. Sums by key: benchmarks/by_key.py.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import by_key
import numpy as np
from geometries import GEOMETRIES, Line, offsets_of, worst
from peers.cuda import Cub, try_peer
from primitives import Case, queued_ms
from report import LIMIT, error_column, first_call_ms, head, peer, read_ceiling, row, time_case, times, title, verdict

import clmapreduce as cm

CPU_BARS = {"all of 4": 8, "1 to 7": 8, "all of 10": 6, "1 to 20": 6, "all of 10,000": 2}


def gpu_bar(mean: float) -> float:
    """How many times its floor a reduction may take."""
    return 1.4 if mean < 8 else 1.25 if mean < 1000 else 1.15


class Segments:
    """A geometry of a line of elements, and our ways to sum it."""

    def __init__(self, name: str, line: Line, context: cm.Context) -> None:
        self.context, self.line, self.offsets = context, line, offsets_of(name, line.x.size)
        self.segments = self.offsets.size - 1
        self.exact = line.sums(self.offsets)
        self.nbytes = line.x.nbytes + self.offsets.nbytes + 4 * self.segments
        self.on_device = cm.array(self.offsets, context)
        self.out = cm.array(np.zeros(self.segments, np.float32), context)
        self.plan = cm.SegmentPlan(self.on_device, line.x.size)

    def plan_call(self) -> Any:
        return self.plan.reduce(self.line.dx, out=self.out)

    def single(self) -> Any:
        return cm.segmented_reduce(self.line.dx, self.on_device, out=self.out)

    def first(self) -> float:
        """Milliseconds of a call that checks."""
        return first_call_ms(lambda fresh: cm.segmented_reduce(self.line.dx, fresh), [self.on_device], self.context)

    def error(self, result: Any) -> float:
        return worst(result, self.exact)


def cpu_table(names: list[str], line: Line, context: cm.Context, rounds: int) -> None:
    head("lengths", "segments", "ours", "rate", "NumPy's reduceat", "×", "bar", "first call", "error")
    for name in names:
        runs = Segments(name, line, context)
        begins = runs.offsets[:-1][np.diff(runs.offsets) > 0]
        peers = {"reduceat": lambda begins=begins: np.add.reduceat(line.x, begins)}
        case = Case(name, runs.plan_call, runs.nbytes, peers, runs.error, LIMIT)
        error = case.check()
        seconds, results = time_case(case, context, rounds)
        ratio, label, theirs = results["reduceat"]
        bar = CPU_BARS.get(name)
        row(
            name, f"{runs.segments:,}", f"{1e3 * seconds:.2f} ms", f"{runs.nbytes / seconds / 1e9:.1f} GB/s",
            theirs, label, "" if bar is None else verdict(f"≥ {bar}", ratio >= bar), f"{runs.first():.2f} ms", error,
        )  # fmt: skip


def gpu_table(names: list[str], line: Line, context: cm.Context, cub: Cub | None) -> None:
    ceiling = read_ceiling(line.dx, context)
    head(
        "lengths", "segments", "ours", "floor", "× floor", "bar", "single call", "first call", "CUB", "CUB ÷ ours",
        "error",
    )  # fmt: skip
    for name in names:
        runs = Segments(name, line, context)
        error = error_column(runs.error(runs.plan_call()))
        ms, floor, bar = queued_ms(runs.plan_call, context), runs.nbytes / ceiling, gpu_bar(line.x.size / runs.segments)
        result = cub and try_peer(f"CUB, {name}", partial(cub.segmented_sum, runs.offsets))
        theirs, sums = result or (None, runs.exact)
        label = verdict(f"≤ {bar}", ms <= bar * floor)
        if theirs is not None:
            label += verdict(", ahead", ms < theirs)
        row(
            name, f"{runs.segments:,}", f"{ms:.4f} ms", f"{floor:.4f} ms", f"{ms / floor:.2f}", label,
            f"{queued_ms(runs.single, context):.4f} ms", f"{runs.first():.4f} ms",
            peer(theirs, runs.error(sums)), times(theirs, ms), error,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Segmented sums and sums by key beside their peers.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2n", type=int, default=None, help="elements; default 26 on CPUs, 28 on GPUs")
    parser.add_argument("--only", default="", help="rows whose name holds this; several with semicolons between")
    parser.add_argument("--table", choices=("segments", "keys", "both"), default="both")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    device = cm.select_device(options.device)
    n = 1 << (options.log2n or (26 if device.kind == "cpu" else 28))
    title(device, f"{n} float32")
    names = [name for name in GEOMETRIES if any(part in name for part in options.only.split(";"))]
    context = cm.Context(device)
    x = np.random.default_rng().random(n, dtype=np.float32)
    line = Line(x, cm.array(x, context))
    if device.kind == "cpu":
        if options.table != "keys":
            cpu_table(names, line, context, options.rounds)
        if options.table != "segments":
            by_key.cpu_table(names, line, context, options.rounds)
        return
    cub = try_peer("CUB", lambda: Cub(x))
    if options.table != "keys":
        gpu_table(names, line, context, cub)
    if options.table != "segments":
        by_key.gpu_table(names, line, context, cub)


if __name__ == "__main__":
    main()
