"""Segments reduced in vectors, as CPUs do it: every width of batches, long segments, the ends of the array, masked lanes
that leave no trace; against NumPy in float64, one segment at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest
from support.random_segments import SHAPES, offsets_in_shape, offsets_of, random_lengths, slices

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.segmented import segmented_reduce
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, prepare_segments

Array = Any


GATHERS = ("all empty", "0 to 40", "all of 16", "power law", "one giant", "900 to 5000", "one short array")

EXACT: dict[str, Callable[[Any], Any]] = {
    "sum": lambda v: v.sum(),
    "product": lambda v: v.prod(),
    "minimum": lambda v: v.min() if v.size else None,
    "maximum": lambda v: v.max() if v.size else None,
    "any": lambda v: (v != 0).any(),
    "all": lambda v: (v != 0).all(),
    "logsumexp": lambda v: np.log(np.exp(v - v.max()).sum()) + v.max() if v.size else -np.inf,
    "mean": lambda v: v.mean() if v.size else np.nan,
    "var": lambda v: v.var() if v.size else np.nan,
    "std": lambda v: v.std() if v.size else np.nan,
    "argmin": lambda v: v.argmin() if v.size else -1,
    "argmax": lambda v: v.argmax() if v.size else -1,
}


@pytest.fixture(name="cpu")
def cpu_context(context: cm.Context) -> cm.Context:
    if context.facts.kind != "cpu":
        pytest.skip("for CPUs")
    return context


def random_values(rng: np.random.Generator, op: str, dtype: Any, length: int) -> Array:
    """Values that every part of a reduction matters for: no overflow, no all but certain result."""
    dtype = np.dtype(dtype)
    if op in ("any", "all"):
        return (rng.random(length) < (0.05 if op == "any" else 0.95)).astype(dtype)
    if dtype.kind in "iu":
        low = 0 if dtype.kind == "u" else -90
        return rng.integers(low, 100, length).astype(dtype) | dtype.type(op == "product")
    if op == "product":
        return np.exp(rng.normal(0, 0.02, length)).astype(dtype) * rng.choice([-1, 1], length).astype(dtype)
    if op in ("argmin", "argmax"):
        return rng.integers(0, 9, length).astype(dtype)  # many are equal
    return (rng.normal(0.5, 2, length)).astype(dtype)


def exact(op: str, values: Array, offsets: Array, result: Any, empty: Any = None) -> Array:
    """What every segment reduces to, in float64 or 64-bit integers."""
    integers = values.dtype.kind in "iub"
    wide = values.astype(np.float64 if not integers or op in ("logsumexp", "mean", "var", "std") else np.int64)
    with np.errstate(all="ignore"):
        results = [EXACT[op](wide[part]) for part in slices(offsets)]
    if op in ("minimum", "maximum"):
        limits = np.iinfo(values.dtype) if integers else None
        far = (limits.max if op == "minimum" else limits.min) if limits else np.inf if op == "minimum" else -np.inf
        results = [far if v is None else v for v in results]
    if empty is not None:
        results = [empty if part.start == part.stop else v for v, part in zip(results, slices(offsets), strict=True)]
    return np.array(results, result if np.dtype(result).kind in "iub" else np.float64)


def assert_reduced(op: str, result: Array, values: Array, offsets: Array, empty: Any = None) -> None:
    """The results are right: exactly for integers, extrema and truth, to rounding otherwise."""
    expected = exact(op, values, offsets, result.dtype, empty)
    if result.dtype.kind in "iub" or op in ("minimum", "maximum"):
        np.testing.assert_array_equal(result.astype(expected.dtype), expected)
        return
    unit = float(np.finfo(result.dtype).eps)
    lengths = np.diff(offsets)
    wide = np.abs(values.astype(np.float64))
    scale = {
        "sum": np.array([wide[part].sum() for part in slices(offsets)]),
        "product": np.abs(expected) * (4 + lengths),
        "logsumexp": 4 + np.abs(expected),
        "mean": np.array([wide[part].sum() / max(1, part.stop - part.start) for part in slices(offsets)]),
        "var": 8 * np.array([(wide[part] ** 2).max(initial=1) for part in slices(offsets)]),
        "std": 8 * np.array([wide[part].max(initial=1) for part in slices(offsets)]),
    }[op]
    nan = np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(result), nan)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(result[~finite & ~nan], expected[~finite & ~nan])
    error = np.abs(result[finite].astype(np.float64) - expected[finite])
    assert (error <= 8 * unit * scale[finite] + 1e-300).all(), (error / np.maximum(scale[finite], 1e-300)).max()


def reduce(values: Array, offsets: Array, op: Any, context: cm.Context, **how: Any) -> Array:
    """The result in an array that held garbage, in the sequential mode."""
    probe = segmented_reduce(values, offsets, op, context=context, mode="sequential", **how)
    out = np.full(probe.shape, 111).astype(probe.dtype)
    segmented_reduce(values, offsets, op, context=context, mode="sequential", out=out, **how)
    np.testing.assert_array_equal(out, probe)
    return out


@pytest.mark.drawn
@pytest.mark.parametrize("geometry", SHAPES)
def test_segments_of_every_shape(cpu: cm.Context, rng: np.random.Generator, geometry: str) -> None:
    for op, code, places in (("sum", "f4", "i4"), ("maximum", "f8", "i8"), ("sum", "i4", "i8"), ("argmin", "i4", "i4")):
        offsets = offsets_in_shape(geometry, rng, places)
        values = random_values(rng, op, code, int(offsets[-1]))
        assert_reduced(op, reduce(values, offsets, op, cpu), values, offsets)


def _unknown(arguments: Mapping[str, Any]) -> bool:
    """Whether the oracle lacks the operator of bools."""
    return arguments["code"] == "?" and arguments["op"] not in ("sum", "any", "all", "mean", "maximum")


@pytest.mark.drawn(unless=_unknown)
@pytest.mark.parametrize("code", ["f4", "f8", "i4", "i8", "u1", "f2", "?"])
@pytest.mark.parametrize("op", EXACT)
def test_operators_and_dtypes(cpu: cm.Context, rng: np.random.Generator, op: str, code: str) -> None:
    if _unknown({"op": op, "code": code}):
        pytest.skip("no such operator of bools")
    lengths = np.concatenate([rng.integers(0, high, 200) for high in (3, 6, 10, 20, 40, 90)] + [[1500, 0, 2100]])
    offsets = offsets_of(lengths)
    values = random_values(rng, op, code, int(offsets[-1]))
    result = reduce(values, offsets, op, cpu)
    if code == "?":
        expected = exact(op, values.astype("u1"), offsets, "f8" if op == "mean" else result.dtype)
        if op == "maximum":
            expected = expected & (np.diff(offsets) > 0)
        np.testing.assert_allclose(result.astype(float), expected.astype(float), rtol=1e-6)
    else:
        assert_reduced(op, result, values, offsets)


@pytest.mark.drawn
@pytest.mark.parametrize("count", [1, 2, 15, 16, 17, 18, 31, 32, 33, 34, 48, 49, 100, 257, 5000])
def test_any_number_of_segments(cpu: cm.Context, rng: np.random.Generator, count: int) -> None:
    for code in ("f4", "f8"):
        offsets = offsets_of(rng.integers(0, 12, count))
        values = random_values(rng, "sum", code, int(offsets[-1]))
        assert_reduced("sum", reduce(values, offsets, "sum", cpu), values, offsets)


def test_nan_and_infinity_stay_in_their_segments(cpu: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_of(rng.integers(0, 40, 3000))
    lengths = np.diff(offsets)
    for op in ("sum", "maximum", "logsumexp", "mean"):
        values = random_values(rng, "sum", "f4", int(offsets[-1]))
        hit = np.flatnonzero(lengths)[::7]
        values[offsets[hit] + rng.integers(0, lengths[hit])] = np.nan
        np.testing.assert_array_equal(np.flatnonzero(np.isnan(reduce(values, offsets, op, cpu)) & (lengths > 0)), hit)
        values[np.isnan(values)] = np.inf
        np.testing.assert_array_equal(np.flatnonzero(reduce(values, offsets, op, cpu) == np.inf), hit)


def test_init_and_empty(cpu: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_of(rng.integers(0, 4, 2000))
    values = random_values(rng, "sum", "f4", int(offsets[-1]))
    with_init = reduce(values, offsets, "sum", cpu, init=1000)
    np.testing.assert_allclose(with_init, exact("sum", values, offsets, "f4") + 1000, rtol=1e-5)
    for op in ("sum", "mean", "maximum"):
        assert_reduced(op, reduce(values, offsets, op, cpu, empty=-7), values, offsets, empty=-7)


def test_users_operators(cpu: cm.Context, rng: np.random.Generator) -> None:
    op = cm.Operator(lambda a, b: a + b + a * b, 0, name="compound")
    offsets = offsets_of([*rng.integers(0, 50, 1000), 3000])
    values = rng.normal(0, 0.01, int(offsets[-1]))
    expected = [np.prod(1 + values[part]) - 1 for part in slices(offsets)]
    np.testing.assert_allclose(reduce(values, offsets, op, cpu), expected, rtol=1e-9, atol=1e-12)


def reduce_map(
    front: Callable[..., Any], op: str, elements: list[Element], offsets: Array, length: int, context: cm.Context
) -> Array:
    """The reduction of `front` of some arrays."""
    name, operator = segment_operator(op)
    call = SegmentCall(name, operator, front)
    prepared = prepare_segments(
        call,
        SegmentOperands(context, elements, offsets, length, (), offsets.size - 1, False),
        Options("sequential", context),
    )
    assert isinstance(prepared, Prepared)
    return prepared.run()[0]


def _product_plus(a: Any, b: Any) -> Any:
    return a * b + 1


def _times(a: Any, x: Any) -> Any:
    return a * x


def _same(x: Any) -> Any:
    return x


@pytest.mark.parametrize("op", ["sum", "minimum"])
@pytest.mark.parametrize("geometry", GATHERS)
def test_fused_arrays(cpu: cm.Context, rng: np.random.Generator, geometry: str, op: str) -> None:
    offsets = offsets_in_shape(geometry, rng)
    n = int(offsets[-1])
    a, b = random_values(rng, "sum", "f4", n), random_values(rng, "sum", "f4", n)
    result = reduce_map(_product_plus, op, [Element(a), Element(b)], offsets, n, cpu)
    expected = exact(op, a.astype("f8") * b + 1, offsets, "f8")
    magnitude = exact("sum", np.abs(a.astype("f8") * b) + 1, offsets, "f8")
    finite = np.isfinite(expected)
    assert (np.abs(result[finite] - expected[finite]) <= 1e-6 * magnitude[finite]).all()
    np.testing.assert_array_equal(result[~finite], expected[~finite])


@pytest.mark.drawn(whole=["geometry"])
@pytest.mark.parametrize("op", ["sum", "maximum", "any", "a place"])
@pytest.mark.parametrize(("code", "places"), [("f4", "i4"), ("f8", "i8"), ("f4", "i8")])
@pytest.mark.parametrize("geometry", GATHERS)
def test_gathered_elements(
    cpu: cm.Context, rng: np.random.Generator, geometry: str, code: str, places: str, op: str
) -> None:
    offsets = offsets_in_shape(geometry, rng, places)
    n = int(offsets[-1])
    a, x = random_values(rng, "sum", code, n), random_values(rng, "sum", code, 777)
    number = np.arange(n)
    at = np.where(number // 100 % 2, number % 700, rng.integers(0, 777, n)).astype(places)  # side by side, and anywhere
    elements = [Element(a), Element(x, through=(2,)), Element(at, is_value=False)]
    if op == "any":
        flags = reduce_map(_same, "any", [Element(x > 4, through=(1,)), Element(at, is_value=False)], offsets, n, cpu)
        np.testing.assert_array_equal(flags, exact("any", (x > 4)[at].astype("u1"), offsets, "?"))
        return
    if op == "a place":
        op = str(rng.choice(["argmin", "argmax"]))
        y = random_values(rng, op, code, 777)
        result = reduce_map(_same, op, [Element(y, through=(1,)), Element(at, is_value=False)], offsets, n, cpu)
        np.testing.assert_array_equal(result, exact(op, y[at], offsets, "i8"))
        return
    terms = a.astype("f8") * x.astype("f8")[at]
    result = reduce_map(_times, op, elements, offsets, n, cpu)
    expected = exact(op, terms, offsets, "f8")
    finite = np.isfinite(expected)
    magnitude = exact("sum", np.abs(terms), offsets, "f8")[finite]
    assert (np.abs(result[finite] - expected[finite]) <= 8 * np.finfo(code).eps * magnitude).all()
    np.testing.assert_array_equal(result[~finite], expected[~finite])


def _half_of_sum(a: Any, x: Any) -> Any:
    return (a * x).astype("f4")


def test_gathered_elements_wider_than_the_stage(cpu: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_of(rng.integers(0, 40, 300))
    n = int(offsets[-1])
    a, x, at = random_values(rng, "sum", "f8", n), random_values(rng, "sum", "f8", 777), rng.integers(0, 777, n).astype("i4")
    result = reduce_map(_half_of_sum, "sum", [Element(a), Element(x, through=(2,)), Element(at, is_value=False)], offsets, n, cpu)
    magnitude = exact("sum", np.abs(a * x[at]), offsets, "f8")
    assert (np.abs(result - exact("sum", a * x[at], offsets, "f8")) <= 1e-6 * magnitude).all()


def test_gathered_through_two_arrays(cpu: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_of([*rng.integers(0, 40, 500), 3000, 20])
    n = int(offsets[-1])
    x, inner = random_values(rng, "sum", "f4", 900), rng.integers(0, 900, n).astype("i4")
    at = rng.permutation(n).astype("i4")
    at[1000:3000] = np.arange(2000)
    elements = [Element(x, through=(2, 1)), Element(inner, is_value=False), Element(at, is_value=False)]
    result, terms = reduce_map(_same, "sum", elements, offsets, n, cpu), x.astype("f8")[inner[at]]
    magnitude = exact("sum", np.abs(terms), offsets, "f8")
    assert (np.abs(result - exact("sum", terms, offsets, "f8")) <= 1e-6 * magnitude).all()


def test_the_same_bits_every_time(cpu: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_of([*rng.integers(0, 90, 4000), 50_000, *random_lengths(rng, 3000, 12)])
    values = random_values(rng, "sum", "f4", int(offsets[-1]))
    for op in ("sum", "logsumexp", "var"):
        first = segmented_reduce(values, offsets, op, context=cpu, mode="sequential").tobytes()
        for _ in range(20):
            assert segmented_reduce(values, offsets, op, context=cpu, mode="sequential").tobytes() == first


def test_this_is_the_scheme_that_cpus_take(cpu: cm.Context, rng: np.random.Generator) -> None:
    offsets = offsets_of([5] * 1000)
    name, operator = segment_operator("sum")
    prepared = prepare_segments(
        SegmentCall(name, operator, _same),
        SegmentOperands(cpu, [Element(random_values(rng, "sum", "f4", 5000))], offsets, 5000, (), 1000, False),
        Options("auto", cpu),
    )  # fmt: skip
    assert isinstance(prepared, Prepared)
    assert "segmented_lanes" in str([stage.spec.template for stage in prepared.executable.plan.stages])


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("length", [10, 64, 1000])
def test_spreads_beside_large_means(name: str, length: int, context: cm.Context, rng: np.random.Generator) -> None:
    """A running mean of ten thousand times the spread: float32 would keep none of its last digits."""
    if not context.facts.fp64:
        pytest.skip("no float64 here")
    x = (1e4 + rng.normal(size=(50, length))).astype("f4")
    offsets = np.arange(51) * length
    result = cm.segmented_reduce(x.ravel(), offsets, name, context=context, mode="sequential")
    np.testing.assert_allclose(result, getattr(x.astype("f8"), name)(axis=1), rtol=1e-6)


@pytest.mark.parametrize("name", ["var", "std"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_spreads_of_what_is_infinite(name: str, dtype: str, context: cm.Context, mode: str) -> None:
    """NaN, at any place of the infinity."""
    if dtype == "f8" and not context.facts.fp64:
        pytest.skip("no float64 here")
    for length in (1, 2, 3, 70, 3000):
        x = np.tile(np.arange(length, dtype=dtype), (3, 1))
        x[0, -1], x[1, 0], x[2, length // 2] = -np.inf, np.inf, np.inf
        result = cm.segmented_reduce(x.ravel(), np.arange(4) * length, name, context=context, mode=mode)
        assert np.isnan(result).all(), (length, result)
