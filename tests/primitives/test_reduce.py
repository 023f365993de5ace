"""Reduce: every operator in both modes on every device, against NumPy."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
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

# Each operator with a floating and an integer dtype, each dtype somewhere; tests/test_sweep.py has the whole product.
COMBINATIONS = [
    ("sum", "f4"), ("sum", "f8"), ("sum", "i1"), ("sum", "?"), ("sum", "c8"), ("sum", "u8"), ("product", "f4"), ("product", "i4"),
    ("product", "c16"), ("minimum", "f4"), ("minimum", "i8"), ("maximum", "f8"), ("maximum", "u1"), ("any", "f4"), ("any", "i4"),
    ("all", "?"), ("all", "c8"), ("argmin", "f4"), ("argmin", "i4"), ("argmax", "f8"), ("argmax", "u2"), ("logsumexp", "f4"), ("logsumexp", "f8"),
]  # fmt: skip
FLOATS = ["f4", "f8"]


def named(name: str, x: Any, context: cm.Context, mode: str, **options: Any) -> Any:
    return cm.Reduce(name)(x, context=context, mode=mode, **options)


@pytest.mark.parametrize(("name", "dtype"), COMBINATIONS)
def test_operators_agree_with_numpy_at_every_size(
    name: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    for length in SIZES:
        x = factors(rng, dtype, length) if name == "product" else values(rng, dtype, length)
        check_reduced(name, x, named(name, x, context, mode), fp64=context.facts.fp64)


@pytest.mark.parametrize(("name", "dtype"), [("sum", "f4"), ("argmin", "i4"), ("logsumexp", "f8")])
def test_device_arrays_give_device_arrays_with_the_same_bits(
    name: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    for length in (1, 257, PRIME):
        x = values(rng, dtype, length)
        held = named(name, cm.array(x, context), context, mode)
        assert isinstance(held, cm.DeviceArray)
        assert held.shape == ()
        assert_same(held.to_numpy(), named(name, x, context, mode))


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
        held = cm.Reduce(name)(cm.array(x, context))
        assert isinstance(held, cm.DeviceArray)
        assert_same(held.to_numpy(), identity, name)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_an_empty_input_has_no_place(name: str, context: cm.Context, mode: str) -> None:
    out = np.array(7, np.int64)
    with pytest.raises(cm.ShapeError, match=f"{name} of an empty input"):
        named(name, np.zeros(0, np.float32), context, mode, out=out)
    assert out == 7


def test_all_axes_are_reduced_in_c_order(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.permutation(7 * 5 * 13).reshape(7, 5, 13).astype(np.int32)
    fortran, turned = np.asfortranarray(x), x.transpose(2, 0, 1)
    for given in (x, fortran, turned, x[::-1, :, ::2]):
        assert_same(named("argmin", given, context, mode), np.int64(np.argmin(given)))
    assert_same(named("argmin", np.int32(5), context, mode), np.int64(0), "0-d")
    assert_same(named("sum", np.float32(5), context, mode), np.float32(5), "0-d")


# ------------------------------------------------------------------------------------------------- NaN, infinities, ties
@pytest.mark.parametrize(("name", "dtype"), [given for given in COMBINATIONS if given[1] in FLOATS])
def test_nan_anywhere_propagates_as_in_numpy(
    name: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    for length in (1, 2, 17, 65, 1025, PRIME):
        places = {0, length // 2, length - 1, *rng.integers(0, length, 6).tolist()}
        for at in sorted(places):
            x = rng.uniform(0.5, 2, length).astype(dtype)
            x[at] = np.nan
            x[rng.integers(at, length)] = np.nan  # the first one counts
            got = named(name, x, context, mode)
            if name in ("argmin", "argmax"):
                assert got == at, (length, at)
            elif name in ("any", "all"):
                assert got, (length, at)
            else:
                assert np.isnan(got), (length, at, got)


def test_a_nan_is_found_beside_infinities_and_identities(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for name, dtype, identity in (("argmin", "f4", np.inf), ("argmax", "f8", -np.inf)):
        for length in (1, 16, 17, 1025, PRIME):
            at = int(rng.integers(length))
            x = np.full(length, identity, dtype)
            x[at] = np.nan
            assert named(name, x, context, mode) == at
            x[at:] = np.nan
            assert named(name, x, context, mode) == at
            x[:at] = -identity
            assert named(name, x, context, mode) == at


@pytest.mark.parametrize("length", [1, 2, 16, 17, 257, 1025, PRIME])
def test_logsumexp_of_infinities(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for dtype in FLOATS:
        x = np.full(length, -np.inf, dtype)
        assert named("logsumexp", x, context, mode) == -np.inf
        x[rng.integers(length)] = 3.5
        assert_near(named("logsumexp", x, context, mode), 3.5, 4 * unit(dtype) * 3.5, "one finite value")
        x[rng.integers(length)] = np.inf
        assert named("logsumexp", x, context, mode) == np.inf
        x[rng.integers(length)] = np.nan
        assert np.isnan(named("logsumexp", x, context, mode))
        x[:] = np.inf
        assert named("logsumexp", x, context, mode) == np.inf
        x[:] = np.finfo(dtype).min
        assert named("logsumexp", x, context, mode) == np.finfo(dtype).min, "the lowest finite number"


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", ["ascending", "descending", "offset", "one giant", "equal", "tiny steps", "far apart"])
def test_logsumexp_keeps_its_digits(
    shape: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    x = {
        "ascending": np.sort(rng.uniform(-30, 30, PRIME)),
        "descending": np.sort(rng.uniform(-30, 30, PRIME))[::-1],
        "offset": rng.standard_normal(PRIME) + 5000,
        "one giant": np.append(rng.standard_normal(PRIME), 400.0),
        "equal": np.full(PRIME, -77.25),
        "tiny steps": np.linspace(0, 1, PRIME),
        "far apart": rng.uniform(-1e4, 1e4, PRIME),
    }[shape].astype(dtype)
    check_reduced("logsumexp", x, named("logsumexp", x, context, mode))


def test_infinite_sums_and_products(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (2, 17, 1025, PRIME):
        x = np.ones(length, np.float32)
        first, second = rng.choice(length, 2, replace=False)
        x[first] = np.inf
        assert named("sum", x, context, mode) == np.inf
        assert named("product", x, context, mode) == np.inf
        assert named("maximum", x.astype(np.float64), context, mode) == np.inf
        assert named("minimum", -x, context, mode) == -np.inf
        x[second] = -np.inf
        assert np.isnan(named("sum", x, context, mode))
        assert named("product", x, context, mode) == -np.inf
        x[second] = 0
        assert np.isnan(named("product", x, context, mode))


def test_a_sum_beyond_float32_overflows_only_at_the_end(context: cm.Context, mode: str) -> None:
    if not context.facts.fp64:
        pytest.skip("sums of float32 accumulate in float32 here")
    x = np.tile(np.array([3e38, 3e38, -3e38, -3e38], np.float32), 1000)
    assert_same(named("sum", x, context, mode), np.float32(0))
    assert_same(named("sum", x[:-2], context, mode), np.float32(np.inf))


@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_ties_go_to_the_lowest_index(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for dtype in (code for named_, code in COMBINATIONS if named_ == name):
        for length in SIZES:
            x = rng.integers(0, 3, length).astype(dtype)
            expected = int(getattr(np, name)(x))
            assert named(name, x, context, mode) == expected, (dtype, length)
            assert named(name, np.full(length, 7, dtype), context, mode) == 0, (dtype, length)
            late = np.full(length, 1, dtype)
            at = int(rng.integers(length))
            late[at:] = 0 if name == "argmin" else 2
            assert named(name, late, context, mode) == at, (dtype, length)


def test_values_equal_to_the_identity_are_found(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Nothing beats the accumulator's first value here, so its place must come from the search."""
    worst = {("argmin", "f4"): np.inf, ("argmin", "i4"): 2**31 - 1, ("argmax", "f8"): -np.inf, ("argmax", "u2"): 0}
    for (name, dtype), value in worst.items():
        for length in SIZES:
            x = np.full(length, value, dtype)
            assert named(name, x, context, mode) == 0, (name, dtype, length)
            at = int(rng.integers(length))
            x[at] = 5
            assert named(name, x, context, mode) == at, (name, dtype, length)


