"""The steps that make clusters and masks, beside those of PyKeOps where it is installed, in one run.

    python benchmarks/cluster.py
    python benchmarks/cluster.py --points 1000000 --side 22 --rounds 5

Points are uniform in a unit cube, float32, in host memory, and clusters are the cells of a grid; labels come from our
grid_cluster. Both take turns, PyKeOps on the same arrays; times are medians. Results are compared: labels up to their
names, sorted points up to their order within a cluster. Masks are of the cells whose centres are within 1.8 cells: a
coarse matrix of scipy.sparse for all cells, or a dense one of 16 x 16 x 16 cells, which is all that PyKeOps takes.
"""

from __future__ import annotations

import argparse
import datetime
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import clmapreduce as cm

NEAR = 1.8
"""Cells whose centres are so many edges apart meet."""


@dataclass(frozen=True)
class Step:
    """One line. same: whether two results say the same; None where only ours is run."""

    name: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any] | None = None
    same: Callable[[Any, Any], bool] = lambda ours, theirs: True


def peer_library() -> Any:
    """PyKeOps' module of clusters, or None."""
    try:
        import pykeops.numpy.cluster as library
    except Exception as error:
        print(f"without PyKeOps: {error}\n")
        return None
    return library


def neighbours(side: int) -> Any:
    """The coarse matrix of all cells of a cube, as a scipy.sparse one."""
    from scipy import sparse

    reach = range(-int(NEAR), int(NEAR) + 1)
    steps = [step for step in product(reach, repeat=3) if sum(s * s for s in step) <= NEAR**2]
    cells = np.stack(np.unravel_index(np.arange(side**3), (side,) * 3), 1)
    rows, columns = [], []
    for step in steps:
        other = cells + step
        inside = ((other >= 0) & (other < side)).all(1)
        rows.append(np.flatnonzero(inside))
        columns.append(np.ravel_multi_index(tuple(other[inside].T), (side,) * 3))
    places = np.concatenate(rows), np.concatenate(columns)
    return sparse.csr_array((np.ones(len(places[0]), bool), places), shape=(side**3,) * 2)


def same_clusters(ours: Any, theirs: Any) -> bool:
    """Whether two labels always name the same points."""
    name = np.zeros(int(ours.max()) + 1, theirs.dtype)
    name[ours] = theirs
    return np.array_equal(name[ours], theirs) and len(np.unique(name)) == len(name)


def same_sums(ours: Any, theirs: Any) -> bool:
    """Whether sorted labels are equal, and the points' sums by cluster: the order within one is free."""
    sums = [np.bincount(labels, weights=points[:, 0]) for points, labels in (ours, theirs)]
    return np.array_equal(ours[1], theirs[1]) and np.allclose(*sums)


def steps(x: Any, side: int, library: Any) -> list[Step]:
    """All lines. Sorted points and labels are ours throughout."""
    ours, size, cells = cm.cluster, 1 / side, f"{side**3:,}"
    lab = ours.grid_cluster(x, size)
    points, labels = ours.sort_clusters(x, lab)
    clusters = ours.cluster_ranges(labels, side**3)
    few = np.arange(16**3)[:, None] * [len(x) // 16**3] + [0, len(x) // 16**3]
    dense, coarse = neighbours(16).toarray(), neighbours(side)

    def theirs(name: str, *arguments: Any) -> Callable[[], Any] | None:
        return None if library is None else lambda: getattr(library, name)(*arguments)

    return [
        Step("grid_cluster", lambda: ours.grid_cluster(x, size), theirs("grid_cluster", x, size), same_clusters),
        Step("sort_clusters", lambda: ours.sort_clusters(x, lab), theirs("sort_clusters", x, lab), same_sums),
        Step("cluster_ranges", lambda: ours.cluster_ranges(labels), theirs("cluster_ranges", labels), np.array_equal),
        Step(
            "cluster_centroids", lambda: ours.cluster_centroids(points, labels),
            theirs("cluster_centroids", points, labels), np.allclose,
        ),
        Step(
            "from_matrix, 4096 cells, dense", lambda: ours.from_matrix(few, few, dense),
            theirs("from_matrix", few, few, dense),
            lambda a, b: all(np.array_equal(one, other) for one, other in zip(a, b, strict=True)),
        ),
        Step("Ranges.from_matrix, 4096 cells, dense", lambda: cm.Ranges.from_matrix(few, few, dense)),
        Step(f"Ranges.from_matrix, {cells} cells, sparse", lambda: cm.Ranges.from_matrix(clusters, clusters, coarse)),
        Step(f"Ranges.radius, {cells} boxes", lambda: cm.Ranges.radius(points, None, size, clusters)),
    ]  # fmt: skip


def report(step: Step, rounds: int) -> str:
    """The step's line."""
    times: dict[str, list[float]] = {"ours": [], "theirs": []}
    results: dict[str, Any] = {}
    for _ in range(rounds):
        for name, call in (("ours", step.ours), ("theirs", step.theirs)):
            if call is not None:
                begin = time.perf_counter()
                results[name] = call()
                times[name].append(time.perf_counter() - begin)
    cells = [step.name, milliseconds(times["ours"])]
    if step.theirs is not None:
        ratio = statistics.median(b / a for a, b in zip(times["ours"], times["theirs"], strict=True))
        agree = step.same(results["ours"], results["theirs"])
        cells += [milliseconds(times["theirs"]), f"{ratio:.1f}", "" if agree else "other results"]
    return f"| {' | '.join([*cells, '', '', ''][:5])} |"


def milliseconds(seconds: list[float]) -> str:
    return f"{1e3 * statistics.median(seconds):.4g} ms"


def main() -> None:
    parser = argparse.ArgumentParser(description="Clusters and masks, beside PyKeOps.")
    parser.add_argument("--points", type=int, default=10**7)
    parser.add_argument("--side", type=int, default=46, help="cells along each axis")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="rows whose name holds this")
    options = parser.parse_args()
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{datetime.date.today()}, {command}, NumPy {np.__version__}")
    library = peer_library()
    x = np.random.default_rng(5).random((options.points, 3), dtype=np.float32)
    print(f"{options.points:,} points in {options.side**3:,} cells\n")
    print("| what | ours | PyKeOps | × | |\n|---|---|---|---|---|")
    for step in steps(x, options.side, library):
        if options.only in step.name:
            print(report(step, options.rounds), flush=True)


if __name__ == "__main__":
    main()
