"""Reductions, maps and rows of every dtype and shape: beside NumPy on CPUs, beside PyTorch and CuPy on NVIDIA's GPUs.

    python benchmarks/shapes.py --device intel --log2n 20 24
    python benchmarks/shapes.py --device intel --log2n 20 --torch
    python benchmarks/shapes.py --device nvidia --only "softmax|float16"

Arrays live on the device; times are wall times of one call, waiting included, with peers taking turns in the same run.
On GPUs a turn is two calls, of which the second counts. ÷ is the median over turns of the peer's time / ours.

Every result is compared with NumPy's first: integers, places and truth values must be equal, floats within a bound. A
result of ours that differs is WRONG, a peer's is (off). 'none' stands where a library has no such function of the
dtype, 'failed' where a peer's first call raised an error. The last column has the bar of a row: how fast it is to be,
on NVIDIA's GPUs beside PyTorch, else beside NumPy; of functions of elements beside NumPy another one; and the most
microseconds of a call on up to 1,000 elements.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Literal

import numpy as np
from peers.cuda import try_peer
from peers.modules import module_of, torch_of, versions
from report import head, row, title, verdict

import clmapreduce as cm
from clmapreduce.bench.libraries import Libraries, as_numpy

Reduction = Literal["sum", "maximum", "argmax", "any"]
REDUCTIONS: tuple[Reduction, ...] = ("sum", "maximum", "argmax")
DTYPES = ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64")
MAPS: dict[str, Callable[[Any, Any], Any]] = {
    "a + b": lambda a, b: a + b,
    "sin(a) + cos(b)": lambda a, b: cm.math.sin(a) + cm.math.cos(b),
    "exp(a)": lambda a, b: cm.math.exp(a),
    "tanh(a)": lambda a, b: cm.math.tanh(a),
    "arctan2(a, b)": lambda a, b: cm.math.arctan2(a, b),
    "a ** b": lambda a, b: a**b,
}
ROWS = ((1_000_000, 16), (65_536, 256), (4_096, 4_096), (64, 262_144), (16, 1_000_000))
FEW, LITTLE = 1 << 20, 1000
"""From so many elements on, bars are those of large calls; and up to so many a call has a bar of its own."""


@dataclass(frozen=True)
class Bars:
    """What is asked of rows: the least ratio of a library's time to ours, from FEW elements on, of functions of
    elements there, and under that; the most microseconds of a call on LITTLE elements.
    """

    library: str
    large: float
    functions: float
    small: float | None
    most_us: float


ON_NVIDIA = Bars("PyTorch", large=0.9, functions=0.9, small=0.5, most_us=32)
ON_CPUS = Bars("NumPy", large=1.0, functions=2.0, small=None, most_us=45)


# ---------------------------------------------------------------------------------------------------------- libraries
Calls = Mapping[str, Callable[..., Any]]
"""What a library calls for each operation of a row, by its name."""


def softmax(module: Any, x: Any) -> Any:
    """Of rows, in as few passes as NumPy and CuPy take."""
    result = x - x.max(axis=1, keepdims=True)
    module.exp(result, out=result)
    result /= result.sum(axis=1, keepdims=True)
    return result


NUMPY: Calls = {
    "sum": np.sum,
    "maximum": np.max,
    "argmax": np.argmax,
    "any": np.any,
    "a + b": lambda a, b, out: a + b,
    "sin(a) + cos(b)": lambda a, b, out: np.sin(a) + np.cos(b),
    "exp(a)": lambda a, b, out: np.exp(a),
    "tanh(a)": lambda a, b, out: np.tanh(a),
    "arctan2(a, b)": lambda a, b, out: np.arctan2(a, b),
    "a ** b": lambda a, b, out: a**b,
    "sum of rows": partial(np.sum, axis=1),
    "sum of columns": partial(np.sum, axis=0),
    "maximum of columns": partial(np.max, axis=0),
    "softmax of rows": partial(softmax, np),
}


def calls_of(m: Any) -> Calls:
    """What modules of PyTorch and CuPy spell alike. Sums of integers have 64 bits there, as ours have."""
    return {
        "sum": m.sum,
        "maximum": m.max,
        "argmax": m.argmax,
        "any": m.any,
        "a + b": lambda a, b, out: m.add(a, b, out=out),
        "sin(a) + cos(b)": lambda a, b, out: m.add(m.sin(a), m.cos(b), out=out),
        "exp(a)": lambda a, b, out: m.exp(a, out=out),
        "tanh(a)": lambda a, b, out: m.tanh(a, out=out),
        "arctan2(a, b)": lambda a, b, out: m.arctan2(a, b, out=out),
        "sum of rows": partial(m.sum, axis=1),
        "sum of columns": partial(m.sum, axis=0),
        "maximum of columns": partial(m.amax, axis=0),
    }


def torch_calls(torch: Any) -> Calls:
    return {
        **calls_of(torch),
        "a ** b": lambda a, b, out: torch.pow(a, b, out=out),
        "softmax of rows": partial(torch.softmax, dim=1),
    }


def cupy_calls(cupy: Any) -> Calls:
    return {
        **calls_of(cupy),
        "a ** b": lambda a, b, out: cupy.power(a, b, out=out),
        "softmax of rows": partial(softmax, cupy),
    }


@dataclass(frozen=True)
class Library:
    """A peer. array: its copy of a host array, on the device; wait: returns when results of calls are there."""

    name: str
    calls: Calls
    array: Callable[[Any], Any] = lambda x: x
    wait: Callable[[], Any] = lambda: None

    def call(self, shape: Shape) -> Callable[[], Any]:
        """A row's call, on arrays that are there already."""
        call, there = self.calls[shape.operation], [self.array(x) for x in shape.arrays]

        def waiting() -> Any:
            result = call(*there)
            self.wait()
            return result

        return waiting


