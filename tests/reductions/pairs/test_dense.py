"""Every reduction over pairs, walked as a kernel walks it, against dense NumPy in float64."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.operator_oracle import Walk, dense, reduce_numbers

from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairBound, PairOptions

pytestmark = pytest.mark.drawn

SIZES = (1, 2, 31, 193, 1000)
CODES = ("f2", "f4", "f8")
CHOICES = ("Min", "Max", "ArgMin", "ArgMax", "Min_ArgMin", "Max_ArgMax", "KMin", "ArgKMin", "KMin_ArgKMin")
EXPONENTIAL = (
    "LogSumExp", "LogSumExpWeight", "SumSoftMaxWeight", "SumSoftMaxWeight_LogSumExp", "Max_SumShiftExp",
    "Max_SumShiftExpWeight",
)  # fmt: skip
SPECIAL = (0.0, -0.0, 1.5, -2.0, 1e-7, -1e-7, np.inf, -np.inf, np.nan)
WIDE = [(n, d) for n in PAIR_REDUCTIONS for d in ((1, 3) if n not in EXPONENTIAL or n == "LogSumExp" else (1,))]


def bind(name: str, code: str, width: int = 1, weights: int = 1, index: str = "i4", **options: Any) -> PairBound:
    reduction = PAIR_REDUCTIONS[name]
    number = weights if reduction.weighted else 0
    options = {"k": 3, **options}
    return reduction.bind(np.dtype(code), width, number, np.dtype(index), PairOptions(**options))


def random_numbers(name: str, operator: PairBound, rng: Any, rows: int, columns: int) -> Any:
    """Numbers for an operator: factors near 1 for products, some zeros for truths, weights above 0."""
    numbers = rng.normal(size=(operator.width + operator.weights, rows, columns))
    if name == "Product":
        numbers = 1 + numbers / 50
    if name in ("Any", "All"):
        numbers = np.where(rng.random(numbers.shape) < (0.999 if name == "Any" else 0.001), 0, numbers)
    numbers[operator.width :] = np.abs(numbers[operator.width :])
    return numbers.astype(operator.value)


def results_of(name: str, operator: PairBound, numbers: Any, k: int = 3) -> list[Any]:
    return dense(name, numbers[: operator.width], numbers[operator.width :], k)


def assert_agrees(name: str, operator: PairBound, numbers: Any, results: list[Any], k: int = 3, tile: int = 64) -> None:
    """Exact for what chooses; else to the rounding of the result, of the exponents, and of chains of one tile's columns
    and of all tiles and splits, relative to the sum of the absolute terms.
    """
    expected = results_of(name, operator, numbers, k)
    assert [g.shape for g in results] == [e.shape for e in expected]
    if name in CHOICES or name in ("Any", "All"):
        for result, want in zip(results, expected, strict=True):
            np.testing.assert_array_equal(result, want)
        return
    names = ("SumSoftMaxWeight", "LogSumExp") if name == "SumSoftMaxWeight_LogSumExp" else (name,)
    for each, result, want in zip(names, results, expected, strict=True):
        np.testing.assert_array_less(np.abs(_apart(result, want)), _tolerance(each, operator, numbers, want, tile))


def _apart(result: Any, expected: Any) -> Any:
    """The difference; 0 where both are NaN or the same infinity, NaN where only one is."""
    with np.errstate(invalid="ignore"):
        same = (result == expected) | (np.isnan(result) & np.isnan(expected))
        return np.where(same, 0, result - expected)


def _tolerance(name: str, operator: PairBound, numbers: Any, expected: Any, tile: int) -> Any:
    own, acc = (float(np.finfo(d).eps) / 2 for d in (operator.value, np.result_type(operator.value, np.float32)))
    count = numbers.shape[2]
    chain = acc * (min(count, tile) + count // tile + 16)
    f, w = numbers[: operator.width].astype(float), numbers[operator.width :].astype(float)
    with np.errstate(all="ignore"):
        size = np.nan_to_num(np.max(np.abs(np.where(np.isfinite(f), f, 0)), -1)).T
        if name in EXPONENTIAL:
            # an exponent is rounded when it is scaled, and the top when it is scaled back
            relative = 4 * chain + 4 * own * (1 + size)
            if name == "LogSumExpWeight":  # as much as the sum's own relative error, where weights cancel
                sums, whole = (np.exp(results_of(name, operator, np.concatenate([f, x]))[0]) for x in (w, np.abs(w)))
                relative = relative * np.where(sums > 0, whole / sums, 1)
            level = 1.0 if name.startswith("LogSumExp") else np.abs(expected)
            if name in ("SumSoftMaxWeight", "Max_SumShiftExpWeight"):
                positive = dense(name, f, np.abs(w))[0]
                level = np.abs(positive)
            tolerance = relative * level + 2 * own * np.abs(expected)
        elif name in ("Var", "Std"):
            tolerance = (4 * chain + 2 * own) * np.abs(expected) + 8 * acc * chain * size
            if name == "Std":
                tolerance = tolerance + 2 * own * size * np.sqrt(acc)
        elif name == "Product":
            tolerance = acc * (count + 16) * np.abs(expected)
        else:
            magnitude = np.sum(np.abs(f), -1).T / (count if name == "Mean" else 1)
            tolerance = chain * magnitude
        tolerance = tolerance + 2 * own * np.abs(expected) + 4 * float(np.finfo(operator.value).smallest_subnormal)
    return np.where(np.isfinite(tolerance), tolerance, np.inf)


# ------------------------------------------------------------------------------------------------------ random data
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize(("name", "width"), WIDE)
def test_a_reduction_is_dense_numpys(name: str, width: int, code: str, rng: Any) -> None:
    for columns, group in zip(SIZES, (1, 2, 8, 5, 4), strict=True):
        for splits, weights, index in ((1, 1, "i4"), (4, 3, "i8")):
            operator = bind(name, code, width, weights, index)
            numbers = random_numbers(name, operator, rng, 3, columns)
            results = reduce_numbers(operator, numbers, rng, splits=splits, group=group, index=index)
            assert_agrees(name, operator, numbers, results)


@pytest.mark.parametrize("name", [n for n in PAIR_REDUCTIONS if "KMin" in n])
@pytest.mark.parametrize("k", [1, 2, 5, 10])
def test_the_k_least_come_in_order(name: str, k: int, rng: Any) -> None:
    for width, columns in ((1, 193), (3, 31), (1, 4)):
        operator = bind(name, "f4", width, k=k)
        numbers = rng.integers(0, 20, (width, 3, columns)).astype("f4")  # many ties
        results = reduce_numbers(operator, numbers, rng, splits=3, tile=16)
        assert_agrees(name, operator, numbers, results, k)
        assert results[0].shape == ((3, k) if width == 1 else (3, k, width))


@pytest.mark.parametrize("code", ["i4", "u8", "?"])
@pytest.mark.parametrize("name", [n for n in PAIR_REDUCTIONS if "Weight" not in n and "Shift" not in n])
def test_integers_reduce_as_numpys(name: str, code: str, rng: Any) -> None:
    operator = bind(name, code, index="i8")
    numbers = rng.integers(0, 2 if code == "?" else 9, (1, 3, 40)).astype(code)
    if name == "Product":
        numbers[:, :, 9:] = 1
    results = reduce_numbers(operator, numbers, rng, splits=2, index="i8")
    if np.dtype(code).kind == "b" and "Min" in name:
        expected = results_of(name, operator, np.where(numbers, 1.0, np.inf) if "K" in name else numbers)
        if "K" in name:  # True is a bool's worst, as +inf is a float's
            expected = results_of(name, operator, np.where(numbers, np.inf, 0.0))
            expected = [np.where(np.isinf(e), 1, e) for e in expected]
    else:
        expected = results_of(name, operator, numbers)
    for result, want in zip(results, expected, strict=True):
        np.testing.assert_allclose(result.astype(float), want, rtol=1e-6 if result.dtype == np.float32 else 1e-13)
    if name in ("Sum", "Product"):
        assert results[0].dtype == np.sum(np.zeros(1, code)).dtype


# ------------------------------------------------------------------------------------------------ NaN, infinity, ties
@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", PAIR_REDUCTIONS)
def test_every_triple_of_special_values(name: str, code: str, rng: Any) -> None:
    """All of them as rows, in one tile, in three splits, and in groups of one and of three columns."""
    triples = np.array(list(itertools.product(SPECIAL, repeat=3)), code)
    operator = bind(name, code)
    numbers = np.concatenate([triples[None], np.ones((operator.weights, *triples.shape), code)])
    for splits, group in ((1, 1), (1, 3), (4, 1), (4, 2)):
        results = reduce_numbers(operator, numbers, rng, splits=splits, group=group)
        assert_agrees(name, operator, numbers, results)


@pytest.mark.parametrize("name", PAIR_REDUCTIONS)
def test_no_columns_give_the_identity(name: str, rng: Any) -> None:
    operator = bind(name, "f4")
    results = reduce_numbers(operator, np.zeros((1 + operator.weights, 2, 0), "f4"), rng)
    only = {
        "Sum": 0, "Product": 1, "Mean": np.nan, "Var": np.nan, "Std": np.nan, "Any": False, "All": True, "Min": np.inf,
        "Max": -np.inf, "ArgMin": 0, "ArgMax": 0, "KMin": np.inf, "ArgKMin": 0, "LogSumExp": -np.inf,
        "LogSumExpWeight": -np.inf, "SumSoftMaxWeight": 0,
    }  # fmt: skip
    both = {
        "Min_ArgMin": (np.inf, 0), "Max_ArgMax": (-np.inf, 0), "KMin_ArgKMin": (np.inf, 0),
        "SumSoftMaxWeight_LogSumExp": (0, -np.inf),
    }  # fmt: skip
    if "Shift" in name:
        np.testing.assert_array_equal(results[0], [[-np.inf, 0]] * 2)
        return
    for result, want in zip(results, both.get(name, (only.get(name),)), strict=True):
        np.testing.assert_array_equal(result, np.full(result.shape, want))


@pytest.mark.parametrize("name", PAIR_REDUCTIONS)
@pytest.mark.parametrize("value", [0.0, 3.0, -1e30, 1e30, 1e-42, -np.inf, np.inf, np.nan])
def test_rows_of_equal_values(name: str, value: float, rng: Any) -> None:
    operator = bind(name, "f4")
    numbers = np.concatenate([np.full((1, 2, 70), value, "f4"), np.ones((operator.weights, 2, 70), "f4")])
    results = reduce_numbers(operator, numbers, rng, splits=3, tile=16)
    if name in ("Var", "Std") and np.isfinite(value):
        np.testing.assert_array_equal(results[0], 0)
        return
    if name in ("Sum", "Product", "Mean") and abs(value) == 1e30:
        with np.errstate(over="ignore"):
            expected = [results_of(name, operator, numbers)[0].astype("f4")]
        np.testing.assert_allclose(results[0], expected[0], rtol=1e-5)
        return
    assert_agrees(name, operator, numbers, results, tile=16)


@pytest.mark.parametrize("name", [n for n in CHOICES if "Arg" in n])
@pytest.mark.parametrize("group", [1, 3, 8])
def test_ties_go_to_the_lower_index_whatever_the_order_of_merges(name: str, group: int, rng: Any) -> None:
    for _ in range(5):
        operator = bind(name, "f4", 2)
        numbers = rng.integers(0, 3, (2, 4, 60)).astype("f4")
        numbers[rng.random(numbers.shape) < 0.2] = np.nan
        assert_agrees(name, operator, numbers, reduce_numbers(operator, numbers, rng, splits=7, tile=8, group=group))


def test_indices_beyond_float32_and_int32_are_exact() -> None:
    walk = Walk(bind("ArgMin", "f4", index="i8"), np.int64)
    far = 2**40 + 1
    acc = walk.group(walk.identity(1), np.array([[[3.0, 2.0, 2.0]]], "f4"), [far - 1, far, far + 1])
    assert walk.finish(acc, 3)[0].item() == far


# ------------------------------------------------------------------------------------------------------------ options
@pytest.mark.parametrize("scheme", ["auto", "direct_sum", "block_sum", "kahan_scheme"])
@pytest.mark.parametrize("accumulate", [None, "f4", "f8"])
@pytest.mark.parametrize("name", PAIR_REDUCTIONS)
def test_every_scheme_and_accumulator_gives_the_same(name: str, accumulate: str | None, scheme: str, rng: Any) -> None:
    dtype = None if accumulate is None else np.dtype(accumulate)
    operator = bind(name, "f4", accumulate=dtype, scheme=scheme)
    numbers = random_numbers(name, operator, rng, 2, 130)
    assert_agrees(
        name, operator, numbers, reduce_numbers(operator, numbers, rng, splits=3, tile=32), tile=32 if operator.block else 130
    )


# --------------------------------------------------------------------------------------------------------- hypothesis
NUMBER = st.floats(width=32) | st.sampled_from(SPECIAL) | st.integers(-3, 3).map(float)


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from(list(PAIR_REDUCTIONS)),
    row=st.lists(NUMBER, min_size=1, max_size=24),
    group=st.integers(1, 8),
    tile=st.integers(1, 12),
    splits=st.integers(1, 5),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_row_in_any_cut(name: str, row: list[float], group: int, tile: int, splits: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    if name not in CHOICES and name not in ("Any", "All"):  # sums and exponentials within float32's range
        row = [x if not np.isfinite(x) else float(np.clip(x, -50, 50)) if abs(x) > 1e-20 else 0.0 for x in row]
        row = [x / 25 for x in row] if name == "Product" else row
    operator = bind(name, "f4")
    values = np.array(row, "f4")[None, None]
    numbers = np.concatenate([values, rng.random((operator.weights, 1, len(row))).astype("f4") + 0.5])
    results = reduce_numbers(operator, numbers, rng, splits=splits, tile=tile, group=group)
    assert_agrees(name, operator, numbers, results, tile=tile)
