"""Parts of the tables of segments, keys and matrices: Markdown rows, verdicts, and two ways to time a call."""

from __future__ import annotations

import datetime
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from primitives import queued_ms

import clmapreduce as cm
from clmapreduce.bench.race import Case, race

COPY = cm.Map(lambda a: a)
LIMIT = 2e-6
"""The largest error that passes, beside Σ|terms|."""


def title(device: Any, what: str) -> None:
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, {what}, NumPy {np.__version__}\n")


def head(*names: str) -> None:
    row(*names)
    print("|---" * len(names) + "|")


def row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def verdict(bar: str, ok: bool) -> str:
    return bar if ok else f"{bar}: **missed**"


def error_column(error: float) -> str:
    """The error of a result of ours, or a shout."""
    return f"{error:.0e}" if error <= LIMIT else f"WRONG ({error:.0e} > {LIMIT:.0e})"


def peer(ms: float | None, error: float = 0.0) -> str:
    """A peer's time, with its error where ours might not have so large a one."""
    return "" if ms is None else f"{ms:.4f} ms" + ("" if error <= LIMIT else f" (error {error:.0e})")


def times(theirs: float | None, ours: float) -> str:
    return "" if theirs is None else f"{theirs / ours:.2f}"


def time_case(case: Case, context: cm.Context, rounds: int) -> tuple[float, dict[str, tuple[float, str, str]]]:
    """(our seconds, {peer: (ratio, the ratio as a cell, its time as a cell)}) of a CPU row."""
    timing = race(case, context, rounds)
    note = "" if timing.quiet else " (cores were shared)"
    return timing.seconds, {
        name: (timing.ratio(name), f"{timing.ratio(name):.2f}{note}", f"{1e3 * timing.peer_seconds(name):.1f} ms")
        for name in timing.peers
    }


def read_ceiling(x: Any, context: cm.Context) -> float:
    """Bytes per ms of a plain sum of x, on the device; printed too."""
    total, out = cm.Reduce("sum"), cm.array(np.zeros((), x.dtype), context)
    ceiling = x.nbytes / queued_ms(lambda: total(x, out=out), context)
    print(f"Read ceiling, from a plain sum: {ceiling / 1e9:.2f} TB/s\n")
    return float(ceiling)


def copy_ceiling(x: Any, context: cm.Context) -> float:
    """Bytes per ms, read and written, of a copy of x on the device; printed too."""
    out = COPY(x)
    ceiling = 2 * x.nbytes / queued_ms(lambda: COPY(x, out=out), context)
    print(f"Copy ceiling, from a map of ours: {ceiling / 1e9:.2f} TB/s\n")
    return float(ceiling)


def first_call_ms(call: Callable[..., Any], arrays: Sequence[Any], context: cm.Context) -> float:
    """Milliseconds, waiting included, of a call on fresh copies of arrays, which it checks because they are new;
    the median of five.
    """
    times = []
    for _ in range(6):
        fresh = [COPY(a) for a in arrays]
        context.wait()
        begin = time.perf_counter()
        call(*fresh)
        context.wait()
        times.append(1e3 * (time.perf_counter() - begin))
    return statistics.median(times[1:])
