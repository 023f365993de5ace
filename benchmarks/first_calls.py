"""First calls, each in a process of its own: with empty caches, and with the binaries that an earlier process stored.

    python benchmarks/first_calls.py                     the best device
    python benchmarks/first_calls.py --device intel --repeats 5
    python benchmarks/first_calls.py --only "sort|sum"   rows whose names hold one of these

Seconds from the call to its result in host memory, without import and context; "compiler" is the part of it in the
driver's compiler. With stored binaries a process takes "again", and a second call in it "warm". Medians.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
from report import head, row

import clmapreduce as cm

LONG, MANY = 10**6, 5_000


@cm.fuse
def softmax(x: Any) -> Any:
    weights = cm.math.exp(x - cm.Reduce("maximum")(x))
    return weights / cm.Reduce("sum")(weights)


def line() -> tuple[Any, ...]:
    return (np.random.default_rng(0).standard_normal(LONG, dtype="f4"),)


def points(dim: int) -> Callable[[], tuple[Any, ...]]:
    """Standard normal ones."""
    return lambda: tuple(np.random.default_rng(k).standard_normal((MANY, dim), dtype="f4") for k in range(2))


def near(dim: int) -> Callable[[], tuple[Any, ...]]:
    """Points of a cube of unit diagonal."""
    return lambda: tuple(np.random.default_rng(k).random((MANY, dim), dtype="f4") * dim**-0.5 for k in range(2))


def tens() -> tuple[Any, ...]:
    """Numbers, and where every tenth one begins; a matrix with ten elements a row."""
    return *line(), np.arange(0, LONG + 1, 10)


def distances(x: Any, y: Any) -> Any:
    return ((cm.LazyTensor(x[:, None]) - cm.LazyTensor(y[None])) ** 2).sum(-1)


def gaussian(x: Any, y: Any) -> Any:
    return (-distances(x, y)).exp().sum(1)


def product(x: Any, offsets: Any) -> Any:
    return cm.spmv((offsets, np.arange(LONG) % (LONG // 10), x), x[: LONG // 10])


CALLS: dict[str, tuple[Callable[[], tuple[Any, ...]], Callable[..., Any]]] = {
    "sum": (line, cm.Reduce("sum")),
    "map sin(x) + x²": (line, cm.Map(lambda v: cm.math.sin(v) + v * v)),
    "running sum": (line, cm.Scan("sum")),
    "softmax": (line, softmax),
    "Gaussian sum, D = 3": (points(3), gaussian),
    "Gaussian sum, D = 8": (points(8), gaussian),
    "Gaussian sum, D = 16": (points(16), gaussian),
    "Gaussian sum, D = 16, unit cube": (near(16), gaussian),
    "Gaussian sum, D = 24": (points(24), gaussian),
    "Gaussian sum, D = 24, unit cube": (near(24), gaussian),
    "Gaussian sum, D = 50": (points(50), gaussian),
    "sum of logarithms, D = 3": (points(3), lambda x, y: (1 + distances(x, y)).log().sum(1)),
    "logsumexp, D = 3": (points(3), lambda x, y: (-distances(x, y)).logsumexp(1)),
    "logsumexp, D = 50": (points(50), lambda x, y: (-distances(x, y)).logsumexp(1)),
    "10 nearest, D = 3": (points(3), lambda x, y: distances(x, y).argKmin(10, axis=1)),
    "10 nearest, D = 50": (points(50), lambda x, y: distances(x, y).argKmin(10, axis=1)),
    "sums of segments": (tens, cm.segmented_reduce),
    "sums by key": (tens, lambda x, offsets: cm.reduce_by_key(np.arange(LONG) // 10, x)[1]),
    "sparse product": (tens, product),
    "sort": (line, cm.sort),
}


def timed(name: str, device: str | None) -> None:
    """In a process of its own: prints what `measured` reads."""
    make, call = CALLS[name]
    with cm.Context(device) if device else cm.Context() as context:
        arrays, times = make(), []
        for _ in range(2):
            begin = time.perf_counter()
            np.asarray(call(*arrays))
            times.append(time.perf_counter() - begin)
        builds = list(context.queue.space.builds)
    print(json.dumps([*times, sum(build.seconds for build in builds), len(builds), repr(context.device)]))


def measured(name: str, device: str | None, caches: str) -> list[Any]:
    """(first call, second call, the compiler's part, kernels, device) of a process with some caches."""
    environment = {**os.environ, "CLMR_CACHE_DIR": caches, "POCL_CACHE_DIR": caches, "CUDA_CACHE_PATH": caches}
    command = [sys.executable, __file__, "--timed", name, *(["--device", device] if device else [])]
    ran = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    values: list[Any] = json.loads(ran.stdout.splitlines()[-1])
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="part of a device's name; the best one where left out")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="a regular expression that the rows' names hold")
    parser.add_argument("--timed", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.timed:
        timed(options.timed, options.device)
        return
    print(f"{datetime.date.today()}, python {' '.join(sys.argv)}\n")
    head("first call", "kernels", "call", "compiler", "again", "warm")
    for name in (name for name in CALLS if re.search(options.only, name)):
        cold, again = [], []
        for _ in range(options.repeats):
            with tempfile.TemporaryDirectory() as caches:
                cold.append(measured(name, options.device, caches))
                again.append(measured(name, options.device, caches))
        call, compiler = (f"{median(one[k] for one in cold):.2f}" for k in (0, 2))
        later, warm = (f"{median(one[k] for one in again):.3f}" for k in (0, 1))
        row(name, str(cold[0][3]), call, compiler, later, warm)
    print(f"\n{cold[0][4]}" if cold else "")


if __name__ == "__main__":
    main()
