"""Traced vectors as a whole: NumPy's methods, functions and lengths inside cm.fuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import PRIME, assert_near, assert_same

import clmapreduce as cm

pytestmark = pytest.mark.drawn

SIZES = (1, 2, 31, 33, PRIME)


@cm.fuse
def standardised(x: Any) -> Any:
    return (x - x.mean()) / x.std()


def test_standard_scores_are_numpys(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (2, 31, 33, PRIME):
        x = rng.normal(3, 2, length).astype("f4")
        wide = x.astype("f8")
        expected = (wide - wide.mean()) / wide.std()
        result = standardised(x, context=context, mode=mode)
        assert result.dtype == np.float32
        assert_near(result, expected, 4e-7 * (np.abs(expected) + (np.abs(wide) + abs(wide.mean())) / wide.std()))
    rows = rng.normal(size=(7, 33))
    expected = (rows - rows.mean(1, keepdims=True)) / rows.std(1, keepdims=True)
    assert_near(standardised(rows, batch=True, context=context, mode=mode), expected, 1e-12 * (1 + np.abs(expected)))


def test_every_method_is_the_operator_of_its_name(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    names = ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "cumsum", "cumprod")
    methods = cm.fuse(lambda x: tuple(getattr(x, name)() for name in names))
    functions = cm.fuse(lambda x: tuple(getattr(np, name)(x) for name in names))
    for length in SIZES:
        x = rng.integers(-3, 4, length).astype("i4")
        for function in (methods, functions):
            for name, result in zip(names, function(x, context=context, mode=mode), strict=True):
                expected = np.asarray(getattr(np, name)(x))
                wide = "i8" if name in ("sum", "prod", "cumsum", "cumprod", "argmin", "argmax") else expected.dtype
                assert_same(result, expected.astype(wide), name)


def test_means_and_spreads_by_numpys_functions(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    function = cm.fuse(lambda x: (np.mean(x), np.var(x), np.std(x), x.sum(dtype="f8", axis=0)))
    for length in SIZES:
        x = rng.normal(size=length)
        for result, expected in zip(function(x, context=context, mode=mode), (x.mean(), x.var(), x.std(), x.sum()), strict=True):
            assert_near(result, expected, 1e-12 * (1 + abs(expected) + np.abs(x).sum() / 100))


def test_lengths_are_plain_integers_of_each_call(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    lengths = []

    @cm.fuse
    def share(x: Any, y: Any) -> Any:
        lengths.append((x.shape, len(x), x.size, x.ndim, x.dtype, y.shape, y.ndim, y.size, x.max().shape))
        return x / len(x) + y, x.sum() / x.size

    for length in (*SIZES, 33):
        x = rng.integers(-1000, 1000, length).astype("f4")
        each, mean = share(x, 2.0, context=context, mode=mode)
        assert_near(each, x.astype("f8") / length + 2, 3e-7 * (np.abs(x) / length + 4))
        assert_near(mean, x.astype("f8").mean(), 1e-6 * np.abs(x).max())
        if length > 1:
            assert ((length,), length, length, 1, np.dtype("f4"), (), 0, 1, ()) in lengths
    traced = len(lengths)
    share(rng.normal(size=33).astype("f4"), 2.0, context=context, mode=mode)
    assert len(lengths) == traced, "a length that was met before is not traced again"
    rows = rng.integers(-9, 9, (5, 31)).astype("f4")
    assert_near(share(rows, 0.0, batch=True, context=context, mode=mode)[1], rows.mean(1, dtype="f8"), 1e-5)


@pytest.mark.parametrize("asks", [len, np.shape, np.ndim, lambda x: x.mean(axis=0), lambda x: x.sum(axis=-1)])
def test_several_axes_are_not_taken_for_one(asks: Any, context: cm.Context, rng: np.random.Generator) -> None:
    def function(x: Any) -> Any:
        asks(x)
        return (x - x.mean()) / x.size

    table = rng.normal(size=(4, 5))
    with pytest.raises(cm.ShapeError, match=r"shape \(4, 5\); pass batch=True"):
        cm.fuse(function)(table, context=context)
    rows = cm.fuse(function)(table, batch=True, context=context)
    assert_near(rows, (table - table.mean(1, keepdims=True)) / 5, 1e-14 * (1 + np.abs(table)))
    whole = cm.fuse(lambda x: (x - x.mean()) / x.size)(table, context=context)
    assert_near(whole, (table - table.mean()) / 20, 1e-14 * (1 + np.abs(table)))


def test_functions_that_ask_for_no_length_are_traced_once(context: cm.Context) -> None:
    calls = []

    @cm.fuse
    def centred(x: Any) -> Any:
        calls.append(x)
        return x - x.mean()

    for length in (2, 31, 33):
        centred(np.ones(length), context=context)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x if x.mean() > 0 else -x, r"cm\.where\(condition, a, b\)"),
        (lambda x: x.sum(axis=1), "axis is 1; a traced vector has one axis"),
        (lambda x: x.std(ddof=1), "takes no ddof=1"),
        (lambda x: np.sum(x, initial=3), "takes no initial=3; cm.Reduce takes"),
        (lambda x: x * len(x.mean()), r"one number for the line"),
        (lambda x: x[0], "no field or element"),
        (lambda x: x.T, "traced value has no T; it has operators"),
        (lambda x: x.sort(), "has no sort; .* functions are those of cm.math"),
    ],
)
def test_what_is_not_offered_says_so(function: Any, words: str, context: cm.Context) -> None:
    with pytest.raises(cm.FormulaError, match=words):
        cm.fuse(function)(np.ones(3), context=context)
    with pytest.raises(cm.FormulaError, match=r"cm\.fuse"):
        cm.Map(lambda x: x - x.mean())(np.ones(3), context=context)


def test_attributes_that_others_lack_stay_pythons_error(context: cm.Context) -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        cm.fuse(lambda x: x * np.no_such_name)(np.ones(3), context=context)
