"""A call of every front end with exact numbers, on host and on device arrays, each with NumPy's result."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import clmapreduce as cm


class Family(NamedTuple):
    """`call(context)` gives values that equal `expected` bit for bit, whatever the order of summation."""

    call: Callable[[cm.Context], Any]
    expected: Any


def families(seed: int, length: int = 1009) -> dict[str, Family]:
    """Calls by name. Equal seeds give equal numbers; kernels depend on the length alone."""
    return primitives(seed, length) | pipelines(seed, length) | pairs(seed) | segments(seed, length)


def primitives(seed: int, length: int) -> dict[str, Family]:
    rng = np.random.default_rng(seed)
    x = rng.integers(-100, 100, length).astype(np.int32)
    y = rng.integers(-9, 9, length).astype(np.float32)
    prefix = np.append(0, np.cumsum(x, dtype=np.int64))
    total, step = cm.Reduce("sum"), cm.Map("x * 3 + b")

    def chain(context: cm.Context) -> Any:
        """Results that stay on the device, each computed from the one before."""
        array = cm.array(x, context)
        for k in range(3):
            array = step(array, k)
        return array.to_numpy()

    def into(context: cm.Context) -> Any:
        """Results in arrays of the caller's, on the device and on the host."""
        array, out = cm.array(x, context), np.empty_like(x)
        step(array, 1, out=array)
        cm.Map("x + 0")(array, out=out)
        return out

    return {
        "map": Family(lambda c: step(x, 2, context=c), x * np.int32(3) + np.int32(2)),
        "reduce": Family(lambda c: total(x, context=c), x.sum(dtype=np.int64)),
        "reduce on the device": Family(lambda c: total(cm.array(y, c)).to_numpy(), y.sum(dtype=np.float32)),
        "argmin": Family(lambda c: cm.Reduce("argmin")(x, context=c), np.int64(np.argmin(x))),
        "scan": Family(lambda c: cm.Scan("sum")(cm.array(x, c)).to_numpy(), prefix[1:]),
        "unfold": Family(lambda c: cm.Unfold("sum")(np.int64(7), 1009, context=c), 7 * np.arange(1, 1010)),
        "partials": Family(lambda c: cm.Partials("sum")(x, context=c).prefix(), prefix),
        "chain": Family(chain, x * np.int32(27) + np.int32(5)),
        "out": Family(into, x * np.int32(3) + np.int32(1)),
        "series": Family(lambda c: cm.series.factorials(12, dtype="i8", context=c), np.cumprod([1, *range(1, 13)])),
    }


def pipelines(seed: int, length: int) -> dict[str, Family]:
    rng = np.random.default_rng(seed)
    y = rng.integers(-9, 9, length).astype(np.float32)
    dot = cm.Map("x * y") >> cm.Reduce("sum")

    @cm.fuse
    def from_mean(v: Any) -> Any:
        return v * 4 - cm.Reduce("sum")(v)

    def by_compile(context: cm.Context) -> Any:
        ready = dot.compile([y.shape, y.shape], np.float32, context=context)
        array = cm.array(y, context)
        first = ready(array, array)
        return np.float32([first.to_numpy(), ready(array, array).to_numpy()])

    square = np.float32(y.astype("f8") @ y)
    return {
        "dot": Family(lambda c: dot(y, y, context=c), square),
        "fuse": Family(lambda c: from_mean(cm.array(y, c)).to_numpy(), y * 4 - y.sum()),
        "compiled": Family(by_compile, np.float32([square, square])),
    }


def pairs(seed: int) -> dict[str, Family]:
    rng = np.random.default_rng(seed)
    x, y = (rng.integers(-9, 9, (count, 3)).astype(np.float32) for count in (67, 130))
    b = rng.integers(-9, 9, (130, 2)).astype(np.float32)
    distance = ((x[:, None] - y[None]) ** 2).sum(-1)
    near = (np.arange(67)[:, None] // 20) == (np.arange(130)[None] // 40)

    def lazy(x: Any, y: Any) -> Any:
        return ((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)

    def on_device(context: cm.Context) -> Any:
        return (lazy(cm.array(x, context), cm.array(y, context)) @ cm.array(b, context)).to_numpy()

    def with_ranges(context: cm.Context) -> Any:
        ranges = cm.Ranges.from_clusters(np.arange(67) // 20, np.arange(130) // 40)
        return lazy(x, y).sum(axis=1, ranges=ranges, context=context)

    return {
        "pairs": Family(lambda c: lazy(x, y).sum(axis=1, context=c), distance.sum(1, keepdims=True)),
        "pairs on the device": Family(on_device, distance @ b),
        "nearest": Family(lambda c: lazy(x, y).argmin(axis=1, context=c)[:, 0], distance.argmin(1)),
        "blocks of pairs": Family(with_ranges, np.where(near, distance, 0).sum(1, keepdims=True)),
    }


def segments(seed: int, length: int) -> dict[str, Family]:
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 9, length).astype(np.float32)
    bounds = np.array([0, 3, 3, length // 2, length])
    parts = np.array([values[a:b].sum() for a, b in itertools.pairwise(bounds)], np.float32)
    keys = np.repeat([3, 5, 4, 9], np.diff([0, 100, 500, 700, length])).astype(np.int32)
    ends = np.array([0, 100, 500, 700, length])
    sums = np.add.reduceat(values, ends[:-1])
    columns, vector = rng.integers(0, 50, length), rng.integers(-9, 9, 50).astype(np.float32)
    product = values * vector[columns]
    rows = np.array([product[a:b].sum() for a, b in itertools.pairwise(bounds)], np.float32)

    def by_key(context: cm.Context) -> Any:
        return cm.reduce_by_key(keys, values, context=context)[1]

    def by_plan(context: cm.Context) -> Any:
        plan = cm.SpmvPlan((bounds, columns, values), context=context)
        array = cm.array(vector, context)
        return np.stack([plan.apply(array).to_numpy(), plan.apply(array).to_numpy()])

    return {
        "segments": Family(lambda c: cm.segmented_reduce(values, bounds, context=c), parts),
        "segments on the device": Family(
            lambda c: cm.segmented_reduce(cm.array(values, c), cm.array(bounds, c)).to_numpy(), parts
        ),
        "keys": Family(by_key, sums),
        "runs": Family(lambda c: cm.run_lengths(keys, context=c)[1], np.diff(ends)),
        "spmv": Family(lambda c: cm.spmv((bounds, columns, values), vector, context=c), rows),
        "spmv plan": Family(by_plan, np.stack([rows, rows])),
    }
