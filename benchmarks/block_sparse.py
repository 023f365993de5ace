"""Block-sparse sums of Gaussians, and nearest neighbours: pair rates beside the dense one's, times beside KeOps, in one
run.

    python benchmarks/block_sparse.py --device intel
    python benchmarks/block_sparse.py --device nvidia
    python benchmarks/block_sparse.py --device nvidia --only cube --rounds 9 --shrink 4

Points are sorted by cluster; a coarse matrix of booleans says which clusters meet. Both libraries are called through
their LazyTensors, new ones for every call, with the same ranges, on arrays on the device. A call ends when its result
is there. The libraries take turns, on GPUs of two calls as in pairwise.py. "of dense" is the pair rate over that of
the dense sum of as many points; on GPUs both are device times of one run. On CPUs an eighth of the dense sum's rows
takes turns as well, and the ratio is the median over rounds of wall times. "ranges" is the time to make ranges from
the coarse matrix. "plan" is the time to plan a first call with them, with built kernels, and to send the tables to
the device. × is KeOps' time over ours, the median over rounds. Errors are the worst of 64 rows against float64: |a −
a64| / Σ|terms|; for neighbours, the excess of a result's squared distance over the nearest one's, relative to the
latter.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pairwise import ROWS_CHECKED, Contender, Ours, milliseconds, peer_of, race, ratio, squares
from primitives import device_ms

import clmapreduce as cm

NEIGHBOURS = 10
SHARE = 8
"""The part of the dense sum's rows that takes turns on CPUs."""
BALANCE = 1.3
"""How many times slower than uniform clusters uneven ones may be."""


@dataclass(frozen=True)
class Mask:
    """Clusters of points and which of them meet. sizes (K,); keep (K, K); points (n, D), sorted by cluster."""

    sizes: Any
    keep: Any
    points: Any

    @property
    def clusters(self) -> Any:
        """(K, 2) first rows and ends."""
        ends = np.cumsum(self.sizes)
        return np.stack([ends - self.sizes, ends], 1)

    @property
    def pairs(self) -> int:
        return int(self.sizes @ (self.keep @ self.sizes))

    def columns(self, row: int) -> Any:
        """The columns that a row meets."""
        blocks = self.keep[np.searchsorted(np.cumsum(self.sizes), row, side="right")]
        return np.flatnonzero(np.repeat(blocks, self.sizes))


@dataclass(frozen=True)
class Task:
    """What is reduced. call: the reduction of a front's arrays x, y, b under ranges, with more arguments. worst: the
    largest error of a result among some rows.
    """

    call: Callable[..., Any]
    worst: Callable[[Mask, Any, Any], float]


def kernel_sum(front: Any, x: Any, y: Any, b: Any, ranges: Any, **more: Any) -> Any:
    """Σ exp(−‖x − y‖²) b."""
    terms = (-squares(front.Vi(x), front.Vj(y))).exp() * front.Vj(b)
    terms.ranges = ranges
    return terms.sum(dim=1, **more)


def nearest(front: Any, x: Any, y: Any, b: Any, ranges: Any, **more: Any) -> Any:
    """The places of the nearest points."""
    distance = squares(front.Vi(x), front.Vj(y))
    distance.ranges = ranges
    return distance.argKmin(NEIGHBOURS, dim=1, **more)


def random_values_of(mask: Mask) -> Any:
    """Some rows."""
    return np.unique(np.linspace(0, len(mask.points) - 1, ROWS_CHECKED).astype(int))


def worst_sum(mask: Mask, b: Any, result: Any) -> float:
    x, weights, worst = mask.points.astype(float), b.astype(float), 0.0
    for row in random_values_of(mask):
        columns = mask.columns(row)
        terms = np.exp(-squares(x[row], x[columns])) * weights[columns, 0]
        if len(columns):
            worst = max(worst, float(abs(result[row, 0] - terms.sum()) / terms.sum()))
    return worst


def worst_neighbour(mask: Mask, b: Any, result: Any) -> float:
    x, worst = mask.points.astype(float), 0.0
    for row in random_values_of(mask):
        columns = mask.columns(row)
        expected = np.sort(squares(x[row], x[columns]))[:NEIGHBOURS]
        actual = squares(x[row], x[result[row, : len(expected)].astype(int)])
        assert np.isin(result[row, : len(expected)], columns).all()
        worst = max([worst, *(abs(actual - expected) / np.maximum(expected, 1e-9))])
    return worst


SUM, NEAREST = Task(kernel_sum, worst_sum), Task(nearest, worst_neighbour)


