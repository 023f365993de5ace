"""Scan: every prefix in both modes on every device, against a sequential NumPy accumulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import PRIME, SIZES, assert_near, assert_same, into_poison, scan_tolerance, values, wide

import clmapreduce as cm

pytestmark = pytest.mark.drawn


def expected_sums(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(prefix sums, prefix sums of magnitudes) in the widest type of their kind."""
    if x.dtype.kind in "biu":
        return np.cumsum(x, dtype=wide(x.dtype)), np.zeros(x.size)
    precise = np.complex128 if x.dtype.kind == "c" else np.float64
    return np.cumsum(x, dtype=precise), np.cumsum(np.abs(x), dtype=np.float64)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u1", "?", "c8"])
def test_sums_at_every_size(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = values(rng, dtype, length)
        if x.dtype.kind == "c":
            x = (rng.standard_normal(length) + 1j * rng.standard_normal(length)).astype(dtype)
        result = cm.Scan("sum")(x, context=context, mode=mode)
        totals, magnitudes = expected_sums(x)
        assert result.dtype == wide(dtype)
        if x.dtype.kind in "biu":
            assert_same(result, totals)
        else:
            own = np.dtype("f4" if dtype == "c8" else dtype)
            assert_near(result, totals, 2 * scan_tolerance(own, np.abs(totals), magnitudes, length), length)


@pytest.mark.parametrize("name", ["minimum", "maximum"])
@pytest.mark.parametrize("dtype", ["f4", "i8"])
def test_extrema_exactly(name: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    accumulate = getattr(np, name).accumulate
    for length in (1, 17, 1025, PRIME):
        x = values(rng, dtype, length)
        assert_same(cm.Scan(name)(x, context=context, mode=mode), accumulate(x))
        if x.dtype.kind == "f":
            x[rng.integers(length)] = np.nan
            assert_same(cm.Scan(name)(x, context=context, mode=mode), accumulate(x))


def test_exclusive_starts_with_the_identity(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 16, 65, 257, PRIME):
        x = rng.integers(-1000, 1000, length)
        inclusive = np.cumsum(x)
        result = cm.Scan("sum", exclusive=True)(x, context=context, mode=mode)
        assert_same(result, np.concatenate([[0], inclusive[:-1]]))
        lowest = cm.Scan("minimum", exclusive=True)(x.astype("f4"), context=context, mode=mode)
        assert_same(lowest, np.concatenate([[np.inf], np.minimum.accumulate(x[:-1].astype("f4"))]).astype("f4"))


def test_arg_scans_name_the_place_of_the_best_so_far(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(0, 50, 5003).astype("i4")
    best = np.array([int(np.argmax(x[: i + 1])) for i in range(x.size)])
    assert_same(cm.Scan("argmax")(x, context=context, mode=mode), best)


def test_truth_and_logsumexp(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.random(3001) < 0.001
    assert_same(cm.Scan("any")(x, context=context, mode=mode), np.logical_or.accumulate(x))
    assert_same(cm.Scan("all")(~x, context=context, mode=mode), np.logical_and.accumulate(~x))
    y = rng.uniform(-20, 20, 3001)
    result = cm.Scan("logsumexp")(y, context=context, mode=mode)
    assert_near(result, np.logaddexp.accumulate(y), 1e-13 * (1 + np.abs(y).max()) * np.ones(y.size))


@pytest.mark.parametrize("tiles", [None, 1])
def test_order_is_kept_for_operators_that_do_not_commute(
    tiles: int | None, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    if tiles and mode == "parallel":
        mode = "sequential"
    affine = cm.Operator(
        lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]},
        np.array((1, 0), dtype=[("a", "i8"), ("b", "i8")])[()],
        commutative=False,
    )
    last = cm.Operator(lambda a, b: cm.where(b == 0, a, b), 0, commutative=False)
    for length in (1, 33, 257, 5003):
        x = np.zeros(length, dtype=[("a", "i8"), ("b", "i8")])
        x["a"], x["b"] = rng.integers(0, 2, length) * 2 - 1, rng.integers(-9, 9, length)
        result = cm.Scan(affine)(x, context=context, mode=mode, tiles=tiles)
        a, b = 1, 0
        for i in range(length):
            a, b = a * int(x["a"][i]), b * int(x["a"][i]) + int(x["b"][i])
            assert (result["a"][i], result["b"][i]) == (a, b), (length, i)
        total = cm.Reduce(affine)(x, context=context, mode=mode, tiles=tiles)
        assert (total["a"], total["b"]) == (a, b)
        marks = np.where(rng.random(length) < 0.05, rng.integers(1, 1000, length), 0).astype("i4")
        expected, latest = [], 0
        for mark in marks.tolist():
            latest = mark or latest
            expected.append(latest)
        assert_same(cm.Scan(last)(marks, context=context, mode=mode, tiles=tiles), np.array(expected, "i4"))


def test_fused_maps_outputs_and_places(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = rng.integers(-99, 99, PRIME), rng.integers(-99, 99, PRIME)
    dot = cm.Map(lambda a, b: a * b) >> cm.Map(lambda p: p + cm.index) >> cm.Scan("sum")
    expected = np.cumsum(x * y + np.arange(PRIME))
    assert_same(dot(x, y, context=context, mode=mode), expected)
    device_array = dot(cm.array(x, context), y, mode=mode)
    assert isinstance(device_array, cm.DeviceArray)
    assert_same(device_array.to_numpy(), expected)
    scan = cm.Scan("sum")
    assert_same(into_poison(lambda out: scan(x, context=context, mode=mode, out=out), x.shape, x.dtype), np.cumsum(x))
    copy = x.copy()
    assert scan(copy, context=context, mode=mode, out=copy) is copy  # in place
    assert_same(copy, np.cumsum(x))


def test_nan_spreads_to_the_end(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 17, 65, 1025, PRIME):
        at = int(rng.integers(length))
        x = rng.uniform(0.5, 2, length).astype(np.float32)
        x[at] = np.nan
        x[rng.integers(at, length)] = np.nan
        for name in ("sum", "minimum", "maximum", "logsumexp"):
            result = cm.Scan(name)(x, context=context, mode=mode)
            np.testing.assert_array_equal(np.isnan(result), np.arange(length) >= at, err_msg=f"{name}, {length}, {at}")
        best = np.array([int(np.argmax(x[: i + 1])) for i in range(min(length, 1025))])
        assert_same(cm.Scan("argmax")(x, context=context, mode=mode)[:1025], best, (length, at))


def test_infinities(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (4, 17, 65, 1025, PRIME, PRIME, PRIME, PRIME):
        first, second = np.sort(rng.choice(length - 1, 2, replace=False)) + 1
        x = np.full(length, -np.inf, np.float32)
        x[first:] = 1.5
        logs = cm.Scan("logsumexp")(x, context=context, mode=mode)
        assert (logs[:first] == -np.inf).all(), (length, first)
        assert np.isfinite(logs[first:]).all(), (length, first)
        x[second] = np.inf
        logs = cm.Scan("logsumexp")(x, context=context, mode=mode)
        assert (logs[second:] == np.inf).all(), (length, second)
        x[:first] = 1
        sums = cm.Scan("sum")(x, context=context, mode=mode)
        assert np.isfinite(sums[:second]).all(), (length, second)
        assert (sums[second:] == np.inf).all(), (length, second)
        x[-1] = -np.inf
        last = cm.Scan("sum")(x, context=context, mode=mode)[-1]
        assert last == -np.inf if second == length - 1 else np.isnan(last), (length, second)


@pytest.mark.parametrize(("name", "dtype"), [("sum", "f4"), ("sum", "i1"), ("maximum", "f4"), ("argmax", "i4")])
def test_the_strictly_sequential_run_is_the_oracle(
    name: str, dtype: str, context: cm.Context, rng: np.random.Generator
) -> None:
    for length in (1, 17, 1025, PRIME):
        x = values(rng, dtype, length)
        oracle = cm.Scan(name)(x, context=context, mode="sequential", tiles=1)
        for mode in ("sequential", "parallel"):
            result = cm.Scan(name)(x, context=context, mode=mode)
            if dtype == "f4" and name == "sum":
                totals, magnitudes = expected_sums(x)
                assert_near(result, oracle, 2 * scan_tolerance("f4", totals, magnitudes, length), (mode, length))
            else:
                assert_same(result, oracle, (mode, length))


def test_nothing_and_too_much(context: cm.Context, mode: str) -> None:
    empty: Any = cm.Scan("sum")(np.zeros(0, "i2"), context=context, mode=mode)
    assert_same(empty, np.zeros(0, "i8"))
    with pytest.raises(cm.ShapeError, match="one dimension"):
        cm.Scan("sum")(np.zeros((2, 3)), context=context, mode=mode)
    with pytest.raises(cm.ShapeError, match="identity"):
        cm.Scan("argmax", exclusive=True)(np.zeros(3), context=context, mode=mode)
