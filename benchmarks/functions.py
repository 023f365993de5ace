"""Every elementwise function of formulas: in a sum over pairs beside KeOps, and in a map beside NumPy and numba.

    python benchmarks/functions.py --device intel
    python benchmarks/functions.py --device nvidia --dtype float32 --only log
    python benchmarks/functions.py --device nvidia --dtype float32 --dims 8 16 32 --wall
    python benchmarks/functions.py --device nvidia --dtype float32 --data cube --width 8 --wall
    python benchmarks/functions.py --device pocl --maps

Points are standard normal, in three dimensions, with one positive weight a column; --dims, --data and --width change
that: `cube` is of unit diagonal. Times, turns and errors are those of pairwise.py: |a − a64| / Σ|terms| of 64 rows.
Maps take 2²⁴ numbers of the function's domain; their errors are the largest distance from the function in longdouble,
in units of the result's last place, beside NumPy's own.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pairwise
from pairwise import FORMULAS, Formula, Ours, Row, dots, peer_of, squares, tell

import clmapreduce as cm


def distances(x: Any, y: Any) -> Any:
    return np.sqrt(squares(x, y))


def sinc(d: Any) -> Any:
    return np.sinc(d / np.pi)


def xlogx(d: Any) -> Any:
    return np.where(d == 0, 0.0, d * np.log(np.where(d == 0, 1, d)))


def of_squares(lazy: Callable[[Any], Any], exact: Callable[[Any], Any]) -> Formula:
    """A function of ‖x−y‖²."""
    return Formula(lambda x, y, s: lazy(squares(x, y)), lambda x, y: exact(squares(x, y)))


def of_distances(lazy: Callable[[Any], Any], exact: Callable[[Any], Any]) -> Formula:
    """A function of ‖x−y‖."""
    return Formula(lambda x, y, s: lazy(squares(x, y).sqrt()), lambda x, y: exact(distances(x, y)))


def of_dots(lazy: Callable[[Any], Any], exact: Callable[[Any], Any]) -> Formula:
    """A function of x·y."""
    return Formula(lambda x, y, s: lazy(x | y), lambda x, y: exact(dots(x, y)))


FUNCTIONS = {
    "exp(−d²)": of_squares(lambda q: (-q).exp(), lambda q: np.exp(-q)),
    "log(1+d²)": of_squares(lambda q: (1 + q).log(), np.log1p),
    "xlogx(d²)": of_squares(lambda q: q.xlogx(), xlogx),
    "xlogx(d)": of_distances(lambda d: d.xlogx(), xlogx),
    "sqrt(d²)": of_squares(lambda q: q.sqrt(), np.sqrt),
    "rsqrt(1+d²)": of_squares(lambda q: (1 + q).rsqrt(), lambda q: 1 / np.sqrt(1 + q)),
    "1/(1+d²)": of_squares(lambda q: 1 / (1 + q), lambda q: 1 / (1 + q)),
    "(1+d²)**1.5": of_squares(lambda q: (1 + q) ** 1.5, lambda q: (1 + q) ** 1.5),
    "(1+d²)**−0.7": of_squares(lambda q: (1 + q) ** -0.7, lambda q: (1 + q) ** -0.7),
    "d²**3": of_squares(lambda q: q**3, lambda q: q**3),
    "cos(d)": of_distances(lambda d: d.cos(), np.cos),
    "sin(d)": of_distances(lambda d: d.sin(), np.sin),
    "cos(20 x·y)": of_dots(lambda p: (20 * p).cos(), lambda p: np.cos(20 * p)),
    "sinxdivx(d)": of_distances(lambda d: d.sinxdivx(), sinc),
    "atan(x·y)": of_dots(lambda p: p.atan(), np.arctan),
    "atan2(x·y, d²)": Formula(
        lambda x, y, s: (x | y).atan2(squares(x, y)), lambda x, y: np.arctan2(dots(x, y), squares(x, y))
    ),
    "sinc(d)": of_distances(lambda d: d.sinc(), np.sinc),
    "asin(x·y, clamped)": of_dots(lambda p: p.clamp(-1, 1).asin(), lambda p: np.arcsin(np.clip(p, -1, 1))),
    "acos(x·y, clamped)": of_dots(lambda p: p.clamp(-1, 1).acos(), lambda p: np.arccos(np.clip(p, -1, 1))),
    "abs(x·y)": of_dots(lambda p: p.abs(), np.abs),
    "sign(x·y)": of_dots(lambda p: p.sign(), np.sign),
    "step(x·y)": of_dots(lambda p: p.step(), lambda p: (p >= 0) * 1.0),
    "relu(x·y)": of_dots(lambda p: p.relu(), lambda p: np.maximum(p, 0)),
    "floor(x·y)": of_dots(lambda p: p.floor(), np.floor),
    "if x·y ≥ 0: d² else 1": Formula(
        lambda x, y, s: (x | y).ifelse(squares(x, y), 1), lambda x, y: np.where(dots(x, y) >= 0, squares(x, y), 1)
    ),
    "round(x·y, 1)": of_dots(lambda p: p.round(1), lambda p: np.round(p, 1)),
    "mod(x·y, 2)": of_dots(lambda p: p.mod(2, 0), lambda p: np.mod(p, 2)),
}
WAVES = {
    "sin(x·y)": of_dots(lambda p: p.sin(), np.sin),
    "sin(20 x·y)": of_dots(lambda p: (20 * p).sin(), lambda p: np.sin(20 * p)),
    "exp(sin(x·y))": of_dots(lambda p: p.sin().exp(), lambda p: np.exp(np.sin(p))),
    "exp(−2 Σ sin²((x−y)/2))": Formula(
        lambda x, y, s: (-2 * (((x - y) * 0.5).sin() ** 2).sum(-1)).exp(),
        lambda x, y: np.exp(-2 * np.square(np.sin((x - y) * 0.5)).sum(-1)),
    ),
    "exp(−d²) cos(4 Σ(x−y))": Formula(
        lambda x, y, s: (-squares(x, y)).exp() * (4 * (x - y).sum(-1)).cos(),
        lambda x, y: np.exp(-squares(x, y)) * np.cos(4 * (x - y).sum(-1)),
    ),
    "Σ cos(x−y)": Formula(lambda x, y, s: (x - y).cos().sum(-1), lambda x, y: np.cos(x - y).sum(-1)),
}
FUNCTIONS |= WAVES
FORMULAS |= FUNCTIONS
STEPS = ("sign(x·y)", "step(x·y)", "floor(x·y)", "if x·y ≥ 0: d² else 1", "round(x·y, 1)", "mod(x·y, 2)")
"""Functions that jump: a float32 argument beside a jump is a whole jump off, whoever computes it."""

MAPS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], float, float]] = {
    "exp": (cm.math.exp, np.exp, -10, 10),
    "log": (cm.math.log, np.log, 1e-3, 100),
    "log1p": (cm.math.log1p, np.log1p, -0.9, 100),
    "sqrt": (cm.math.sqrt, np.sqrt, 0, 100),
    "cos": (cm.math.cos, np.cos, -30, 30),
    "sin": (cm.math.sin, np.sin, -30, 30),
    "tan": (cm.math.tan, np.tan, -1.5, 1.5),
    "arctan": (cm.math.arctan, np.arctan, -30, 30),
    "arcsin": (cm.math.arcsin, np.arcsin, -1, 1),
    "tanh": (cm.math.tanh, np.tanh, -5, 5),
    "x**1.5": (lambda x: x**1.5, lambda x: x**1.5, 1e-3, 100),
    "x**-0.7": (lambda x: x**-0.7, lambda x: x**-0.7, 1e-3, 100),
    "x**3": (lambda x: x**3, lambda x: x * x * x, -10, 10),
    "floor": (cm.math.floor, np.floor, -100, 100),
}
"""Each function here and in NumPy, and the interval of its arguments."""


@dataclass(frozen=True)
class OfPoints(Row):
    """A row whose points are standard normal, or in a cube."""

    data: str = "normal"

    def arrays(self) -> tuple[Any, Any, Any]:
        rng = np.random.default_rng(self.rows + len(self.formula))
        shapes = [(n, self.dim) for n in (self.rows, self.columns)]
        points = [
            rng.random(shape) * self.dim**-0.5 if self.data == "cube" else rng.standard_normal(shape)
            for shape in shapes
        ]
        x, y = (each.astype(self.dtype) for each in points)
        return x, y, rng.random((self.columns, self.width)).astype(self.dtype)


def pairs(device: cm.Device, count: int, options: argparse.Namespace, dtypes: list[str]) -> None:
    """The table of sums over pairs."""
    peer = None if options.alone else peer_of(device)
    ours = Ours(cm.Context(device))
    profiler = Ours(cm.Context(device, profile=True)) if device.kind == "gpu" and not options.wall else None
    bar = 1.15 if device.kind == "gpu" else 3.0
    print("| what | M × N | ours | on the device | Gpair/s | KeOps | × | × by events | bar | error | KeOps' | first |")
    print("|---|---|---|---|---|---|---|---|---|---|---|---|")
    names = [name for name in FUNCTIONS if options.only in name]
    for dtype, dim, name in itertools.product(dtypes, options.dims, names):
        label = f"{name}, D={dim}, {np.dtype(dtype)}" + (" (jumps)" if name in STEPS else "")
        row = OfPoints(
            label, "sum", count, count, dim, options.width, dtype=dtype, formula=name, bar=bar, data=options.data
        )
        print(tell(row, ours, peer, profiler, options.rounds), flush=True)


def numba_of(function: Callable[[Any], Any]) -> Callable[..., Any] | None:
    """The function in numba, over all cores; None where it is missing, or does not compile it."""
    try:
        import numba
    except ImportError:
        return None
    vectorized = numba.vectorize(["f4(f4)", "f8(f8)"], target="parallel", fastmath=True)
    compiled: Callable[..., Any] = vectorized((lambda x: function(x)) if isinstance(function, np.ufunc) else function)
    return compiled


def units(result: Any, exact: Any, dtype: Any) -> float:
    """The largest error in units of the last place of the exact result."""
    place = np.spacing(np.abs(exact).astype(dtype)).astype(np.longdouble)
    return float((np.abs(result.astype(np.longdouble) - exact) / place).max())


def waited(mapped: cm.Map, x: Any, out: Any, context: cm.Context) -> None:
    """A map, until its result is there."""
    mapped(x, out=out)
    context.wait()


def into(function: Callable[[Any], Any], x: Any, target: Any) -> None:
    """NumPy's result in an array that is there."""
    if isinstance(function, np.ufunc):
        function(x, out=target)
    else:
        np.copyto(target, function(x))