def torch_library(libraries: Libraries) -> Library:
    """Raises RuntimeError where PyTorch cannot be had."""
    torch, gpu = torch_of(libraries), libraries.on_gpu
    place, wait = ("cuda", torch.cuda.synchronize) if gpu else ("cpu", lambda: None)
    return Library("PyTorch", torch_calls(torch), lambda x: torch.from_numpy(x).to(place), wait)


def cupy_library(libraries: Libraries) -> Library:
    """Raises RuntimeError where CuPy cannot be had."""
    cupy = module_of(libraries, "cupy")
    return Library("CuPy", cupy_calls(cupy), cupy.asarray, cupy.cuda.get_current_stream().synchronize)


def is_missing(error: Exception) -> bool:
    """Whether PyTorch has a function, but not of the dtype."""
    return isinstance(error, NotImplementedError) or bool(re.search("not implemented for|not support bool", str(error)))


# --------------------------------------------------------------------------------------------------------------- rows
@dataclass(frozen=True)
class Shape:
    """One row: our call, the operation and the arrays by which a library makes the same call, the bytes that it moves,
    and the bound of errors. exact: of the arrays, where it is not NumPy's own result that all must have.
    """

    name: str
    operation: str
    arrays: tuple[Any, ...]
    ours: Callable[[], Any]
    nbytes: int
    rtol: float
    exact: Callable[..., Any] | None = None

    @property
    def count(self) -> int:
        """Elements of an array."""
        return int(self.arrays[0].size)


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
        names: tuple[Reduction, ...] = ("any",) if dtype == "bool" else REDUCTIONS
        for name in names:
            ours, bound, exact = partial(cm.Reduce(name), there), 0.0, None
            if name == "sum" and x.dtype.kind == "f":
                # shorter floats are summed in float64 between tiles; a chain of 1,024 float64 loses some digits
                bound = (16 if dtype == "float64" else 2) * float(np.finfo(dtype).eps)
                exact = partial(np.sum, dtype=np.float64)
            yield Shape(f"{name} of {count:,} {dtype}", name, (x,), ours, x.nbytes, bound, exact)


