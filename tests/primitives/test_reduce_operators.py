"""Reduce: every operator in both modes on every device, against NumPy; empty inputs, integers and accumulators."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.named_reduce import COMBINATIONS, reduce_by_name
from support.oracles import (
    OPERATORS,
    PLAIN,
    PRIME,
    SIZES,
    UNIT64,
    assert_near,
    assert_same,
    check_reduced,
    exact_sum,
    factors,
    logsumexp,
    tolerance,
    unit,
    values,
    wide,
)

import clmapreduce as cm

pytestmark = pytest.mark.drawn


@pytest.mark.parametrize(("name", "dtype"), COMBINATIONS)
def test_operators_agree_with_numpy_at_every_size(
    name: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    for length in SIZES:
        x = factors(rng, dtype, length) if name == "product" else values(rng, dtype, length)
        check_reduced(name, x, reduce_by_name(name, x, context, mode), fp64=context.facts.fp64)


@pytest.mark.parametrize(("name", "dtype"), [("sum", "f4"), ("argmin", "i4"), ("logsumexp", "f8")])
def test_device_arrays_give_device_arrays_with_the_same_bits(
    name: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    for length in (1, 257, PRIME):
        x = values(rng, dtype, length)
        device_array = reduce_by_name(name, cm.array(x, context), context, mode)
        assert isinstance(device_array, cm.DeviceArray)
        assert device_array.shape == ()
        assert_same(device_array.to_numpy(), reduce_by_name(name, x, context, mode))


# --------------------------------------------------------------------------------------------------------- empty input
@pytest.mark.parametrize("dtype", PLAIN, ids=str)
def test_an_empty_input_gives_the_identity(dtype: np.dtype, context: cm.Context) -> None:
    x = np.zeros((0, 3), dtype)
    expected: dict[str, Any] = {"sum": wide(dtype).type(0), "product": wide(dtype).type(1), "any": np.False_, "all": np.True_}
    if dtype.kind != "c":
        floating = dtype if dtype.kind == "f" else np.dtype("f4" if dtype.itemsize <= 2 else "f8")
        expected |= {"logsumexp": floating.type(-np.inf)}
    if dtype.kind == "b":
        expected |= {"minimum": np.True_, "maximum": np.False_}
    elif dtype.kind in "iu":
        expected |= {"minimum": dtype.type(np.iinfo(dtype).max), "maximum": dtype.type(np.iinfo(dtype).min)}
    elif dtype.kind == "f":
        expected |= {"minimum": dtype.type(np.inf), "maximum": dtype.type(-np.inf)}
    for name, identity in expected.items():
        assert_same(cm.Reduce(name)(x, context=context), identity, name)
        device_array = cm.Reduce(name)(cm.array(x, context))
        assert isinstance(device_array, cm.DeviceArray)
        assert_same(device_array.to_numpy(), identity, name)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_an_empty_input_has_no_place(name: str, context: cm.Context, mode: str) -> None:
    out = np.array(7, np.int64)
    with pytest.raises(cm.ShapeError, match=f"{name} of an empty input"):
        reduce_by_name(name, np.zeros(0, np.float32), context, mode, out=out)
    assert out == 7


def test_all_axes_are_reduced_in_c_order(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.permutation(7 * 5 * 13).reshape(7, 5, 13).astype(np.int32)
    fortran, transpose = np.asfortranarray(x), x.transpose(2, 0, 1)
    for layout in (x, fortran, transpose, x[::-1, :, ::2]):
        assert_same(reduce_by_name("argmin", layout, context, mode), np.int64(np.argmin(layout)))
    assert_same(reduce_by_name("argmin", np.int32(5), context, mode), np.int64(0), "0-d")
    assert_same(reduce_by_name("sum", np.float32(5), context, mode), np.float32(5), "0-d")


# ------------------------------------------------------------------------------------------------------------ integers
def test_integers_wrap_as_in_numpy(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (2, 65, PRIME):
        large = np.full(length, 2**64 - 3, np.uint64)
        assert_same(reduce_by_name("sum", large, context, mode), large.sum())
        x = values(rng, np.int32, length) | 1
        assert_same(reduce_by_name("product", x, context, mode), np.prod(x, dtype=np.int64))
        bytes_ = np.full(length, -128, np.int8)
        assert_same(reduce_by_name("sum", bytes_, context, mode), np.int64(-128 * length))
        assert_same(reduce_by_name("sum", np.ones(length, bool), context, mode), np.int64(length))


def test_truth_looks_at_every_bit(context: cm.Context, mode: str) -> None:
    for value in (256, 1 << 16, 1 << 31, -(1 << 31)):
        x = np.zeros(70, np.int64)
        x[67] = value
        assert reduce_by_name("any", x.astype(np.int32), context, mode), value
    for value, true in ((np.float32(1e-45), True), (np.float32(np.nan), True), (np.float32(0.25), True), (np.float32(-0.0), False)):
        x = np.zeros(70, np.float32)
        x[3] = value
        assert bool(reduce_by_name("any", x, context, mode)) is true, value
    for value, true in ((1j, True), (1 + 0j, True), (np.nan, True), (-0.0 - 0j, False)):
        x = np.ones(70, np.complex64)
        x[69] = value
        assert bool(reduce_by_name("all", x, context, mode)) is true, value


# ------------------------------------------------------------------------------------------- accumulators, where it ends
@pytest.mark.parametrize(("dtype", "accumulate"), [("f4", "fast"), ("f4", "compensated"), ("f4", "double"), ("f8", "compensated")])
def test_accumulators(dtype: str, accumulate: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if accumulate == "double" and not context.facts.fp64:
        with pytest.raises(cm.DTypeError, match="compensated"):
            reduce_by_name("sum", np.ones(3, dtype), context, mode, accumulate=accumulate)
        return
    for length in SIZES:
        x = values(rng, dtype, length)
        check_reduced("sum", x, reduce_by_name("sum", x, context, mode, accumulate=accumulate), accumulate, context.facts.fp64)


def test_cancellation_leaves_the_remainder(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Σ|terms| is 1e13 times the sum: nothing but a wide accumulator finds it."""
    big = rng.uniform(1e6, 1e8, PRIME // 2).astype(np.float32)
    x = np.concatenate([big, -big, rng.uniform(0, 1, 11).astype(np.float32)])
    rng.shuffle(x)
    total, magnitude = exact_sum(x)
    for accumulate in ("auto", "double") if context.facts.fp64 else ("auto",):
        result = reduce_by_name("sum", x, context, mode, accumulate=accumulate)
        assert_near(result, total, tolerance(np.float32, total, magnitude, x.size, fp64=context.facts.fp64))
    result = reduce_by_name("sum", x, context, mode, accumulate="compensated")
    assert_near(result, total, 6e-8 * (abs(total) + magnitude))


def test_equal_terms_keep_the_promise(context: cm.Context, mode: str) -> None:
    """One float32 chain of 10^7 additions of 0.1 would be off by 9 %."""
    x = np.full(10_000_019, 0.1, np.float32)
    total = float(np.float32(0.1)) * x.size
    for accumulate in ("auto", "compensated"):
        assert_near(reduce_by_name("sum", x, context, mode, accumulate=accumulate), total, 6e-8 * 2 * total, accumulate)


def test_finish_on_host_and_device_agree(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for name, dtype in (("sum", "f4"), ("sum", "i1"), ("argmin", "i4"), ("logsumexp", "f8"), ("maximum", "f8"), ("all", "?"), ("sum", "c8")):
        for length in (1, 1025, PRIME):
            x = values(rng, dtype, length)
            for finish in ("host", "device"):
                check_reduced(name, x, reduce_by_name(name, x, context, mode, finish=finish), fp64=context.facts.fp64, case=finish)
                out = np.zeros((), reduce_by_name(name, x, context, mode).dtype)
                assert reduce_by_name(name, x, context, mode, finish=finish, out=out) is out
                check_reduced(name, x, out, fp64=context.facts.fp64, case=finish)
                device_array = reduce_by_name(name, cm.array(x, context), context, mode, finish=finish)
                assert isinstance(device_array, cm.DeviceArray)
                check_reduced(name, x, device_array, fp64=context.facts.fp64, case=finish)


@pytest.mark.parametrize(("name", "dtype"), [("sum", "f4"), ("sum", "i1"), ("argmin", "f4"), ("logsumexp", "f4"), ("minimum", "i8")])
def test_the_strictly_sequential_run_is_the_oracle(
    name: str, dtype: str, context: cm.Context, rng: np.random.Generator
) -> None:
    for length in (1, 17, 1025, PRIME):
        x = values(rng, dtype, length)
        oracle = cm.Reduce(name)(x, context=context, mode="sequential", tiles=1)
        check_reduced(name, x, oracle, fp64=context.facts.fp64)
        for mode in ("sequential", "parallel"):
            result = reduce_by_name(name, x, context, mode)
            if name in ("argmin", "minimum") or np.dtype(dtype).kind == "i":
                assert_same(result, oracle, (mode, length))
            else:
                spread = tolerance(dtype, oracle, np.abs(x).sum(dtype=np.float64) if name == "sum" else 1.0, length)
                assert_near(result, oracle, 2 * spread + 1e-5 * (name == "logsumexp"), (mode, length))


# ----------------------------------------------------------------------------------------------------- words, promises
def test_logsumexp_of_integers_computes_in_floats(context: cm.Context) -> None:
    x = np.array([1, 5, 3, 5], np.int16)
    result = reduce_by_name("logsumexp", x, context, "auto")
    assert_near(result, logsumexp(x), 8 * unit("f4") * 6)
    assert result.dtype == np.float32


def test_every_operator_is_named_in_the_error_for_an_unknown_one() -> None:
    with pytest.raises(cm.ModeError) as error:
        cm.Reduce("median")
    assert all(name in str(error.value) for name in OPERATORS)


def test_options_that_do_not_exist_are_refused(context: cm.Context) -> None:
    x = np.ones(3, np.float32)
    for options in ({"mode": "fast"}, {"accumulate": "kahan"}, {"finish": "later"}, {"tiles": 2, "mode": "sequential"}, {"tiles": 1, "mode": "parallel"}):
        with pytest.raises(cm.ModeError):
            cm.Reduce("sum")(x, context=context, **options)


def test_the_promise_is_wider_than_the_tolerance() -> None:
    """What the tests allow a float32 sum is within what the documentation promises."""
    assert tolerance("f4", 1.0, 1.0, 10**8) <= 6e-8 * 2
    assert PRIME * UNIT64 < 1e-10
    assert math.isclose(unit("f4"), 2**-24)
