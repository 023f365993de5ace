"""Sparse matrix times vector beside its peers, in one run: SciPy's CSR on CPUs, the memory's own speed on GPUs.

    python benchmarks/spmv.py --device intel
    python benchmarks/spmv.py --device nvidia --log2rows 22

Arrays live on the device, as in benchmarks/primitives.py, whose races these are: on CPUs ratios are medians over rounds
of peer time / our time. Ours is an SpmvPlan's product, whose matrix is checked once; "with checks" is a call of spmv,
which checks it every time. GPU rows are times per call of calls queued one behind another. A floor is the
least bytes (values, columns, offsets, the vector and the results, once each) at the speed of a plain sum, measured in
the same run; random columns are bound by the caches instead. Errors are |y − y64| / Σ|terms| against float64.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from primitives import Case, queued_ms, race

import clmapreduce as cm

LIMIT = 2e-6
BAR = 2.5


def even(rows: int, length: int) -> Any:
    return np.full(rows, length)


def power_law(rows: int, mean: int, rng: Any) -> Any:
    """Lengths by a power law of exponent 1.2, none longer than 20,000."""
    drawn = np.minimum(rng.pareto(1.2, rows) * 3 + 1, 20_000)
    return np.maximum(drawn * (mean * rows / drawn.sum()), 1).astype(np.int64)


def near(lengths: Any, rng: Any) -> Any:
    """Columns within 500 of the diagonal."""
    rows = lengths.size
    return (np.repeat(np.arange(rows), lengths) + rng.integers(-500, 500, lengths.sum())) % rows


def anywhere(lengths: Any, rng: Any) -> Any:
    return rng.integers(0, lengths.size, lengths.sum())


def banded(lengths: Any, rng: Any) -> Any:
    """Columns in a row; all lengths are equal."""
    rows, length = lengths.size, int(lengths[0])
    return ((np.arange(rows)[:, None] + np.arange(-(length // 2), length - length // 2)) % rows).ravel()


def half_empty(rows: int, rng: Any) -> Any:
    return rng.integers(1, 64, rows) * rng.integers(0, 2, rows)


MATRICES: dict[str, tuple[Callable[[int, Any], Any], Callable[[Any, Any], Any]]] = {
    "banded, 16": (lambda rows, rng: even(rows, 16), banded),
    "random, 16": (lambda rows, rng: even(rows, 16), anywhere),
    "banded, 64": (lambda rows, rng: even(rows // 4, 64), banded),
    "power law, near": (lambda rows, rng: power_law(rows, 16, rng), near),
    "power law, random": (lambda rows, rng: power_law(rows, 16, rng), anywhere),
    "half empty, near": (half_empty, near),
    "short, near": (lambda rows, rng: rng.integers(1, 5, 4 * rows), near),
}
BARRED = ("banded, 16", "random, 16", "power law, near", "power law, random")


class Matrix:
    """One of MATRICES as CSR, and a vector, here and on the device."""

    def __init__(self, name: str, rows: int, context: cm.Context) -> None:
        rng = np.random.default_rng(rows)
        make_lengths, make_columns = MATRICES[name]
        lengths = make_lengths(rows, rng)
        self.begins = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
        self.columns = make_columns(lengths, rng).astype(np.int32)
        self.values = rng.random(self.columns.size, dtype=np.float32)
        self.x = rng.random(lengths.size, dtype=np.float32)
        self.rows = lengths.size
        csr = (self.begins, self.columns, self.values)
        self.given, self.dx = tuple(cm.array(a, context) for a in csr), cm.array(self.x, context)
        self.plan = cm.SpmvPlan(self.given)
        self.out = cm.array(np.zeros(self.rows, np.float32), context)

    def case(self, name: str, peers: bool) -> Case:
        nbytes = sum(a.nbytes for a in (self.begins, self.columns, self.values, self.x)) + 4 * self.rows
        found = {"SciPy": self.scipy_product(), "checked": self.checked} if peers else {}
        return Case(name, lambda: self.plan.apply(self.dx, out=self.out), nbytes, found, self.error, LIMIT)

    def checked(self) -> None:
        cm.spmv(self.given, self.dx, out=self.out)
        self.dx.context.wait()

    def scipy_product(self) -> Callable[[], Any]:
        import scipy.sparse

        matrix = scipy.sparse.csr_matrix((self.values, self.columns, self.begins), shape=(self.rows, self.rows))
        return lambda: matrix @ self.x

    def error(self, found: Any) -> float:
        terms = self.values.astype(np.float64) * self.x[self.columns]  # all positive
        full = np.diff(self.begins) > 0
        exact = np.zeros(self.rows)
        exact[full] = np.add.reduceat(terms, self.begins[:-1][full])
        return float((np.abs(np.asarray(found) - exact) / np.maximum(exact, 1e-30)).max())


def cpu_table(names: list[str], rows: int, context: cm.Context, rounds: int) -> None:
    heads = ["matrix", "rows", "elements", "ours", "rate", "SciPy", "×", "bar", "with checks", "error"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name in names:
        matrix = Matrix(name, rows, context)
        case = matrix.case(name, peers=True)
        error = case.check()
        seconds, peers, quiet = race(case, context, rounds)
        ratio, theirs = peers["SciPy"]
        told = "" if name not in BARRED else f"≥ {BAR}" if ratio >= BAR else f"≥ {BAR}: **missed**"
        cells = [
            name, f"{matrix.rows:,}", f"{matrix.values.size:,}", f"{1e3 * seconds:.2f} ms",
            f"{case.nbytes / seconds / 1e9:.1f} GB/s", f"{1e3 * theirs:.1f} ms",
            f"{ratio:.2f}{'' if quiet else ' (cores were shared)'}", told,
            f"{1e3 * peers['checked'][1]:.2f} ms", error,
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)


def gpu_table(names: list[str], rows: int, context: cm.Context) -> None:
    line, out = cm.array(np.ones(1 << 28, np.float32), context), cm.array(np.zeros((), np.float32), context)
    total = cm.Reduce("sum")
    ceiling = 4 * 2**28 / queued_ms(lambda: total(line, out=out), context)  # bytes per ms
    print(f"Read ceiling, from a plain sum: {ceiling / 1e9:.2f} TB/s\n")
    heads = ["matrix", "rows", "elements", "ours", "rate", "floor", "ours ÷ floor", "with checks", "error"]
    print(f"| {' | '.join(heads)} |\n{'|---' * len(heads)}|")
    for name in names:
        matrix = Matrix(name, rows, context)
        case = matrix.case(name, peers=False)
        error = case.check()
        ms, floor = queued_ms(case.ours, context), case.nbytes / ceiling
        cells = [
            name, f"{matrix.rows:,}", f"{matrix.values.size:,}", f"{ms:.4f} ms", f"{case.nbytes / ms / 1e6:.0f} GB/s",
            f"{floor:.4f} ms", f"{ms / floor:.2f}", f"{queued_ms(matrix.checked, context):.4f} ms", error,
        ]  # fmt: skip
        print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Sparse matrix times vector beside its peers.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2rows", type=int, default=None, help="default 20 on CPUs, 22 on GPUs")
    parser.add_argument("--only", default="", help="rows whose name holds this; several with semicolons between")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    device = cm.select_device(options.device)
    rows = 1 << (options.log2rows or (20 if device.kind == "cpu" else 22))
    command = " ".join(["python", Path(sys.argv[0]).name, *sys.argv[1:]])
    print(f"{device}\n{datetime.date.today()}, {command}, {rows} rows, float32, NumPy {np.__version__}\n")
    names = [name for name in MATRICES if any(part in name for part in options.only.split(";"))]
    if device.kind == "cpu":
        cpu_table(names, rows, cm.Context(device), options.rounds)
    else:
        gpu_table(names, rows, cm.Context(device))


if __name__ == "__main__":
    main()
