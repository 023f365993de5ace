"""Sparse matrix times vector beside its peers, in one run: SciPy's CSR on CPUs, cuSPARSE on NVIDIA's GPUs.

    python benchmarks/spmv.py --device intel
    python benchmarks/spmv.py --device nvidia --log2rows 22
    python benchmarks/spmv.py --device pocl --vectors 8

Arrays live on the device, as in benchmarks/primitives.py, whose races these are: on CPUs ratios are medians over rounds
of peer time / our time. Ours is an SpmvPlan's product, whose matrix is checked once; the "first call" is one of spmv
that checks a new matrix, waiting included. GPU rows are times per call of calls queued one behind another,
cuSPARSE's too: its best variant on the same matrix (benchmarks/peers/cuda.py), without the time for its preparation.
A floor is the least bytes (values, columns, offsets, the vector and the results, once each) at the speed of a plain
sum, measured in the same run; random columns are bound by the caches instead. Errors are |y − y64| / Σ|terms| against
float64, the worst of all rows.
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import Any

import numpy as np
from geometries import worst
from matrices import MATRICES, Csr
from peers.cuda import CuSparse, try_peer
from primitives import Case, queued_ms
from report import LIMIT, error_column, first_call_ms, head, peer, read_ceiling, row, time_case, times, title, verdict

import clmapreduce as cm

CPU_BAR = 2.5
GPU_BARS = {"banded, 16": 1.15, "banded, 64": 1.15}
"""How many times cuSPARSE's time ours must go into; elsewhere ours must be ahead."""


class Product:
    """A matrix and a vector on the device, and our ways to multiply them."""

    def __init__(self, csr: Csr, context: cm.Context) -> None:
        self.context, self.csr = context, csr
        self.device_arrays = [cm.array(a, context) for a in (csr.begins, csr.columns, csr.values)]
        self.x = cm.array(csr.x, context)
        self.out = cm.array(np.zeros(csr.exact.shape, np.float32), context)
        self.plan = cm.SpmvPlan(tuple(self.device_arrays))

    def plan_call(self) -> Any:
        return self.plan.apply(self.x, out=self.out)

    def first(self) -> float:
        """Milliseconds of a call that checks."""
        return first_call_ms(lambda *fresh: cm.spmv(fresh, self.x), self.device_arrays, self.context)

    def error(self, result: Any) -> float:
        return worst(result, self.csr.exact)


def cpu_table(names: list[str], size: int, vectors: int, context: cm.Context, rounds: int) -> None:
    import scipy.sparse

    head("matrix", "rows", "elements", "ours", "rate", "SciPy", "×", "bar", "first call", "error")
    for name in names:
        csr = Csr(name, size, vectors)
        product = Product(csr, context)
        theirs = scipy.sparse.csr_matrix((csr.values, csr.columns, csr.begins), shape=(csr.rows, len(csr.x)))
        peers = {"SciPy": lambda theirs=theirs, x=csr.x: theirs @ x}
        case = Case(name, product.plan_call, csr.nbytes, peers, product.error, LIMIT)
        error = case.check()
        seconds, results = time_case(case, context, rounds)
        ratio, label, scipy_time = results["SciPy"]
        row(
            name, f"{csr.rows:,}", f"{csr.values.size:,}", f"{1e3 * seconds:.2f} ms",
            f"{csr.nbytes / seconds / 1e9:.1f} GB/s", scipy_time, label, verdict(f"≥ {CPU_BAR}", ratio >= CPU_BAR),
            f"{product.first():.2f} ms", error,
        )  # fmt: skip


def gpu_table(names: list[str], size: int, context: cm.Context, cusparse: CuSparse | None) -> None:
    ceiling = read_ceiling(cm.array(np.ones(64 * size, np.float32), context), context)
    head(
        "matrix", "rows", "elements", "ours", "floor", "× floor", "first call", "cuSPARSE", "variant",
        "cuSPARSE ÷ ours", "bar", "error",
    )  # fmt: skip
    for name in names:
        csr = Csr(name, size)
        product = Product(csr, context)
        error = error_column(product.error(product.plan_call()))
        ms, floor = queued_ms(product.plan_call, context), csr.nbytes / ceiling
        label = cusparse and try_peer(
            f"cuSPARSE, {name}", partial(cusparse.products, csr.begins, csr.columns, csr.values, csr.x)
        )
        variants = label or {}
        variant = min(variants, key=lambda v: variants[v][0], default="")
        theirs, y = variants.get(variant, (None, csr.exact))
        bar = GPU_BARS.get(name, 1)
        row(
            name, f"{csr.rows:,}", f"{csr.values.size:,}", f"{ms:.4f} ms", f"{floor:.4f} ms", f"{ms / floor:.2f}",
            f"{product.first():.4f} ms", peer(theirs, product.error(y)), variant, times(theirs, ms),
            "" if theirs is None else verdict(f"≥ {bar}", theirs >= bar * ms), error,
        )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Sparse matrix times vector beside its peers.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2rows", type=int, default=None, help="12 or more; default 20, on GPUs 22")
    parser.add_argument("--vectors", type=int, default=1, help="side by side, on CPUs; default rows 2^18")
    parser.add_argument("--only", default="", help="rows whose name holds this; several with semicolons between")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    device = cm.select_device(options.device)
    several = options.vectors > 1
    if several and device.kind != "cpu":
        parser.error("several vectors have no peer on GPUs here")
    size = 1 << (options.log2rows or (18 if several else 20 if device.kind == "cpu" else 22))
    title(device, f"{size} rows, float32" + (f", {options.vectors} vectors" if several else ""))
    names = [name for name in MATRICES if any(part in name for part in options.only.split(";"))]
    if device.kind == "cpu":
        cpu_table(names, size, options.vectors, cm.Context(device), options.rounds)
    else:
        gpu_table(names, size, cm.Context(device), try_peer("cuSPARSE", CuSparse))


if __name__ == "__main__":
    main()
