"""segmented_reduce on every device and in both modes: all geometries, operators, dtypes, and ways to say where."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.lacking import without_float64
from support.oracles import PLAIN, assert_near, assert_same, factors, into_poison, unit, values
from support.random_segments import (
    EDGES,
    RANDOM,
    check_segments,
    check_sums,
    geometries,
    offsets_in_shape,
    offsets_of,
    random_lengths,
    slices,
)

import clmapreduce as cm

pytestmark = pytest.mark.drawn
NAMES = ("sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax", "logsumexp", "mean", "var", "std")
PAIR = np.dtype([("a", "f4"), ("b", "i4")], align=True)
LAST = cm.Operator(lambda a, b: cm.where(b == 0, a, b), 0, commutative=False, name="last")
FIRST = cm.Operator(lambda a, b: cm.where(a == 0, b, a), 0, commutative=False, name="first")
AFFINE = cm.Operator(
    lambda p, q: {"a": p["a"] * q["a"], "b": p["b"] * q["a"] + q["b"]},
    np.array((1, 0), [("a", "i4"), ("b", "i4")])[()], dtype=[("a", "i4"), ("b", "i4")], commutative=False, name="affine",
)  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_sums_of_every_geometry(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_in_shape(name, rng)
    x = values(rng, "f4", int(offsets[-1]))
    call = lambda **how: cm.segmented_reduce(x, offsets, context=context, mode=mode, **how)  # noqa: E731
    check_sums(x, offsets, call())
    if len(offsets) > 1:
        check_sums(x, offsets, into_poison(call, len(offsets) - 1, "f4"))
    whole = rng.integers(-1000, 1000, x.size).astype("i2")
    check_sums(whole, offsets, cm.segmented_reduce(whole, offsets.astype("i8"), context=context, mode=mode))


@RANDOM
@given(offsets=geometries(), op=st.sampled_from(["sum", "argmax"]), seed=st.integers(0, 2**32))
def test_random_geometries(context: cm.Context, mode: str, offsets: np.ndarray, op: str, seed: int) -> None:
    x = np.random.default_rng(seed).integers(-50, 50, int(offsets[-1])).astype("f4" if seed % 2 else "i4")
    check_segments(op, x, offsets, cm.segmented_reduce(x, offsets, op, context=context, mode=mode))


@settings(RANDOM, max_examples=8)
@given(
    offsets=geometries(), op=st.sampled_from(["sum", "argmin", "logsumexp"]), form=st.sampled_from(["offsets", "starts", "sources"]),
    dtype=st.sampled_from(["i4", "i8"]), on_device=st.booleans(), seed=st.integers(0, 2**32),
)  # fmt: skip
def test_random_geometries_in_every_form(
    context: cm.Context, mode: str, offsets: np.ndarray, op: str, form: str, dtype: str, on_device: bool, seed: int
) -> None:
    """Floats, against float64."""
    rng, lengths, length = np.random.default_rng(seed), np.diff(offsets), int(offsets[-1])
    x, sources = values(rng, "f4", max(length, 1) if form == "sources" else length), None
    if form == "sources":
        sources = rng.integers(0, x.size - lengths + 1).astype(dtype)
    array_of = (lambda v: cm.array(v, context)) if on_device else (lambda v: v)
    result = cm.segmented_reduce(
        array_of(x), array_of((offsets[:-1] if form == "starts" else offsets).astype(dtype)), op, starts=form == "starts",
        sources=None if sources is None else array_of(sources), context=context, mode=mode,
    )  # fmt: skip
    if sources is not None:
        x = x[np.arange(length) + np.repeat(sources - offsets[:-1], lengths)]
    check_segments(op, x, offsets, result)


@pytest.mark.parametrize("op", NAMES)
def test_every_named_operator(op: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    lengths = [3, 0, 1, 700, 0, 0, 2, 5, 65, 64, 9]
    offsets = offsets_of(lengths)
    n = int(offsets[-1])
    x = factors(rng, "f4", n) if op == "product" else rng.standard_normal(n).astype("f4")
    if op in ("any", "all"):
        x = rng.integers(0, 2, n).astype("f4")
    result = cm.segmented_reduce(x, offsets, op, context=context, mode=mode)
    check_segments(op, x, offsets, result, fp64=context.facts.fp64)
    nothing = {"argmin": -1, "argmax": -1, "mean": np.nan, "var": np.nan, "std": np.nan, "product": 1, "any": False, "all": True}
    nothing |= {"sum": 0, "minimum": np.inf, "maximum": -np.inf, "logsumexp": -np.inf}
    assert_same(result[[1, 4, 5]], np.full(3, nothing[op], result.dtype))
    if op not in ("sum", "argmin", "mean"):
        return
    with_ones = cm.segmented_reduce(x, offsets, op, empty=1, context=context, mode=mode)
    assert_same(with_ones[[1, 4, 5]], np.ones(3, result.dtype))
    assert_same(np.delete(with_ones, [1, 4, 5]), np.delete(result, [1, 4, 5]))


@pytest.mark.parametrize("op", ["sum", "product", "logsumexp", "mean", "std"])
def test_devices_without_float64(op: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    poor, offsets = without_float64(context), offsets_of([3, 1, 700, 2, 65])
    x = factors(rng, "f4", int(offsets[-1]))
    check_segments(op, x, offsets, cm.segmented_reduce(x, offsets, op, context=poor, mode=mode), fp64=False)


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", [*PLAIN, np.dtype("f2")], ids=str)
def test_every_dtype(dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_of([5, 0, 17, 1, 300])
    x = values(rng, dtype, int(offsets[-1]))
    check_sums(x, offsets, cm.segmented_reduce(x, offsets, context=context, mode=mode))
    if dtype in (np.dtype("?"), np.dtype("u1"), np.dtype("f8"), np.dtype("i8")):
        check_segments("maximum", x, offsets, cm.segmented_reduce(x, offsets, "maximum", context=context, mode=mode))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_offsets_of_every_integer_dtype(dtype: str, context: cm.Context, mode: str) -> None:
    x, offsets = np.arange(100, dtype="i4"), np.array([0, 30, 30, 99, 100], dtype)
    expected = np.array([435, 0, 4416, 99])
    for array in (offsets, cm.array(offsets, context)):
        result = cm.segmented_reduce(x, array, context=context, mode=mode)
        assert isinstance(result, cm.DeviceArray) == isinstance(array, cm.DeviceArray)
        assert_same(result, expected)
    assert_same(cm.segmented_reduce(x, offsets[:-1], starts=True, context=context, mode=mode), expected)


@pytest.mark.parametrize("op", [FIRST, LAST], ids=lambda op: op.name)
def test_elements_come_in_order(op: cm.Operator, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_of([*random_lengths(rng, 300, 30), 5000, 0, 1, 3000])
    x = rng.integers(0, 2, int(offsets[-1])) * rng.integers(1, 1000, int(offsets[-1]))
    result = cm.segmented_reduce(x, offsets, op, context=context, mode=mode)
    for value, part in zip(result, slices(offsets), strict=True):
        nonzero = x[part][x[part] != 0]
        assert value == (nonzero[0 if op is FIRST else -1] if nonzero.size else 0)


def test_records_and_operators_of_ones_own(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_of([4, 0, 900, 1, 33])
    x = np.zeros(int(offsets[-1]), AFFINE.dtype)
    x["a"], x["b"] = rng.integers(-1, 2, (2, x.size))
    first = np.array((3, 4), AFFINE.dtype)[()]
    result = cm.segmented_reduce(x, offsets, AFFINE, init=first, context=context, mode=mode)
    for value, part in zip(result, slices(offsets), strict=True):
        a, b = 3, 4
        for p, q in x[part].tolist():
            a, b = a * p, b * p + q
        assert (value["a"], value["b"]) == (a, b)
    records = np.zeros(x.size, PAIR)
    records["a"], records["b"] = rng.integers(0, 9, (2, x.size))
    dots = cm.segmented_reduce(records, offsets, map=lambda r: r["a"] * r["b"], context=context, mode=mode)
    check_sums((records["a"] * records["b"]).astype("f8"), offsets, dots)


@pytest.mark.parametrize("trailing", [(1,), (3,), (4,), (17,), (2, 5), (63,), (100,), (0,)], ids=str)
def test_trailing_axes_are_reduced_apart(trailing: tuple[int, ...], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_of([3, 0, 400, 1, 5000, 70])
    x = rng.integers(-9, 9, (int(offsets[-1]), *trailing)).astype("f4")
    expected = np.array([x[part].sum(0) for part in slices(offsets)]).astype("f4").reshape(6, *trailing)
    assert_same(cm.segmented_reduce(x, offsets, context=context, mode=mode), expected)
    highest = cm.segmented_reduce(x, offsets, "argmax", context=context, mode=mode)
    assert_same(highest, np.array([x[part].argmax(0) if part.start < part.stop else np.full(trailing, -1) for part in slices(offsets)]).reshape(6, *trailing))
    weight = rng.integers(0, 3, x.shape[0]).astype("f4")
    products = cm.segmented_reduce((x, weight), offsets, map=lambda v, w: v * w, context=context, mode=mode)
    weights_there = weight.reshape(-1, *(1 for _ in trailing))
    assert_same(products, np.array([(x * weights_there)[part].sum(0) for part in slices(offsets)]).astype("f4").reshape(6, *trailing))


def test_init_is_folded_once_into_every_segment(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_of([4, 0, 5000, 1])
    x = rng.integers(-9, 9, int(offsets[-1]))
    plain = cm.segmented_reduce(x, offsets, context=context, mode=mode)
    assert_same(cm.segmented_reduce(x, offsets, init=100, context=context, mode=mode), plain + 100)
    result = cm.segmented_reduce(x, offsets, init=100, empty=-5, context=context, mode=mode)
    assert_same(result, np.where(np.diff(offsets) == 0, -5, plain + 100))
    assert_same(cm.segmented_reduce(x, offsets, "maximum", init=3, context=context, mode=mode)[1], np.int64(3))


def test_a_map_in_front(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_of(random_lengths(rng, 500, 8))
    x, y = rng.integers(-9, 9, (2, int(offsets[-1]))).astype("i4")
    how: dict[str, Any] = {"context": context, "mode": mode}
    expected = cm.segmented_reduce(x.astype("i8") * y, offsets, **how)
    for front in (lambda a, b: a * b, "a * b", cm.Map("a * b"), cm.Map(lambda a, b: a * b)):
        assert_same(cm.segmented_reduce((x, y), offsets, map=front, **how), expected)
    places = cm.segmented_reduce((x,), offsets, "maximum", map=lambda v: cm.index + 0 * v, empty=-1, **how)
    assert_same(places, np.where(np.diff(offsets) > 0, offsets[1:].astype("i8") - 1, -1))
    assert_same(cm.segmented_reduce(x, offsets, "any", map="v > 8", **how), np.array([bool((x[part] > 8).any()) for part in slices(offsets)]))


@pytest.mark.parametrize("on_device", [False, True], ids=["host", "device"])
def test_sources_say_where_segments_lie(on_device: bool, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    lengths = np.array([*random_lengths(rng, 700, 9), 0, 2000, 1])
    offsets = offsets_of(lengths)
    x = rng.integers(-99, 99, (2100, 3)).astype("i4")
    sources = rng.integers(0, len(x) - lengths + 1).astype("i4")
    arrays = [cm.array(v, context) if on_device else v for v in (x, offsets, sources)]
    expected = np.array([x[s : s + k].sum(0) for s, k in zip(sources, lengths, strict=True)])
    result = cm.segmented_reduce(arrays[0], arrays[1], sources=arrays[2], context=context, mode=mode)
    assert isinstance(result, cm.DeviceArray) == on_device
    assert_same(result, expected)
    flat = cm.segmented_reduce(x[:, 0], offsets, "argmin", sources=sources.astype("i8"), context=context, mode=mode)
    assert_same(flat, np.array([x[s : s + k, 0].argmin() if k else -1 for s, k in zip(sources, lengths, strict=True)]))
    nothing = cm.segmented_reduce(x, np.zeros(4, "i4"), sources=[0, 5, 2100], context=context, mode=mode)
    assert_same(nothing, np.zeros((3, 3), "i8"))


def test_device_arrays_stay_on_the_device(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_of(random_lengths(rng, 6000, 5), "i8")  # longer than what is read back to be checked
    x = rng.standard_normal(int(offsets[-1])).astype("f4")
    expected = cm.segmented_reduce(x, offsets, context=context, mode=mode)
    device = [cm.array(v, context) for v in (x, offsets)]
    result = cm.segmented_reduce(*device, mode=mode)
    assert isinstance(result, cm.DeviceArray)
    assert_same(result, expected)
    out = cm.array(np.full(6000, np.nan, "f4"), context)
    assert cm.segmented_reduce(x, device[1], mode=mode, validate=False, wait_for=[result.event], out=out) is out
    assert_same(out, expected)
    starts = cm.array(offsets[:-1], context)
    assert_same(cm.segmented_reduce(device[0], starts, starts=True, mode=mode), expected)


def test_nan_and_infinity(context: cm.Context, mode: str) -> None:
    x = np.array([1, np.nan, 2, np.inf, 3, -np.inf, np.inf, 5], "f4")
    how: dict[str, Any] = {"context": context, "mode": mode}
    assert_same(cm.segmented_reduce(x, [0, 3, 5, 7, 8], **how), np.array([np.nan, np.inf, np.nan, 5], "f4"))
    assert_same(cm.segmented_reduce(x, [0, 3, 5, 7, 8], "maximum", **how), np.array([np.nan, np.inf, np.inf, 5], "f4"))
    for accumulate in ("auto", "compensated"):
        means = cm.segmented_reduce(x, [0, 3, 5, 7, 8], "mean", accumulate=accumulate, **how)
        assert_same(means, np.array([np.nan, np.inf, np.nan, 5], "f4"), accumulate)


def test_widths_of_accumulators(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal(40_000) + 3).astype("f4")
    offsets = offsets_of([30_000, 0, 10_000])
    exact = np.array([x[part].astype("f8").sum() for part in slices(offsets)])
    for accumulate in ("fast", "compensated", *(["double"] if context.device.fp64 else [])):
        result = cm.segmented_reduce(x, offsets, accumulate=accumulate, context=context, mode=mode)
        steps = 30_000 if accumulate == "fast" else 512
        assert_near(result, exact, steps * unit("f4") * exact)


def test_repeats_give_one_bit_pattern(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = offsets_of([*random_lengths(rng, 400, 20), 3000, *([0] * 40), 2])
    x, whole = values(rng, "f4", int(offsets[-1])), rng.integers(-9, 9, int(offsets[-1]))
    plan = cm.SegmentPlan(offsets, len(x), context=context)
    device = cm.array(x, context)
    first = cm.segmented_reduce(x, offsets, context=context, mode=mode).tobytes()
    assert {plan.reduce(device, mode=mode).to_numpy().tobytes() for _ in range(200)} == {first}
    assert cm.segmented_reduce(device, cm.array(offsets, context), mode=mode).to_numpy().tobytes() == first
    exact = {m: cm.segmented_reduce(whole, offsets, context=context, mode=m).tobytes() for m in ("sequential", "parallel")}
    assert exact["sequential"] == exact["parallel"]
