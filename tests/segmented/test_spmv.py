"""spmv and SpmvPlan on every device and in both modes, beside SciPy and dense products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse
from hypothesis import given
from hypothesis import strategies as st
from support.oracles import assert_near, assert_same, unit, values
from support.random_segments import RANDOM, geometries, offsets_of, random_lengths, slices

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.segmented.matrix import are_near

pytestmark = pytest.mark.drawn


def matrix(rng: np.random.Generator, rows: int = 400, columns: int = 300, dtype: Any = "f4") -> sparse.csr_array:
    """Rows of any length, some empty; columns in any order, some twice."""
    indptr = offsets_of(np.minimum(random_lengths(rng, rows, 8), 200))
    indices = rng.integers(0, columns, int(indptr[-1])).astype("i4")
    return sparse.csr_array((values(rng, dtype, len(indices)), indices, indptr), shape=(rows, columns))


def check_product(a: Any, x: np.ndarray, result: np.ndarray, label: object = "") -> None:
    """Asserts that `result` is a @ x, in float64 and rounded."""
    assert result.dtype == np.result_type(a.dtype, x.dtype), label
    wide, size = (sparse.csr_array((v.astype("f8"), a.indices, a.indptr), shape=a.shape) for v in (a.data, np.abs(a.data)))
    size = size @ np.abs(x.astype("f8"))  # not abs(wide), which adds up what stands at one place first
    assert_near(result, wide @ x.astype("f8"), 300 * unit(result.dtype) * size + 1e-30, label)


@pytest.mark.parametrize("trailing", [(), (1,), (3,), (16,), (32,), (87,)], ids=str)
def test_products(trailing: tuple[int, ...], context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a, x = matrix(rng), values(rng, "f4", (300, *trailing))
    result = cm.spmv(a, x, context=context, mode=mode)
    assert result.shape == (400, *trailing)
    check_product(a, x, result)
    plan = cm.SpmvPlan(a, context=context, mode=mode)
    for vector in (x, cm.array(x, context)):
        again = plan.apply(vector, mode=mode)
        assert isinstance(again, cm.DeviceArray) == isinstance(vector, cm.DeviceArray)
        assert_same(again, result)
    arrays = tuple(cm.array(v, context) for v in (a.indptr, a.indices, a.data))
    assert_same(cm.spmv(arrays, cm.array(x, context), mode=mode), result)
    out = np.empty_like(result)
    assert plan.apply(x, mode=mode, out=out) is out
    assert_same(out, result)


@RANDOM
@given(indptr=geometries(), columns=st.integers(1, 5000), reach=st.sampled_from([0, 1, 60, 5000]), seed=st.integers(0, 2**32))
def test_random_matrices(context: cm.Context, mode: str, indptr: np.ndarray, columns: int, reach: int, seed: int) -> None:
    """reach: how far from the diagonal, which wraps around, columns may lie."""
    rng, size = np.random.default_rng(seed), int(indptr[-1])
    rows = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    indices = ((rows + rng.integers(-reach, reach + 1, size)) % columns).astype("i4")
    a = sparse.csr_array((values(rng, "f4", size), indices, indptr), shape=(indptr.size - 1, columns))
    for trailing in ((), (4,)):
        x = values(rng, "f4", (columns, *trailing))
        check_product(a, x, cm.spmv(a, x, context=context, mode=mode))
    plan, device = cm.SpmvPlan(a, context=context, mode=mode), cm.array(x, context)
    check_product(a, x, plan.apply(device, mode=mode).to_numpy())


def test_repeats_give_one_bit_pattern(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a = matrix(rng, 3000)
    plan = cm.SpmvPlan(a, context=context)
    for trailing in ((), (3,)):
        x = values(rng, "f4", (300, *trailing))
        device_x, first = cm.array(x, context), cm.spmv(a, x, context=context, mode=mode).tobytes()
        assert {plan.apply(device_x, mode=mode).to_numpy().tobytes() for _ in range(200)} == {first}


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
def test_every_format(kind: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a = matrix(rng, 60, 40)
    a.sum_duplicates()
    x = rng.standard_normal(40).astype("f4")
    for variant in (a.asformat(kind), sparse.csr_matrix(a).asformat(kind)):
        check_product(a, x, cm.spmv(variant, x, context=context, mode=mode), kind)


def test_duplicates_meet_in_the_algebra_of_the_call(context: cm.Context, mode: str) -> None:
    rows, columns, data = [1, 0, 1, 1], [2, 0, 2, 0], np.array([5.0, 1.0, 3.0, 9.0], "f4")
    coo = sparse.coo_array((data, (rows, columns)), shape=(3, 4))
    csc = sparse.csc_array((data[[1, 3, 0, 2]], [0, 1, 1, 1], [0, 2, 2, 4, 4]), shape=(3, 4))
    x = np.zeros(4, "f4")
    for variant in (coo, csc):
        result = cm.spmv(variant, x, multiply="sum", add="minimum", context=context, mode=mode)
        assert_same(result, np.array([1, 3, np.inf], "f4"))
        assert_same(cm.spmv(variant, x + 1, context=context, mode=mode), np.array([1, 17, 0], "f4"))


SEMIRINGS: list[tuple[Any, Any, Callable[..., Any], Callable[..., Any], Any]] = [
    ("sum", "minimum", np.add, np.min, np.inf),
    ("sum", "maximum", np.add, np.max, -np.inf),
    ("minimum", "maximum", np.minimum, np.max, -np.inf),
    ("maximum", "minimum", np.maximum, np.min, np.inf),
    ("first", "maximum", lambda a, x: a, np.max, -np.inf),
    ("second", "argmax", lambda a, x: x, np.argmax, -1),
    (lambda a, x: a > x, "any", np.greater, np.any, False),
    (lambda a, x: a - x, cm.Operator(lambda p, q: cm.math.maximum(p, q), -1e30, dtype="f4"), np.subtract, np.max, -1e30),
]  # fmt: skip


@pytest.mark.parametrize(("multiply", "add", "each", "whole", "none"), SEMIRINGS, ids=[f"{k}-{s[1]}"[:12] for k, s in enumerate(SEMIRINGS)])
def test_every_algebra(multiply: Any, add: Any, each: Any, whole: Any, none: Any, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a, x = matrix(rng), rng.integers(-9, 9, 300).astype("f4")
    a.data = rng.integers(-9, 9, a.data.size).astype("f4")
    terms = each(a.data, x[a.indices])
    expected = [whole(terms[part]) if part.start < part.stop else none for part in slices(a.indptr)]
    result = cm.spmv(a, x, multiply=multiply, add=add, context=context, mode=mode)
    assert_same(result, np.array(expected, result.dtype))


def test_matrices_without_data(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a, x = matrix(rng), rng.integers(-9, 9, (300, 2))
    expected = np.array([x[a.indices[part]].sum(0) for part in slices(a.indptr)])
    triple = (a.indptr, a.indices.astype("i8"), None)
    assert_same(cm.spmv(triple, x, context=context, mode=mode), expected)
    assert_same(cm.SpmvPlan(triple, context=context).apply(x, multiply="second", mode=mode), expected)
    assert_same(cm.spmv(triple, x, multiply=lambda v: 3 * v, context=context, mode=mode), 3 * expected)


@pytest.mark.parametrize("unary", [False, True])
def test_sources_of_entries(unary: bool, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    lengths = random_lengths(rng, 200, 6)
    indptr, sources = offsets_of(lengths), rng.integers(0, 1000 - lengths + 1)
    columns, data, x = rng.integers(0, 50, 1000), rng.integers(-9, 9, 1000), rng.integers(-9, 9, 50)
    terms = x[columns] * (1 if unary else data)
    expected = np.array([terms[s : s + k].sum() for s, k in zip(sources, lengths, strict=True)])
    triple = (indptr, columns, None if unary else data)
    assert_same(cm.spmv(triple, x, sources=sources, context=context, mode=mode), expected)
    plan = cm.SpmvPlan(triple, sources=sources, context=context)
    assert_same(plan.apply(cm.array(x, context), mode=mode), expected)


@pytest.mark.parametrize(("data", "x"), [("f8", "f8"), ("f4", "f8"), ("i4", "f4"), ("i2", "i8"), ("c8", "f4"), ("?", "i4")])
def test_dtypes_meet_as_in_numpy(data: str, x: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if "f8" in (data, x) and not context.device.fp64:
        pytest.skip("no float64")
    indptr, indices = offsets_of([3, 0, 9, 1]), rng.integers(0, 7, 13)
    entries, vector = rng.integers(0, 2, 13).astype(data), rng.integers(-9, 9, 7).astype(x)
    terms = entries * vector[indices]
    expected = np.array([terms[part].sum() for part in slices(indptr)])
    result = cm.spmv((indptr, indices, entries), vector, context=context, mode=mode)
    assert_same(result, expected.astype(expected.dtype if terms.dtype.kind in "iu" else terms.dtype))


def test_nothing_to_multiply(context: cm.Context, mode: str) -> None:
    how: dict[str, Any] = {"context": context, "mode": mode}
    assert_same(cm.spmv(sparse.csr_array((3, 0), dtype="f4"), np.zeros(0, "f4"), **how), np.zeros(3, "f4"))
    assert_same(cm.spmv(sparse.csr_array((0, 4), dtype="f4"), np.zeros((4, 2), "f4"), **how), np.zeros((0, 2), "f4"))
    result = cm.spmv(sparse.csr_array((3, 2), dtype="f4"), np.zeros(2, "f4"), init=1.0, empty=7.0, **how)
    assert_same(result, np.full(3, 7, "f4"))


def test_plans_describe_themselves(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a = matrix(rng)
    plan = cm.SpmvPlan(a, context=context)
    assert repr(plan).startswith(f"SpmvPlan(400 rows, 300 columns, {a.data.size} entries, float32; on ") and plan.rows == 400
    assert "any number of columns" in repr(cm.SpmvPlan((a.indptr, a.indices, None), context=context))
    assert f"mode {mode}" in plan.explain(np.zeros(300, "f4"), mode=mode)
    assert "__kernel" in plan.source(np.zeros(300, "f4"), multiply="sum", add="minimum", mode=mode)


LONG = np.arange(10_001)
WRONG: list[tuple[Any, Any, dict[str, Any], type[Exception], str]] = [
    (([0, 2, 1, 3], [0, 0, 0], [1, 1, 1]), np.zeros(3), {}, cm.ShapeError, r"indptr\[2\] is 1, less than indptr\[1\] = 2"),
    (([0, 2], [0, 0, 0], [1, 1, 1]), np.zeros(3), {}, cm.ShapeError, r"indptr\[1\] is 2, but there are 3"),
    (([0, 3], [0, 3, 0], [1, 1, 1]), np.zeros(3), {}, cm.ShapeError, r"indices\[1\] is 3; there are 3 columns"),
    (([0, 3], [0, 0, -1], [1, 1, 1]), np.zeros(3), {}, cm.ShapeError, r"indices\[2\] is -1; there are 3 columns"),
    ((LONG, np.where(LONG == 77, 20_000, LONG)[:-1], LONG[:-1]), np.zeros(10_000), {}, cm.ShapeError, r"indices\[77\] is 20000"),
    (([0, 3], [0, 0, 0], [1, 1]), np.zeros(3), {}, cm.ShapeError, r"data has shape \(2,\), indices has \(3,\)"),
    (([0, 3], [0.0, 0, 0], [1, 1, 1]), np.zeros(3), {}, cm.DTypeError, "indices has dtype float64"),
    (([0, 3], [0, 0, 0]), np.zeros(3), {}, cm.ShapeError, "a tuple of 2"),
    (np.eye(3), np.zeros(3), {}, cm.DTypeError, "matrix is ndarray; give a scipy.sparse matrix"),
    (sparse.eye_array(3), np.zeros(4), {}, cm.ShapeError, r"x has shape \(4,\), the matrix has 3 columns"),
    (sparse.eye_array(3), 1.0, {}, cm.ShapeError, r"x has shape \(\)"),
    (sparse.eye_array(3), np.zeros(3), {"multiply": "power"}, cm.ModeError, "multiply='power' is unknown"),
    (sparse.eye_array(3), np.zeros(3), {"multiply": 3}, cm.FormulaError, "multiply takes a name or a function"),
    (sparse.eye_array(3), np.zeros(3), {"multiply": lambda x: x}, cm.FormulaError, "2 argument"),
    (([0, 1], [0], None), np.zeros(3), {"multiply": "sum"}, cm.ModeError, "needs a matrix with data"),
    (sparse.eye_array(3), np.zeros(3), {"add": "total"}, cm.ModeError, "operator 'total' is unknown"),
    (([0, 2], [0, 0, 0], [1, 1, 1]), np.zeros(3), {"sources": [2]}, cm.ShapeError, r"sources\[0\] is 2: segment 0 has 2 elements"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "x", "more", "error", "message"), WRONG, ids=[f"{k}-{message[:24]}" for k, (*_, message) in enumerate(WRONG)])
def test_wrong_calls(a: Any, x: Any, more: dict[str, Any], error: type[Exception], message: str, context: cm.Context) -> None:
    with pytest.raises(error, match=message):
        cm.spmv(a, x, context=context, **more)
    if isinstance(a, tuple) and all(isinstance(v, np.ndarray) for v in a):
        with pytest.raises(error, match=message):
            cm.spmv(tuple(cm.array(v, context) for v in a), x, **more)


@pytest.mark.parametrize(("kind", "array", "wrong", "message"), [
    ("coo", "row", 6, r"row\[2\] is 6; there are 6 rows"), ("coo", "row", -1, r"row\[2\] is -1; there are 6 rows"),
    ("coo", "col", 4, r"col\[2\] is 4; there are 4 columns"), ("csc", "indices", 6, r"indices\[2\] is 6; there are 6 rows"),
    ("csc", "indptr", 9, r"indptr\[2\] is 9, but there are 5"), ("csc", "indptr", -1, r"indptr\[2\] is -1, less than"),
    ("csr", "indices", 4, r"indices\[2\] is 4; there are 4 columns"),
])  # fmt: skip
def test_matrices_of_scipy_that_point_outside(kind: str, array: str, wrong: int, message: str, context: cm.Context) -> None:
    """Positions are those of the caller's arrays, although the entries are sorted."""
    a = sparse.coo_array((np.ones(5, "f4"), ([5, 0, 3, 3, 1], [3, 2, 0, 1, 2])), shape=(6, 4)).asformat(kind)
    getattr(a, array)[2] = wrong
    with pytest.raises(cm.ShapeError, match=message):
        cm.spmv(a, np.ones(4, "f4"), context=context)


