"""Segmented sums beside their peers, in one run: numpy.add.reduceat on CPUs, the memory's own speed on GPUs.

    python benchmarks/segmented.py --device intel
    python benchmarks/segmented.py --device nvidia --log2n 28

Arrays live on the device, as in benchmarks/primitives.py, whose races these are: on CPUs ratios are medians over rounds
of peer time / our time. reduceat gives an element where a segment is empty; here it gets the begins of the others
alone, found beforehand. Ours is a SegmentPlan's reduction, whose offsets are checked once; "with checks" is a call of
segmented_reduce, which checks them every time. GPU rows are times per call of calls queued one behind another.
A floor is the least bytes (elements, offsets and results, once each) at the speed of a plain sum of the same
elements, measured in the same run. Errors are |s − s64| / Σ|terms| against float64, the worst of all segments.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from primitives import Case, queued_ms, race

import clmapreduce as cm

Lengths = Callable[[int, Any], Any]
LIMIT = 2e-6


def constant(length: int) -> Lengths:
    return lambda n, rng: np.full(-(-n // length), length)


def uniform(low: int, high: int) -> Lengths:
    """Lengths from `low` to `high`."""
    return lambda n, rng: rng.integers(low, high + 1, int(2.2 * n / (low + high)) + 64)


def half_empty(n: int, rng: Any) -> Any:
    lengths = rng.integers(1, 17, n // 4 + 64)
    lengths[rng.random(lengths.size) < 0.5] = 0
    return lengths


def pareto(mean: int) -> Lengths:
    """A power law of exponent 1.2."""

    def lengths(n: int, rng: Any) -> Any:
        drawn = rng.pareto(1.2, int(1.2 * n / mean) + 64) + 1
        return np.maximum(1, drawn * mean / drawn.mean()).astype(np.int64)

    return lengths


GEOMETRIES: dict[str, Lengths] = {
    "all of 1": constant(1),
    "1 to 7": uniform(1, 7),
    "all of 4": constant(4),
    "1 to 8": uniform(1, 8),
    "half empty": half_empty,
    "all of 8": constant(8),
    "all of 10": constant(10),
    "1 to 20": uniform(1, 20),
    "all of 32": constant(32),
    "1 to 200": uniform(1, 200),
    "1 to 2000": uniform(1, 2000),
    "all of 10,000": constant(10**4),
    "1 to 2·10⁵": uniform(1, 200_000),
    "1 to 2·10⁶": uniform(1, 2_000_000),
    "pareto, mean 10": pareto(10),
    "pareto, mean 100": pareto(100),
    "one": lambda n, rng: np.array([n]),
}
BARS = {"all of 4": 8, "1 to 7": 8, "all of 10": 6, "1 to 20": 6, "all of 10,000": 2}


def offsets_of(lengths: Any, n: int) -> Any:
    """Where segments of these lengths begin, up to n elements in all."""
    begins = np.concatenate([[0], np.cumsum(lengths)])
    return np.append(begins[begins < n], n).astype(np.int32)


def case(name: str, x: Any, dx: Any, context: cm.Context) -> tuple[Case, Any]:
    """The row of a geometry, and its offsets."""
    n = x.size
    offsets = offsets_of(GEOMETRIES[name](n, np.random.default_rng(n)), n)
    given, out = cm.array(offsets, context), cm.array(np.zeros(offsets.size - 1, np.float32), context)
    begins = offsets[:-1][np.diff(offsets) > 0]

    def error(found: Any) -> float:
        exact = np.zeros(offsets.size - 1)
        exact[np.diff(offsets) > 0] = np.add.reduceat(x, begins, dtype=np.float64)
        return float((np.abs(np.asarray(found) - exact) / np.maximum(exact, 1e-30)).max())  # terms are positive

    plan = cm.SegmentPlan(given, n)

    def checked() -> None:
        cm.segmented_reduce(dx, given, out=out)
        context.wait()

    nbytes = x.nbytes + offsets.nbytes + 4 * (offsets.size - 1)
    peers = {"reduceat": lambda: np.add.reduceat(x, begins), "checked": checked}
    return Case(name, lambda: plan.reduce(dx, out=out), nbytes, peers, error, LIMIT), offsets


def cpu_table(rows: list[str], x: Any, context: cm.Context, rounds: int) -> None:
    heads = ["lengths", "segments", "ours", "rate", "NumPy's reduceat", "×", "bar", "with checks", "error"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    dx = cm.array(x, context)
    for name in rows:
        row, offsets = case(name, x, dx, context)
        error = row.check()
        seconds, peers, quiet = race(row, context, rounds)
        ratio, theirs = peers["reduceat"]
        bar = BARS.get(name)
        told = "" if bar is None else f"≥ {bar}" if ratio >= bar else f"≥ {bar}: **missed**"
        cells = [
            name, f"{offsets.size - 1:,}", f"{1e3 * seconds:.2f} ms", f"{row.nbytes / seconds / 1e9:.1f} GB/s",
            f"{1e3 * theirs:.1f} ms", f"{ratio:.2f}{'' if quiet else ' (cores were shared)'}", told,
            f"{1e3 * peers['checked'][1]:.2f} ms", error,
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)


def gpu_table(rows: list[str], x: Any, context: cm.Context) -> None:
    dx, total, out = cm.array(x, context), cm.Reduce("sum"), cm.array(np.zeros((), x.dtype), context)
    ceiling = x.nbytes / queued_ms(lambda: total(dx, out=out), context)
    print(f"Read ceiling, from a plain sum: {ceiling / 1e9:.2f} TB/s\n")
    heads = ["lengths", "segments", "ours", "rate", "floor", "ours ÷ floor", "with checks", "error"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name in rows:
        row, offsets = case(name, x, dx, context)
        error = row.check()
        ms, floor = queued_ms(row.ours, context), row.nbytes / ceiling
        cells = [
            name, f"{offsets.size - 1:,}", f"{ms:.4f} ms", f"{row.nbytes / ms / 1e6:.0f} GB/s", f"{floor:.4f} ms",
            f"{ms / floor:.2f}", f"{queued_ms(row.peers['checked'], context):.4f} ms", error,
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Segmented sums beside their peers.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2n", type=int, default=None, help="elements; default 26 on CPUs, 28 on GPUs")
    parser.add_argument("--only", default="", help="rows whose name holds this; several with commas between")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    device = cm.select_device(options.device)
    n = 1 << (options.log2n or (26 if device.kind == "cpu" else 28))
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, {n} float32, NumPy {np.__version__}\n")
    rows = [name for name in GEOMETRIES if any(part in name for part in options.only.split(","))]
    x = np.random.default_rng().random(n, dtype=np.float32)
    if device.kind == "cpu":
        cpu_table(rows, x, cm.Context(device), options.rounds)
    else:
        gpu_table(rows, x, cm.Context(device))


if __name__ == "__main__":
    main()
