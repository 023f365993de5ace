"""Pairwise reductions beside KeOps, in one run on the same numbers: the rows of docs/notes.

    python benchmarks/pairwise.py --device intel
    python benchmarks/pairwise.py --device nvidia
    python benchmarks/pairwise.py --device nvidia --only DV= --rounds 9 --shrink 4

Both are called through their LazyTensors, built for every call, on arrays that live on the device; a call ends when
its result is there. They take turns, and × is the median over rounds of KeOps' time / ours: of wall time and, on GPUs,
of KeOps' time between CUDA events / our time from the first kernel's start to the last one's end. On GPUs a turn is two
calls, of which the second counts: the device changes to a contender's context in the first one. Errors are the worst of
64 rows against float64: |a − a64| / Σ|terms| for sums, absolute for logsumexp, (d − d64) / d64 of the distances that
indices stand for. The first call of each row builds its kernels: ours are not taken from a cache.
"""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

os.environ["CLMR_CACHE_DIR"] = os.environ["POCL_CACHE_DIR"] = tempfile.mkdtemp()  # so that first calls build
os.environ["CUDA_CACHE_DISABLE"] = "1"

import numpy as np
from peers.keops import OnNumpy, OnTorch
from primitives import device_ms

import clmapreduce as cm

ROWS_CHECKED, NEIGHBOURS, SECONDS = 64, 10, 12.0


@dataclass(frozen=True)
class Formula:
    """A function of x_i and y_j: lazily, with scales of the coordinates; in NumPy for one x (D,) and all y (N, D)."""

    lazy: Callable[[Any, Any, Any], Any]
    exact: Callable[[Any, Any], Any]


def squares(x: Any, y: Any) -> Any:
    return ((x - y) ** 2).sum(-1)


def dots(x: Any, y: Any) -> Any:
    return y @ x


def scales(x: Any) -> Any:
    """One per coordinate."""
    return np.linspace(0.5, 2, x.shape[-1])


def cosines(x: Any, y: Any) -> Any:
    return dots(x, y) / (np.linalg.norm(x) * np.linalg.norm(y, axis=1))


FORMULAS = {
    "exp(−‖x−y‖²)": Formula(lambda x, y, s: (-squares(x, y)).exp(), lambda x, y: np.exp(-squares(x, y))),
    "exp(−‖x−y‖)": Formula(lambda x, y, s: (-squares(x, y).sqrt()).exp(), lambda x, y: np.exp(-np.sqrt(squares(x, y)))),
    "1/(1+‖x−y‖²)": Formula(lambda x, y, s: 1 / (1 + squares(x, y)), lambda x, y: 1 / (1 + squares(x, y))),
    "exp(x·y)": Formula(lambda x, y, s: (x | y).exp(), lambda x, y: np.exp(dots(x, y))),
    "(x·y) exp(−‖x−y‖²)": Formula(
        lambda x, y, s: (x | y) * (-squares(x, y)).exp(), lambda x, y: dots(x, y) * np.exp(-squares(x, y))
    ),
    "exp(−‖x−y‖₁)": Formula(
        lambda x, y, s: (-(x - y).abs().sum(-1)).exp(), lambda x, y: np.exp(-np.abs(x - y).sum(-1))
    ),
    "exp(−‖(x−y)/s‖²)": Formula(
        lambda x, y, s: (-(((x - y) / s) ** 2).sum(-1)).exp(),
        lambda x, y: np.exp(-squares(x / scales(x), y / scales(x))),
    ),
    "exp(cos(x, y))": Formula(
        lambda x, y, s: (x.normalize() | y.normalize()).exp(), lambda x, y: np.exp(cosines(x, y))
    ),
}
GAUSSIAN = next(iter(FORMULAS))