def test_plans_check_the_vectors_they_meet(context: cm.Context) -> None:
    with pytest.raises(cm.ShapeError, match=r"indices\[1\] is -2; must not be negative"):
        cm.SpmvPlan(([0, 2], [0, -2], None), context=context)
    plan = cm.SpmvPlan(([0, 2], [0, 4], None), context=context)
    assert plan.apply(np.ones(5)) == [2.0]
    with pytest.raises(cm.ShapeError, match=r"indices\[1\] is 4; there are 4 columns"):
        plan.apply(np.ones(4))
    with pytest.raises(cm.DeviceError):
        plan.apply(cm.array(np.zeros(5, "f4"), cm.Context(context.device)))


def test_near_columns_are_recognized(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Neither columns side by side nor columns anywhere are near. A few far ones do not matter; host and device agree."""
    count = 300_000
    side_by_side, anywhere = np.arange(count) // 16 + np.arange(count) % 16, rng.integers(0, 1 << 22, count)
    near = np.arange(count) // 16 + rng.integers(0, 1 << 16, count)
    some = np.where(np.arange(count) % 16 == 0, 1 << 21, near)
    for columns, expected in ((side_by_side, False), (anywhere, False), (near, True), (some, True), (near[:2000], True)):
        for code in ("i4", "i8"):
            host_columns, options = columns.astype(code), Options(mode, context)
            assert are_near(host_columns, options) == are_near(cm.array(host_columns, context), options) == expected


def test_products_of_near_columns(
    context: cm.Context, mode: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of many entries: a plan and single calls give the same bits, from the device and from the host."""
    monkeypatch.setattr("clmapreduce.segmented.matrix.FEWEST", 2)
    rows, width = 30_000, 1 << 17
    lengths = rng.integers(0, 9, rows)
    lengths[777] = 40_000
    columns = (np.repeat(np.arange(rows), lengths) + rng.integers(0, 1 << 16, lengths.sum())) % width
    a = sparse.csr_array((values(rng, "f4", columns.size), columns.astype("i4"), offsets_of(lengths)), shape=(rows, width))
    x, out = values(rng, "f4", width), np.full(rows, np.nan, "f4")
    plan = cm.SpmvPlan(a, mode=mode, context=context)
    check_product(a, x, plan.apply(x, mode=mode, out=out))
    np.testing.assert_array_equal(out, cm.spmv(a, x, mode=mode, context=context))
    device_arrays = [cm.array(v, context) for v in (a.indptr, a.indices, a.data, x)]
    np.testing.assert_array_equal(out, cm.spmv(tuple(device_arrays[:3]), device_arrays[3], mode=mode))
    parts, terms = slices(a.indptr), a.data * x[a.indices]
    largest = [terms[part].max(initial=-np.inf) for part in parts]
    np.testing.assert_array_equal(plan.apply(x, add="maximum", mode=mode), np.array(largest, "f4"))
