"""Attention, nearest points, kernel matrices and reductions beside PyTorch, scikit-learn and CuPy.

    python benchmarks/frameworks.py --device nvidia
    python benchmarks/frameworks.py --device nvidia --only attention
    python benchmarks/frameworks.py --device intel --points 1000 --log2n 22

- attention: the softmax over columns of x·y / √D, times v, in float32, float16 and bfloat16; beside PyTorch's
  scaled_dot_product_attention, by each of its backends.
- argKmin: the 10 nearest columns of standard normal points; beside torch.cdist or torch.addmm, then topk, in chunks of
  rows; on CPUs beside scikit-learn's brute force, too. cdist is also called without matrix products, which lose digits.
- Gaussian: sums of exp(−d² / 2D) over standard normal points, positive weights; beside torch.mm, exp_ and torch.mv, in
  chunks of rows, and in one piece where the matrix fits.
- lines: reductions of standard normal numbers; beside PyTorch and, on GPUs, CuPy.

All arrays live on the device; on CPUs PyTorch computes there, on all cores. A call ends when its result is there. Ours
and all peers of a row take turns, as in pairwise.py: on GPUs a turn is two calls, of which the second counts. ÷ is the
median over rounds of the peer's time / ours. A peer that takes more than 5 s is timed once, by its second call.

A row has one line for each way of each peer. The fastest way of a peer counts, and has a verdict: ahead, behind, or
behind a peer whose error is too large for the row. Errors are those of 64 rows against float64, from the same rounded
arrays: of attention the largest |a − a64| / Σ p|v|, then its root mean square; of argKmin (d − d64) / d64 of the
distances that indices stand for; of Gaussian sums |a − a64| / Σ|terms|. Errors of lines are relative to Σ|terms|, or to
the variance, and absolute for the maximum.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import psutil
from data import SMALLEST, row_of
from pairwise import NEIGHBOURS, ROWS_CHECKED, Contender, Ours, Row, call_of, milliseconds, race, ratio, worst_errors
from peers.cuda import try_peer
from peers.modules import module_of, torch_of, versions
from report import LIMIT, head, row, title

import clmapreduce as cm
from clmapreduce.bench.libraries import Libraries, as_numpy

DIMS, WIDTH = (3, 10, 50, 100, 300), 64
BACKENDS = ("FLASH_ATTENTION", "CUDNN_ATTENTION", "EFFICIENT_ATTENTION", "MATH")
BOUNDS = {"float32": 1e-5, "float16": 1e-3, "bfloat16": 8e-3}
"""The largest errors that pass; those of short floats are two units of the last place."""
CHUNKS = {"gpu": (1024, 4096, 16384), "cpu": (128, 1024)}
"""Rows of a matrix that PyTorch computes at once."""
LONG = 5.0
"""Seconds of a call from which on a peer takes no turns."""


class Side:
    """Times a peer's calls, as KeOps' are timed. wait: returns when the results of calls are there."""

    def __init__(self, wait: Callable[[], Any] = lambda: None) -> None:
        self.wait = wait

    def time_call(self, call: Callable[[], Any]) -> tuple[float, float | None, Any]:
        """(seconds, None, result)."""
        begin = time.perf_counter()
        result = call()
        self.wait()
        return time.perf_counter() - begin, None, result

    def numpy(self, result: Any) -> Any:
        return as_numpy(result)


class Torch(Side):
    """PyTorch, on the device. Raises RuntimeError where it cannot be had."""

    def __init__(self, libraries: Libraries) -> None:
        self.module, self.on_gpu = torch_of(libraries), libraries.on_gpu
        super().__init__(self.module.cuda.synchronize if self.on_gpu else lambda: None)
        self.attention = module_of(libraries, "torch.nn.attention")
        self.float32s = {"float32": False, "TF32": True} if self.on_gpu else {"float32": False}
        """Whether products of float32 may use TF32, by the name of what they compute in."""

    def array(self, x: Any) -> Any:
        """A tensor of x's dtype, which may be bfloat16."""
        there = self.module.from_numpy(x.astype(np.float32)).to("cuda" if self.on_gpu else "cpu")
        return there.to(getattr(self.module, x.dtype.name))

    def numpy(self, result: Any) -> Any:
        return as_numpy(result.float() if result.is_floating_point() else result)

    def holds(self, nbytes: int) -> bool:
        """Whether so much memory is free."""
        if not self.on_gpu:
            return bool(psutil.virtual_memory().available > nbytes)
        self.module.cuda.empty_cache()
        return bool(self.module.cuda.mem_get_info()[0] > nbytes)

    @contextlib.contextmanager
    def tf32(self, allowed: bool) -> Iterator[None]:
        """Products of float32 use TF32, or do not."""
        products = self.module.backends.cuda.matmul
        before, products.allow_tf32 = products.allow_tf32, allowed
        try:
            yield
        finally:
            products.allow_tf32 = before