def maps(device: cm.Device, count: int, dtypes: list[str], only: str, rounds: int) -> None:
    """The table of maps: arrays on the device, waiting included; NumPy and numba write into an array they have."""
    context = cm.Context(device)
    print("| map | ours | NumPy | NumPy ÷ ours | numba ÷ ours | error, ulp | NumPy's |")
    print("|---|---|---|---|---|---|---|")
    for dtype in dtypes:
        for name, (function, numpy_function, low, high) in MAPS.items():
            if only not in name:
                continue
            host = np.random.default_rng(len(name)).uniform(low, high, count).astype(dtype)
            x, out, target = cm.array(host, context), cm.array(np.empty_like(host), context), np.empty_like(host)
            mapped, loop = cm.Map(function), numba_of(numpy_function)

            ways = {"ours": partial(waited, mapped, x, out, context)}
            ways["NumPy"] = partial(into, numpy_function, host, target)
            if loop is not None:
                ways["numba"] = partial(loop, host, out=target)
            times: dict[str, list[float]] = {way: [] for way in ways}
            for turn in range(rounds + 1):
                for way, call in ways.items():
                    begin = time.perf_counter()
                    call()
                    if turn:
                        times[way].append(time.perf_counter() - begin)
            some = slice(None, None, max(1, count >> 20))
            exact = numpy_function(host[some].astype(np.longdouble))
            errors = units(out.to_numpy()[some], exact, dtype), units(numpy_function(host[some]), exact, dtype)
            ratios = {
                way: statistics.median(b / a for a, b in zip(times["ours"], seconds_of_way, strict=True))
                for way, seconds_of_way in times.items()
            }
            cells = [
                f"{name}, {np.dtype(dtype)}",
                *(f"{1e3 * statistics.median(times[way]):.3g} ms" for way in ("ours", "NumPy")),
                f"{ratios['NumPy']:.2f}", f"{ratios['numba']:.2f}" if loop is not None else "",
                *(f"{error:.2g}" for error in errors),
            ]  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--only", default="", help="functions whose name holds this")
    parser.add_argument("--dtype", nargs="*", default=["float32", "float64"])
    parser.add_argument("--dims", nargs="*", type=int, default=[3], help="numbers of coordinates of sums over pairs")
    parser.add_argument("--width", type=int, default=1, help="numbers of a column's weight")
    parser.add_argument("--data", choices=("normal", "cube"), default="normal", help="points of sums over pairs")
    parser.add_argument("--wall", action="store_true", help="no times on the device, for which kernels build again")
    parser.add_argument("--count", type=int, help="points: 100,000 on GPUs, 16,384 on CPUs; numbers of maps: 2^24")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--maps", action="store_true", help="maps in place of sums over pairs")
    parser.add_argument("--alone", action="store_true", help="without KeOps")
    options = parser.parse_args()
    device = cm.select_device(options.device)
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, NumPy {np.__version__}\n")
    dtypes = [dtype for dtype in options.dtype if dtype != "float64" or device.fp64]
    if options.maps:
        maps(device, options.count or 2**24, dtypes, options.only, options.rounds)
    else:
        count = options.count or (10**5 if device.kind == "gpu" else 2**14)
        pairs(device, count, options, dtypes)


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(pairwise.os.environ["CLMR_CACHE_DIR"], ignore_errors=True)
