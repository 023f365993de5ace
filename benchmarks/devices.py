"""One call on one device and on several: seconds, how many times faster, and whether the bits are the same.

Rows called "resident" have their arrays on the devices before time is taken, all others in host memory. "alone" is a
context of the device, "1" one of a list with that device: it cuts calls into the blocks that others would share. The
contexts take turns within each repetition; printed are medians. The floor is the time alone divided by the number of
devices where computing or their memory bounds a row, and the host's copies where those do. Devices that read host
memory in place share pairs alone: --limit makes them share lines and segments too.

    python benchmarks/devices.py                          all devices of the best one's kind
    python benchmarks/devices.py --device pocl --queues 2  one device twice, to see what sharing costs
    python benchmarks/devices.py --scale 0.01              smaller problems
    python benchmarks/devices.py --only "sum|scan"         rows whose names hold one of these
    python benchmarks/devices.py --dask                    by Dask as well, one worker process a device
    python benchmarks/devices.py --dask-alone              by Dask only
"""

from __future__ import annotations

import argparse
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import clmapreduce as cm


@dataclass(frozen=True)
class Row:
    """A call on arrays that `make` gives in host memory. bring: gives what a call takes, before time is taken."""

    name: str
    make: Callable[[], tuple[Any, ...]]
    call: Callable[..., Any]
    bring: Callable[..., tuple[Any, ...]] = lambda *host: host

    def arrays(self, host: tuple[Any, ...], context: cm.Context) -> tuple[Any, ...]:
        """The arrays as calls on a context take them."""
        with context:
            return self.bring(*host)


def on_devices(*host: np.ndarray) -> tuple[Any, ...]:
    return tuple(map(cm.array, host))


def points(rng: np.random.Generator, count: int, dim: int) -> np.ndarray:
    return rng.standard_normal((count, dim), dtype=np.float32)


def distances(x: np.ndarray, y: np.ndarray) -> Any:
    return ((cm.LazyTensor(x[:, None]) - cm.LazyTensor(y[None])) ** 2).sum(-1)


def blocks(x: np.ndarray, clusters: int, share: float, rng: np.random.Generator) -> cm.Ranges:
    """Ranges of clusters of equal size, a share of which meet, each itself."""
    edges = np.linspace(0, len(x), clusters + 1).astype(np.int64)
    each = np.stack([edges[:-1], edges[1:]], axis=1)
    return cm.Ranges.from_matrix(each, each, (rng.random((clusters, clusters)) < share) | np.eye(clusters, dtype=bool))


def gaussian(scale: float) -> Callable[..., Any]:
    """The Gaussian sum of points."""
    return lambda x, y, b: (-scale * distances(x, y)).exp() @ b


def normal(rng: np.random.Generator, count: int) -> np.ndarray:
    """So many numbers; long arrays repeat some, which takes less time than to draw all."""
    some = rng.standard_normal(min(count, 2**26), dtype=np.float32)
    return some if len(some) == count else np.resize(some, count)