@dataclass(frozen=True)
class Peer:
    """One way to compute a row elsewhere. name: of all ways of which the fastest counts."""

    name: str
    way: str
    side: Side
    call: Callable[[], Any]


@dataclass(frozen=True)
class Case:
    """A row. errors: of results on the host, the largest error of each, and what else is shown. bound: of errors."""

    size: str
    ours: Callable[[], Any]
    peers: Sequence[Peer]
    errors: Callable[[list[Any]], list[tuple[float, ...]]]
    bound: float


@dataclass(frozen=True)
class Bench:
    """What rows are made with: our side, libraries, and PyTorch if it is there."""

    ours: Ours
    libraries: Libraries
    torch: Torch | None

    @property
    def kind(self) -> str:
        return str(self.ours.context.device.kind)


def refuse(reason: str) -> None:
    raise RuntimeError(reason)


# ---------------------------------------------------------------------------------------------------------- attention
@dataclass(frozen=True)
class Attention(Row):
    """Rows x (M, D), columns y (N, D) and values v (N, DV), standard normal, in the row's dtype."""

    def arrays(self) -> tuple[Any, Any, Any]:
        rng = np.random.default_rng(self.rows)
        shapes = (self.rows, self.dim), (self.columns, self.dim), (self.columns, self.width)
        x, y, v = (rng.standard_normal(shape).astype(self.dtype) for shape in shapes)
        return x, y, v

    def call(self, front: Any, x: Any, y: Any, b: Any, s: Any) -> Any:
        return ((front.Vi(x) | front.Vj(y)) / self.dim**0.5).sumsoftmaxweight(front.Vj(b), dim=1)


def attention_errors(arrays: Sequence[Any], results: list[Any]) -> list[tuple[float, ...]]:
    """(largest, root mean square) of |a − a64| / Σ p|v| of each result (M, DV), over ROWS_CHECKED rows."""
    x, y, v = (array.astype(np.float64) for array in arrays)
    sample = np.unique(np.linspace(0, len(x) - 1, ROWS_CHECKED).astype(int))
    exponents = x[sample] @ y.T / x.shape[1] ** 0.5
    p = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    exact, sizes = p @ v, p @ np.abs(v)
    errors = [np.abs(result[sample].astype(np.float64) - exact) / sizes for result in results]
    return [(float(error.max()), float(np.sqrt(np.square(error).mean()))) for error in errors]


def attention_by(torch: Torch, backend: str, tf32: bool, arrays: Sequence[Any]) -> Any:
    """(M, DV) from x, y and v of shape (1, 1, .., ..), by one of PyTorch's backends."""
    with torch.attention.sdpa_kernel(getattr(torch.attention.SDPBackend, backend)), torch.tf32(tf32):
        return torch.module.nn.functional.scaled_dot_product_attention(*arrays)[0, 0]


def attention_peers(torch: Torch, of: Row, arrays: Sequence[Any]) -> Iterator[Peer]:
    there = [torch.array(array)[None, None] for array in arrays]
    matrices = 4 * 4 * of.rows * of.columns  # bytes of four matrices in float32
    for number, tf32 in torch.float32s.items() if of.dtype == "float32" else ((of.dtype, False),):
        for backend in BACKENDS:
            call: Callable[[], Any] = partial(attention_by, torch, backend, tf32, there)
            if backend == "MATH" and not torch.holds(matrices):
                call = partial(refuse, "the matrix does not fit")
            yield Peer(f"scaled_dot_product_attention, {number}", backend, torch, call)


def attention(bench: Bench, points: int, dtype: str) -> Case:
    of = Attention("attention", "softmax", points, points, WIDTH, WIDTH, dtype)
    arrays = of.arrays()
    peers = [] if bench.torch is None else list(attention_peers(bench.torch, of, arrays))
    ours = call_of(of, bench.ours, arrays)
    return Case(f"{points:,} × {points:,}", ours, peers, partial(attention_errors, arrays), BOUNDS[dtype])


