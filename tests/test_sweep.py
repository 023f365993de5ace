"""The whole product: operators, dtypes, modes, devices and lengths. By hand: `pytest -m sweep tests/test_sweep.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import (
    OPERATORS,
    PLAIN,
    PRIME,
    assert_near,
    assert_same,
    check_reduced,
    factors,
    logsumexp_tolerance,
    product_tolerance,
    scan_tolerance,
    values,
    wide,
)

import clmapreduce as cm

pytestmark = pytest.mark.sweep

LENGTHS = (0, 1, 15, 16, 17, 255, 256, 257, PRIME)
DTYPES = [*PLAIN, np.dtype("f2")]
CHOICES = ("minimum", "maximum", "argmin", "argmax", "logsumexp")


def skip_what_cannot_be(name: str, dtype: np.dtype, context: cm.Context) -> None:
    if dtype.kind == "c" and name in CHOICES:
        pytest.skip("complex numbers have no order")
    if dtype.itemsize // (1 + (dtype.kind == "c")) == 8 and dtype.kind in "fc" and not context.device.fp64:
        pytest.skip(f"{context.device.name} has no float64")


def numbers(name: str, rng: np.random.Generator, dtype: np.dtype, length: int) -> np.ndarray:
    """What suits the operator: products stay finite, sums of float16 too; truth finds both answers."""
    if name == "product":
        return factors(rng, dtype, length)
    x = values(rng, dtype, length)
    if name == "any":
        return x * (rng.random(length) < 1 / max(length, 1)).astype(dtype)
    if name == "all":
        return np.where(rng.random(length) < 1 / max(length, 1), 0, np.where(x == 0, 1, x)).astype(dtype)
    return x


def identity(name: str, dtype: np.dtype) -> Any:
    if name in ("sum", "product"):
        return wide(dtype).type(name == "product")
    if name in ("any", "all"):
        return np.bool_(name == "all")
    if name == "logsumexp":
        return np.dtype({1: "f4", 2: "f4"}.get(dtype.itemsize, "f8") if dtype.kind in "biu" else dtype).type(-np.inf)
    if dtype.kind == "b":
        return np.bool_(name == "minimum")
    if dtype.kind in "iu":
        return dtype.type(np.iinfo(dtype).max if name == "minimum" else np.iinfo(dtype).min)
    return dtype.type(np.inf if name == "minimum" else -np.inf)


def check_prefixes(name: str, x: np.ndarray, result: Any) -> None:
    """`result`: (length,), entry i the reduction of x[: i + 1], as exact as `oracles` says."""
    result, length = np.asarray(result), x.size
    assert result.shape == (length,)
    if length == 0:
        return
    long_type = np.clongdouble if x.dtype.kind == "c" else np.longdouble
    with np.errstate(over="ignore"):
        if name in ("minimum", "maximum"):
            return assert_same(result, getattr(np, name).accumulate(x))
        if name in ("any", "all"):
            return assert_same(result, {"any": np.logical_or, "all": np.logical_and}[name].accumulate(x != 0))
        if name in ("argmin", "argmax"):
            best = getattr(np, {"argmin": "minimum", "argmax": "maximum"}[name]).accumulate(x)
            new = np.append(True, best[1:] != best[:-1])
            return assert_same(result, np.maximum.accumulate(np.where(new, np.arange(length), 0)))
        if name == "logsumexp":
            totals = np.logaddexp.accumulate(x.astype(np.longdouble))
            return assert_near(result, totals, logsumexp_tolerance(result.dtype, totals, length))
        ufunc = np.add if name == "sum" else np.multiply
        if x.dtype.kind in "biu":
            return assert_same(result, ufunc.accumulate(x.astype(wide(x.dtype))))
        assert result.dtype == x.dtype
        totals = ufunc.accumulate(x.astype(long_type))
        if name == "product":
            return assert_near(result, totals, product_tolerance(x.dtype, totals, length, fp64=False))
        return assert_near(
            result, totals, scan_tolerance(x.dtype, totals, np.add.accumulate(np.abs(x).astype(np.longdouble)), length)
        )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_reduce(name: str, dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    skip_what_cannot_be(name, dtype, context)
    for length in LENGTHS:
        x = numbers(name, rng, dtype, length)
        for source in (x, cm.array(x, context)):
            if length == 0 and name in ("argmin", "argmax"):
                with pytest.raises(cm.ShapeError, match="empty"):
                    cm.Reduce(name)(source, context=context, mode=mode)
                continue
            result = cm.Reduce(name)(source, context=context, mode=mode)
            if length == 0:
                assert_same(result, identity(name, dtype))
            else:
                check_reduced(name, x, result, fp64=context.facts.fp64)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_scan(name: str, dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    skip_what_cannot_be(name, dtype, context)
    for length in LENGTHS:
        x = numbers(name, rng, dtype, length)
        check_prefixes(name, x, cm.Scan(name)(x, context=context, mode=mode))
        if name in ("argmin", "argmax"):
            continue
        result = cm.Scan(name, exclusive=True)(x, context=context, mode=mode)
        assert result.shape == (length,)
        if length:
            assert_same(result[0], identity(name, dtype))
            check_prefixes(name, x[:-1], result[1:])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", OPERATORS)
def test_partials(name: str, dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    skip_what_cannot_be(name, dtype, context)
    for length in LENGTHS:
        x = numbers(name, rng, dtype, length)
        partials = cm.Partials(name)(x, context=context, mode=mode)
        every = partials.prefix(mode=mode)
        assert every.shape == partials.values.shape == (length + 1,)
        if name not in ("argmin", "argmax"):
            assert_same(every[0], identity(name, dtype))
        check_prefixes(name, x, every[1:])
        for i in {1, 2, 16, length // 2, length} & set(range(1, length + 1)):
            low = i & -i
            if name in ("argmin", "argmax"):
                assert partials.values[i] == i - low + getattr(np, name)(x[i - low : i])
            else:
                check_reduced(name, x[i - low : i], partials.values[i], fp64=context.facts.fp64)
        queries = rng.integers(1, length + 1, 33) if length else np.zeros(33, int)
        assert_same(partials.prefix(queries, mode=mode), every[queries])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", [*OPERATORS, "index"])
def test_unfold(name: str, dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    skip_what_cannot_be(name, dtype, context)
    for length in LENGTHS:
        if name == "index":
            assert_same(cm.Unfold("index")(length, context=context, mode=mode), np.arange(length))
            continue
        base = numbers(name, rng, dtype, 1)[0]
        if name == "product" and dtype.kind in "fc":
            base = dtype.type(base / abs(base) * (1 + rng.uniform(-1, 1) / max(length, 1)))
        if name == "sum" and dtype == np.float16:
            base = np.clip(base, dtype.type(-0.5), dtype.type(0.5))  # 100003 times it is finite
        if name in ("argmin", "argmax") or (name == "logsumexp" and dtype.kind in "biu"):
            with pytest.raises(cm.DTypeError, match="stays in its dtype"):
                cm.Unfold(name)(base, length, context=context, mode=mode)
            continue
        result = cm.Unfold(name)(base, length, context=context, mode=mode)
        assert result.dtype == dtype
        steps = np.full(length, base, dtype)
        if name in ("sum", "product") and dtype.kind in "biu":
            ufunc = {"b": np.logical_or if name == "sum" else np.logical_and}.get(
                dtype.kind, np.add if name == "sum" else np.multiply
            )
            assert_same(
                result,
                ufunc.accumulate(steps).astype(dtype)
                if dtype.kind == "b"
                else ufunc.accumulate(steps, dtype=dtype),
            )
        elif name in ("any", "all"):
            assert_same(result, (steps != 0).astype(dtype))
        else:
            check_prefixes(name, steps, result)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_map(dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    skip_what_cannot_be("sum", dtype, context)
    for length in LENGTHS:
        x, y = values(rng, dtype, length), values(rng, dtype, length)
        with np.errstate(over="ignore", invalid="ignore"):
            for f in (lambda a, b: a + b, lambda a, b: a * b if dtype.kind != "c" else a - (-b), lambda a, b: a == b):
                assert_same(cm.Map(f)(x, y, context=context, mode=mode), f(x, y))
            assert_same(
                cm.Map(lambda a, b: cm.where(a != b, a, b))(x, y, context=context, mode=mode), np.where(x != y, x, y)
            )
        assert_same(cm.Map(lambda a: cm.index)(x, context=context, mode=mode), np.arange(length))
