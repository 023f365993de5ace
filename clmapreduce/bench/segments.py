"""Rows over segments: sums of segments, sums by key, a sparse matrix times a vector."""

from __future__ import annotations

from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.bench.libraries import Libraries, as_numpy
from clmapreduce.bench.lines import LIMIT
from clmapreduce.bench.race import Call, Case

LONGEST, ENTRIES = 20, 16
"""Elements of a segment at most, entries of a matrix's row."""


def segment_cases(n: int, context: cm.Context, libraries: Libraries, rng: np.random.Generator) -> list[Case]:
    """The rows for n float32 in segments of 1 to LONGEST elements, and a matrix of as many entries."""
    lengths = rng.integers(1, LONGEST + 1, 2 * n // LONGEST)
    lengths = lengths[: np.searchsorted(lengths.cumsum(), n) + 1]
    offsets = np.concatenate([[0], lengths.cumsum()]).clip(max=n).astype(np.int32)
    offsets = np.unique(offsets)
    values, count = rng.random(offsets[-1], np.float32), len(offsets) - 1
    keys = np.repeat(np.arange(count, dtype=np.int32), np.diff(offsets))
    dvalues, dkeys, doffsets = (cm.array(a, context) for a in (values, keys, offsets))
    sums = np.add.reduceat(values.astype(np.float64), offsets[:-1])
    with context:
        plan = cm.SegmentPlan(doffsets, len(values))
    size = f"{len(values):,} float32 in {count:,} segments"

    def worst(result: Any, expected: Any) -> float:
        """All terms are positive: a sum is its own magnitude."""
        return float(np.abs(as_numpy(result) / expected - 1).max())

    return [
        Case("segments", lambda: plan.reduce(dvalues), 4 * (len(values) + 2 * count),
             {"NumPy": lambda: np.add.reduceat(values, offsets[:-1])},
             lambda r: worst(r, sums), LIMIT, "sums of segments, planned once", size),
        Case("by key", lambda: cm.reduce_by_key(dkeys, dvalues)[1], 8 * len(values),
             {"NumPy": lambda: _numpy_by_key(keys, values)},
             lambda r: worst(r, sums), LIMIT, "sums of runs of equal keys", size),
        _matrix_case(n, context, libraries, rng),
    ]  # fmt: skip


def _matrix_case(n: int, context: cm.Context, libraries: Libraries, rng: np.random.Generator) -> Case:
    """A square matrix with ENTRIES entries a row, anywhere."""
    rows = n // ENTRIES
    offsets = np.arange(0, n + 1, ENTRIES, dtype=np.int32)[: rows + 1]
    columns = rng.integers(0, rows, rows * ENTRIES, np.int32)
    data, x = rng.random(rows * ENTRIES, np.float32), rng.random(rows, np.float32)
    own = tuple(cm.array(a, context) for a in (offsets, columns, data))
    dx = cm.array(x, context)
    with context:
        plan = cm.SpmvPlan(own)
    expected = (data.astype(np.float64) * x[columns]).reshape(rows, ENTRIES).sum(1)
    sparse = libraries.module("scipy.sparse")
    peers: dict[str, Call] = {}
    if sparse is not None:
        matrix = sparse.csr_matrix((data, columns, offsets), (rows, rows))
        peers["SciPy"] = lambda: matrix @ x
    return Case(
        "spmv", lambda: plan.apply(dx), 8 * rows * ENTRIES, peers,
        lambda r: float(np.abs(as_numpy(r) / expected - 1).max()), LIMIT,
        "a sparse matrix times a vector, planned once", f"{rows:,} rows of {ENTRIES} entries, float32",
    )  # fmt: skip


def _numpy_by_key(keys: Any, values: Any) -> Any:
    begins = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    return np.add.reduceat(values, begins)