# ------------------------------------------------------------------------------------------ nearest points and kernels
def pieces(torch: Torch, points: int) -> dict[str, int]:
    """How many rows of a matrix of points by points float32 are computed at once, by name. The whole matrix counts
    where two fit in memory and int32 counts its numbers.
    """
    counts = {f"{rows:,} rows at once": rows for rows in CHUNKS["gpu" if torch.on_gpu else "cpu"] if rows < points}
    whole = points * points < 2**31 and torch.holds(2 * 4 * points * points)
    return counts | ({"in one piece": points} if whole else {})


def nearest(torch: Torch, rows: int, squares: Callable[[Any, Any], Any], x: Any, y: Any) -> Any:
    """(M, NEIGHBOURS) indices of columns; squares: of some rows of x and y, what grows with their distances."""
    parts = [squares(x[i : i + rows], y).topk(NEIGHBOURS, dim=1, largest=False).indices for i in range(0, len(x), rows)]
    return torch.module.cat(parts)


def nearest_peers(torch: Torch, x: Any, y: Any) -> Iterator[Peer]:
    module, there = torch.module, (torch.array(x), torch.array(y))
    ways = {
        "torch.cdist, topk": module.cdist,
        "torch.addmm, topk": lambda u, v: module.addmm((v * v).sum(1), u, v.T, alpha=-2),
    }
    counts = pieces(torch, len(x))
    for name, squares in ways.items():
        for way, rows in counts.items():
            yield Peer(name, way, torch, partial(nearest, torch, rows, squares, *there))
    plain = partial(module.cdist, compute_mode="donot_use_mm_for_euclid_dist")
    way, rows = next(iter(counts.items()))
    yield Peer("torch.cdist without products, topk", way, torch, partial(nearest, torch, rows, plain, *there))


def brute_force(bench: Bench, x: Any, y: Any) -> Iterator[Peer]:
    """scikit-learn's, on all cores."""
    search: Callable[[], Any] = partial(refuse, "scikit-learn is not installed")
    neighbors = bench.libraries.module("sklearn.neighbors")
    if neighbors is not None:
        fitted = neighbors.NearestNeighbors(n_neighbors=NEIGHBOURS, algorithm="brute", n_jobs=-1).fit(y)
        search = partial(fitted.kneighbors, x, return_distance=False)
    yield Peer("scikit-learn", "brute", Side(), search)


def bordered(torch: Torch, x: Any, first: bool) -> Any:
    """(n, D + 4, and zeros up to a multiple of 8): x / √D and −‖x‖² / 2D in two parts, which TF32 holds, so that a
    product of two gives −d² / 2D; first: of the rows.
    """
    norms = (x * x).sum(1, keepdim=True) / (-2 * x.shape[1])
    large, ones = norms.bfloat16().float(), torch.module.ones_like(norms)
    borders = (large, norms - large, ones, ones) if first else (ones, ones, large, norms - large)
    joined = torch.module.cat([x / x.shape[1] ** 0.5, *borders], 1)
    return torch.module.nn.functional.pad(joined, (0, -joined.shape[1] % 8))


def gaussian_sums(torch: Torch, rows: int, tf32: bool, x: Any, y: Any, b: Any) -> Any:
    """(M, 1) sums of exp(−d² / 2D) b; b: (N, 1)."""
    left, right = bordered(torch, x, True), bordered(torch, y, False).T
    parts = []
    for i in range(0, len(x), rows):
        with torch.tf32(tf32):
            exponents = torch.module.mm(left[i : i + rows], right)
        parts.append(torch.module.mv(exponents.exp_(), b[:, 0]))
    return torch.module.cat(parts)[:, None]


def gaussian_peers(torch: Torch, arrays: Sequence[Any]) -> Iterator[Peer]:
    there = [torch.array(array) for array in arrays]
    for number, tf32 in torch.float32s.items():
        for way, rows in pieces(torch, len(arrays[0])).items():
            call = partial(gaussian_sums, torch, rows, tf32, *there)
            yield Peer(f"torch.mm, exp_, torch.mv, {number}", way, torch, call)


