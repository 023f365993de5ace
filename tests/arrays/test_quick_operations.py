"""Repeated operations on arrays: the short way gives what the long way gives, and raises what it raises."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.arrays import elementwise

OPERATORS = (operator.add, operator.sub, operator.mul, operator.truediv, operator.lt, operator.eq, operator.pow)
DTYPES = ("float32", "float64", "int32", "uint8", "float16")


def same(result: Any, expected: Any) -> None:
    assert result.dtype == expected.dtype
    np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-6 if expected.dtype != "f2" else 2e-3)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", OPERATORS)
def test_arrays_and_numbers(function: Any, dtype: str, context: cm.Context, rng: np.random.Generator) -> None:
    """Numbers differ from call to call, in value and in type."""
    for _ in range(4):
        x, y = (rng.integers(1, 4, 200).astype(dtype) for _ in range(2))
        a, b = cm.array(x, context), cm.array(y, context)
        same(function(a, b), function(x, y))
        same(function(a, a), function(x, x))
        for number in (int(rng.integers(1, 4)), float(rng.uniform(0.5, 2)), np.float32(1.5), True):
            with np.errstate(all="ignore"):
                expected = function(x, number)
                same(function(a, number), expected)
            if function is not operator.pow:
                same(function(number, a), function(number, x))


def test_the_short_way_is_taken(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    x = cm.array(np.arange(50, dtype=np.float32), cm.Context(context.device))
    for _ in range(3):
        x + x, x + 1.5, x + 2, np.exp(x), x**2

    def long_way(*_: Any, **__: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr(elementwise, "dtypes_of", long_way)
    same(x + x, 2 * np.arange(50, dtype=np.float32))
    same(x + 2.5, np.arange(50, dtype=np.float32) + 2.5)
    same(x + 7, np.arange(50, dtype=np.float32) + 7)
    same(np.exp(x), np.exp(np.arange(50, dtype=np.float32)))
    same(x**2, np.arange(50, dtype=np.float32) ** 2)


def test_integers_that_a_dtype_does_not_hold(context: cm.Context) -> None:
    x = cm.array(np.arange(50, dtype=np.uint8), context)
    for _ in range(3):
        same(x + 200, np.arange(50, dtype=np.uint8) + np.uint8(200))
        assert (x < 20).to_numpy().sum() == 20
    for _ in range(2):
        with pytest.raises(cm.DTypeError):
            x + 300
        with pytest.raises(cm.DTypeError):
            x + -1
        assert (x < 300).to_numpy().all() and not (x < -1).to_numpy().any() and (x > -1).to_numpy().all()


def test_in_place(context: cm.Context) -> None:
    x = cm.array(np.arange(50, dtype=np.float32), context)
    for k in range(1, 5):
        x += x
        same(x, 2.0**k * np.arange(50, dtype=np.float32))
    x *= 0.5
    same(x, 8 * np.arange(50, dtype=np.float32))


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("name", ["sum", "max", "argmax", "mean", "std", "any"])
def test_methods(name: str, axis: Any, context: cm.Context, rng: np.random.Generator) -> None:
    if name == "argmax" and isinstance(axis, tuple):
        return
    for keepdims in (False, True, False, True):
        x = rng.random((7, 9), np.float32)
        there = cm.array(x, context)
        same(getattr(there, name)(axis=axis, keepdims=keepdims), getattr(x, name)(axis=axis, keepdims=keepdims))
        same(getattr(there[2:], name)(axis=axis), getattr(x[2:], name)(axis=axis))
        same(getattr(there.T, name)(axis=axis), getattr(x.T, name)(axis=axis))
    with pytest.raises(cm.ClMapReduceError):
        getattr(there, name)(axis=2)


def test_corrections_and_dtypes(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.random(100, np.float32)
    there = cm.array(x, context)
    for _ in range(3):
        same(there.std(ddof=1), x.std(ddof=1))
        same(there.std(), x.std())
        same(there.sum(dtype="float64"), x.sum(dtype="float64"))
        same(there.sum(), x.sum())
