"""Pairwise reductions on data that users bring, beside KeOps: what a data set costs compared with the unit cube.

    python benchmarks/data.py --device intel
    python benchmarks/data.py --device nvidia --only "Gaussian D="
    python benchmarks/data.py --device pocl --alone

Data sets: `cube`, of unit diagonal; `normal`, standard normal; `wide`, standard normal with bandwidth √D; `clusters`,
20 of standard deviation D^-1/2 at distance 1,000 from the origin; `pixels`, sparse images of whole numbers from 0 to
255 (D = 784 alone). Times, turns and errors are those of pairwise.py; sums of terms below 1e-30 count as 1e-30, since
float32 ends there. × is KeOps' time / ours; "of cube" is × of the row divided by × of the cube, or, alone, the cube's
time / the row's. The last lines name dimensions that are slower than a larger one.
"""

from __future__ import annotations

import argparse
import datetime
import shutil
import statistics
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pairwise
from pairwise import (
    FORMULAS,
    GAUSSIAN,
    Contender,
    Formula,
    Ours,
    Row,
    call_of,
    milliseconds,
    peer_of,
    race,
    ratio,
    squares,
    worst_errors,
)
from report import head
from report import row as line

import clmapreduce as cm

DIMS, WIDTHS = (2, 3, 4, 6, 8, 10, 16, 24, 32, 50, 64, 100, 200, 300), (2, 4, 8, 16, 32, 64, 100, 300)
BOTH = ((8, 8), (8, 64), (16, 16), (24, 8))
"""Dimensions of vectors with those of their weights."""
PIXELS = 784
OF_CUBE = 0.85
"""The least share of the cube's ratio."""
SLOWER = 1.1
"""A dimension is slower than a larger one from this factor on."""
SMALLEST = 1e-30


@dataclass(frozen=True)
class Data:
    """A data set. points: (rng, count, D) -> (.., D). bandwidth: by D; squared distances are divided by its square."""

    points: Callable[[np.random.Generator, int, int], Any]
    bandwidth: Callable[[int], float] = lambda dim: 1.0


def clusters(rng: np.random.Generator, count: int, dim: int) -> Any:
    """Points around 20 centres that lie on a sphere of radius 1,000; the centres are the same for rows and columns."""
    centres = np.random.default_rng(dim).standard_normal((20, dim))
    centres *= 1000 / np.linalg.norm(centres, axis=1, keepdims=True)
    return centres[rng.integers(20, size=count)] + rng.standard_normal((count, dim)) * dim**-0.5


def images(rng: np.random.Generator, count: int, dim: int) -> Any:
    """Whole numbers from 0 to 255, four of five of them 0."""
    return np.where(rng.random((count, dim)) < 0.8, 0, rng.integers(256, size=(count, dim)))


DATA = {
    "cube": Data(lambda rng, count, dim: rng.random((count, dim)) * dim**-0.5),
    "normal": Data(lambda rng, count, dim: rng.standard_normal((count, dim))),
    "wide": Data(lambda rng, count, dim: rng.standard_normal((count, dim)), lambda dim: (2.0 * dim) ** 0.5),
    "clusters": Data(clusters),
    "pixels": Data(images, lambda dim: 3000.0),
}


def gaussian(factor: float) -> Formula:
    return Formula(lambda x, y, s: (-factor * squares(x, y)).exp(), lambda x, y: np.exp(-factor * squares(x, y)))


def laplacian(factor: float) -> Formula:
    return Formula(
        lambda x, y, s: (-(factor * squares(x, y)).sqrt()).exp(), lambda x, y: np.exp(-np.sqrt(factor * squares(x, y)))
    )


def multiquadric(factor: float) -> Formula:
    return Formula(
        lambda x, y, s: (1 + factor * squares(x, y)).rsqrt(), lambda x, y: 1 / np.sqrt(1 + factor * squares(x, y))
    )


KINDS = {
    "Gaussian": ("sum", gaussian), "Laplacian": ("sum", laplacian), "inverse multiquadric": ("sum", multiquadric),
    "logsumexp": ("logsumexp", None), "argKmin": ("argKmin", None),
}  # fmt: skip


@dataclass(frozen=True)
class OfData(Row):
    """A row on a data set."""

    data: str = "cube"

    def arrays(self) -> tuple[Any, Any, Any]:
        rng = np.random.default_rng(self.rows + self.dim)
        x, y = (DATA[self.data].points(rng, n, self.dim).astype(self.dtype) for n in (self.rows, self.columns))
        return x, y, rng.random((self.columns, self.width)).astype(self.dtype)