@dataclass(frozen=True)
class Row:
    """One line. bar: the share of the dense pair rate to reach. times: KeOps' time over ours to reach."""

    name: str
    make: Callable[[np.random.Generator], Mask]
    bar: float | None = None
    times: float | None = None
    peer: bool = False
    task: Task = SUM


def uniform(n: int, count: int, density: float, dim: int = 3) -> Callable[[np.random.Generator], Mask]:
    """Clusters of equal sizes, a random part of whose pairs meet."""
    sizes = np.full(count, n // count)
    sizes[: n % count] += 1
    return lambda rng: Mask(sizes, rng.random((count, count)) < density, rng.random((n, dim)).astype("f4"))


def power_law(n: int, count: int, density: float) -> Callable[[np.random.Generator], Mask]:
    """Clusters whose sizes fall as 1 / rank, in any order; lists of all lengths."""

    def mask_of(rng: np.random.Generator) -> Mask:
        weights = rng.permutation(1 / np.arange(1, count + 1))
        sizes = np.maximum(1, (n * weights / weights.sum()).astype(int))
        dense = density * rng.permutation(np.minimum(20.0, 0.3 * count / np.arange(1, count + 1)))
        return Mask(sizes, rng.random((count, count)) < dense[:, None], rng.random((sizes.sum(), 3)).astype("f4"))

    return mask_of


def cube(n: int, side: int) -> Callable[[np.random.Generator], Mask]:
    """Points in a unit cube of side³ cubic cells; cells meet whose centres are within 1.8 cells."""

    def mask_of(rng: np.random.Generator) -> Mask:
        points = rng.random((n, 3)).astype("f4")
        labels = np.ravel_multi_index(tuple((points * side).astype(int).clip(0, side - 1).T), (side,) * 3)
        order = np.argsort(labels, kind="stable")
        sizes = np.bincount(labels, minlength=side**3)
        cells = np.stack(np.unravel_index(np.arange(side**3), (side,) * 3), 1)
        keep = np.stack([((cell - cells) ** 2).sum(1) <= 1.8**2 for cell in cells])
        return Mask(sizes, keep, points[order])

    return mask_of


def rows(on_gpu: bool, shrink: int) -> list[Row]:
    """The cases. Bars are for full sizes."""
    n, count, few = (10**6, 4096, 512) if on_gpu else (10**5, 512, 64)
    n, sides = n // shrink, (16, 8) if on_gpu else (8, 4)
    bar, times = (0.85, 1.7 if on_gpu else None) if shrink == 1 else (None, None)
    fewer, name = (n // 10, f"{NEIGHBOURS} nearest, D = 50, uniform {few}, 25%")
    return [
        *(Row(f"uniform {count}, {d:.1%}", uniform(n, count, d), bar) for d in (0.005, 0.04, 0.5)),
        Row(f"uniform {few}, 4.0%", uniform(n, few, 0.04)),
        Row(f"power law {count}, 4.0%", power_law(n, count, 0.04), bar and bar / BALANCE),
        *(Row(f"cube {side**3}", cube(n, side), None, times, True) for side in sides),
        Row(name, uniform(fewer, few, 0.25, 50), None, None, True, NEAREST),
    ]


def ranges_for(peer: Any, ranges: cm.Ranges) -> Any:
    """KeOps' six arrays, where the peer wants them."""
    return tuple(peer.array(array.astype(np.int32)) for array in ranges.arrays())


@dataclass
class Bench:
    """Our contexts and the peer. dense: pairs per second of the dense reduction, by task and how many points it has."""

    ours: Ours
    profiler: Ours | None
    peer: Any
    rounds: int
    dense: dict[tuple[Task, int], float]

    def rate(self, task: Task, points: Any) -> float:
        """Of the dense reduction of so many points."""
        n = len(points)
        if (task, n) not in self.dense:
            b = np.ones((n, 1), "f4")
            self.dense[task, n] = n * n / self.seconds(task, points, b, None)[0]
        return self.dense[task, n]

    def seconds(
        self, task: Task, points: Any, b: Any, ranges: Any, others: tuple[Contender, ...] = ()
    ) -> tuple[float, Contender]:
        """(by device time where it is known, else by wall time; our contender after the race)."""
        us = Contender(self.ours, self.call_of(task, self.ours, points, b, ranges))
        race([us, *others], self.rounds, calls=1 if self.profiler is None else 2)
        if self.profiler is None:
            return statistics.median(us.wall), us
        return device_ms(self.call_of(task, self.profiler, points, b, ranges), self.profiler.context, 5) / 1e3, us

    def share(self, task: Task, mask: Mask, seconds: float, us: Contender, dense: Contender | None) -> float:
        """Our pair rate over the dense reduction's."""
        n = len(mask.points)
        if dense is None:
            return mask.pairs / seconds / self.rate(task, mask.points)
        part = n * (n // SHARE)
        return statistics.median(mask.pairs / a / (part / d) for a, d in zip(us.wall, dense.wall, strict=True))

    @staticmethod
    def call_of(task: Task, front: Any, points: Any, b: Any, ranges: Any, share: int = 1) -> Callable[[], Any]:
        arguments = points[: len(points) // share], points.copy(), b
        x, y, weights = (front.array(array) for array in arguments)
        return lambda: task.call(front, x, y, weights, ranges)

    def tell(self, row: Row) -> str:
        """The row's line."""
        mask, task = row.make(np.random.default_rng(5)), row.task
        b = np.random.default_rng(6).random((len(mask.points), 1)).astype("f4")
        ranges = cm.Ranges.from_matrix(mask.clusters, mask.clusters, mask.keep)
        others, complaint = (), ""
        if self.peer is not None and row.peer:
            try:
                call = self.call_of(task, self.peer, mask.points, b, ranges_for(self.peer, ranges))
                others = (Contender(self.peer, call),)
            except Exception as error:  # a peer that cannot do it loses its cell, not the run
                complaint = f"failed: {type(error).__name__}"
        dense = None
        if self.profiler is None:
            dense = Contender(self.ours, self.call_of(task, self.ours, mask.points, b, None, SHARE))
        seconds, us = self.seconds(task, mask.points, b, ranges, others if dense is None else (*others, dense))
        mask_time, plan = self.plan(task, mask, b)
        share = self.share(task, mask, seconds, us, dense)
        theirs = statistics.median(others[0].wall) if others else None
        times = statistics.median(k / a for a, k in zip(us.wall, others[0].wall, strict=True)) if others else None
        events = statistics.median(others[0].events) / seconds if others and others[0].events else None
        cells = [
            row.name, f"{len(mask.points):,}", f"{mask.pairs / len(mask.points) ** 2:.2%}", milliseconds(seconds),
            f"{mask.pairs / seconds / 1e9:.1f}", f"{share:.2f}", milliseconds(mask_time), milliseconds(plan),
            milliseconds(theirs) or complaint, ratio(times), ratio(events), verdict(row, share, events or times),
            f"{task.worst(mask, b, us.front.numpy(us.result)):.0e}",
        ]  # fmt: skip
        return f"| {' | '.join(cells)} |"

    def plan(self, task: Task, mask: Mask, b: Any) -> tuple[float, float]:
        """(seconds to make ranges, seconds to explain a call with them: it is planned and the plan's tables are sent);
        medians of five.
        """
        x, y, weights = (self.ours.array(array) for array in (mask.points, mask.points.copy(), b))
        reduction = task.call(cm, x, y, weights, None, call=False)
        clusters, times = mask.clusters, []
        for _ in range(5):
            begin = time.perf_counter()
            ranges = cm.Ranges.from_matrix(clusters, clusters, mask.keep)
            middle = time.perf_counter()
            reduction.explain(ranges=ranges)
            times.append((middle - begin, time.perf_counter() - middle))
        mask_time, plan_time = (statistics.median(side) for side in zip(*times, strict=True))
        return mask_time, plan_time


def verdict(row: Row, share: float, times: float | None) -> str:
    """The bar, and whether it is reached."""
    if row.bar is not None:
        return f"≥ {row.bar:.2f}{'' if share >= row.bar else ': **missed**'}"
    if row.times is not None and times is not None:
        return f"≥ {row.times:g} ×{'' if times >= row.times else ': **missed**'}"
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description="Block-sparse sums, beside dense ones and KeOps.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shrink", type=int, default=1, help="divides the number of points: a quick look")
    parser.add_argument("--alone", action="store_true", help="without KeOps")
    options = parser.parse_args()
    device = cm.select_device(options.device)
    on_gpu = device.kind == "gpu"
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, NumPy {np.__version__}\n")
    peer = None if options.alone else peer_of(device)
    profiler = Ours(cm.Context(device, profile=True)) if on_gpu else None
    bench = Bench(Ours(cm.Context(device)), profiler, peer, options.rounds, {})
    columns = [
        "what",
        "points",
        "density",
        "time",
        "Gpair/s",
        "of dense",
        "ranges",
        "plan",
        "KeOps",
        "×",
        "× by events",
    ]
    columns += ["bar", "error"]
    print(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for row in rows(on_gpu, options.shrink):
        if options.only in row.name:
            print(bench.tell(row), flush=True)


if __name__ == "__main__":
    main()
