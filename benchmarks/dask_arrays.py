"""The time of calls on Dask arrays compared with Dask's own, and the gain of a second worker.

    python benchmarks/dask_arrays.py
    python benchmarks/dask_arrays.py --elements 10000000 --points 100000

tasks: milliseconds per chunk beyond those of the same call by NumPy, chunks of 8 elements, by 2 threads and by a worker
process. file: a mapped file in 200 chunks, summed, and the sum of exponentials, by 2 threads; NumPy's time over ours.
pairs: a Gaussian sum over pairs by worker processes of one core each. Ways take turns; medians. On CPUs only: each
worker of `pairs` is held to a core.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import dask
import dask.array as da
import numpy as np

import clmapreduce as cm

SUM = cm.Reduce("sum")
SUM_OF_EXP = cm.Map("exp(a)") >> SUM


def seconds(call: Callable[[], Any]) -> float:
    before = time.perf_counter()
    call()
    return time.perf_counter() - before


def in_turns(calls: dict[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The median seconds of each call."""
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(seconds(call))
    return {name: median(each) for name, each in times.items()}


@contextmanager
def workers_of(count: int) -> Iterator[Any]:
    """A cluster of so many processes of one thread, which computes inside the block."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=None, memory_limit=None) as cluster,
        Client(cluster) as client,
        dask.config.set(scheduler=client),
    ):
        yield client


def tasks(chunks: int, repeats: int) -> None:
    x = da.zeros(8 * chunks, chunks=8, dtype=np.float32)
    add = cm.Map("a + 1")
    calls = {
        "a map": lambda: add(x).compute(),
        "NumPy's map": lambda: x.map_blocks(lambda a: a + 1).compute(),
        "a sum": lambda: SUM(x).compute(),
        "NumPy's sum": lambda: x.sum().compute(),
    }
    times = {name: 1e3 * t / chunks for name, t in in_turns(calls, repeats).items()}
    for name in ("map", "sum"):
        own, numpys = times[f"a {name}"], times[f"NumPy's {name}"]
        print(f"  {name}: {own:.2f} ms per chunk, NumPy's {numpys:.2f}: {own - numpys:.2f} more")


def file(elements: int, dtype: Any, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers"
        mapped = np.memmap(path, dtype, "w+", shape=(200 * elements,))
        rng = np.random.default_rng(0)
        for k in range(200):
            mapped[k * elements : (k + 1) * elements] = rng.standard_normal(elements, dtype=dtype)
        mapped.flush()
        x = da.from_array(np.memmap(path, dtype, "r"), chunks=elements, name=False)
        calls = {
            "sum": lambda: SUM(x).compute(),
            "NumPy's sum": lambda: x.sum().compute(),
            "sum of exp": lambda: SUM_OF_EXP(x).compute(),
            "NumPy's sum of exp": lambda: da.exp(x).sum().compute(),
        }
        times = in_turns(calls, repeats)
        for name in ("sum", "sum of exp"):
            own, numpys = times[name], times[f"NumPy's {name}"]
            print(f"  {name}: {own:.3f} s, NumPy's {numpys:.3f} s: {numpys / own:.2f} x")


def held_to_one_core(dask_worker: Any) -> None:
    """Before the worker makes a context, whose threads then share the core."""
    os.sched_setaffinity(0, {int(dask_worker.name) % (os.cpu_count() or 1)})


def pairs(points: int, repeats: int) -> None:
    x = np.random.default_rng(0).standard_normal((points, 3)).astype(np.float32)
    chunked = da.from_array(x, chunks=(points // 16, 3))
    lazy = (-((cm.Vi(chunked) - cm.Vj(x)) ** 2).sum()).exp().sum(axis=1)
    times = {}
    for workers in (1, 2):
        with workers_of(workers) as client:
            client.run(held_to_one_core)
            times[workers] = in_turns({"pairs": lambda: lazy.compute()}, repeats)["pairs"]
        print(f"  {workers} worker(s): {times[workers]:.2f} s, {points**2 / times[workers] / 1e9:.2f} Gpair/s")
    print(f"  2 workers: {times[1] / times[2]:.2f} x")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["tasks", "file", "pairs"])
    parser.add_argument("--chunks", type=int, default=500, help="of `tasks`")
    parser.add_argument("--elements", type=int, default=1_000_000, help="of a chunk of `file`")
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"{cm.select_device()!r}, Dask {dask.__version__}")
    with dask.config.set(scheduler="threads", num_workers=2):
        if options.only in (None, "tasks"):
            print("tasks, threads")
            tasks(options.chunks, options.repeats)
            print("tasks, a worker process")
            with workers_of(1):
                tasks(options.chunks, options.repeats)
        if options.only in (None, "file"):
            for dtype in (np.float32, np.float64):
                print(f"file of 200 chunks of {options.elements:,} {np.dtype(dtype)}")
                file(options.elements, dtype, options.repeats)
    if options.only in (None, "pairs"):
        print(f"pairs of {options.points:,} points")
        pairs(options.points, options.repeats)


if __name__ == "__main__":
    main()