def maps(count: int, context: cm.Context, rng: np.random.Generator) -> Iterator[Shape]:
    """Two vectors to one."""
    for dtype in ("float16", "float32", "float64"):
        a, b = (numbers(dtype, count, rng) for _ in range(2))
        arrays = (a, b, np.empty_like(a))
        da, db, out = (cm.array(v, context) for v in arrays)
        for name, function in MAPS.items():
            ours, used = partial(cm.Map(function), da, db, out=out), 3 if "b" in name else 2
            bound = 8 * float(np.finfo(dtype).eps)
            yield Shape(f"{name}, {count:,} {dtype}", name, arrays, ours, used * a.nbytes, bound)


def rows(context: cm.Context, rng: np.random.Generator) -> Iterator[Shape]:
    """Sums and softmax of the rows of matrices; sums and maxima of their columns."""
    total, largest = cm.Reduce("sum"), cm.Reduce("maximum")

    @cm.fuse
    def ours(x: Any) -> Any:
        e = cm.math.exp(x - cm.Reduce("maximum")(x))
        return e / cm.Reduce("sum")(e)

    for shape in ROWS:
        x = numbers("float32", shape, rng)
        there = cm.array(x, context)
        calls = {
            "sum of rows": (partial(total, there, axis=1), x.nbytes),
            "sum of columns": (partial(total, there, axis=0), x.nbytes),
            "maximum of columns": (partial(largest, there, axis=0), x.nbytes),
            "softmax of rows": (partial(ours, there, batch=True), 2 * x.nbytes),
        }
        for name, (call, nbytes) in calls.items():
            exact, bound = None, 1e-5
            if name == "sum of columns":  # NumPy adds up the rows of a column in float32, one after the other
                exact, bound = partial(np.sum, axis=0, dtype=np.float64), 1e-3
            yield Shape(f"{name}, {shape[0]:,} × {shape[1]:,} float32", name, (x,), call, nbytes, bound, exact)


# -------------------------------------------------------------------------------------------------------------- table
def exact_of(shape: Shape) -> Any:
    """What all results of a row are compared with."""
    return np.asarray((shape.exact or NUMPY[shape.operation])(*shape.arrays))


def differs(result: Any, exact: Any, rtol: float) -> bool:
    """Whether integers or bools are not equal, or floats not within a bound, of numbers below 1 an absolute one."""
    result = np.asarray(result)
    if exact.dtype.kind != "f":
        return not np.array_equal(result, exact)
    with np.errstate(over="ignore"):
        exact = exact.astype(result.dtype)  # an exact sum may be infinite there
    pair = result.astype(np.float64), exact.astype(np.float64)
    return result.shape != exact.shape or not np.allclose(*pair, rtol=rtol, atol=rtol)


