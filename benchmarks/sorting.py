"""Sorts, orders and pairs of random keys beside NumPy on CPUs, beside PyTorch on NVIDIA's GPUs where it is installed.

    python benchmarks/sorting.py --device intel
    python benchmarks/sorting.py --device nvidia --log2n 27

On CPUs calls take turns within each repetition; of repetitions those count in which the cores were ours, and the
median of their ratios is given. NumPy sorts with its vectorised sort where the processor has one; orders are its stable
ones, as ours are. On GPUs calls are queued one behind another. Every result is compared with NumPy's, bit by bit.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from primitives import Case, queued_ms, race
from report import head, row, times, title, verdict

import clmapreduce as cm

DTYPES = ("float32", "float64", "int32", "int64", "uint8")
CPU_BAR, GPU_BAR = 1.2, 0.6
"""At least so many times NumPy's rate; at least this share of PyTorch's, whose sort gives places as well."""


def keys_of(dtype: str, length: int) -> Any:
    """Random keys: normal floats, integers over their whole range."""
    rng, kind = np.random.default_rng(), np.dtype(dtype)
    if kind.kind == "f":
        return rng.standard_normal(length).astype(kind)
    return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, length, dtype=kind, endpoint=True)


def wrong(expected: Any, result: Any) -> float:
    """How many numbers of a result differ."""
    pairs = zip(expected, result, strict=True) if isinstance(result, tuple) else [(expected, result)]
    return float(sum(np.count_nonzero(np.asarray(a) != np.asarray(b)) for a, b in pairs))


def cases(dtype: str, length: int, context: cm.Context) -> list[Case]:
    """The rows of one dtype, with NumPy beside."""
    x = keys_of(dtype, length)
    values = np.arange(length, dtype=np.uint32)
    dx, dv, order = cm.array(x, context), cm.array(values, context), np.argsort(x, kind="stable")

    def pairs() -> Any:
        places = np.argsort(x, kind="stable")
        return x[places], values[places]

    nbytes = 2 * x.nbytes
    return [
        Case("sort", partial(cm.sort, dx), nbytes, {"NumPy": partial(np.sort, x)}, partial(wrong, x[order]), 0),
        Case("argsort", partial(cm.argsort, dx), nbytes, {"NumPy": partial(np.argsort, x, kind="stable")},
             partial(wrong, order), 0),
        Case("sort with uint32", partial(cm.sort_by_key, dx, dv), nbytes, {"NumPy": pairs},
             partial(wrong, (x[order], values[order])), 0),
    ]  # fmt: skip


def cpu_table(length: int, context: cm.Context, rounds: int, dtypes: Sequence[str]) -> None:
    head("what", "keys", "ours", "rate", "NumPy", "× NumPy", "bar", "wrong")
    for dtype in dtypes:
        for case in cases(dtype, length, context):
            errors = int(case.error(case.ours()))
            timing = race(case, context, rounds)
            seconds, ratio, theirs = timing.seconds, timing.ratio("NumPy"), timing.peer_seconds("NumPy")
            bar = verdict(f"≥ {CPU_BAR}", ratio >= CPU_BAR) if case.name == "sort" else ""
            rate, shared = f"{length / seconds / 1e6:.0f} M/s", "" if timing.quiet else " (cores were shared)"
            ours, numpys = f"{1e3 * seconds:.2f} ms", f"{1e3 * theirs:.2f} ms"
            row(case.name, dtype, ours, rate, numpys, f"{ratio:.2f}{shared}", bar, str(errors))


def torch_ms(x: Any) -> float | None:
    """Milliseconds of PyTorch's sort on its GPU, values and places; None without it."""
    try:
        import torch
    except ImportError:
        return None
    if not torch.cuda.is_available():
        return None
    there = torch.from_numpy(x).cuda()
    rounds = []
    for _ in range(7):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(10):
            torch.sort(there)
        torch.cuda.synchronize()
        rounds.append((time.perf_counter() - begin) / 10 * 1e3)
    return statistics.median(rounds)


def gpu_table(length: int, context: cm.Context, dtypes: Sequence[str]) -> None:
    head("what", "keys", "ours", "rate", "PyTorch's sort", "PyTorch ÷ ours", "bar", "wrong")
    for dtype in dtypes:
        theirs = torch_ms(keys_of(dtype, length))
        for case in cases(dtype, length, context):
            call: Callable[[], Any] = case.ours
            errors, ms = int(case.error(call())), queued_ms(call, context, 10)
            bar = "" if theirs is None else verdict(f"≥ {GPU_BAR}", theirs >= GPU_BAR * ms)
            torchs, rate = "" if theirs is None else f"{theirs:.3f} ms", f"{length / ms / 1e6:.2f} G/s"
            row(case.name, dtype, f"{ms:.3f} ms", rate, torchs, times(theirs, ms), bar, str(errors))


def main() -> None:
    parser = argparse.ArgumentParser(description="Sorts beside NumPy and PyTorch.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2n", type=int, nargs="*", default=None, help="20 and 24 on CPUs, 24 and 27 on GPUs")
    parser.add_argument("--dtype", nargs="*", choices=DTYPES, default=DTYPES)
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    device = cm.select_device(options.device)
    context = cm.Context(device)
    for log2n in options.log2n or ((20, 24) if device.kind == "cpu" else (24, 27)):
        title(device, f"2^{log2n} keys")
        if device.kind == "cpu":
            cpu_table(1 << log2n, context, options.rounds, options.dtype)
        else:
            gpu_table(1 << log2n, context, options.dtype)
        print()


if __name__ == "__main__":
    main()
