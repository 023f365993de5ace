"""Sorts, orders and pairs of random keys beside NumPy on CPUs, beside PyTorch on NVIDIA's GPUs where it is installed.

    python benchmarks/sorting.py --device intel
    python benchmarks/sorting.py --device nvidia --log2n 27

On CPUs calls take turns within each repetition; of repetitions those count in which the cores were ours, and the
median of their ratios is given. NumPy sorts with its vectorised sort where the processor has one; orders are its stable
ones, as ours are. On GPUs calls are queued one behind another. Every result is checked whole: sorted keys are NumPy's,
and a stable order visits them in turn, equal ones from the first place to the last.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from primitives import Case, queued_ms, race
from report import head, row, times, title, verdict

import clmapreduce as cm

DTYPES = ("float32", "float64", "int32", "int64", "uint8")
CPU_BAR, GPU_BAR = 1.2, 0.6
"""At least so many times NumPy's rate; at least this share of PyTorch's, whose sort gives places as well."""


STRETCH = 1 << 22
"""Keys that one core draws or checks at a time."""


def stretches(work: Callable[[int, int], int], length: int) -> int:
    """The sum of work(begin, end) over all stretches of a line, on every core: NumPy's loops run beside each other."""
    begins = range(0, length, STRETCH)
    with ThreadPoolExecutor(os.cpu_count()) as cores:
        return sum(cores.map(lambda begin: work(begin, min(begin + STRETCH, length)), begins))


def keys_of(dtype: str, length: int) -> Any:
    """Random keys: normal floats, integers over their whole range."""
    keys, seeds = np.empty(length, dtype), np.random.SeedSequence().spawn(length // STRETCH + 1)

    def draw(begin: int, end: int) -> int:
        rng, part = np.random.Generator(np.random.SFC64(seeds[begin // STRETCH])), keys[begin:end]
        if keys.dtype.kind == "f":
            rng.standard_normal(out=part, dtype=keys.dtype)
        else:
            bounds = np.iinfo(keys.dtype)
            part[:] = rng.integers(bounds.min, bounds.max, len(part), keys.dtype, endpoint=True)
        return 0

    stretches(draw, length)
    return keys


def unlike(expected: Any, result: Any) -> float:
    """How many keys differ."""
    found = np.asarray(result)
    return float(stretches(lambda begin, end: np.count_nonzero(found[begin:end] != expected[begin:end]), len(expected)))


def out_of_order(x: Any, ordered: Any, order: Any) -> float:
    """How many of the places are wrong in the stable order of the keys x, which sorted are `ordered`.

    Places outside count, those of other keys, and those of a key that do not rise; if none does, every place is there.
    """
    places = np.asarray(order)

    def wrong(begin: int, end: int) -> int:
        there, keys = places[begin:end], ordered[begin:end]
        inside = (there >= 0) & (there < len(x))
        count = np.count_nonzero(~inside | (x.take(there, mode="clip") != keys))
        before, after = places[begin : end - 1], places[begin + 1 : end]
        count += np.count_nonzero((keys[1:] == keys[:-1]) & (after <= before))
        return int(count + (begin > 0 and ordered[begin] == ordered[begin - 1] and places[begin] <= places[begin - 1]))

    return float(stretches(wrong, len(x)))


def pairs_apart(x: Any, ordered: Any, pairs: Any) -> float:
    """How many of the sorted keys are wrong, and of the values, which were the places of the keys x."""
    return unlike(ordered, pairs[0]) + out_of_order(x, ordered, pairs[1])


def cases(x: Any, context: cm.Context) -> list[Case]:
    """The rows of one dtype, with NumPy beside."""
    values, ordered = np.arange(len(x), dtype=np.uint32), np.sort(x)
    dx, dv = cm.array(x, context), cm.array(values, context)

    def pairs() -> Any:
        places = np.argsort(x, kind="stable")
        return x[places], values[places]

    nbytes = 2 * x.nbytes
    return [
        Case("sort", partial(cm.sort, dx), nbytes, {"NumPy": partial(np.sort, x)}, partial(unlike, ordered), 0),
        Case("argsort", partial(cm.argsort, dx), nbytes, {"NumPy": partial(np.argsort, x, kind="stable")},
             partial(out_of_order, x, ordered), 0),
        Case("sort with uint32", partial(cm.sort_by_key, dx, dv), nbytes, {"NumPy": pairs},
             partial(pairs_apart, x, ordered), 0),
    ]  # fmt: skip


def cpu_table(length: int, context: cm.Context, rounds: int, dtypes: Sequence[str]) -> None:
    head("what", "keys", "ours", "rate", "NumPy", "× NumPy", "bar", "wrong")
    for dtype in dtypes:
        for case in cases(keys_of(dtype, length), context):
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
        x = keys_of(dtype, length)
        theirs = torch_ms(x)
        for case in cases(x, context):
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