def timed(ways: Mapping[str, Callable[[], Any]], seconds: float, calls: int) -> dict[str, list[float]]:
    """Seconds of each way, taking turns of so many calls, for about so long; the last call of a turn counts."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    until = time.perf_counter() + seconds
    while len(times[next(iter(ways))]) < 7 or time.perf_counter() < until:
        for name, call in ways.items():
            for _ in range(calls):
                begin = time.perf_counter()
                call()
                last = time.perf_counter() - begin
            times[name].append(last)
    return times


def contend(library: Library, shape: Shape, exact: Any) -> tuple[Callable[[], Any], bool] | str:
    """(the library's call, whether its result is off) after the first call, or why there is none."""
    if shape.operation not in library.calls:
        return "none"
    try:
        call = library.call(shape)
        return call, differs(as_numpy(call()), exact, shape.rtol)
    except Exception as error:  # a peer that cannot do it loses its cells, not the run
        return "none" if is_missing(error) else f"failed: {type(error).__name__}"


@dataclass(frozen=True)
class Bench:
    """What rows are measured with, and what is asked of them."""

    context: cm.Context
    libraries: Sequence[Library]
    bars: Bars
    seconds: float

    def verdict(self, shape: Shape, seconds: float, ratios: Mapping[str, float]) -> str:
        """The bars of a row, with those that it misses. seconds: of a call of ours."""
        bars, words = self.bars, []
        of_functions = shape.operation in MAPS and shape.operation != "a + b"
        bar = bars.small if shape.count < FEW else bars.functions if of_functions else bars.large
        if bar is not None and bars.library in ratios:
            words.append(verdict(f"≥ {bar}", ratios[bars.library] >= bar))
        if shape.count <= LITTLE:
            words.append(verdict(f"≤ {bars.most_us:g} µs", 1e6 * seconds <= bars.most_us))
        return ", ".join(words)

    def tell(self, shape: Shape) -> None:
        """Prints a row."""

        def ours() -> None:
            shape.ours()
            self.context.wait()

        exact = exact_of(shape)
        try:
            wrong = differs(shape.ours(), exact, shape.rtol)
        except cm.ClMapReduceError as error:
            row(shape.name, f"refused: {error}"[:60], *[""] * (2 * len(self.libraries) + 2))
            return
        peers = {library.name: contend(library, shape, exact) for library in self.libraries}
        there = {name: peer[0] for name, peer in peers.items() if not isinstance(peer, str)}
        times = timed({"ours": ours, **there}, self.seconds, 2 if self.context.device.kind == "gpu" else 1)
        own = median(times["ours"])
        ratios = {name: median(b / a for a, b in zip(times["ours"], times[name], strict=True)) for name in there}
        cells = [f"{1e3 * own:.3f} ms", f"{shape.nbytes / own / 1e9:.1f}"]
        for name, peer in peers.items():
            if isinstance(peer, str):
                cells += [peer, ""]
            else:
                cells += [f"{1e3 * median(times[name]):.3f} ms{' (off)' if peer[1] else ''}", f"{ratios[name]:.2f}"]
        row(shape.name, *cells, ("WRONG " * wrong + self.verdict(shape, own, ratios)).strip())


def bench_of(device: cm.Device, options: argparse.Namespace) -> Bench:
    """Prints the title and which libraries are left out, too."""
    on_nvidia = device.kind == "gpu" and device.vendor == "nvidia"
    libraries = Libraries(on_gpu=on_nvidia)
    makers = {"torch": ("PyTorch", torch_library)} if on_nvidia or options.torch else {}
    if on_nvidia:
        makers["cupy"] = "CuPy", cupy_library
    title(device, ", ".join(["wall time of one call", *([versions(libraries, list(makers))] if makers else [])]))
    made = [try_peer(name, partial(make, libraries)) for name, make in makers.values()]
    peers = ([] if on_nvidia else [Library("NumPy", NUMPY)]) + [peer for peer in made if peer is not None]
    return Bench(cm.Context(device), peers, ON_NVIDIA if on_nvidia else ON_CPUS, options.seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description="Every dtype and shape beside NumPy, PyTorch and CuPy.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2n", type=int, nargs="*", default=[8, 14, 20, 24], help="lengths of vectors")
    parser.add_argument("--only", default="", help="a regular expression that names of rows must match")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each row")
    parser.add_argument("--torch", action="store_true", help="PyTorch on the CPU, too; on NVIDIA's it is there anyway")
    options = parser.parse_args()
    bench = bench_of(cm.select_device(options.device), options)
    peers = [cell for library in bench.libraries for cell in (library.name, f"{library.name} ÷ ours")]
    head("what", "ours", "GB/s", *peers, "bar")
    rng = np.random.default_rng()
    for shape in shapes(options.log2n, bench.context, rng):
        if re.search(options.only, shape.name):
            bench.tell(shape)


def shapes(log2n: Sequence[int], context: cm.Context, rng: np.random.Generator) -> Iterator[Shape]:
    """All rows of the table."""
    for log2 in log2n:
        yield from maps(1 << log2, context, rng)
        yield from reductions(1 << log2, context, rng)
    yield from rows(context, rng)


if __name__ == "__main__":
    main()
