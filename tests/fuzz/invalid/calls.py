"""Right calls, argument by argument, with their results: the source of invalid cases."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sparse
from fuzz.invalid.call import Call
from fuzz.invalid.environment import ENVIRONMENT
from scipy import special

import clmapreduce as cm

RNG = np.random.default_rng(7)
X = RNG.uniform(0.5, 2, 150).astype("f4")
Y = RNG.uniform(0.5, 2, 150).astype("f4")
OFFSETS = np.array([0, 3, 3, 40, 41, 150])
SOURCES = np.array([5, 0, 100, 7, 2])
KEYS = np.repeat(np.arange(10), 15)
P, Q, B = (RNG.uniform(0, 1, shape).astype("f4") for shape in ((20, 3), (30, 3), (30, 2)))
LABELS = np.repeat(np.arange(5), 4)
ENDS = np.stack([np.arange(0, 20, 4), np.arange(4, 21, 4)], 1)
COLUMN_ENDS = np.stack([np.arange(0, 30, 6), np.arange(6, 31, 6)], 1)
KEEP = np.eye(5, dtype=bool)
INDPTR, INDICES, DATA = np.array([0, 3, 3, 7, 10]), np.array([0, 2, 5, 1, 1, 7, 4, 0, 6, 7]), X[:10]
VECTOR = Y[:8]
MATRIX = sparse.csr_array((DATA, INDICES, INDPTR), shape=(4, 8))


def squares(x: Any, y: Any) -> Any:
    return ((np.asarray(x, float)[:, None] - np.asarray(y, float)[None]) ** 2).sum(-1)


COMMON: dict[str, Any] = {"mode": "auto", "context": None, "wait_for": (), "out": None}
"""The keywords of every call."""


def _genred(formula: Any, aliases: Any, reduction_op: Any, axis: Any, x: Any, y: Any, b: Any, **more: Any) -> Any:
    return cm.Genred(formula, aliases, reduction_op, axis)(x, y, b, **more)


def _sum_of(result: Any) -> Any:
    """The sum, also where an error comes with it."""
    return result[0] if isinstance(result, tuple) else result


def _lazy(x: Any, y: Any, b: Any, axis: Any, backend: Any = "auto", ranges: Any = None, **more: Any) -> Any:
    kernel = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)).exp()
    if ranges is not None:
        kernel.ranges = ranges
    return (kernel * cm.Vj(b)).sum(axis=axis, backend=backend, **more)


def _nearest(x: Any, y: Any, K: Any, axis: Any, **more: Any) -> Any:
    return ((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1).argKmin(K, axis=axis, **more)


def _solve(x: Any, b: Any, alpha: Any, eps: Any) -> Any:
    kernel = (-((cm.Vi(x) - cm.Vj(x)) ** 2).sum(-1)).exp()
    return kernel.solve(cm.Vi(b), alpha=alpha, eps=eps)


def _operator(x: Any, identity: Any, dtype: Any, commutative: Any, name: Any) -> Any:
    return cm.Reduce(cm.Operator(lambda a, b: a + b, identity, dtype, commutative=commutative, name=name))(x)


def _compile_and_call(shapes: Any, dtypes: Any, x: Any, y: Any, mode: Any, length: Any) -> Any:
    call = (cm.Map(lambda a, b: a * b) >> cm.Reduce("sum")).compile(shapes, dtypes, mode=mode, length=length)
    return call(x, y)


def _functional(x: Any, y: Any, batch: Any, length: Any, accumulate: Any, **more: Any) -> Any:
    function = cm.fuse(lambda a, b: a * b - cm.Reduce("sum")(a))
    return function(x, y, batch=batch, length=length, accumulate=accumulate, **more)


def _segment_plan(offsets: Any, count: Any, sources: Any, values: Any, op: Any, init: Any, empty: Any) -> Any:
    return cm.SegmentPlan(offsets, count, sources).reduce(values, op, init=init, empty=empty)


def _array(x: Any, shape: Any, dtype: Any) -> Any:
    return cm.array(x).reshape(shape).view(dtype).to_numpy()


def _map(f: Any, x: Any, y: Any, length: Any, tiles: Any, **more: Any) -> Any:
    return cm.Map(f)(x=x, y=y, length=length, tiles=tiles, **more)


def _prefix(x: Any, op: Any, i: Any) -> Any:
    return cm.Partials(op)(x).prefix(i)


def _vectors(formula: Any) -> Any:
    """A formula string alone: every hostile string meets the parser of vectors."""
    return cm.Genred(formula, ["x = Vi(3)", "y = Vj(3)"], "Sum", 1)(P, Q)


SUM = X.astype("f8").sum()
SEGMENTS = np.array([X[a:b].astype("f8").sum() for a, b in pairwise(OFFSETS)])
THROUGH = np.array([X[s : s + n].astype("f8").sum() for s, n in zip(SOURCES, np.diff(OFFSETS), strict=True)])
GAUSS = np.exp(-squares(P, Q)) @ B.astype("f8")
SOLUTION = np.linalg.solve(np.exp(-squares(P, P)) + 0.5 * np.eye(20), B[:20].astype("f8"))
MEANS = np.stack([P[k == LABELS].astype("f8").mean(0) for k in range(5)])

CALLS: dict[str, Call] = {
    "Map": Call(_map, {"f": "x * 2 + sqrt(y)", "x": X, "y": Y, "length": None, "tiles": None, **COMMON}, X * 2 + np.sqrt(Y)),
    "map strings": Call(lambda f: cm.Map(f)(x=X, y=Y), {"f": "where(x < y, x * (y + 2), -x // 3)"}, np.where(X < Y, X * (Y + 2), -X // 3)),
    "index": Call(lambda length, **k: cm.Map("index * 2")(length=length, **k), {"length": 100, **COMMON}, np.arange(100) * 2),
    "Reduce": Call(
        lambda op, x, **k: cm.Reduce(op)(x, **k), {"op": "sum", "x": X, "tiles": None, "accumulate": "auto", "finish": "auto", **COMMON}, SUM,
        lambda op, x, **k: {"sum": np.sum, "max": np.max, "maximum": np.max, "minimum": np.min, "product": np.prod}[op](x),
    ),
    "Scan": Call(
        lambda op, x, exclusive, **k: cm.Scan(op, exclusive=exclusive)(x, **k), {"op": "sum", "x": X, "exclusive": False, "tiles": None, **COMMON}, X.astype("f8").cumsum(),
        lambda op, x, exclusive, **k: np.cumsum(x, dtype=float) - (x if exclusive else 0) if op == "sum" else None,
    ),
    "Partials": Call(_prefix, {"x": X, "op": "sum", "i": np.array([0, 5, 150])}, np.append(0, X.astype("f8").cumsum())[[0, 5, 150]]),
    "Unfold": Call(
        lambda op, base, length, dtype, **k: cm.Unfold(op)(base, length, dtype=dtype, **k),
        {"op": "product", "base": 1.01, "length": 90, "dtype": "f8", "tiles": None, **COMMON}, 1.01 ** np.arange(1, 91),
    ),
    "Operator": Call(_operator, {"x": X, "identity": 0.0, "dtype": None, "commutative": True, "name": "mine"}, SUM),
    "fuse": Call(_functional, {"x": X, "y": Y, "batch": None, "length": None, "accumulate": "auto", **COMMON}, X * Y - SUM),
    "compile": Call(_compile_and_call, {"shapes": [(150,), (150,)], "dtypes": "f4", "x": X, "y": Y, "mode": "auto", "length": None}, (X * Y).sum()),
    "segmented_reduce": Call(
        lambda values, offsets, op, **k: cm.segmented_reduce(values, offsets, op, **k),
        {"values": X, "offsets": OFFSETS, "op": "sum", "sources": None, "init": None, "empty": None, "map": None, "accumulate": "auto", "starts": False, **COMMON},
        SEGMENTS,
    ),
    "sources": Call(lambda values, offsets, sources: cm.segmented_reduce(values, offsets, sources=sources), {"values": X, "offsets": OFFSETS, "sources": SOURCES}, THROUGH),
    "SegmentPlan": Call(
        _segment_plan, {"offsets": OFFSETS, "count": 150, "sources": None, "values": X, "op": "sum", "init": None, "empty": None}, SEGMENTS
    ),
    "reduce_by_key": Call(
        lambda keys, values, op, **k: cm.reduce_by_key(keys, values, op, **k),
        {"keys": KEYS, "values": X, "op": "sum", "equal": None, "key": "first", "init": None, "map": None, "count": "host", **COMMON},
        (np.arange(10), X.astype("f8").reshape(10, 15).sum(1)),
    ),
    "run_lengths": Call(lambda keys, key: cm.run_lengths(keys, key=key), {"keys": KEYS, "key": "first"}, (np.arange(10), np.full(10, 15), np.arange(0, 150, 15))),
    "KeyPlan": Call(lambda keys, values, op: cm.KeyPlan(keys).reduce(values, op), {"keys": KEYS, "values": X, "op": "sum"}, (np.arange(10), X.astype("f8").reshape(10, 15).sum(1))),
    "spmv": Call(
        lambda indptr, indices, data, x, **k: cm.spmv((indptr, indices, data), x, **k),
        {"indptr": INDPTR, "indices": INDICES, "data": DATA, "x": VECTOR, "multiply": "product", "add": "sum", "sources": None, "init": None, "empty": None, **COMMON},
        MATRIX @ VECTOR,
    ),
    "spmv of a matrix": Call(lambda matrix, x, multiply: cm.spmv(matrix, x, multiply=multiply), {"matrix": MATRIX, "x": VECTOR, "multiply": "product"}, MATRIX @ VECTOR),
    "SpmvPlan": Call(lambda matrix, x, add: cm.SpmvPlan(matrix).apply(x, add=add), {"matrix": (INDPTR, INDICES, DATA), "x": VECTOR, "add": "sum"}, MATRIX @ VECTOR),
    "powers": Call(lambda base, n, dtype: cm.series.powers(base, n, dtype=dtype), {"base": 1.5, "n": 20, "dtype": None}, 1.5 ** np.arange(21)),
    "factorials": Call(lambda n, dtype: cm.series.factorials(n, dtype=dtype), {"n": 10, "dtype": None}, special.factorial(np.arange(11))),
    "exp": Call(lambda x, terms, dtype: cm.series.exp(x, terms, dtype=dtype), {"x": np.array([0.5, 1.0, -1.0]), "terms": 25, "dtype": None}, np.exp([0.5, 1.0, -1.0])),
    "zeta": Call(lambda x, digits, dtype: cm.series.zeta(x, digits=digits, dtype=dtype), {"x": np.array([2.0, 4.0]), "digits": 16, "dtype": None}, special.zeta([2.0, 4.0])),
    "power": Call(lambda x, y, digits: cm.series.power(x, y, digits=digits), {"x": np.array([2.0, 4.0]), "y": 0.5, "digits": 16}, np.sqrt([2.0, 4.0])),
    "constant": Call(lambda name, digits, dtype: cm.series.constant(name, digits, dtype=dtype), {"name": "pi", "digits": 16, "dtype": None}, np.pi),
    "power_series with errors": Call(
        lambda d, x, center, digits, error: _sum_of(cm.series.power_series(d, x, center, digits=digits, return_error=error)),
        {"d": np.ones(25), "x": 1.5, "center": 0.5, "digits": 12, "error": True}, np.e,
    ),
    "power_series": Call(
        lambda d, x, center, dtype: cm.series.power_series(d, x, center, dtype=dtype), {"d": np.ones(25), "x": 1.5, "center": 0.5, "dtype": None}, np.e
    ),
    "LazyTensor": Call(_lazy, {"x": P, "y": Q, "b": B, "axis": 1, "backend": "auto", "ranges": None, **COMMON}, GAUSS),
    "argKmin": Call(_nearest, {"x": P, "y": Q, "K": 3, "axis": 1}, np.argsort(squares(P, Q), 1, kind="stable")[:, :3]),
    "Genred": Call(
        _genred,
        {"formula": "Exp(-SqDist(x, y)) * b", "aliases": ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)"], "reduction_op": "Sum", "axis": 1, "x": P, "y": Q, "b": B, "ranges": None, **COMMON},
        GAUSS,
    ),
    "vector strings": Call(_vectors, {"formula": "Exp(-SqDist(x, y)) * x + Grad(SqNorm2(x), x, Elem(x, 0))"}, (np.exp(-squares(P, Q))[..., None] * P[:, None] + 2 * P[:, None] * P[:, None, :1]).sum(1)),
    "solve": Call(_solve, {"x": P, "b": B[:20], "alpha": 0.5, "eps": 1e-6}, SOLUTION),
    "Ranges": Call(
        lambda ranges: cm.Ranges(ranges).pairs, {"ranges": (ENDS, np.arange(1, 6), COLUMN_ENDS, COLUMN_ENDS, np.arange(1, 6), ENDS)}, 120
    ),
    "Ranges.from_matrix": Call(lambda i, j, keep: cm.Ranges.from_matrix(i, j, keep).pairs, {"i": ENDS, "j": COLUMN_ENDS, "keep": KEEP}, 120),
    "Ranges.from_clusters": Call(lambda i, j, keep: cm.Ranges.from_clusters(i, j, keep).pairs, {"i": LABELS, "j": None, "keep": KEEP}, 80),
    "Ranges.from_mask": Call(lambda mask: cm.Ranges.from_mask(mask).pairs, {"mask": squares(P, Q) < 0.3}, (squares(P, Q) < 0.3).sum()),
    "Ranges.band": Call(lambda M, N, width, block: cm.Ranges.band(M, N, width, block=block).pairs, {"M": 20, "N": 30, "width": 0, "block": 1}, 20),
    "Ranges.radius": Call(
        lambda x, y, distance, i, j, between: cm.Ranges.radius(x, y, distance, i, j, between=between).pairs,
        {"x": P, "y": Q, "distance": 9.0, "i": ENDS, "j": COLUMN_ENDS, "between": "boxes"}, 600,
    ),
    "grid_cluster": Call(lambda x, size: cm.cluster.grid_cluster(x, size), {"x": np.arange(9.0)[:, None], "size": 3.0}, np.arange(9) // 3),
    "sort_clusters": Call(lambda x, lab: cm.cluster.sort_clusters(x, lab), {"x": P, "lab": LABELS}, (P, LABELS)),
    "cluster_ranges": Call(lambda lab, count: cm.cluster.cluster_ranges(lab, count), {"lab": LABELS, "count": 5}, ENDS),
    "cluster_centroids": Call(
        lambda x, lab, count, weights: cm.cluster.cluster_centroids(x, lab, count, weights), {"x": P, "lab": LABELS, "count": None, "weights": None}, MEANS
    ),
    "array": Call(_array, {"x": X, "shape": (10, 15), "dtype": "i4"}, X.view("i4").reshape(10, 15)),
    "Context": Call(lambda context: cm.Reduce("sum")(X, context=context), {"context": None}, SUM),
    "select_device": Call(lambda spec: cm.select_device(spec) is not None, {"spec": None}, True),
    **ENVIRONMENT,
}  # fmt: skip