@dataclass(frozen=True)
class Row:
    """One line of the table. bar: the ratio to reach. shift: how far the data is from the origin. spread: how many
    times as wide as a cube of unit diagonal (of unit edge for D = 3). backend: KeOps'.
    """

    name: str
    reduction: str
    rows: int
    columns: int
    dim: int = 3
    width: int = 1
    dtype: str = "f4"
    bar: float | None = None
    formula: str = GAUSSIAN
    shift: float = 0.0
    spread: float = 1.0
    backend: str | None = None

    def arrays(self) -> tuple[Any, Any, Any]:
        """x (M, D), y (N, D) in a cube, and positive weights b (N, DV)."""
        rng = np.random.default_rng(self.rows + self.columns + self.dim)
        scale = self.spread * (self.dim**-0.5 if self.dim > 3 else 1.0)
        x, y = (rng.random((n, self.dim)) * scale + self.shift for n in (self.rows, self.columns))
        return x.astype(self.dtype), y.astype(self.dtype), rng.random((self.columns, self.width)).astype(self.dtype)

    def call(self, front: Any, x: Any, y: Any, b: Any, s: Any) -> Any:
        """The reduction, through someone's LazyTensors. s: scales of the coordinates."""
        if self.reduction == "gradient":
            return front.gradient(lambda u, v: self.lazy(front, u, v, s), x, y, b)
        if self.reduction == "slope":
            return (self.lazy(front, x, y, s) * front.Vj(b)).grad(front.Vi(x), 1).sum(dim=1)
        if self.reduction == "backward":  # of the sum, times the weights: there are as many rows as columns
            return (self.lazy(front, x, y, s) * front.Vj(b)).grad(front.Vi(x), front.Vi(b)).sum(dim=1)
        if self.reduction == "softmax":
            return (front.Vi(x) | front.Vj(y)).sumsoftmaxweight(front.Vj(b), dim=1)
        if self.reduction == "sum":
            return front.grid(self.lazy(front, x, y, s), self.backend) @ b
        if self.reduction == "cosines":
            return (-(front.Vi(x).normalize() | front.Vj(y).normalize())).argKmin(NEIGHBOURS, dim=1)
        distances = squares(front.Vi(x), front.Vj(y))
        if self.reduction == "logsumexp":
            return (-distances).logsumexp(dim=1)
        return distances.argmin(dim=1) if self.reduction == "argmin" else distances.argKmin(NEIGHBOURS, dim=1)

    def lazy(self, front: Any, x: Any, y: Any, s: Any) -> Any:
        return FORMULAS[self.formula].lazy(front.Vi(x), front.Vj(y), front.Pm(s))


