"""Map: one output per index, for every way arguments, shapes and outputs may come."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from support.oracles import PLAIN, PRIME, SIZES, assert_near, assert_same, into_poison, special_values, unit, values

import clmapreduce as cm

pytestmark = pytest.mark.drawn

HALF = cm.Map(lambda b, c: b * c / 2)
ADD = cm.Map(lambda x, y: x + y)
SPLIT = cm.Map(lambda x: (x > 0, abs(x), x * cm.index))
PLACES = cm.Map(lambda: cm.index)


# --------------------------------------------------------------------------------------------------------------- values
@pytest.mark.parametrize("dtype", ["f4", "f8", "i1", "u8", "c8"])
def test_every_size_is_written_completely(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x, y = values(rng, dtype, length), values(rng, dtype, length)
        got = into_poison(lambda out, x=x, y=y: ADD(x, y, context=context, mode=mode, out=out), length, dtype)
        assert_same(got, x + y, length)


def test_bool_outputs_are_written_completely(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    below = cm.Map(lambda x, y: x < y)
    for length in SIZES:
        x, y = rng.integers(-3, 3, (2, length)).astype(np.int16)
        got = into_poison(lambda out, x=x, y=y: below(x, y, context=context, mode=mode, out=out), length, bool)
        assert set(got.view(np.uint8).tolist()) <= {0, 1}
        assert_same(got, x < y, length)


@pytest.mark.parametrize("dtype", [d for d in PLAIN if d.kind != "c"], ids=str)
def test_strange_values_pass_through(dtype: np.dtype, context: cm.Context, mode: str) -> None:
    x = np.resize(np.array(special_values(dtype), dtype), 71)
    got = cm.Map(lambda x: x)(x, context=context, mode=mode)
    assert_same(got, x)
    if dtype.kind == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(x))


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
        got = ALL_FUNCTIONS(x, context=context, mode=mode)
        for (name, ulps), result in zip(FUNCTIONS.items(), got, strict=True):
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
    got = cm.Map(lambda x: cm.where(x == 0, 0, 1 / x))(x, context=context, mode=mode)
    assert np.isfinite(got).all()
    with np.errstate(divide="ignore"):
        assert_near(got, np.where(x == 0, 0, 1 / x.astype(np.float64)), np.abs(got) * 3 * 2 * unit("f4"))


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
    held = ADD(cm.array(x, context), cm.array(y, context), mode=mode)
    assert isinstance(held, cm.DeviceArray)
    assert held.shape == expected.shape
    assert_same(held.to_numpy(), expected)
    mixed = ADD(x, cm.array(y, context), mode=mode)
    assert_same(mixed.to_numpy(), expected)


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
        for got, expected in zip(
            cm.Map(lambda x, y: (x + y, x - y, x * y, -x))(x, y, context=context, mode=mode), (x + y, x - y, x * y, -x), strict=True
        ):
            assert_same(got, expected)


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
    got = cm.Map(lambda x, y: x * y + cm.index)(x, np.ones((5, 1), np.float32), context=context, mode=mode)
    assert_same(got, (x * np.ones((5, 1), np.float32)).astype(np.float64) + places)


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


# ------------------------------------------------------------------------------------------------------------- outputs
def test_several_outputs(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in SIZES:
        x = rng.standard_normal(length).astype(np.float32)
        positive, magnitude, weighted = SPLIT(x, context=context, mode=mode)
        assert_same(positive, x > 0)
        assert_same(magnitude, np.abs(x))
        assert_same(weighted, x.astype(np.float64) * np.arange(length))
        held = SPLIT(cm.array(x, context), mode=mode)
        assert [type(h) for h in held] == [cm.DeviceArray] * 3
        assert_same(held[1].to_numpy(), np.abs(x))


def test_several_outputs_into_out(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.standard_normal(1025).astype(np.float32)
    outs = np.ones(1025, bool), cm.array(np.zeros(1025, np.float32), context), np.zeros((1025, 2))[:, 1]
    results = SPLIT(x, context=context, mode=mode, out=outs)
    assert all(result is out for result, out in zip(results, outs, strict=True))
    assert_same(outs[0], x > 0)
    assert_same(outs[1].to_numpy(), np.abs(x))
    assert_same(np.ascontiguousarray(outs[2]), x.astype(np.float64) * np.arange(1025))
    with pytest.raises(cm.ShapeError, match="out holds 2"):
        SPLIT(x, context=context, out=outs[:2])
    with pytest.raises(cm.ShapeError, match="out holds 1"):
        SPLIT(x, context=context, out=outs[0])


def test_a_dict_is_one_structured_output(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    polar = cm.Map(lambda x, y: {"r": x * x + y * y, "left": x < 0, "n": cm.index.astype("i2")})
    for length in (1, 17, 1025, PRIME):
        x, y = rng.integers(-50, 50, (2, length)).astype(np.float64)
        got = polar(x, y, context=context, mode=mode)
        assert got.dtype.names == ("r", "left", "n")
        assert_same(got["r"], x * x + y * y)
        assert_same(got["left"], x < 0)
        assert_same(got["n"], np.arange(length).astype(np.int16))
        packed = np.zeros(length, [("r", "f8"), ("left", "?"), ("n", "i2")])
        assert polar(x, y, context=context, mode=mode, out=packed) is packed
        assert_same(packed, got)


FIELDS = {"packed": False, "aligned": True}


@pytest.mark.parametrize("align", FIELDS.values(), ids=FIELDS)
def test_records_come_in_by_field(align: bool, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    dtype = np.dtype([("flag", "?"), ("x", "f8"), ("n", "i2"), ("z", "c8"), ("b", "u1")], align=align)
    scaled = cm.Map(lambda r: {"b": r["b"], "x": cm.where(r["flag"], r["x"], -r["x"]) + r["n"], "z": r["z"] + r["z"]})
    for length in (1, 17, 257, PRIME):
        r = values(rng, dtype, length)
        for given in (r, cm.array(r, context)):
            got = np.asarray(scaled(given, context=context, mode=mode))
            assert_same(got["b"], r["b"])
            assert_same(got["x"], np.where(r["flag"], r["x"], -r["x"]) + r["n"])
            assert_same(got["z"], r["z"] + r["z"])


def test_a_view_of_some_fields_is_a_record_with_holes(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    r = values(rng, np.dtype([("a", "u1"), ("x", "f4"), ("n", "i8"), ("y", "f4")]), 65)[["y", "n"]]
    got = cm.Map(lambda r: (r["y"], r["n"]))(r, context=context, mode=mode)
    assert_same(got[0], np.ascontiguousarray(r["y"]))
    assert_same(got[1], np.ascontiguousarray(r["n"]))


def test_unusual_records(context: cm.Context, mode: str) -> None:
    """Record arrays, fields with titles, fields that overlap, one field at the end of a wide record."""
    total = cm.Map(lambda r: r["a"] + r["b"])
    rows = np.rec.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    assert_same(total(rows, context=context, mode=mode), np.array([3.5, 7.5]))
    titled = np.ones(3, np.dtype([(("first", "a"), "i4"), ("b", "i4")]))
    assert_same(total(titled, context=context, mode=mode), np.full(3, 2, np.int32))
    shared = np.zeros(3, np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 0]}))
    shared["a"] = 70_000
    assert_same(total(shared, context=context, mode=mode), shared["a"] + shared["b"])
    wide = np.zeros(17, np.dtype({"names": ["a", "b"], "formats": ["u1", "u1"], "offsets": [0, 63], "itemsize": 64}))
    wide["b"] = np.arange(17)
    assert_same(total(wide, context=context, mode=mode), np.arange(17, dtype=np.uint8))


def test_field_names_may_be_words_of_c_and_of_ours(context: cm.Context, mode: str) -> None:
    """Field names end up in names of C variables."""
    names = ["float", "in0", "x", "x_mask", "_", "idx", "v0", "n"]
    r = np.zeros(17, [(name, "?" if name.startswith("x") else "i4") for name in names])
    for k, name in enumerate(names):
        r[name] = k
    got = cm.Map(lambda r: {name: r[name] for name in names})(r, context=context, mode=mode)
    assert_same(got, r)


@pytest.mark.parametrize("name", ["my field", "größe", "2x", "a-b"])
def test_field_names_that_are_no_c_names_work_or_are_refused(name: str, context: cm.Context) -> None:
    r = np.ones(5, [(name, "i4"), ("ok", "f4")])
    try:
        got = cm.Map(lambda r: {name: r[name] + 1, "ok": r["ok"]})(r, context=context)
    except cm.DTypeError as error:
        assert name in str(error)
    else:
        assert (got[name] == 2).all()


# ------------------------------------------------------------------------------------------------ expressions, chains
def test_expressions_take_arguments_by_order_and_by_name(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    b, c = rng.integers(-50, 50, (2, 257)).astype(np.float32)
    expression = cm.Map("b * c / 2 - c")
    expected = b * c / 2 - c
    for call in (
        lambda **how: expression(b, c, **how),
        lambda **how: expression(c=c, b=b, **how),
        lambda **how: expression(b, c=c, **how),
    ):
        assert_same(call(context=context, mode=mode), expected)
    assert_same(cm.Map("c - b")(c, b, context=context, mode=mode), c - b, "by order of first appearance")


def test_expressions_know_functions_the_index_and_fields(context: cm.Context, mode: str) -> None:
    x = np.arange(17, dtype=np.float32)
    chosen = cm.Map("where(x > 3, sqrt(x * x), -x)")(x, context=context, mode=mode)
    assert_same(chosen, np.where(x > 3, x, -x))
    assert_same(cm.Map("x * 0 + index")(x, context=context, mode=mode), np.arange(17.0))
    r = np.zeros(5, [("a", "i4")])
    r["a"] = 3
    assert_same(cm.Map("r['a'] << 2")(r, context=context, mode=mode), np.full(5, 12, np.int32))


def test_an_expression_is_the_lambda_it_spells(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = rng.uniform(0.5, 2, (2, 1025)).astype(np.float32)
    text = cm.Map("(x ** 2 + y) / maximum(abs(x - y), 0.125)")
    traced = cm.Map(lambda x, y: (x**2 + y) / cm.math.maximum(abs(x - y), 0.125))
    assert_same(text(x, y, context=context, mode=mode), traced(x, y, context=context, mode=mode))


def test_chains_of_maps_are_one_map(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    chain = cm.Map(lambda x, y: (x + y, x - y)) >> cm.Map(lambda s, d: s * d) >> cm.Map(lambda p: (p, -p))
    assert isinstance(chain, cm.Map)
    x, y = rng.integers(-1000, 1000, (2, 1025))
    product, negative = chain(x, y, context=context, mode=mode)
    assert_same(product, (x + y) * (x - y))
    assert_same(negative, -(x + y) * (x - y))


def test_deep_chains_of_maps(context: cm.Context, mode: str) -> None:
    step = cm.Map(lambda x: x + 1)
    chain = step
    for _ in range(60):
        chain = chain >> step
    assert_same(chain(np.arange(17), context=context, mode=mode), np.arange(17) + 61)


def test_constants_alone(context: cm.Context, mode: str) -> None:
    assert_same(cm.Map(lambda: np.float32(2.5))(length=65, context=context, mode=mode), np.full(65, 2.5, np.float32))
    five, seven = cm.Map(lambda x: (5, np.int8(7)))(np.zeros(17, np.float32), context=context, mode=mode)
    assert_same(five, np.full(17, 5))
    assert_same(seven, np.full(17, 7, np.int8))


def test_scalars_alone_give_a_scalar(context: cm.Context, mode: str) -> None:
    got = HALF(np.float32(3), np.float32(5), context=context, mode=mode)
    assert_same(got, np.float32(7.5))
    assert isinstance(got, np.float32)


def test_many_arguments(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    arrays = rng.integers(-9, 9, (24, 257)).astype(np.int32)
    got = cm.Map(lambda *a: sum(a[1:], a[0]))(*arrays, context=context, mode=mode)
    assert_same(got, arrays.sum(axis=0, dtype=np.int32))


def test_explain_and_source_launch_nothing(context: cm.Context, mode: str) -> None:
    x = np.ones(1025, np.float32)
    told = HALF.explain(x, x, context=context, mode=mode)
    assert f"mode {mode}" in told
    assert "cmr_map" in told
    assert "__kernel" in HALF.source(x, x, context=context, mode=mode)
    assert "no launch" in HALF.explain(x[:0], x[:0], context=context, mode=mode)


def test_reprs_name_functions_without_addresses() -> None:
    double, total = cm.Map(lambda x: x * 2), cm.Reduce("sum")
    assert repr(double >> cm.Map("x + 1") >> total) == "Map(<lambda> >> 'x + 1') >> Reduce('sum')"
    assert repr(cm.Map(partial(np.add, 1))) == "Map(partial)"
    assert repr(cm.fuse(total_of)) == "fuse(total_of)"
    assert repr(cm.fuse(total_of, batch=True)) == "fuse(total_of, batch=True)"
    assert repr(cm.fuse(double >> total, batch=True)) == "fuse(Map(<lambda>) >> Reduce('sum'), batch=True)"


def total_of(x: Any) -> Any:
    return cm.Reduce("sum")(x)