def test_zeros_of_both_signs_are_equal(context: cm.Context, mode: str) -> None:
    assert named("argmin", np.array([0.0, -0.0, 0.0], np.float32), context, mode) == 0
    assert named("argmax", np.array([-0.0, 0.0], np.float64), context, mode) == 0
    assert named("minimum", np.array([0.0, -0.0], np.float32), context, mode) == 0
    assert not named("any", np.full(65, -0.0, np.float32), context, mode)
    product = named("product", np.array([-0.0, 2.0, 3.0], np.float32), context, mode)
    assert product == 0
    assert np.signbit(product)


# ------------------------------------------------------------------------------------------------------------ integers
def test_integers_wrap_as_in_numpy(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (2, 65, PRIME):
        large = np.full(length, 2**64 - 3, np.uint64)
        assert_same(named("sum", large, context, mode), large.sum())
        x = values(rng, np.int32, length) | 1
        assert_same(named("product", x, context, mode), np.prod(x, dtype=np.int64))
        bytes_ = np.full(length, -128, np.int8)
        assert_same(named("sum", bytes_, context, mode), np.int64(-128 * length))
        assert_same(named("sum", np.ones(length, bool), context, mode), np.int64(length))


def test_truth_looks_at_every_bit(context: cm.Context, mode: str) -> None:
    for value in (256, 1 << 16, 1 << 31, -(1 << 31)):
        x = np.zeros(70, np.int64)
        x[67] = value
        assert named("any", x.astype(np.int32), context, mode), value
    for value, true in ((np.float32(1e-45), True), (np.float32(np.nan), True), (np.float32(0.25), True), (np.float32(-0.0), False)):
        x = np.zeros(70, np.float32)
        x[3] = value
        assert bool(named("any", x, context, mode)) is true, value
    for value, true in ((1j, True), (1 + 0j, True), (np.nan, True), (-0.0 - 0j, False)):
        x = np.ones(70, np.complex64)
        x[69] = value
        assert bool(named("all", x, context, mode)) is true, value


# ------------------------------------------------------------------------------------------- accumulators, where it ends
@pytest.mark.parametrize(("dtype", "accumulate"), [("f4", "fast"), ("f4", "compensated"), ("f4", "double"), ("f8", "compensated")])
def test_accumulators(dtype: str, accumulate: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if accumulate == "double" and not context.facts.fp64:
        with pytest.raises(cm.DTypeError, match="compensated"):
            named("sum", np.ones(3, dtype), context, mode, accumulate=accumulate)
        return
    for length in SIZES:
        x = values(rng, dtype, length)
        check_reduced("sum", x, named("sum", x, context, mode, accumulate=accumulate), accumulate, context.facts.fp64)


def test_cancellation_leaves_what_is_left(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Σ|terms| is 1e13 times the sum: nothing but a wide accumulator finds it."""
    big = rng.uniform(1e6, 1e8, PRIME // 2).astype(np.float32)
    x = np.concatenate([big, -big, rng.uniform(0, 1, 11).astype(np.float32)])
    rng.shuffle(x)
    total, magnitude = exact_sum(x)
    for accumulate in ("auto", "double") if context.facts.fp64 else ("auto",):
        got = named("sum", x, context, mode, accumulate=accumulate)
        assert_near(got, total, tolerance(np.float32, total, magnitude, x.size, fp64=context.facts.fp64))
    got = named("sum", x, context, mode, accumulate="compensated")
    assert_near(got, total, 6e-8 * (abs(total) + magnitude))


def test_equal_terms_keep_the_promise(context: cm.Context, mode: str) -> None:
    """One float32 chain of 10^7 additions of 0.1 would be off by 9 %."""
    x = np.full(10_000_019, 0.1, np.float32)
    total = float(np.float32(0.1)) * x.size
    for accumulate in ("auto", "compensated"):
        assert_near(named("sum", x, context, mode, accumulate=accumulate), total, 6e-8 * 2 * total, accumulate)


def test_finish_on_host_and_device_agree(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for name, dtype in (("sum", "f4"), ("sum", "i1"), ("argmin", "i4"), ("logsumexp", "f8"), ("maximum", "f8"), ("all", "?"), ("sum", "c8")):
        for length in (1, 1025, PRIME):
            x = values(rng, dtype, length)
            for finish in ("host", "device"):
                check_reduced(name, x, named(name, x, context, mode, finish=finish), fp64=context.facts.fp64, told=finish)
                out = np.zeros((), named(name, x, context, mode).dtype)
                assert named(name, x, context, mode, finish=finish, out=out) is out
                check_reduced(name, x, out, fp64=context.facts.fp64, told=finish)
                held = named(name, cm.array(x, context), context, mode, finish=finish)
                assert isinstance(held, cm.DeviceArray)
                check_reduced(name, x, held, fp64=context.facts.fp64, told=finish)


@pytest.mark.parametrize(("name", "dtype"), [("sum", "f4"), ("sum", "i1"), ("argmin", "f4"), ("logsumexp", "f4"), ("minimum", "i8")])
def test_the_strictly_sequential_run_is_the_oracle(
    name: str, dtype: str, context: cm.Context, rng: np.random.Generator
) -> None:
    for length in (1, 17, 1025, PRIME):
        x = values(rng, dtype, length)
        oracle = cm.Reduce(name)(x, context=context, mode="sequential", tiles=1)
        check_reduced(name, x, oracle, fp64=context.facts.fp64)
        for mode in ("sequential", "parallel"):
            got = named(name, x, context, mode)
            if name in ("argmin", "minimum") or np.dtype(dtype).kind == "i":
                assert_same(got, oracle, (mode, length))
            else:
                spread = tolerance(dtype, oracle, np.abs(x).sum(dtype=np.float64) if name == "sum" else 1.0, length)
                assert_near(got, oracle, 2 * spread + 1e-5 * (name == "logsumexp"), (mode, length))


# -------------------------------------------------------------------------------------------------------------- fusions
DOT = cm.Map(lambda b, c: b * c) >> cm.Reduce("sum")
COUNT = cm.Map(lambda x, low: x > low) >> cm.Reduce("sum")
CHAIN = cm.Map(lambda x, y: (x + y, x - y)) >> cm.Map(lambda s, d: s * d) >> cm.Reduce("maximum")
WEIGHTED = cm.Map(lambda x: x * cm.index) >> cm.Reduce("sum")
SQUARES = cm.Map("index * index") >> cm.Reduce("sum")
NEAREST = cm.Map(lambda x, at: abs(x - at)) >> cm.Reduce("argmin")


def test_dot_products(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for dtype in ("f4", "f8", "i1"):
        for length in SIZES:
            b, c = values(rng, dtype, length), values(rng, dtype, length)
            got = DOT(b, c, context=context, mode=mode)
            if dtype == "i1":
                assert_same(got, (b * c).sum(dtype=np.int64), "products wrap in int8, as in NumPy")
                continue
            terms = b.astype(np.longdouble) * c
            magnitude = float(np.abs(terms).sum())
            allowed = tolerance(dtype, 0, magnitude, length + 1, fp64=context.facts.fp64) + unit(dtype) * 2 * magnitude
            assert_near(got, terms.sum(), allowed, length)


def test_a_product_of_two_float32_is_not_rounded_before_it_is_summed(context: cm.Context, mode: str) -> None:
    if not context.facts.fp64:
        pytest.skip("products are rounded to float32 without float64")
    b = np.tile(np.float32([1 + 2**-12, 1]), 500)
    c = np.tile(np.float32([1 + 2**-12, -1 - 2**-11]), 500)
    assert DOT(b, c, context=context, mode=mode) == np.float32(500 * 2.0**-24)


def test_broadcast_inputs_of_a_fused_reduce(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    column, row = rng.integers(-100, 100, (37, 1)), rng.integers(-100, 100, (1, 53))
    assert_same(DOT(column, row, context=context, mode=mode), (column * row).sum())
    assert_same(DOT(column, 3, context=context, mode=mode), (column * 3).sum())
    assert_same(DOT(column, np.full((37, 53), 2), context=context, mode=mode), (column * np.full((1, 53), 2)).sum())


def test_masks_are_counted(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = rng.standard_normal(length).astype(np.float32)
        assert_same(COUNT(x, 0.25, context=context, mode=mode), np.int64((x > 0.25).sum()))


def test_chains_of_maps_reduce_in_one_launch(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 17, 1025, PRIME):
        x, y = rng.integers(-1000, 1000, (2, length)).astype(np.int32)
        assert_same(CHAIN(x, y, context=context, mode=mode), ((x + y) * (x - y)).max())


def test_the_index_inside_a_fused_reduce(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = rng.integers(-1000, 1000, length).astype(np.int16)
        assert_same(WEIGHTED(x, context=context, mode=mode), (x * np.arange(length)).sum(), length)
        assert_same(SQUARES(length=length, context=context, mode=mode), np.int64(sum(i * i for i in range(length))), length)
    x = rng.integers(-1000, 1000, (31, 33)).astype(np.int16)
    assert_same(WEIGHTED(x, context=context, mode=mode), (x.reshape(-1) * np.arange(x.size)).sum(), "the index counts in C order")


def test_argmin_of_a_fused_map(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = rng.permutation(length).astype(np.float32)
        at = float(rng.integers(length)) + 0.5
        assert_same(NEAREST(x, at, context=context, mode=mode), np.int64(np.argmin(np.abs(x - np.float32(at)))), length)


def test_a_map_with_several_outputs_has_nothing_to_reduce(context: cm.Context) -> None:
    with pytest.raises(cm.ShapeError, match=r"step 2, Reduce.*2 are given"):
        (cm.Map(lambda x: (x, x)) >> cm.Reduce("sum"))(np.ones(3), context=context)


def test_logsumexp_of_integers_computes_in_floats(context: cm.Context) -> None:
    x = np.array([1, 5, 3, 5], np.int16)
    got = named("logsumexp", x, context, "auto")
    assert_near(got, logsumexp(x), 8 * unit("f4") * 6)
    assert got.dtype == np.float32


def test_every_operator_is_named_in_the_error_for_an_unknown_one() -> None:
    with pytest.raises(cm.ModeError) as raised:
        cm.Reduce("median")
    assert all(name in str(raised.value) for name in OPERATORS)


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