def rows(scale: float, rng: np.random.Generator) -> list[Row]:
    """All rows."""
    many, more, few = int(1e6 * scale), int(3e6 * scale), int(1e5 * scale**0.5)
    long, longer, sparse_rows = int(2**30 * scale), int(2**33 * scale), int(2**26 * scale)
    pipeline = cm.Map(lambda v: cm.math.exp(-v * v)) >> cm.Reduce("sum")
    sparse = cm.Genred("Exp(-SqDist(x, y)) * b", ["x = Vi(3)", "y = Vj(3)", "b = Vj(1)"], axis=1)

    def cloud(count: int, dim: int) -> Callable[[], tuple[Any, ...]]:
        return lambda: (points(rng, count, dim), points(rng, count, dim), points(rng, count, 1))

    def line(count: int) -> Callable[[], tuple[Any, ...]]:
        return lambda: (normal(rng, count),)

    def segments(count: int) -> tuple[Any, ...]:
        return normal(rng, count // 64 * 64), np.arange(0, count // 64 * 64 + 1, 64, dtype=np.int32)

    def matrix(count: int) -> tuple[Any, ...]:
        sizes = np.arange(0, 8 * count + 1, 8, dtype=np.int32)
        columns = (np.repeat(np.arange(count), 8) + rng.integers(0, 4096, 8 * count)) % count
        return sizes, columns.astype(np.int32), normal(rng, 8 * count), normal(rng, count)

    ranges = blocks(points(rng, many, 3), max(4, min(4096, many // 64)), 0.05, rng)
    pairs = [
        Row(f"Gaussian sum, {many:,}², D = 3", cloud(many, 3), gaussian(1.0)),
        Row(f"Gaussian sum, {more:,}², D = 3", cloud(more, 3), gaussian(1.0)),
        Row(f"Gaussian sum, {few:,}², D = 50", cloud(few, 50), gaussian(0.02)),
        Row(f"Gaussian sum, {3 * few:,}², D = 50", cloud(3 * few, 50), gaussian(0.02)),
        Row(f"argKmin 10, {few:,}², D = 50", cloud(few, 50), lambda x, y, b: distances(x, y).argKmin(10, axis=1)),
        Row(f"pairs of blocks, 5 % of {many:,}²", cloud(many, 3), lambda x, y, b: sparse(x, y, b, ranges=ranges)),
    ]
    lines = [
        Row(f"sum, {long:,}", line(long), cm.Reduce("sum")),
        Row(f"exp and sum, {long:,}", line(long), pipeline),
        Row(f"scan, {long:,}", line(long), cm.Scan("sum")),
    ]
    plans = [
        Row(f"segments of 64, {long:,}", lambda: segments(long), cm.segmented_reduce),
        Row(f"segments of 64, {long:,}, resident", lambda: segments(long), lambda v, plan: plan.reduce(v),
            lambda v, offsets: (cm.array(v), cm.SegmentPlan(offsets, len(v)))),
        Row(f"sparse matrix, {sparse_rows:,} rows of 8", lambda: matrix(sparse_rows),
            lambda p, c, d, x: cm.spmv((p, c, d), x)),
        Row(f"sparse matrix, {sparse_rows:,} rows of 8, resident", lambda: matrix(sparse_rows),
            lambda plan, x: plan.apply(x), lambda p, c, d, x: (cm.SpmvPlan((p, c, d)), cm.array(x))),
    ]  # fmt: skip
    long_lines = [
        Row(f"sum, {longer:,}", line(longer), cm.Reduce("sum")),
        Row(f"scan, {longer:,}", line(longer), cm.Scan("sum")),
    ]
    resident = [Row(f"{row.name}, resident", row.make, row.call, on_devices) for row in (*pairs, *lines)]
    resident.append(Row(f"sum, {4 * long:,}, resident", line(4 * long), cm.Reduce("sum"), on_devices))
    both = [each for two in zip((*pairs, *lines), resident, strict=False) for each in two]
    return both + resident[-1:] + plans + long_lines


def measured(call: Callable[[], Any], context: cm.Context) -> tuple[float, Any]:
    """Seconds of a call on a context until its result is there, and the result."""
    with context:
        before = time.perf_counter()
        result = call()
        context.wait()
        return time.perf_counter() - before, result


@dataclass(frozen=True)
class DaskRow:
    """A call on Dask arrays. make: gives these, from a generator of random arrays."""

    name: str
    make: Callable[[Any], list[Any]]
    call: Callable[..., Any]


def dask_rows(scale: float) -> list[DaskRow]:
    """The rows that Dask can do; it has no ranges of pairs. Rows of pairs have 16 chunks, or 64 where a call takes
    seconds; lines have 64. Long lines repeat some numbers.
    """
    many, more, few = int(1e6 * scale), int(3e6 * scale), int(1e5 * scale**0.5)
    long, longer, sparse_rows = int(2**30 * scale) // 64 * 64, int(2**33 * scale) // 64 * 64, int(2**26 * scale)
    pipeline = cm.Map(lambda v: cm.math.exp(-v * v)) >> cm.Reduce("sum")
    offsets = np.arange(0, long + 1, 64, dtype=np.int32)
    sizes = np.arange(0, 8 * sparse_rows + 1, 8, dtype=np.int32)

    def drawn(random: Any, shape: tuple[int, ...], parts: int) -> Any:
        return random.standard_normal(shape, chunks=(-(-shape[0] // parts), *shape[1:]), dtype="f4")

    def cloud(count: int, dim: int, parts: int = 16) -> Callable[[Any], list[Any]]:
        return lambda random: [
            drawn(random, (count, dim), parts), drawn(random, (count, dim), 1), drawn(random, (count, 1), 1)
        ]  # fmt: skip

    def line(count: int) -> Callable[[Any], list[Any]]:
        each = count // 64
        some = min(each, 2**20)
        return lambda random: [
            drawn(random, (64 * some,), 64).map_blocks(np.resize, (each,), chunks=(each,), dtype=np.float32)
        ]

    def matrix(random: Any) -> list[Any]:
        columns = random.integers(0, sparse_rows, 8 * sparse_rows, chunks=-(-sparse_rows // 64) * 8, dtype="i4")
        return [columns, drawn(random, columns.shape, 64), drawn(random, (sparse_rows,), 1)]

    def squares(x: Any, y: Any) -> Any:
        return ((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)

    def gauss(factor: float) -> Callable[..., Any]:
        return lambda x, y, b: (-factor * squares(x, y)).exp() @ b

    return [
        DaskRow(f"Gaussian sum, {many:,}², D = 3", cloud(many, 3), gauss(1.0)),
        DaskRow(f"Gaussian sum, {more:,}², D = 3", cloud(more, 3, 64), gauss(1.0)),
        DaskRow(f"Gaussian sum, {few:,}², D = 50", cloud(few, 50), gauss(0.02)),
        DaskRow(f"Gaussian sum, {3 * few:,}², D = 50", cloud(3 * few, 50), gauss(0.02)),
        DaskRow(f"argKmin 10, {few:,}², D = 50", cloud(few, 50), lambda x, y, b: squares(x, y).argKmin(10, axis=1)),
        DaskRow(f"sum, {long:,}", line(long), cm.Reduce("sum")),
        DaskRow(f"exp and sum, {long:,}", line(long), pipeline),
        DaskRow(f"scan, {long:,}", line(long), cm.Scan("sum")),
        DaskRow(f"segments of 64, {long:,}", line(long), lambda v: cm.segmented_reduce(v, offsets)),
        DaskRow(
            f"sparse matrix, {sparse_rows:,} rows of 8, columns anywhere", matrix,
            lambda c, d, x: cm.spmv((sizes, c, d), x),
        ),
        DaskRow(f"sum, {longer:,}", line(longer), cm.Reduce("sum")),
        DaskRow(f"scan, {longer:,}", line(longer), cm.Scan("sum")),
    ]


def number_of_tasks(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def by_dask(scale: float, only: str, counts: list[int], repeats: int) -> None:
    """Rows by Dask, with so many worker processes, one a device. Arrays and results stay in the workers."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    for count in counts:
        with (
            LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            cm.dask.to_devices(client)
            for row in dask_rows(scale):
                if not re.search(only, row.name):
                    continue
                arrays = client.persist(row.make(da.random.default_rng(0)))
                wait(arrays)
                times, call, tasks = [], row.call(*arrays), client.run_on_scheduler(number_of_tasks)
                for _ in range(repeats + 1):
                    before = time.perf_counter()
                    result = client.persist(call)
                    wait(result)
                    times.append(time.perf_counter() - before)
                    del result
                    while client.run_on_scheduler(number_of_tasks) > tasks:  # else Dask looks up this result
                        time.sleep(0.05)
                print(f"  Dask, {count} workers: {row.name:40} {median(times[1:]):8.4f} s", flush=True)
                del arrays


def compared(row: Row, contexts: dict[str, cm.Context], repeats: int) -> None:
    """Prints one row."""
    host = row.make()
    calls = {}
    for name, context in contexts.items():
        arrays = row.arrays(host, context)
        calls[name] = lambda arrays=arrays: row.call(*arrays)  # type: ignore[misc]
        measured(calls[name], context)  # builds kernels, measures rates
    times: dict[str, list[float]] = {name: [] for name in contexts}
    bits = set()
    for turn in range(repeats):
        for name, context in contexts.items():
            seconds, result = measured(calls[name], context)
            times[name].append(seconds)
            if name != "alone" and turn == repeats - 1:
                bits.add(hash(np.asarray(result).tobytes()))
            del result
    one = median(times["alone"])
    each = "   ".join(f"{n}: {median(t):8.4f} s ({one / median(t):4.2f} x)" for n, t in times.items())
    print(f"  {row.name:44} {each}   {'same bits' if len(bits) == 1 else 'OTHER BITS'}", flush=True)


def commands(trace: str) -> list[dict[str, Any]]:
    """All copies and launches of a trace."""
    events = json.loads(Path(trace).read_text())["traceEvents"]
    return [event for event in events if event["ph"] == "X" and event["name"] != "marker"]


def traced(row: Row, team: list[Any], limit: str | None, trace: str) -> None:
    """Writes the trace of two calls, and draws the second one: every queue is a row, on its device's own clock."""
    import matplotlib.pyplot as plt

    context = cm.Context(team, profile=True, memory_limit=limit)
    arrays = row.arrays(row.make(), context)
    measured(lambda: row.call(*arrays), context)
    context.trace(trace)
    before = Counter(event["tid"] for event in commands(trace))
    measured(lambda: row.call(*arrays), context)
    context.trace(trace)
    rows_of: Counter[int] = Counter()
    shown = []
    for event in commands(trace):  # of a queue in the order of its commands
        rows_of[event["tid"]] += 1
        shown += [event] if rows_of[event["tid"]] > before[event["tid"]] else []
    queues = sorted({event["tid"] for event in shown})
    launching = {event["tid"] for event in shown if event["name"].startswith("cmr_")}
    origin = min(event["ts"] for event in shown)
    figure, axes = plt.subplots(figsize=(9, 0.8 + 0.35 * len(queues)), layout="constrained")
    for e in shown:
        color = "tab:orange" if e["name"].startswith("cmr_") else "tab:blue"
        axes.barh(queues.index(e["tid"]), e["dur"] / 1e3, left=(e["ts"] - origin) / 1e3, color=color)
    names = ["launches" if queue in launching else "copies" for queue in queues]
    axes.set(yticks=range(len(queues)), yticklabels=names, xlabel="ms", title=f"{row.name}: launches orange")
    figure.savefig(f"{trace}.png")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", help="part of a device's name; the best one where left out")
    parser.add_argument("--devices", type=int, help="the first so many of its kind; all where left out")
    parser.add_argument("--queues", type=int, default=1, help="how often every device is named")
    parser.add_argument("--scale", type=float, default=1.0, help="of the rows' operations and bytes")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", default="", help="a regular expression that the rows' names hold")
    parser.add_argument("--limit", help="of device memory")
    parser.add_argument("--dask", action="store_true", help="by Dask as well")
    parser.add_argument("--dask-alone", action="store_true", help="by Dask only")
    parser.add_argument("--trace", help="writes a trace of the first row on all devices to this file, and a picture")
    options = parser.parse_args()
    best = cm.select_device(options.device)
    alike = [d for d in cm.devices() if (d.kind, d.vendor) == (best.kind, best.vendor)]
    team = alike[: options.devices] * options.queues
    counts = sorted({1, *(2**k for k in range(1, 8) if 2**k <= len(team)), len(team)})
    lists = {"alone": team[0]} | {str(count): team[:count] for count in counts}
    contexts = {name: cm.Context(each, memory_limit=options.limit) for name, each in lists.items()}
    print(f"{len(team)} devices, the first {best!r}")
    for row in rows(options.scale, np.random.default_rng(0)):
        if re.search(options.only, row.name) and not options.dask_alone:
            compared(row, contexts, options.repeats)
    if options.dask or options.dask_alone:
        by_dask(options.scale, options.only, counts, options.repeats)
    if options.trace:
        row = next(row for row in rows(options.scale, np.random.default_rng(0)) if re.search(options.only, row.name))
        traced(row, team, options.limit, options.trace)


if __name__ == "__main__":
    main()
