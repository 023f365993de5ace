"""NaN, infinities, equal values and the ends of dtypes, in any order of merges, through the NumPy twin."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.operator_twin import Twin, assert_close, numpys, twin

from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Node, Symbol
from clmapreduce.reductions import NAMED
from clmapreduce.reductions.base import OneByOne

SPECIAL = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]


def every(values: Sequence[Any], repeat: int, code: str) -> Any:
    """(cases, repeat): every choice of that many values."""
    return np.array(list(itertools.product(values, repeat=repeat)), code)


def in_order(reduction: Twin, data: Any, order: Sequence[int]) -> Any:
    """The results for each row, its values absorbed one each and merged in this order."""
    count = len(data)
    singles = [reduction.absorb(reduction.identity(count), [data[:, k]], [k]) for k in range(data.shape[1])]
    acc = singles[order[0]]
    for k in order[1:]:
        acc = reduction.merge(acc, singles[k])
    return reduction.results(acc)


@pytest.mark.parametrize("name", ["minimum", "maximum", "argmin", "argmax", "any", "all"])
@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
def test_nan_and_infinities_are_numpys(name: str, code: str) -> None:
    data = every(SPECIAL, 3, code)
    expected = [numpys(name, row) for row in data]
    for order in itertools.permutations(range(3)):
        np.testing.assert_array_equal(in_order(twin(name, code), data, order), expected)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize("code", ["i1", "u1", "i8", "u8", "?", "f4"])
def test_the_lowest_place_of_equals_wins_also_at_the_ends_of_a_dtype(name: str, code: str) -> None:
    dtype = np.dtype(code)
    if dtype.kind in "iu":
        ends = [np.iinfo(dtype).min, np.iinfo(dtype).max, 3]
    else:
        ends = [False, True] if dtype.kind == "b" else [-np.inf, np.inf, 3]
    data = every(ends, 4, code)
    expected = [numpys(name, row) for row in data]
    for order in itertools.permutations(range(4)):
        np.testing.assert_array_equal(in_order(twin(name, code), data, order), expected)


@pytest.mark.parametrize("code", ["f2", "f4", "f8", "i1", "i4"])
def test_logsumexp_is_numpys_logaddexp(code: str) -> None:
    dtype = np.dtype(code)
    numbers = np.random.default_rng(3)
    top = 100 if dtype.kind == "i" or dtype.itemsize == 2 else 5000
    for count in (1, 2, 9, 40):
        data = numbers.uniform(-top, top, count).astype(dtype)
        reduction = twin("logsumexp", code)
        assert_close(reduction.reduce(data), numpys("logsumexp", data))
        at_once = reduction.absorb(reduction.identity(), [data[k : k + 1] for k in range(count)])
        assert_close(reduction.finish(at_once), numpys("logsumexp", data))


@pytest.mark.parametrize(("code", "fp64"), [("f2", True), ("f2", False), ("f4", True), ("f4", False), ("f8", True)])
def test_logsumexp_of_infinities_nan_and_the_ends_of_the_dtype(code: str, fp64: bool) -> None:
    low, high = float(np.finfo(code).min), float(np.finfo(code).max)
    reduction, data = twin("logsumexp", code, fp64=fp64), every([*SPECIAL, low, high], 3, code)
    expected = np.array([numpys("logsumexp", row) for row in data])
    at_once = reduction.results(reduction.absorb(reduction.identity(len(data)), [data[:, k] for k in range(3)]))
    for result in (at_once, in_order(reduction, data, (0, 1, 2)), in_order(reduction, data, (2, 0, 1))):
        with np.errstate(over="ignore"):
            assert_close(result, expected)


def test_logsumexp_ignores_where_the_largest_stands() -> None:
    data = np.array([-1000.0, 0.0, 1000.0, 999.5, -np.inf], np.float64)
    for order in itertools.permutations(range(5)):
        assert_close(twin("logsumexp", "f8").reduce(data[list(order)]), numpys("logsumexp", data), 4)


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=20), st.randoms())
@settings(deadline=None)
def test_any_tree_of_merges_gives_the_same(values: list[float], rnd: Any) -> None:
    data = np.array(values, np.float32)
    for name in ("sum", "minimum", "argmax", "logsumexp"):
        reduction = twin(name, "f4")
        parts = [np.array([single], reduction.bound.layout) for single in reduction.singles(data)]
        while len(parts) > 1:
            k = rnd.randrange(len(parts) - 1)
            parts[k : k + 2] = [reduction.merge(parts[k], parts[k + 1])]
        if name == "sum":
            np.testing.assert_allclose(
                reduction.finish(parts[0]), numpys(name, data), rtol=1e-6, atol=1e-6 * np.abs(data).max()
            )
        else:
            assert_close(reduction.finish(parts[0]), numpys(name, data))


@pytest.mark.parametrize("name", ["var", "std"])
def test_spreads_of_a_value_that_is_merged_with_nothing(name: str) -> None:
    """As for segments of one value: 0, and NaN where the value is infinite or NaN."""
    operator = NAMED[name].bind(np.dtype("f4"), "auto", True)
    assert isinstance(operator, OneByOne)
    value = Symbol("value", operator.value)
    result = operator.finish(operator.single(value, Symbol("at", np.dtype("i8"))))
    assert isinstance(result, Node)
    with np.errstate(invalid="ignore"):
        spreads = evaluate(result, {value: np.array([3, np.inf, -np.inf, np.nan], "f4")})
    np.testing.assert_array_equal(spreads, [0, np.nan, np.nan, np.nan])