def row_of(kind: str, data: str, count: int, dim: int, width: int = 1) -> OfData:
    """The row of a kind of reduction; its formula, with the data's bandwidth, enters the table of formulas."""
    reduction, make = KINDS[kind]
    formula = GAUSSIAN
    if make is not None:
        factor = DATA[data].bandwidth(dim) ** -2
        formula = f"{kind}, {factor!r}"
        FORMULAS[formula] = make(factor)
    label = f"{kind} D={dim}" + (f" DV={width}" if width > 1 else "")
    return OfData(label, reduction, count, count, dim, width, formula=formula, data=data)


def sets_of(kind: str, dim: int) -> tuple[str, ...]:
    """The data sets of a row's table; a bandwidth concerns formulas alone."""
    if dim == PIXELS:
        return ("cube", "pixels")
    return ("cube", "normal", "wide", "clusters") if KINDS[kind][1] else ("cube", "normal", "clusters")


def measure(row: Row, ours: Ours, peer: Any, rounds: int) -> tuple[float, float | None, float | None, list[str]]:
    """(our seconds, KeOps' seconds, KeOps' / ours, errors)."""
    arrays = row.arrays()
    contenders = [Contender(front, call_of(row, front, arrays)) for front in (ours, peer) if front is not None]
    race(contenders, rounds, calls=1 if ours.context.device.kind == "cpu" else 2)
    errors = worst_errors(row, arrays, [contender.result for contender in contenders], SMALLEST)
    seconds = statistics.median(contenders[0].wall)
    if peer is None:
        return seconds, None, None, errors
    both = zip(contenders[0].wall, contenders[1].wall, strict=True)
    return seconds, statistics.median(contenders[1].wall), statistics.median(b / a for a, b in both), errors


def table(rows: Sequence[tuple[str, int, int]], ours: Ours, peer: Any, count: int, rounds: int) -> dict[Any, float]:
    """Prints a line for each kind, dimension, width and data set. Returns our seconds by (kind, data, D, DV)."""
    seconds: dict[Any, float] = {}
    for kind, dim, width in rows:
        cube = (0.0, 0.0)
        for data in DATA:
            if data not in sets_of(kind, dim):
                continue
            row = row_of(kind, data, count, dim, width)
            own, theirs, times, errors = measure(row, ours, peer, rounds)
            seconds[kind, data, dim, width] = own
            cube = (own, times or 0.0) if data == "cube" else cube
            share = times / cube[1] if times is not None else cube[0] / own
            shown = f"{share:.2f}" if share >= OF_CUBE else f"{share:.2f}: **missed**"
            line(row.name, data, milliseconds(own), milliseconds(theirs), ratio(times), shown, *[*errors, ""][:2])
    return seconds


def slower(seconds: dict[Any, float]) -> list[str]:
    """Which D and which DV take longer than a larger one."""
    texts = []
    for (kind, data, dim, width), own in seconds.items():
        for (other, set_, larger, wider), time in seconds.items():
            grows = larger >= dim and wider >= width and PIXELS not in (dim, larger)
            if (other, set_) == (kind, data) and grows and own > SLOWER * time:
                sizes = ((dim, width, own), (larger, wider, time))
                texts.append(f"{kind}, {data}: " + ", ".join(f"D={d} DV={v} {1e3 * t:.3g} ms" for d, v, t in sizes))
    return texts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--count", type=int, help="points: 100,000 on GPUs, 8,192 on CPUs")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--alone", action="store_true", help="without KeOps")
    options = parser.parse_args()
    device = cm.select_device(options.device)
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, NumPy {np.__version__}\n")
    peer = None if options.alone else peer_of(device)
    rows = [(kind, dim, 1) for kind in KINDS for dim in (*DIMS, PIXELS)]
    rows += [("Gaussian", 3, width) for width in WIDTHS]
    rows += [("Gaussian", dim, width) for dim, width in BOTH]
    named = [row for row in rows if options.only in row_of(row[0], "cube", 1, *row[1:]).name]
    head("what", "data", "ours", "KeOps", "×", "of cube", "error", "KeOps'")
    count = options.count or (10**5 if device.kind == "gpu" else 2**13)
    for text in slower(table(named, Ours(cm.Context(device)), peer, count, options.rounds)):
        print(f"\nslower than a larger one: {text}")


if __name__ == "__main__":
    try:
        main()
    finally:
        shutil.rmtree(pairwise.os.environ["CLMR_CACHE_DIR"], ignore_errors=True)
