"""Pipelines on arrays that have no room in device memory, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import assert_near, assert_same, tolerance
from support.streamed import LENGTH, below_their_peak, call_streamed, floats, lengths, softmax, tiles_of

import clmapreduce as cm


@cm.fuse
def twice(x: Any) -> Any:
    return cm.Scan("sum")(cm.Scan("sum")(x) % 1000)


@pytest.mark.parametrize("length", lengths())
def test_a_dot_product(length: int, small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = floats(rng, length), floats(rng, length)
    dot = cm.Map(lambda a, b: a * b) >> cm.Reduce("sum")
    terms = (x * y).astype("f8")
    result = call_streamed(dot, x, y, context=small, mode=mode)
    assert_near(result, terms.sum(), 2 * tolerance("f4", terms.sum(), np.abs(terms).sum(), length))


def test_three_passes(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = floats(rng, LENGTH)
    assert tiles_of(softmax, x, context=small, mode=mode)[2] == 3
    result, top = call_streamed(softmax, x, context=small, mode=mode)
    exact = np.exp(x.astype("f8") - x.max())
    np.testing.assert_allclose(result, exact / exact.sum(), rtol=3e-6)
    assert top == x.max() and np.isscalar(top)


def test_arrays_between_passes(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    k = rng.integers(-1000, 1000, LENGTH)
    assert tiles_of(below_their_peak, k, context=small, mode=mode)[2] == 2
    prefixes = np.cumsum(k)
    assert_same(call_streamed(below_their_peak, k, context=small, mode=mode), prefixes - prefixes.max())
    assert tiles_of(twice, k, context=small, mode=mode)[2] == 1, "two scans go over the windows together"
    assert_same(call_streamed(twice, k, context=small, mode=mode), np.cumsum(prefixes % 1000))


def test_unfolds_meet_arrays(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    k = rng.integers(0, 100, LENGTH).astype("u8")

    @cm.fuse
    def polynomial(c: Any, base: Any) -> Any:
        powers = cm.Unfold("product")(base)
        return cm.Reduce("sum")(c * powers)

    with np.errstate(over="ignore"):
        expected = (k * np.cumprod(np.full(LENGTH, 3, "u8"))).sum()
    assert call_streamed(polynomial, k, np.uint64(3), context=small, mode=mode) == expected
    geometric = cm.Unfold("product") >> cm.Map(lambda p: p + 1)
    with np.errstate(over="ignore"):
        expected = np.cumprod(np.full(LENGTH, 3, "u8")) + np.uint64(1)
    assert_same(call_streamed(geometric, np.uint64(3), LENGTH, context=small, mode=mode), expected)


def test_kept_partials_at_the_end(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    k = rng.integers(-100, 100, 200_003)
    partials = call_streamed(cm.Map(lambda a: 2 * a) >> cm.Partials("sum"), k, context=small, mode=mode)
    ends = rng.integers(0, len(k) + 1, 1000)
    assert_same(partials.prefix(ends, mode=mode), np.concatenate([[0], np.cumsum(2 * k)])[ends])


@pytest.mark.parametrize(("rows", "columns"), [(9001, 100), (401, 1501), (70, 10_007), (700_001, 3)])
def test_batches(rows: int, columns: int, small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    @cm.fuse(batch=True)
    def both(x: Any, weights: Any, shift: Any) -> Any:
        total = cm.Reduce("sum")(x * weights)
        return total + shift, cm.Scan("sum")(x) - total + cm.index

    x = rng.integers(-9, 9, (rows, columns))
    weights, shift = rng.integers(-9, 9, columns), rng.integers(-9, 9, (rows, 1))
    totals, prefixes = call_streamed(both, x, weights, shift, context=small, mode=mode)
    expected = (x * weights).sum(1)
    assert_same(totals, expected + shift[:, 0])
    assert_same(prefixes, np.cumsum(x, 1) - expected[:, None] + np.arange(columns))


def test_a_compiled_pipeline_streams_too(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-1000, 1000, LENGTH)
    pipeline = cm.Map(lambda a: a + 1) >> cm.Scan("sum")
    call = pipeline.compile([x.shape], x.dtype, context=small, mode=mode)
    peak = small.queue.arena.peak_bytes
    assert_same(call(x), np.cumsum(x + 1))
    assert small.queue.arena.peak_bytes == max(peak, small.queue.arena.peak_bytes) <= small.queue.arena.limit  # type: ignore[operator]