def pairs(bench: Bench, points: int, kind: str, dim: int) -> Case:
    """Nearest points, or sums of a kernel."""
    of = row_of(kind, "normal" if kind == "argKmin" else "wide", points, dim)
    arrays = of.arrays()
    x, y, _ = arrays
    peers: list[Peer] = []
    if bench.torch is not None:
        peers += nearest_peers(bench.torch, x, y) if kind == "argKmin" else gaussian_peers(bench.torch, arrays)
    if kind == "argKmin" and bench.kind == "cpu":
        peers += brute_force(bench, x, y)

    def errors(results: list[Any]) -> list[tuple[float, ...]]:
        texts = worst_errors(of, arrays, results, SMALLEST)
        return [(0.0 if text == "exact" else float(text),) for text in texts]

    return Case(f"{points:,} × {points:,}", call_of(of, bench.ours, arrays), peers, errors, BOUNDS["float32"])


# -------------------------------------------------------------------------------------------------------------- lines
def variance(module: Any, x: Any) -> Any:
    """PyTorch divides by n − 1 where `unbiased` is not False."""
    return x.var(unbiased=False) if module.__name__ == "torch" else x.var()


@dataclass(frozen=True)
class Line:
    """A reduction of x (n,) float32: ours, that of a library's module, and the error of a result, by x in float64."""

    ours: Callable[[Any], Any]
    theirs: Callable[[Any, Any], Any]
    error: Callable[[Any, Any], Any]


LINES = {
    "sum": Line(cm.Reduce("sum"), lambda m, a: a.sum(), lambda r, w: abs(r - w.sum()) / np.abs(w).sum()),
    "maximum": Line(cm.Reduce("maximum"), lambda m, a: a.max(), lambda r, w: abs(r - w.max())),
    "argmax": Line(cm.Reduce("argmax"), lambda m, a: a.argmax(), lambda r, w: w.max() - w[int(r)]),
    "running sum": Line(
        cm.Scan("sum"), lambda m, a: m.cumsum(a, 0),
        lambda r, w: (np.abs(r - np.cumsum(w)) / np.cumsum(np.abs(w))).max(),
    ),
    "variance": Line(cm.Reduce("var"), variance, lambda r, w: abs(r / w.var() - 1)),
}  # fmt: skip


def lines(bench: Bench, count: int, name: str) -> Case:
    """A reduction of a line of so many numbers."""
    x, line = np.random.default_rng(count).standard_normal(count, np.float32), LINES[name]
    calls = bench.libraries.on_arrays(lambda module, arrays: line.theirs(module, arrays[0]), (x,))
    peers = [Peer(library, "", Side(), call) for library, call in calls.items()]

    def errors(results: list[Any]) -> list[tuple[float, ...]]:
        wide = x.astype(np.float64)
        return [(float(line.error(result, wide)),) for result in results]

    ours = partial(line.ours, cm.array(x, bench.ours.context))
    return Case(f"{count:,}", ours, peers, errors, LIMIT)


# -------------------------------------------------------------------------------------------------------------- table
@dataclass(frozen=True)
class Outcome:
    """What a peer took: seconds, their ratio to ours, and errors."""

    peer: Peer
    seconds: float
    times: float
    errors: tuple[float, ...]
    once: bool = False

    def verdict(self, bound: float) -> str:
        if self.times >= 1:
            return "ahead"
        return "**behind**" if self.errors[0] <= bound else "behind, its error is too large"

    def cells(self) -> tuple[str, str, str]:
        return milliseconds(self.seconds) + (" (once)" if self.once else ""), shown(self.errors), ratio(self.times)


def shown(errors: tuple[float, ...]) -> str:
    return " / ".join("exact" if error == 0 else f"{error:.0e}" for error in errors)


def contend(peer: Peer) -> Contender | str:
    """The peer after its first call, or how it failed. One that takes long keeps the seconds of its second call."""
    try:
        them = Contender(peer.side, peer.call)
        if them.first > LONG:
            them.first, _, _ = peer.side.time_call(peer.call)
    except Exception as error:  # a peer that cannot do it loses its cells, not the run
        return f"failed: {type(error).__name__}: {' '.join(str(error).split())}".replace("|", "/")[:100]
    return them


