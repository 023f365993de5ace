"""Attention, nearest points, kernel matrices and reductions beside PyTorch, scikit-learn and CuPy.

    python benchmarks/frameworks.py --device nvidia
    python benchmarks/frameworks.py --device nvidia --only attention
    python benchmarks/frameworks.py --device intel --points 1000 --log2n 22

- attention: the softmax over columns of x·y / √D, times v, in float32, float16 and bfloat16; beside PyTorch's
  scaled_dot_product_attention, by each of its backends. The second row has the gradient of the logarithm of the sum of
  exponentials and that logarithm, too; PyTorch computes attention to v and y / √D side by side there, no logarithm.
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
arrays: of attention the largest |a − a64| / Σ p|v|, then its root mean square, where |a − a64| / |a64| of a logarithm
counts, too; of argKmin (d − d64) / d64 of the
distances that indices stand for; of Gaussian sums |a − a64| / Σ|terms|. Errors of lines are relative to Σ|terms|, or to
the variance, and absolute for the maximum.
"""

from __future__ import annotations

import argparse
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from attention import WIDTH, attention
from contest import BOUNDS, Bench, Case, Peer, Side, Torch, refuse, tell
from data import SMALLEST, row_of
from pairwise import NEIGHBOURS, Ours, call_of, worst_errors
from peers.cuda import try_peer
from peers.modules import module_of, versions
from report import LIMIT, head, row, title

import clmapreduce as cm
from clmapreduce.bench.libraries import Libraries

DIMS = (3, 10, 50, 100, 300)
CHUNKS = {"gpu": (1024, 4096, 16384), "cpu": (128, 1024)}
"""Rows of a matrix that PyTorch computes at once."""


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
def rows_of(bench: Bench, points: int | None, count: int) -> Iterator[tuple[str, Callable[[], Case]]]:
    """The name of each row, and what makes it. points: of all rows of pairs, else by the kind of device."""
    on_gpu = bench.kind == "gpu"
    for dtype in BOUNDS:
        if dtype == "bfloat16" and bench.libraries.module("ml_dtypes") is None:
            continue
        number = points or (50_000 if on_gpu else 2_048)
        for name, slope in (("attention", False), ("attention, its gradient and logarithm", True)):
            yield f"{name} {dtype} D={WIDTH} DV={WIDTH}", partial(attention, bench, number, dtype, slope)
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
