"""Small calls of every front end, one a process: `python cases.py CASE MODE` checks one against NumPy and prints the
templates it rendered as JSON. `python cases.py KERNEL planted` runs a kernel with a known fault.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

import clmapreduce as cm
import clmapreduce.runtime
from hostsched import JobGraph, KernelJob, build

RNG = np.random.default_rng(20)
X = RNG.uniform(-1, 1, 150).astype("f4")
OFFSETS = np.array([0, 3, 3, 40, 41, 150])
KEYS = np.repeat(np.arange(9, dtype="i4"), RNG.integers(1, 30, 9))[:150]
COLUMNS = RNG.integers(0, 20, 150)
ROWS, POINTS = RNG.uniform(-1, 1, (37, 3)).astype("f4"), RNG.uniform(-1, 1, (45, 3)).astype("f4")
LONG = RNG.uniform(-1, 1, (18, 20)).astype("f4")
APART = ((ROWS[:, None].astype("f8") - POINTS[None]) ** 2).sum(2)
FAR = ((LONG[:, None].astype("f8") - LONG[None]) ** 2).sum(2)
STARTS = np.concatenate([[0], np.flatnonzero(KEYS[1:] != KEYS[:-1]) + 1])


def segments(op: str, whole: Callable[[Any], Any], empty: float) -> Any:
    """A segmented reduction, and what each segment must give."""
    expected = [whole(X[a:b].astype("f8")) if b > a else empty for a, b in pairwise(OFFSETS)]
    return lambda **how: cm.segmented_reduce(X, OFFSETS, op, empty=empty, **how), expected


def pairs(rows: Any, columns: Any, reduce: Callable[..., Any]) -> Callable[..., Any]:
    """A reduction of squared distances over the columns."""
    return lambda **how: reduce(((cm.Vi(rows) - cm.Vj(columns)) ** 2).sum(), **how)


Case = tuple[Callable[..., Any], Any]
CASES: dict[str, Case] = {
    "map": (lambda **how: cm.Map(lambda x: x * 2 + 1)(X, **how), X * 2 + 1),
    "sum": (lambda **how: cm.Reduce("sum")(X, **how), X.astype("f8").sum()),
    "maximum": (lambda **how: cm.Reduce("maximum")(X, **how), X.max()),
    "argmin": (lambda **how: cm.Reduce("argmin")(X, **how), X.argmin()),
    "scan": (lambda **how: cm.Scan("sum")(X, **how), X.astype("f8").cumsum()),
    "fused": (
        lambda **how: cm.fuse(lambda x: x - cm.Reduce("sum")(x))(X, **how), X - X.astype("f8").sum()
    ),
    "factorials": (lambda **how: cm.series.factorials(8, dtype=np.int64, **how), np.cumprod([1, *range(1, 9)])),
    "segments, sum": segments("sum", np.sum, 0.0),
    "segments, maximum": segments("maximum", np.max, -2.0),
    "segments, minimum": segments("minimum", np.min, 2.0),
    "keys": (lambda **how: cm.reduce_by_key(KEYS, X[: len(KEYS)], **how)[1], np.add.reduceat(X[: len(KEYS)].astype("f8"), STARTS)),
    "runs": (lambda **how: cm.run_lengths(KEYS, **how)[1], np.diff(np.append(STARTS, len(KEYS)))),
    "spmv": (
        lambda **how: cm.spmv((OFFSETS, COLUMNS, X), X[:20], **how),
        np.add.reduceat(np.append((X * X[COLUMNS]).astype("f8"), 0), OFFSETS[:-1]) * (np.diff(OFFSETS) > 0),
    ),
    "pairs, sum": (pairs(ROWS, POINTS, lambda d, **how: d.sum(axis=1, **how)), APART.sum(1, keepdims=True)),
    "pairs, gaussian": (
        pairs(ROWS, POINTS, lambda d, **how: (-d).exp().sum(axis=1, **how)), np.exp(-APART).sum(1, keepdims=True)
    ),
    "pairs, nearest": (pairs(ROWS, POINTS, lambda d, **how: d.argmin(axis=1, **how)), APART.argmin(1)[:, None]),
    "pairs, logsumexp": (
        pairs(ROWS, POINTS, lambda d, **how: d.logsumexp(axis=1, **how)),
        np.log(np.exp(APART).sum(1, keepdims=True)),
    ),
    "pairs of long vectors": (pairs(LONG, LONG, lambda d, **how: d.sum(axis=1, **how)), FAR.sum(1, keepdims=True)),
}  # fmt: skip

WRONG_THERE = {("keys", "sequential"), ("runs", "sequential")}
"""What oclgrind 21.10 computes wrongly (2,041 runs instead of 9, with an empty log): it is right on Intel's runtime, and,
in the very same words, on rusticl. These cases' results are not compared."""

PLANTED = {
    "a missing barrier": "__local int t[8]; t[i] = x[i]; x[i] = t[7 - i];",
    "an unordered sum": "x[0] += (int)i;",
    "one past the end": "x[i + 1] = (int)i;",
    "a local that nobody wrote": "__local int t[8]; if (i) t[i] = 1; barrier(CLK_LOCAL_MEM_FENCE); x[i] = t[0] ? 1 : 2;",
    "a barrier for some": "if (i < 4) barrier(CLK_LOCAL_MEM_FENCE); x[i] = 1;",
    "no fault": "__local int t[8]; t[i] = x[i]; barrier(CLK_LOCAL_MEM_FENCE); x[i] = t[7 - i];",
}
"""Bodies of a kernel of eight items on eight ints."""


def run_case(name: str, mode: str) -> set[str]:
    """Runs a case, compares it, and gives the templates that were rendered."""
    rendered: set[str] = set()
    render = clmapreduce.runtime.render

    def noted(template: str, context: Any) -> str:
        rendered.add(template)
        return render(template, context)

    clmapreduce.runtime.render = noted  # type: ignore[attr-defined]
    operation, expected = CASES[name]
    with cm.Context(cm.devices()[0]) as context:
        result = operation(mode=mode, context=context)
    if (name, mode) not in WRONG_THERE:
        np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)
    return rendered


def run_planted(name: str) -> None:
    """Runs a kernel with a fault."""
    text = f"__kernel void cmr_planted(__global int *x) {{ const size_t i = get_local_id(0); {PLANTED[name]} }}"
    with cm.Context(cm.devices()[0]) as context:
        kernel = build(context.queue, text).kernel("cmr_planted")
        x = cm.array(np.arange(8, dtype="i4"), context)
        JobGraph([KernelJob(kernel, 1, 8, (x.buffer,), (x.buffer,), (x.buffer,))]).submit(context.queue).wait()


if __name__ == "__main__":
    what, how = sys.argv[1:]
    if how == "planted":
        run_planted(what)
    else:
        print(json.dumps(sorted(run_case(what, how))))