def measure(case: Case, ours: Ours, rounds: int) -> tuple[float, tuple[float, ...], list[Outcome | str]]:
    """(our seconds, our errors, what became of each peer: its figures, or how it failed)."""
    us = Contender(ours, case.ours)
    sides = [contend(peer) for peer in case.peers]
    there = [them for them in sides if isinstance(them, Contender)]
    turns = [them for them in there if them.first <= LONG]
    race([us, *turns], rounds, calls=2 if ours.context.device.kind == "gpu" else 1)
    own = statistics.median(us.wall)
    errors = errors_of(case, [them.result for them in (us, *there)])
    rest = iter(errors[1:])
    outcomes: list[Outcome | str] = []
    for peer, them in zip(case.peers, sides, strict=True):
        if isinstance(them, str):
            outcomes.append(them)
        elif them.wall:
            times = statistics.median(b / a for a, b in zip(us.wall, them.wall, strict=True))
            outcomes.append(Outcome(peer, statistics.median(them.wall), times, next(rest)))
        else:
            outcomes.append(Outcome(peer, them.first, them.first / own, next(rest), once=True))
    return own, errors[0], outcomes


def tell(name: str, case: Case, ours: Ours, rounds: int) -> None:
    """Prints the lines of a row, one for each way of each peer."""
    own, errors, outcomes = measure(case, ours, rounds)
    wrong = "" if errors[0] <= case.bound else f" WRONG (beyond {case.bound:g})"
    cells = [name, case.size, milliseconds(own), shown(errors) + wrong]
    figures = [outcome for outcome in outcomes if isinstance(outcome, Outcome)]
    for peer, outcome in zip(case.peers, outcomes, strict=True):
        if isinstance(outcome, str):
            row(*cells, peer.name, peer.way, outcome, "", "", "")
            continue
        fastest = min((other for other in figures if other.peer.name == peer.name), key=lambda other: other.seconds)
        row(*cells, peer.name, peer.way, *outcome.cells(), outcome.verdict(case.bound) if outcome is fastest else "")
    if not outcomes:
        row(*cells, "none", "", "", "", "", "")


def errors_of(case: Case, results: list[Any]) -> list[tuple[float, ...]]:
    """Of all results; NaN of one that is not finite, wherever that is."""
    errors = case.errors(results)
    return [e if np.isfinite(r).all() else (float("nan"),) for e, r in zip(errors, results, strict=True)]


def rows_of(bench: Bench, points: int | None, count: int) -> Iterator[tuple[str, Callable[[], Case]]]:
    """The name of each row, and what makes it. points: of all rows of pairs, else by the kind of device."""
    on_gpu = bench.kind == "gpu"
    for dtype in BOUNDS:
        if dtype == "bfloat16" and bench.libraries.module("ml_dtypes") is None:
            continue
        number = points or (50_000 if on_gpu else 2_048)
        yield f"attention {dtype} D={WIDTH} DV={WIDTH}", partial(attention, bench, number, dtype)
    for dim in DIMS:
        number = points or (10**5 if on_gpu else 10**4)
        yield f"argKmin {NEIGHBOURS} D={dim}", partial(pairs, bench, number, "argKmin", dim)
    for number in (points,) if points else ((10**5, 20_000) if on_gpu else (4_096,)):
        for dim in DIMS:
            yield f"Gaussian D={dim}", partial(pairs, bench, number, "Gaussian", dim)
    for name in LINES:
        yield f"lines: {name}", partial(lines, bench, count, name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--points", type=int, help="of all rows of pairs")
    parser.add_argument("--log2n", type=int, default=26, help="numbers of lines")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    device = cm.select_device(options.device)
    libraries = Libraries(on_gpu=device.kind == "gpu")
    others = {"CuPy": "cupy"} if libraries.on_gpu else {"scikit-learn": "sklearn.neighbors"}
    title(device, versions(libraries, ["torch", *others.values()]))
    torch = try_peer("PyTorch", partial(Torch, libraries))
    for name, module in (*others.items(), ("bfloat16", "ml_dtypes")):
        try_peer(name, partial(module_of, libraries, module))
    if not libraries.on_gpu:
        print("(CuPy is for GPUs: it is left out)\n")
    bench = Bench(Ours(cm.Context(device)), libraries, torch)
    head("what", "size", "ours", "error", "peer", "way", "peer's", "its error", "÷", "verdict")
    for name, make in rows_of(bench, options.points, 1 << options.log2n):
        if options.only in name:
            try:
                tell(name, make(), bench.ours, options.rounds)
            except cm.ClMapReduceError as error:
                row(name, "", f"refused: {error}"[:100], *[""] * 7)


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(os.environ["CLMR_CACHE_DIR"], ignore_errors=True)
