"""The values of a map: every size, function and dtype, broadcast shapes, plain numbers and the index, against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import PLAIN, PRIME, SIZES, assert_near, assert_same, into_poison, special_values, unit, values

import clmapreduce as cm

pytestmark = pytest.mark.drawn

ADD = cm.Map(lambda x, y: x + y)
PLACES = cm.Map(lambda: cm.index)


# --------------------------------------------------------------------------------------------------------------- values
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u8", "c8"])
def test_every_size_is_written_completely(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x, y = values(rng, dtype, length), values(rng, dtype, length)
        result = into_poison(lambda out, x=x, y=y: ADD(x, y, context=context, mode=mode, out=out), length, dtype)
        assert_same(result, x + y, length)


def test_bool_outputs_are_written_completely(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    below = cm.Map(lambda x, y: x < y)
    for length in SIZES:
        x, y = rng.integers(-3, 3, (2, length)).astype(np.int16)
        result = into_poison(lambda out, x=x, y=y: below(x, y, context=context, mode=mode, out=out), length, bool)
        assert set(result.view(np.uint8).tolist()) <= {0, 1}
        assert_same(result, x < y, length)


@pytest.mark.parametrize("dtype", [d for d in PLAIN if d.kind != "c"], ids=str)
def test_special_values_pass_through(dtype: np.dtype, context: cm.Context, mode: str) -> None:
    x = np.resize(np.array(special_values(dtype), dtype), 71)
    result = cm.Map(lambda x: x)(x, context=context, mode=mode)
    assert_same(result, x)
    if dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(result), np.signbit(x))


FUNCTIONS = {
    "exp": 3, "log": 3, "sin": 4, "cos": 4, "tan": 5, "sqrt": 3, "tanh": 5, "sinh": 4, "cosh": 4, "arcsin": 4, "arccos": 4, "arctan": 5,
    "exp2": 3, "log2": 3, "log10": 3, "expm1": 3, "log1p": 2, "cbrt": 2, "arcsinh": 4, "arctanh": 5, "erf": 16, "floor": 0, "ceil": 0,
    "rint": 0, "trunc": 0, "abs": 0,
}  # fmt: skip
ALL_FUNCTIONS = cm.Map(lambda x: tuple(getattr(cm.math, name)(x) for name in FUNCTIONS))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_functions_keep_within_opencls_errors(
    dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """The ulps are those of the OpenCL C specification, section 7.4; the oracle is NumPy in the next wider type."""
    special = pytest.importorskip("scipy.special")
    wider = np.float64 if dtype == "f4" else np.longdouble
    for length in (17, 1025, PRIME):
        x = rng.uniform(0.001, 0.999, length).astype(dtype)
        results = ALL_FUNCTIONS(x, context=context, mode=mode)
        for (name, ulps), result in zip(FUNCTIONS.items(), results, strict=True):
            oracle = special.erf if name == "erf" else getattr(np, name)
            expected = oracle(x.astype(np.float64 if name == "erf" else wider))
            slack = 2 if dtype == "f8" else 0.51  # where long double or scipy's erf are no wider than float64
            assert result.dtype == x.dtype
            assert_near(result, expected, 2 * unit(dtype) * (ulps + slack) * np.abs(expected), (name, length))


def test_functions_of_nan_and_infinities(context: cm.Context, mode: str) -> None:
    x = np.resize(np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -2.0], np.float32), 70)
    with np.errstate(all="ignore"):
        for name, result in zip(FUNCTIONS, ALL_FUNCTIONS(x, context=context, mode=mode), strict=True):
            if name == "erf":
                continue
            expected = getattr(np, name)(x)
            np.testing.assert_array_equal(np.isnan(result), np.isnan(expected), err_msg=name)
            infinite = np.isinf(expected)
            np.testing.assert_array_equal(result[infinite], expected[infinite], err_msg=name)


def test_minimum_and_maximum_propagate_nan(context: cm.Context, mode: str) -> None:
    x, y = (axis.reshape(-1).astype(np.float32) for axis in np.meshgrid(special_values("f4"), special_values("f4")))
    both = cm.Map(lambda x, y: (cm.math.minimum(x, y), cm.math.maximum(x, y)))
    low, high = both(x, y, context=context, mode=mode)
    assert_same(low, np.minimum(x, y))
    assert_same(high, np.maximum(x, y))


def test_where_takes_what_was_chosen_only(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """A choice by multiplication would turn the infinity not chosen into NaN."""
    x = rng.standard_normal(1025).astype(np.float32)
    x[::7] = 0
    result = cm.Map(lambda x: cm.where(x == 0, 0, 1 / x))(x, context=context, mode=mode)
    assert np.isfinite(result).all()
    with np.errstate(divide="ignore"):
        assert_near(result, np.where(x == 0, 0, 1 / x.astype(np.float64)), np.abs(result) * 3 * 2 * unit("f4"))


# ------------------------------------------------------------------------------------------------------ shapes, numbers
@pytest.mark.parametrize(
    "shapes",
    [
        ((7, 1), (1, 9)), ((5, 1, 3), (4, 1)), ((1,), (17,)), ((), (33,)), ((2, 3, 4), (4,)), ((2, 3, 4), (3, 1)), ((2, 1, 4), (3, 4)),
        ((1, 1), (1,)), ((), ()), ((3, 1, 5, 1), (2, 1, 7)), ((257, 1), (1, 389)), ((1, 1025), (3, 1)), ((6,), (6,)),
    ],
    ids=str,
)  # fmt: skip
def test_shapes_broadcast(shapes: Any, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = (rng.integers(-50, 50, shape).astype(np.float32) for shape in shapes)
    expected = np.asarray(x + y)
    assert_same(ADD(x, y, context=context, mode=mode), expected)
    device_array = ADD(cm.array(x, context), cm.array(y, context), mode=mode)
    assert isinstance(device_array, cm.DeviceArray)
    assert device_array.shape == expected.shape
    assert_same(device_array.to_numpy(), expected)
    total = ADD(x, cm.array(y, context), mode=mode)
    assert_same(total.to_numpy(), expected)


def test_broadcasting_with_nothing_gives_nothing(context: cm.Context, mode: str) -> None:
    for shapes in (((0,), (1,)), ((3, 0), (1,)), ((0, 3), (1, 3)), ((1, 0), (5, 1))):
        x, y = (np.zeros(shape, np.float32) for shape in shapes)
        assert_same(ADD(x, y, context=context, mode=mode), x + y)
        assert_same(ADD(cm.array(x, context), y, mode=mode).to_numpy(), x + y)


@pytest.mark.parametrize("number", [3, -2, 2.5, True, 1j])
def test_python_numbers_are_weak(number: Any, context: cm.Context) -> None:
    """As an argument or inside the formula, a Python number takes the dtype of the arrays, as in NumPy."""
    for dtype in PLAIN:
        x = np.zeros(0, dtype)
        try:
            expected = (x + number).dtype
        except OverflowError:
            with pytest.raises(cm.DTypeError):
                ADD(np.ones(3, dtype), number, context=context)
            continue
        if expected.kind in "fc" and expected.itemsize // (1 + (expected.kind == "c")) == 8 and not context.device.fp64:
            continue
        assert ADD(x, number, context=context).dtype == expected, dtype
        assert ADD(number, x, context=context).dtype == expected, dtype
        assert cm.Map(lambda x: x + number)(x, context=context).dtype == expected, dtype


def test_numpy_scalars_are_not_weak(context: cm.Context) -> None:
    x = np.zeros(0, np.float32)
    if context.device.fp64:
        assert ADD(x, np.float64(2), context=context).dtype == np.float64
        assert ADD(x, np.array(2.0), context=context).dtype == np.float64
    assert ADD(x, np.float32(2), context=context).dtype == np.float32
    assert ADD(np.zeros(0, np.int8), np.int16(2), context=context).dtype == np.int16


@pytest.mark.parametrize("first", PLAIN, ids=str)
def test_dtypes_promote_as_in_numpy(first: np.dtype, context: cm.Context) -> None:
    for second in PLAIN:
        x, y = np.zeros(0, first), np.zeros(0, second)
        kinds = {first.str[1:], second.str[1:]}
        if "u8" in kinds and kinds & {"i1", "i2", "i4", "i8"}:
            with pytest.raises(cm.DTypeError, match="no common integer dtype"):
                ADD(x, y, context=context)
            continue
        expected = np.result_type(first, second)
        if expected.kind in "fc" and expected.itemsize // (1 + (expected.kind == "c")) == 8 and not context.device.fp64:
            continue
        assert ADD(x, y, context=context).dtype == expected, (first, second)


def test_numbers_do_not_wrap(context: cm.Context) -> None:
    for dtype, number in ((np.uint8, 300), (np.uint8, -1), (np.int8, 128), (np.uint64, -1), (np.int32, 2**31), (np.int64, 2**63)):
        x = np.ones(5, dtype)
        with pytest.raises(cm.DTypeError):
            ADD(x, number, context=context)
        with pytest.raises(cm.DTypeError):
            cm.Map(lambda x: x + number)(x, context=context)  # noqa: B023
        assert_same(ADD(x, 1, context=context), x + dtype(1), "the same map takes a number that fits")


def test_integers_wrap_as_in_numpy(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for dtype in ("u1", "i2", "i4", "u8"):
        x, y = values(rng, dtype, 1025), values(rng, dtype, 1025)
        for result, expected in zip(
            cm.Map(lambda x, y: (x + y, x - y, x * y, -x))(x, y, context=context, mode=mode), (x + y, x - y, x * y, -x), strict=True
        ):
            assert_same(result, expected)


def test_large_python_integers_keep_all_digits(context: cm.Context) -> None:
    x = np.zeros(3, np.int64)
    assert_same(ADD(x, 2**62 + 1, context=context), np.full(3, 2**62 + 1))
    assert_same(ADD(np.zeros(3, np.uint64), 2**64 - 1, context=context), np.full(3, 2**64 - 1, np.uint64))


# ------------------------------------------------------------------------------------------------------- the index
def test_the_index(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        assert_same(PLACES(length=length, context=context, mode=mode), np.arange(length))
    x = rng.integers(-9, 9, (31, 1, 7)).astype(np.float32)
    places = np.arange(31 * 5 * 7).reshape(31, 5, 7)
    result = cm.Map(lambda x, y: x * y + cm.index)(x, np.ones((5, 1), np.float32), context=context, mode=mode)
    assert_same(result, (x * np.ones((5, 1), np.float32)).astype(np.float64) + places)


def test_the_index_in_other_dtypes(context: cm.Context, mode: str) -> None:
    narrow = cm.Map(lambda: (cm.index.astype("f4"), cm.index.astype("u1"), cm.index % 3 == 0))
    for length in (1, 17, 300, 1025):
        as_float, as_byte, third = narrow(length=length, context=context, mode=mode)
        assert_same(as_float, np.arange(length, dtype=np.float32))
        assert_same(as_byte, np.arange(length).astype(np.uint8))
        assert_same(third, np.arange(length) % 3 == 0)


def test_length_must_fit_the_arrays(context: cm.Context) -> None:
    assert_same(ADD(np.float32(1), np.float32(2), context=context, length=4), np.full(4, 3, np.float32))
    assert_same(ADD(np.ones(1, np.float32), 2, context=context, length=4), np.full(4, 3, np.float32))
    assert_same(PLACES(length=0, context=context), np.zeros(0, np.int64))
    for length in (-1, 3):
        with pytest.raises(cm.ShapeError):
            ADD(np.ones(4), 1, context=context, length=length)
