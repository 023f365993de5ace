"""Primitives on arrays that have no room in device memory, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import (
    assert_near,
    assert_same,
    into_poison,
    logsumexp,
    logsumexp_tolerance,
    scan_tolerance,
    tolerance,
    values,
)
from support.streamed import LENGTH, LIMIT, call_streamed, floats, lengths

import clmapreduce as cm
from hostsched.driver import opencl
from hostsched.queue import grid


@pytest.mark.parametrize("length", lengths())
def test_maps_at_every_length(length: int, small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = floats(rng, length), floats(rng, length)
    call = cm.Map(lambda a, b: (a * b, a + cm.index))
    product, nbytes = call_streamed(call, x, y, context=small, mode=mode)
    assert_same(product, x * y)
    assert_same(nbytes, (x + np.arange(length)))


def test_every_element_of_out_is_written(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, LENGTH).astype("i4")
    double = cm.Map(lambda a: a + a)
    assert_same(into_poison(lambda out: double(x, out=out, context=small, mode=mode), LENGTH, "i4"), x + x)
    scan = cm.Scan("sum")
    assert_same(into_poison(lambda out: scan(x, out=out, context=small, mode=mode), LENGTH, "i8"), np.cumsum(x))
    ones = cm.Unfold("sum")
    out = into_poison(lambda out: ones(np.int64(3), LENGTH, out=out, context=small, mode=mode), LENGTH, "i8")
    assert_same(out, 3 * np.arange(1, LENGTH + 1))


def test_groups_behind_many_items_know_their_numbers(
    context: cm.Context, mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind 2^31 of them, where kernels see a global offset as an int."""
    x, own = rng.integers(-100, 100, LENGTH).astype("i4"), cm.Context(context.device, memory_limit=LIMIT)
    own.queue.short_offsets = True
    monkeypatch.setattr(grid, "SHORT_OFFSETS", 64)
    offsets = []
    enqueue = opencl.enqueue_kernel
    monkeypatch.setattr(opencl, "enqueue_kernel", lambda *args: (offsets.append(args[4]), enqueue(*args))[1])
    assert_same(call_streamed(cm.Map(lambda a: a + cm.index), x, context=own, mode=mode), x + np.arange(LENGTH))
    assert_same(call_streamed(cm.Scan("sum"), x, context=own, mode=mode), np.cumsum(x))
    assert call_streamed(cm.Reduce("argmin"), x, context=own, mode=mode) == x.argmin()
    assert any(offset and len(offset) == 3 for offset in offsets)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f4", "f8", "c8", [("a", "f4"), ("b", "i8")]])
def test_maps_of_every_kind(dtype: Any, small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = values(rng, np.dtype(dtype), 4_000_037 if np.dtype(dtype).itemsize < 4 else LENGTH)
    result = call_streamed(cm.Map(lambda a: a), x, context=small, mode=mode)
    assert_same(result, x)


@pytest.mark.parametrize("length", lengths())
def test_sums_at_every_length(length: int, small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = values(rng, "f8", length)
    result = call_streamed(cm.Reduce("sum"), x, context=small, mode=mode)
    assert_near(result, x.sum(dtype=np.longdouble), tolerance("f8", x.sum(), np.abs(x).sum(), length))
    k = values(rng, "i8", length)
    assert result.dtype == np.float64
    assert call_streamed(cm.Reduce("sum"), k, context=small, mode=mode) == k.sum()


@pytest.mark.parametrize("finish", ["device", "host"])
@pytest.mark.parametrize("op", ["minimum", "maximum", "argmin", "argmax", "any", "all", "product", "logsumexp"])
def test_reductions(op: str, finish: str, small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = floats(rng, LENGTH)
    if op in ("any", "all"):
        x = np.full(4 * LENGTH, op == "all")
        x[-1 if op == "any" else 1_000_000] ^= True
    if op == "product":
        x = rng.choice([-1.0, 1.0], LENGTH).astype("f4")
    result = call_streamed(cm.Reduce(op), x, context=small, mode=mode, finish=finish)
    if op == "logsumexp":
        top = logsumexp(x)
        assert_near(result, top, logsumexp_tolerance("f4", top, LENGTH))
        return
    expected = {"minimum": np.min, "maximum": np.max, "argmin": np.argmin, "argmax": np.argmax, "any": np.any,
                "all": np.all, "product": np.prod}[op](x)  # fmt: skip
    assert result == expected


def test_order_is_kept(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """The composition of x → a x + b over integers, which no two neighbours may be swapped in."""
    pair = np.dtype([("a", "i8"), ("b", "i8")])
    op = cm.Operator(
        lambda f, g: {"a": f["a"] * g["a"], "b": g["a"] * f["b"] + g["b"]}, (1, 0), dtype=pair, commutative=False
    )
    x = np.empty(200_003, pair)
    x["a"], x["b"] = rng.choice([-1, 1], x.size), rng.integers(-50, 50, x.size)
    with np.errstate(over="ignore"):
        a, b = np.cumprod(x["a"]), np.empty(x.size, "i8")
        total = 0
        for i, (first, second) in enumerate(x.tolist()):
            total = first * total + second
            b[i] = total
    prefixes = call_streamed(cm.Scan(op), x, context=small, mode=mode)
    assert_same(prefixes["a"], a)
    assert_same(prefixes["b"], b)
    whole = call_streamed(cm.Reduce(op), x, context=small, mode=mode)
    assert whole["a"] == a[-1] and whole["b"] == b[-1]


@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("length", lengths())
def test_scans_at_every_length(
    length: int, exclusive: bool, small: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    k = rng.integers(-(2**40), 2**40, length)
    result = call_streamed(cm.Scan("sum", exclusive), k, context=small, mode=mode)
    assert_same(result, np.cumsum(k) - k if exclusive else np.cumsum(k))
    x = floats(rng, length)
    result = call_streamed(cm.Scan("maximum"), x, context=small, mode=mode)
    assert_same(result, np.maximum.accumulate(x))


def test_sums_of_floats_scanned(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = floats(rng, LENGTH)
    result = call_streamed(cm.Scan("sum"), x, context=small, mode=mode)
    totals, magnitudes = np.cumsum(x, dtype="f8"), np.cumsum(np.abs(x), dtype="f8")
    assert_near(result, totals, 2 * scan_tolerance("f4", np.abs(totals), magnitudes, LENGTH))


def test_unfolds(small: cm.Context, mode: str) -> None:
    result = call_streamed(cm.Unfold("index"), LENGTH, context=small, mode=mode)
    assert_same(result, np.arange(LENGTH))
    result = call_streamed(cm.Unfold("product"), np.uint64(3), LENGTH, context=small, mode=mode)
    with np.errstate(over="ignore"):
        assert_same(result, np.cumprod(np.full(LENGTH, 3, np.uint64)))




def test_partials_hold_every_prefix(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    k = rng.integers(-1000, 1000, 200_003)
    partials = call_streamed(cm.Partials("sum"), k, context=small, mode=mode)
    # A device that copies has no room for all prefixes twice.
    ends = rng.integers(0, len(k) + 1, 1000)
    assert_same(partials.prefix(ends, mode=mode), np.concatenate([[0], np.cumsum(k)])[ends])