def gpu_rows() -> list[Row]:
    """The rows with a bar on an H200, far data, and other formulas of the same shape."""
    ten = 10**5
    few = [Row(f"M={m}", "sum", m, 10**7, bar=bar, backend="GPU_2D") for m, bar in ((1, 30), (100, 14), (1000, 4.5))]
    return [
        Row("Gaussian D=3", "sum", 10**6, 10**6, bar=1.7),
        Row("Gaussian D=3", "sum", ten, ten, bar=2),
        Row("Gaussian D=3", "sum", 10**4, 10**4, bar=9),
        *(replace(row, name=f"Gaussian D=3 {row.name} (2D)") for row in few),
        Row("Gaussian D=10", "sum", ten, ten, 10, bar=2.6),
        Row("Gaussian D=50", "sum", ten, ten, 50, bar=5.2),
        Row("Gaussian D=100", "sum", ten, ten, 100, bar=13),
        Row("Gaussian D=300", "sum", ten // 2, ten // 2, 300, bar=12),
        Row("Gaussian D=3 DV=10", "sum", ten, ten, width=10, bar=2.6),
        Row("Gaussian D=3 DV=64", "sum", ten, ten, width=64, bar=10),
        Row("Gaussian D=3 DV=300", "sum", ten // 2, ten // 2, width=300, bar=12),
        Row("Gaussian D=64 DV=64", "sum", ten // 2, ten // 2, 64, width=64),
        Row("Gaussian D=300 DV=300", "sum", ten // 5, ten // 5, 300, width=300),
        Row("softmax D=64 DV=64", "softmax", ten // 2, ten // 2, 64, width=64),
        Row("gradient D=50", "slope", ten // 2, ten // 2, 50),
        Row("gradient D=300", "slope", ten // 5, ten // 5, 300),
        Row("backward pass D=64 DV=64", "backward", ten // 2, ten // 2, 64, width=64),
        Row("gradient of exp(−‖(x−y)/s‖²) D=50", "slope", ten // 2, ten // 2, 50, formula="exp(−‖(x−y)/s‖²)"),
        Row("argmin D=3", "argmin", 3 * ten, 3 * ten, bar=3.8),
        Row("logsumexp D=3", "logsumexp", 3 * ten, 3 * ten, bar=2.9),
        Row("argKmin 10 D=3", "argKmin", 10**4, 10**6, bar=12),
        Row("argmin D=50", "argmin", ten, ten, 50),
        Row("argKmin 10 D=50", "argKmin", ten, ten, 50),
        Row("argKmin 10 D=100", "argKmin", ten, ten, 100),
        Row("argKmin 10 D=300", "argKmin", ten // 2, ten // 2, 300),
        Row("argKmin 10 of −cos D=100", "cosines", ten, ten, 100),
        Row("Gaussian D=3 float64", "sum", ten, ten, dtype="f8", bar=1.2),
        Row("Gaussian D=3 and gradient", "gradient", ten, ten, bar=3),
        Row("Gaussian D=50 and gradient", "gradient", ten // 2, ten // 2, 50),
        Row("Gaussian D=3 at 1000", "sum", ten, ten, shift=1000.0),
        Row("Gaussian D=50 at 1000", "sum", ten, ten, 50, shift=1000.0),
        Row("Gaussian D=3, 10 wide", "sum", ten, ten, spread=10.0),
        Row("Gaussian D=3 DV=10, 10 wide", "sum", ten, ten, width=10, spread=10.0),
        Row("Gaussian D=3 DV=64, 10 wide", "sum", ten, ten, width=64, spread=10.0),
        *(Row(f"{name} D=3", "sum", ten, ten, formula=name) for name in [*FORMULAS][1:6]),
        *(Row(f"{name} D=50", "sum", ten, ten, 50, formula=name) for name in [*FORMULAS][1:5] + [*FORMULAS][6:]),
        *(Row(f"{name} D=3 DV=64", "sum", ten // 2, ten // 2, width=64, formula=name) for name in list(FORMULAS)[1:3]),
    ]


def cpu_rows(n: int = 16384) -> list[Row]:
    """The rows with a bar on CPUs, and other formulas."""
    return [
        Row("Gaussian D=3", "sum", n, n, bar=30),
        Row("Gaussian D=10", "sum", n, n, 10, bar=23),
        Row("Gaussian D=100", "sum", n, n, 100, bar=23),
        Row("logsumexp D=3", "logsumexp", n, n, bar=22),
        Row("argmin D=3", "argmin", n, n, bar=13),
        Row("argmin D=10", "argmin", n, n, 10, bar=17),
        Row("argmin D=100", "argmin", n, n, 100, bar=17),
        Row("argKmin 10 D=3", "argKmin", n, n, bar=7.5),
        Row("Gaussian D=3 float64", "sum", n, n, dtype="f8", bar=8),
        Row("Gaussian D=3 at 1000", "sum", n, n, shift=1000.0),
        *(Row(f"{name} D=3", "sum", n, n, formula=name) for name in [*FORMULAS][1:6]),
    ]


class Ours:
    """The library's front end on one context."""

    Vi, Vj, Pm = staticmethod(cm.Vi), staticmethod(cm.Vj), staticmethod(cm.Pm)

    def __init__(self, context: cm.Context) -> None:
        self.context = context

    def array(self, x: Any) -> Any:
        return cm.array(x, self.context)

    def numpy(self, x: Any) -> Any:
        return np.asarray(x)

    def time_call(self, call: Callable[[], Any]) -> tuple[float, float | None, Any]:
        begin = time.perf_counter()
        result = call()
        self.context.wait()
        return time.perf_counter() - begin, None, result

    def settle(self) -> None:
        """Waits for the threads that build what first calls did not need."""
        for thread in threading.enumerate():
            if thread.name == "clmapreduce-compiler":
                thread.join()

    def grid(self, kernel: Any, backend: str | None) -> Any:
        return kernel  # the library chooses

    def gradient(self, kernel: Callable[[Any, Any], Any], x: Any, y: Any, b: Any) -> Any:
        """(M, 1 + D): K b and the gradient of its sum, in one pass."""
        value = kernel(x, y) * cm.Vj(b)
        return value.concat(value.grad(cm.Vi(x), 1)).sum(dim=1)


# ------------------------------------------------------------------------------------------------------------- errors
def worst_errors(row: Row, arrays: tuple[Any, Any, Any], results: list[Any], least: float = 0.0) -> list[str]:
    """The largest error of each result among ROWS_CHECKED rows, as the table shows it. least: what sums of terms' sizes
    are at least.
    """
    x, y, b = (array.astype(np.float64) for array in arrays)
    sample = np.unique(np.linspace(0, row.rows - 1, ROWS_CHECKED).astype(int))
    with ThreadPoolExecutor(max_workers=min(8, os.cpu_count() or 1)) as pool:
        rows = [pool.submit(row_errors, row, i, x[i], y, b, [r[i] for r in results], least) for i in sample]
        errors = [future.result() for future in rows]
    exact = row.reduction in ("argmin", "argKmin", "cosines")
    worst = np.max(errors, axis=0)  # a NaN is the largest
    return ["exact" if exact and each == 0 else f"{each:.0e}" for each in worst]


def row_errors(row: Row, i: int, x: Any, y: Any, b: Any, results: list[Any], least: float) -> list[float]:
    """The error of row i of each result. Gradients are vectors: relative to the sum of their terms' lengths."""
    if row.reduction in ("slope", "backward"):  # of a Gaussian
        metric = 1 if row.formula == GAUSSIAN else scales(x) ** -2
        weights = b if row.reduction == "slope" else (b @ b[i])[:, None]
        terms = (FORMULAS[row.formula].exact(x, y)[:, None] * weights) * -2 * (x - y) * metric
        sizes = np.linalg.norm(terms, axis=1).sum()
        return [float(np.linalg.norm(result - terms.sum(0)) / sizes) for result in results]
    if row.reduction == "softmax":
        weights = np.exp(dots(x, y) - dots(x, y).max())
        exact = weights @ b / weights.sum()
        return [float((np.abs(result - exact) / exact).max()) for result in results]
    if row.reduction in ("sum", "gradient"):
        kernel = FORMULAS[row.formula].exact(x, y)
        exact, magnitude = kernel @ b, np.abs(kernel) @ b
        if row.reduction == "gradient":  # of the Gaussian
            terms = (kernel[:, None] * b) * -2 * (x - y)
            exact, magnitude = np.append(exact, terms.sum(0)), np.append(magnitude, np.abs(terms).sum(0))
        return [float((np.abs(result - exact) / np.maximum(magnitude, least)).max()) for result in results]
    distances = squares(x, y) if row.reduction != "cosines" else 1 - cosines(x, y)
    if row.reduction == "logsumexp":
        return [float(np.abs(result - np.log(np.exp(-distances).sum())).max()) for result in results]
    count = results[0].size
    nearest = np.sort(np.partition(distances, count - 1)[:count])
    return [float((np.abs(distances[result] - nearest) / np.maximum(nearest, 1e-300)).max()) for result in results]


# ------------------------------------------------------------------------------------------------------------- timing
@dataclass
class Contender:
    """One side of a row: its call, the result and seconds of the first one, and seconds of those that count."""

    front: Any
    call: Callable[[], Any]

    def __post_init__(self) -> None:
        self.first, _, result = self.front.time_call(self.call)
        self.result = self.front.numpy(result)
        self.wall: list[float] = []
        self.events: list[float] = []

    def run(self, calls: int) -> None:
        """A turn of so many calls, of which the last counts."""
        for _ in range(calls):
            wall, events, _ = self.front.time_call(self.call)
        self.wall.append(wall)
        if events is not None:
            self.events.append(events)


def race(contenders: list[Contender], rounds: int, calls: int = 1) -> None:
    """All in turns of so many calls for some rounds: more of them for short calls, fewer for very long ones."""
    for _ in range(3):  # the clocks of an idle device take a while to rise
        contenders[0].front.time_call(contenders[0].call)
    for contender in contenders:
        if isinstance(contender.front, Ours):
            contender.front.settle()
    begin = time.perf_counter()
    while len(contenders[0].wall) < 100:
        for contender in contenders:
            contender.run(calls)
        rounds_done, seconds_so_far = len(contenders[0].wall), time.perf_counter() - begin
        if (rounds_done >= rounds and seconds_so_far > 0.5) or (rounds_done > 1 and seconds_so_far > SECONDS):
            break


def tell(row: Row, ours: Ours, peer: Any, profiler: Ours | None, rounds: int) -> str:
    """The row's line."""
    arrays = row.arrays()
    us = Contender(ours, call_of(row, ours, arrays))
    contenders, complaint = [us], ""
    if peer is not None and (row.reduction != "gradient" or peer.gradient is not None):
        try:
            contenders.append(Contender(peer, call_of(row, peer, arrays)))
        except Exception as error:  # a peer that cannot do it loses its cell, not the run
            complaint = f"failed: {type(error).__name__}"
    race(contenders, rounds, calls=1 if profiler is None else 2)
    errors = worst_errors(row, arrays, [contender.result for contender in contenders])
    device = None
    if profiler is not None:
        device = device_ms(call_of(row, profiler, arrays), profiler.context, 5) / 1e3
    theirs, wall, events = None, None, None
    for them in contenders[1:]:
        theirs = statistics.median(them.wall)
        wall = statistics.median(b / a for a, b in zip(us.wall, them.wall, strict=True))
        events = statistics.median(them.events) / device if device and them.events else None
    seconds = statistics.median(us.wall)
    cells = [
        row.name, f"{row.rows:,} × {row.columns:,}", milliseconds(seconds), milliseconds(device),
        f"{row.rows * row.columns / (device or seconds) / 1e9:.1f}", milliseconds(theirs) or complaint, ratio(wall),
        ratio(events), verdict(row, wall, events), *[*errors, ""][:2], f"{us.first:.2f} s",
    ]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def call_of(row: Row, front: Any, arrays: tuple[Any, Any, Any]) -> Callable[[], Any]:
    arrays_there = tuple(front.array(array) for array in (*arrays, scales(arrays[0]).astype(row.dtype)))
    return lambda: row.call(front, *arrays_there)


def milliseconds(seconds: float | None) -> str:
    return "" if seconds is None else f"{1e3 * seconds:.4g} ms"


def ratio(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def verdict(row: Row, wall: float | None, events: float | None) -> str:
    """The bar, and whether it is reached: by wall time, by device time only, or not."""
    if row.bar is None:
        return ""
    if wall is None or wall >= row.bar:
        return f"≥ {row.bar:g}"
    return f"≥ {row.bar:g}: {'by device time' if (events or 0) >= row.bar else '**missed**'}"


def peer_of(device: cm.Device) -> Any:
    """KeOps for this kind of device; None, with the reason printed, where it cannot be had."""
    try:
        return OnTorch() if device.kind == "gpu" else OnNumpy()
    except Exception as error:  # any error that a broken installation raises
        print(f"no peer: {type(error).__name__}: {error}\n")
        return None


def main() -> None:
    parser = argparse.ArgumentParser(description="Pairwise reductions beside KeOps.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--shrink", type=int, default=1, help="divides all lengths: a quick look")
    parser.add_argument("--alone", action="store_true", help="without KeOps")
    options = parser.parse_args()
    device = cm.select_device(options.device)
    on_gpu = device.kind == "gpu"
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, NumPy {np.__version__}\n")
    peer = None if options.alone else peer_of(device)
    if peer is not None:
        print(f"peer: {peer.name}\n")
    ours = Ours(cm.Context(device))
    profiler = Ours(cm.Context(device, profile=True)) if on_gpu else None
    print("| what | M × N | ours | on the device | Gpair/s | KeOps | × | × by events | bar | error | KeOps' | first |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    for row in gpu_rows() if on_gpu else cpu_rows():
        if options.only not in row.name or (row.dtype == "f8" and not device.fp64):
            continue
        if options.shrink > 1:  # bars are for full sizes
            rows, columns = (-(-n // options.shrink) for n in (row.rows, row.columns))
            row = replace(row, rows=rows, columns=columns, bar=None)
        print(tell(row, ours, peer, profiler, options.rounds), flush=True)


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(os.environ["CLMR_CACHE_DIR"], ignore_errors=True)
