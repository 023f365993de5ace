"""Reductions, maps and rows of every dtype and shape: beside NumPy on CPUs, beside PyTorch and CuPy on NVIDIA's GPUs.

    python benchmarks/shapes.py --device intel --log2n 20 24
    python benchmarks/shapes.py --device nvidia --only "softmax|float16"

Arrays live on the device; times are wall times of one call, waiting included, with peers taking turns in the same run.
Every result is compared with NumPy's first: integers, places and truth values must be equal, floats within a bound.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

import numpy as np
from report import head, row, title, verdict

import clmapreduce as cm

REDUCTIONS = {"sum": np.sum, "maximum": np.max, "argmax": np.argmax}
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
MAPS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "a + b": (lambda a, b: a + b, lambda a, b: a + b),
    "sin(a) + cos(b)": (lambda a, b: cm.math.sin(a) + cm.math.cos(b), lambda a, b: np.sin(a) + np.cos(b)),
    "exp(a)": (lambda a, b: cm.math.exp(a), lambda a, b: np.exp(a)),
    "tanh(a)": (lambda a, b: cm.math.tanh(a), lambda a, b: np.tanh(a)),
    "arctan2(a, b)": (lambda a, b: cm.math.arctan2(a, b), lambda a, b: np.arctan2(a, b)),
    "a ** b": (lambda a, b: a**b, lambda a, b: a**b),
}
ROWS = ((1_000_000, 16), (65_536, 256), (4_096, 4_096), (64, 262_144), (16, 1_000_000))
FEW = 1 << 20
"""From so many elements on, bars are those of large calls."""


@dataclass(frozen=True)
class Shape:
    """One row: our call, the same in NumPy, in PyTorch and CuPy by its text, the bytes it moves, and its bar."""

    name: str
    count: int
    nbytes: int
    ours: Callable[[], Any]
    numpys: Callable[[], Any]
    rtol: float
    small: bool = False


def numbers(dtype: str, shape: Any, rng: np.random.Generator) -> Any:
    """Random numbers: false bools, so that `any` reads all of them; positive floats, so that powers are defined."""
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.zeros(shape, kind)
    if kind.kind in "iu":
        return rng.integers(np.iinfo(kind).min, np.iinfo(kind).max, shape, kind, endpoint=True)
    return rng.uniform(0.1, 2, shape).astype(kind)


def reductions(count: int, context: cm.Context, rng: np.random.Generator) -> Iterator[Shape]:
    """Vectors to one number."""
    for dtype in DTYPES:
        x = numbers(dtype, count, rng)
        there = cm.array(x, context)
        peers: dict[str, Callable[..., Any]] = {"any": np.any} if dtype == "bool" else dict(REDUCTIONS)
        for name, numpys in peers.items():
            call = cm.Reduce(name)
            wide = {"dtype": np.float64} if name == "sum" and x.dtype.kind == "f" else {}
            exact = numpys(x, **wide)
            numpys_call = partial(numpys, x)
            yield Shape(
                f"{name} of {count:,} {dtype}", count, x.nbytes, partial(call, there),
                partial(second, numpys_call, exact), 2 * float(np.finfo(dtype).eps) if wide else 0,
            )  # fmt: skip


def maps(count: int, context: cm.Context, rng: np.random.Generator) -> Iterator[Shape]:
    """Two vectors to one."""
    for dtype in ("float16", "float32", "float64"):
        a, b = (numbers(dtype, count, rng) for _ in range(2))
        da, db, out = (cm.array(v, context) for v in (a, b, np.empty_like(a)))
        for name, (ours, numpys) in MAPS.items():
            mapped, used = cm.Map(ours), 3 if "b" in name else 2
            yield Shape(
                f"{name}, {count:,} {dtype}", count, used * a.nbytes, partial(mapped, da, db, out=out),
                partial(numpys, a, b), 8 * float(np.finfo(dtype).eps),
            )  # fmt: skip


def second(call: Callable[[], Any], exact: Any) -> Any:
    """The exact result, after NumPy's own call."""
    call()
    return exact


