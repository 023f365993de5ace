"""Sparse products over other algebras, and segments of other geometries, beside NumPy in one run.

    python benchmarks/algebras.py --device intel
    python benchmarks/algebras.py --device nvidia --log2rows 22

Rows of 16 entries, columns near the diagonal and anywhere; gathered, empty and wide segments. Ours are plans' calls. On
CPUs NumPy gathers terms, then uses `reduceat`, or `argmax` along rows, and × is the median over rounds of its time /
ours. On GPUs, where these have no peer, a floor is the least bytes at the speed of a plain sum. Errors are |y − y64| /
|y64|, the worst of all results; argmax is exact where it finds the largest term.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matrices import anywhere, near
from primitives import queued_ms
from report import LIMIT, head, read_ceiling, row, time_case, title

import clmapreduce as cm
from clmapreduce.bench.race import Case

WIDTH = 16
"""Entries of a row."""


def off(expected: Any) -> Callable[[Any], float]:
    """The error of results that should be `expected`."""
    return lambda result: float(np.max(np.abs(np.asarray(result) - expected) / np.maximum(np.abs(expected), 1e-30)))


def products(size: int, context: cm.Context) -> Iterator[Case]:
    """Matrices of `size` rows and columns, for each kind of columns."""
    rng = np.random.default_rng()
    count = WIDTH * size
    begins, rows = np.arange(0, count + 1, WIDTH, dtype=np.int32), np.repeat(np.arange(size, dtype=np.int32), WIDTH)
    values, x = rng.random(count, dtype=np.float32), rng.random(size, dtype=np.float32)
    on_device, out = cm.array(x, context), cm.array(np.zeros(size, np.float32), context)
    for label, choice in (("near", near), ("anywhere", anywhere)):
        columns = choice(rows, None, size, rng).astype(np.int32)
        plan = cm.SpmvPlan((begins, columns, values), context=context)
        structure = cm.SpmvPlan((begins, columns, None), context=context)
        nbytes = 8 * count + 12 * size

        def terms(c: Any = columns) -> Any:
            return values * x[c]

        def first(result: Any, c: Any = columns) -> float:
            terms_of_row = (values * x[c]).reshape(size, WIDTH)
            best = np.take_along_axis(terms_of_row, np.asarray(result)[:, None], 1)[:, 0]
            return float(np.any(best != terms_of_row.max(1)))

        yield Case(
            f"min-plus, {label}", lambda p=plan: p.apply(on_device, multiply="sum", add="minimum", out=out), nbytes,
            {"NumPy": lambda c=columns: np.minimum.reduceat(values + x[c], begins[:-1])},
            off((values + x[columns]).reshape(size, WIDTH).min(1)), LIMIT,
        )  # fmt: skip
        yield Case(
            f"max-times, {label}", lambda p=plan: p.apply(on_device, add="maximum", out=out), nbytes,
            {"NumPy": lambda t=terms: np.maximum.reduceat(t(), begins[:-1])},
            off(terms().reshape(size, WIDTH).max(1)), LIMIT,
        )  # fmt: skip
        yield Case(
            f"argmax, {label}", lambda p=plan: p.apply(on_device, add="argmax"), nbytes,
            {"NumPy": lambda t=terms: t().reshape(size, WIDTH).argmax(1)}, first, LIMIT,
        )  # fmt: skip
        yield Case(
            f"sum without entries, {label}", lambda p=structure: p.apply(on_device, out=out), nbytes - 4 * count,
            {"NumPy": lambda c=columns: np.add.reduceat(x[c], begins[:-1])},
            off(x[columns].astype(np.float64).reshape(size, WIDTH).sum(1)), LIMIT,
        )  # fmt: skip


def segments(size: int, context: cm.Context) -> Iterator[Case]:
    """`size` segments of elements that lie anywhere; 16 times as many empty ones; rows of four numbers."""
    rng = np.random.default_rng()
    values = rng.random(16 * size, dtype=np.float32)
    lengths = rng.integers(0, 33, size)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    sources = rng.integers(0, len(values) - 32, size, np.int32)
    places = np.arange(offsets[-1]) + np.repeat(sources - offsets[:-1], lengths)
    full, resident = offsets[:-1][lengths > 0], cm.array(values, context)
    sums = np.zeros(size)
    sums[lengths > 0] = np.add.reduceat(values[places].astype(np.float64), full)
    source_plan = cm.SegmentPlan(offsets, len(values), sources, context=context)
    out = cm.array(np.zeros(size, np.float32), context)
    yield Case(
        "sum of segments anywhere, 0 to 32", lambda: source_plan.reduce(resident, out=out), 4 * len(places) + 12 * size,
        {"NumPy": lambda: np.add.reduceat(values[places], full)}, off(sums), LIMIT,
    )  # fmt: skip

    nothing = cm.SegmentPlan(np.zeros(16 * size + 1, np.int32), 0, context=context)
    empty, zeros = cm.array(np.zeros(0, np.float32), context), cm.array(np.ones(16 * size, np.float32), context)
    yield Case(
        f"{16 * size:,} empty segments", lambda: nothing.reduce(empty, out=zeros), 128 * size,
        {"NumPy": lambda: np.zeros(16 * size, np.float32).fill(0)}, off(np.zeros(16 * size)), LIMIT,
    )  # fmt: skip

    wide = values.reshape(-1, 4)
    cuts = np.cumsum(np.concatenate([[0], rng.integers(1, 20, size)]))
    cuts = np.append(cuts[cuts < len(wide)], len(wide)).astype(np.int32)
    plan, rows = cm.SegmentPlan(cuts, len(wide), context=context), cm.array(wide, context)
    totals = cm.array(np.zeros((len(cuts) - 1, 4), np.float32), context)
    yield Case(
        "sum of rows of 4 numbers, 1 to 19", lambda: plan.reduce(rows, out=totals), wide.nbytes + 20 * len(cuts),
        {"NumPy": lambda: np.add.reduceat(wide, cuts[:-1], axis=0)},
        off(np.add.reduceat(wide.astype(np.float64), cuts[:-1], axis=0)), LIMIT,
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="Sparse products and segments of other kinds beside NumPy.")
    parser.add_argument("--device", default=None, help="as for cm.select_device")
    parser.add_argument("--log2rows", type=int, default=None, help="17 or more; default 20, on GPUs 22")
    parser.add_argument("--only", default="", help="rows whose name holds this")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    device = cm.select_device(options.device)
    cpu, context = device.kind == "cpu", cm.Context(device)
    size = 1 << (options.log2rows or (20 if cpu else 22))
    title(device, f"{size} rows, float32")
    ceiling = 0.0 if cpu else read_ceiling(cm.array(np.ones(64 * size, np.float32), context), context)
    head("what", "ours", *(["rate", "NumPy", "×"] if cpu else ["floor", "× floor"]), "error")
    for family in (products, segments):
        for case in family(size, context):
            if options.only not in case.name:
                continue
            error = case.check()
            if cpu:
                seconds, peers = time_case(case, context, options.rounds)
                _, label, numpy_time = peers["NumPy"]
                rate = f"{case.nbytes / seconds / 1e9:.1f} GB/s"
                row(case.name, f"{1e3 * seconds:.1f} ms", rate, numpy_time, label, error)
            else:
                ms, floor = queued_ms(case.ours, context), case.nbytes / ceiling
                row(case.name, f"{ms:.4f} ms", f"{floor:.4f} ms", f"{ms / floor:.2f}", error)


if __name__ == "__main__":
    main()
