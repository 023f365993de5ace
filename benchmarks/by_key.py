"""Sums by key, the second table of benchmarks/segmented.py: runs of int32 keys with the lengths of its segments.

On CPUs ours is a call that waits for the number of runs; NumPy compares neighbours, then calls reduceat; pandas groups,
which may not know that equal keys lie together. On GPUs calls are queued one behind another: one that leaves the number
of runs on the device, one that waits for it, a KeyPlan's reduction, which knows the runs, and CUB's. A floor is 8 bytes
an element and 8 a run at the speed of a copy of ours, measured in the same run. Keys, numbers of runs and sums are
checked, sums against float64 as for segments.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from geometries import Line, offsets_of, worst
from peers.cuda import Cub, try_peer
from primitives import queued_ms
from report import LIMIT, copy_ceiling, error_column, head, peer, row, time_case, times, verdict

import clmapreduce as cm
from clmapreduce.bench.race import Case

CPU_ROWS = ("1 to 8", "all of 10", "1 to 20", "1 to 200", "1 to 2000")
WITH_CPU_BAR = ("all of 10", "1 to 20")
CPU_BARS = {"NumPy": 5, "pandas": 15}
GPU_ROWS = (
    "all of 1", "1 to 8", "all of 8", "1 to 20", "all of 32", "1 to 200", "1 to 2000", "1 to 2·10⁵", "1 to 2·10⁶",
    "pareto, mean 10", "pareto, mean 100", "one",
)  # fmt: skip
GPU_BAR = 1.3  # where runs have 8 elements or more


class Runs:
    """Keys in runs, and our ways to sum by them."""

    def __init__(self, name: str, line: Line, context: cm.Context) -> None:
        offsets = offsets_of(name, line.x.size)
        self.line, self.runs = line, offsets.size - 1
        self.keys = np.repeat(np.arange(self.runs, dtype=np.int32), np.diff(offsets))
        self.exact = line.sums(offsets)
        self.device_keys = cm.array(self.keys, context)
        self.nbytes = 8 * line.x.size + 8 * self.runs
        self._context = context

    def outputs(self, length: int) -> tuple[Any, Any]:
        """For keys and sums."""
        keys, sums = (cm.array(np.zeros(length, dtype), self._context) for dtype in (np.int32, np.float32))
        return keys, sums

    def call(self, count: str) -> Callable[[], Any]:
        """A sum by key that leaves the number of runs on the "device", or brings it to the "host"."""
        out = self.outputs(self.line.x.size if count == "device" else self.runs)
        return partial(cm.reduce_by_key, self.device_keys, self.line.dx, count=count, out=out)

    def plan_call(self) -> Callable[[], Any]:
        plan, out = cm.KeyPlan(self.device_keys), self.outputs(self.runs)[1]
        return partial(plan.reduce, self.line.dx, out=out)

    def error(self, result: Any) -> float:
        """The worst sum's; infinite where a key or the number of runs is wrong."""
        keys, sums = (np.asarray(a)[: self.runs] for a in result[:2])
        count = int(result[2]) if len(result) > 2 else len(result[0])
        if count != self.runs or not np.array_equal(keys, np.arange(self.runs)):
            return float("inf")
        return worst(sums, self.exact)


def by_numpy(keys: Any, x: Any) -> Any:
    starts = np.concatenate([[0], np.flatnonzero(keys[1:] != keys[:-1]) + 1])
    return keys[starts], np.add.reduceat(x, starts)


def by_pandas(keys: Any, x: Any) -> Callable[[], Any] | None:
    """Its groupby on these columns, or None where it is not installed."""
    try:
        import pandas
    except ImportError:
        return None
    column = pandas.Series(x)
    return lambda: column.groupby(keys, sort=False).sum()


def cpu_table(names: list[str], line: Line, context: cm.Context, rounds: int) -> None:
    pandas_here = by_pandas(np.zeros(1, np.int32), np.zeros(1, np.float32)) is not None
    print("\nSums by key" + ("" if pandas_here else " (pandas is not installed, and left out)") + "\n")
    head("runs", "number", "ours", "NumPy", "× NumPy", "pandas", "× pandas", "bar", "error")
    for name in (n for n in CPU_ROWS if n in names):
        case_runs = Runs(name, line, context)
        peers = {"NumPy": partial(by_numpy, case_runs.keys, line.x)}
        groupby = by_pandas(case_runs.keys, line.x)
        if groupby is not None:
            peers["pandas"] = groupby
        case = Case(name, case_runs.call("host"), case_runs.nbytes, peers, case_runs.error, LIMIT)
        error = case.check()
        seconds, results = time_case(case, context, rounds)
        bars = [verdict(f"{who} ≥ {CPU_BARS[who]}", ratio >= CPU_BARS[who]) for who, (ratio, *_) in results.items()]
        cells = [cell for who in CPU_BARS for cell in reversed(results.get(who, ("", "", ""))[1:])]
        label = ", ".join(bars) if name in WITH_CPU_BAR else ""
        row(name, f"{case_runs.runs:,}", f"{1e3 * seconds:.2f} ms", *cells, label, error)


def gpu_table(names: list[str], line: Line, context: cm.Context, cub: Cub | None) -> None:
    print("\nSums by key\n")
    ceiling = copy_ceiling(line.dx, context)
    head(
        "runs", "number", "ours", "floor", "× floor", "bar", "number on the host", "KeyPlan", "CUB", "CUB ÷ ours",
        "error",
    )  # fmt: skip
    for name in (n for n in GPU_ROWS if n in names):
        runs = Runs(name, line, context)
        results = []
        for make in (partial(runs.call, "device"), partial(runs.call, "host"), runs.plan_call):
            call = make()
            results.append((runs.error(call()), queued_ms(call, context)))
        (_, ms), (_, host_ms), (_, plan_ms) = results
        label = cub and try_peer(f"CUB, {name}", partial(cub.sum_by_key, runs.keys, runs.runs))
        theirs, sums = label or (None, runs.exact)
        floor = runs.nbytes / ceiling
        row(
            name, f"{runs.runs:,}", f"{ms:.4f} ms", f"{floor:.4f} ms", f"{ms / floor:.2f}",
            verdict(f"≤ {GPU_BAR}", ms <= GPU_BAR * floor) if line.x.size >= 8 * runs.runs else "",
            f"{host_ms:.4f} ms", f"{plan_ms:.4f} ms", peer(theirs, worst(sums, runs.exact)), times(theirs, ms),
            error_column(max(error for error, _ in results)),
        )  # fmt: skip