def softmax(x: Any) -> Any:
    """NumPy's, in as few passes as it takes there."""
    result = x - x.max(axis=1, keepdims=True)
    np.exp(result, out=result)
    result /= result.sum(axis=1, keepdims=True)
    return result


def rows(context: cm.Context, rng: np.random.Generator) -> Iterator[Shape]:
    """Sums and softmax of the rows of matrices."""
    total = cm.Reduce("sum")

    @cm.fuse
    def ours(x: Any) -> Any:
        e = cm.math.exp(x - cm.Reduce("maximum")(x))
        return e / cm.Reduce("sum")(e)

    for shape in ROWS:
        x = numbers("float32", shape, rng)
        there = cm.array(x, context)
        name, sums = f"{shape[0]:,} × {shape[1]:,} float32", partial(np.sum, x, axis=1)
        yield Shape(f"sum of rows, {name}", x.size, x.nbytes, partial(total, there, axis=1), sums, 1e-5)
        softmaxes = partial(ours, there, batch=True)
        yield Shape(f"softmax of rows, {name}", x.size, 2 * x.nbytes, softmaxes, partial(softmax, x), 1e-5)


def differs(ours: Any, numpys: Any, rtol: float) -> bool:
    """Whether two results are not the same within a bound, of numbers below 1 an absolute one."""
    ours = np.asarray(ours)
    with np.errstate(over="ignore"):
        numpys = np.asarray(numpys).astype(ours.dtype)  # an exact sum may be infinite there
    pair = ours.astype(np.float64), numpys.astype(np.float64)
    return ours.shape != numpys.shape or not np.allclose(*pair, rtol=rtol, atol=rtol)


def timed(ways: dict[str, Callable[[], Any]], seconds: float) -> dict[str, list[float]]:
    """Seconds of each way, taking turns, for about so long."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    until = time.perf_counter() + seconds
    while len(times[next(iter(ways))]) < 7 or time.perf_counter() < until:
        for name, call in ways.items():
            begin = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - begin)
    return times


def main() -> None:
    parser = argparse.ArgumentParser(description="Every dtype and shape beside NumPy, PyTorch and CuPy.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2n", type=int, nargs="*", default=[8, 14, 20, 24], help="lengths of vectors")
    parser.add_argument("--only", default="", help="a regular expression that names of rows must match")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    options = parser.parse_args()
    context = cm.Context(cm.select_device(options.device))
    title(context.device, "wall time of one call")
    head("what", "ours", "GB/s", "NumPy", "NumPy ÷ ours", "bar")
    rng = np.random.default_rng()
    for log2n in options.log2n:
        table(maps(1 << log2n, context, rng), context, options)
        table(reductions(1 << log2n, context, rng), context, options)
    table(rows(context, rng), context, options)


def table(shapes: Iterator[Shape], context: cm.Context, options: Any) -> None:
    for shape in shapes:
        if not re.search(options.only, shape.name):
            continue

        def ours(shape: Shape = shape) -> None:
            shape.ours()
            context.wait()

        try:
            wrong = differs(np.asarray(shape.ours()), shape.numpys(), shape.rtol)
        except cm.ClMapReduceError as error:
            row(shape.name, f"refused: {error}"[:60], "", "", "", "")
            continue
        times = timed({"ours": ours, "NumPy": shape.numpys}, options.seconds)
        ratio = median(b / a for a, b in zip(times["ours"], times["NumPy"], strict=True))
        own = median(times["ours"])
        bar = verdict("≥ 1.0", ratio >= 1) if shape.count >= FEW else ""
        cells = [f"{1e3 * own:.3f} ms", f"{shape.nbytes / own / 1e9:.1f}", f"{1e3 * median(times['NumPy']):.3f} ms"]
        row(shape.name, *cells, f"{ratio:.2f}", f"WRONG {bar}" if wrong else bar)


if __name__ == "__main__":
    main()
