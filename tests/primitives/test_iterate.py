"""Unfold of a function: of one argument its iterates, the same bits as NumPy's; of two an associative operator."""

from __future__ import annotations

import pickle
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from support.oracles import PRIME, assert_same, into_poison

import clmapreduce as cm

pytestmark = pytest.mark.drawn


def logistic(a: Any) -> Any:
    return 3.75 * a * (1 - a)


def iterates(function: Any, start: Any, length: int) -> np.ndarray:
    start = np.asarray(start)
    rows = np.empty((length, *start.shape), start.dtype)
    for k in range(length):
        rows[k] = start
        start = function(start).astype(start.dtype)
    return rows


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (2,), (31,), (33,), (5, 7), (1025,)])
def test_a_chaotic_function(
    dtype: str, shape: tuple[int, ...], context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Behind fifty steps a single rounding more or less would have changed every digit."""
    starts = np.asarray(rng.uniform(0.1, 0.9, shape), dtype)
    for length in (0, 1, 2, 33, 200):
        result = into_poison(
            lambda out, n=length: cm.Unfold(logistic)(starts, n, context=context, mode=mode, out=out),
            (length, *shape), dtype,
        )  # fmt: skip
        assert_same(result, iterates(logistic, starts, length), (shape, length))


def test_one_long_iteration_and_many_short_ones(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    start = rng.uniform(0.1, 0.9)
    assert_same(cm.Unfold(logistic)(start, PRIME, context=context, mode=mode), iterates(logistic, start, PRIME))
    starts = rng.uniform(0.1, 0.9, PRIME).astype("f4")
    assert_same(cm.Unfold(logistic)(starts, 5, context=context, mode=mode), iterates(logistic, starts, 5))
    strict = cm.Unfold(logistic)(starts[:100], 9, context=context, mode="sequential", tiles=1)
    assert_same(strict, iterates(logistic, starts[:100], 9))


def test_values_of_every_kind(context: cm.Context, mode: str) -> None:
    def call(function: Any, *values: Any, **how: Any) -> Any:
        return cm.Unfold(function)(*values, context=context, mode=mode, **how)

    collatz = call(lambda n: cm.where(n % 2 == 0, n // 2, 3 * n + 1), np.array([6, 27]), 9)
    assert collatz[:, 0].tolist() == [6, 3, 10, 5, 16, 8, 4, 2, 1] and collatz.dtype == np.int64
    z = call(lambda z: z * z - 1, np.complex128(0.5j), 4)
    np.testing.assert_allclose(z, iterates(lambda z: z * z - 1, np.complex128(0.5j), 4), rtol=1e-15)
    assert call(lambda a: a * (cm.index + 1), 1, 8).tolist() == [1, 1, 2, 6, 24, 120, 720, 5040]
    records = np.array([(1, 2.5), (7, -1.0)], [("n", "i4"), ("x", "f8")])
    rows = call(lambda r: {"n": r["n"] + 1, "x": r["x"] * 0.5}, records, 3)
    assert rows["n"].tolist() == [[1, 7], [2, 8], [3, 9]] and rows["x"].tolist() == [[2.5, -1], [1.25, -0.5], [0.625, -0.25]]
    pair = call(lambda r: {"x": r["y"], "y": r["x"] + r["y"]}, np.array((0, 1), [("x", "u8"), ("y", "u8")]), 12)
    assert pair["x"].tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89]
    root = call(lambda a: (a + 2 / a) / 2, "1.5", 7, dtype=cm.dd)
    assert abs(cm.exact(root, Decimal, digits=32)[-1] - Decimal(2).sqrt()) < Decimal("1e-27")
    flags = call(lambda b: ~b, np.array([True, False]), 3)
    assert flags.tolist() == [[True, False], [False, True], [True, False]]


def test_starts_on_the_device(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    starts = rng.uniform(0.1, 0.9, (3, 11))
    result = cm.Unfold(logistic)(cm.array(starts, context), 20, mode=mode)
    assert isinstance(result, cm.DeviceArray)
    assert_same(result.to_numpy(), iterates(logistic, starts, 20))
    number = cm.Unfold(logistic)(cm.array(np.float64(0.25), context), 20, mode=mode)
    assert_same(number.to_numpy(), iterates(logistic, 0.25, 20))


def test_what_runs_is_explained(context: cm.Context, mode: str) -> None:
    text = cm.Unfold(logistic).explain(0.5, 10, context=context, mode=mode)
    assert text.startswith("Unfold(logistic)\n") and f"mode {mode}" in text
    assert "iterated in order, one item a start" in text and "starts side by side" not in text
    assert "starts side by side" in cm.Unfold(logistic).explain(np.ones(9), 10, context=context, mode=mode)
    text = cm.Unfold(lambda a, b: a + b).explain(0.5, 10, context=context, mode=mode)
    assert "by doubling" in text


def test_functions_of_two_values_are_operators(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (0, 1, 2, 33, 1025):
        result = cm.Unfold(lambda a, b: a * b)(np.uint64(3), length, context=context, mode=mode)
        assert_same(result, np.array([pow(3, k + 1, 2**64) for k in range(length)], np.uint64))
    step = np.array((1, 1, 1, 0), [(name, "u8") for name in "abcd"])

    def product(x: Any, y: Any) -> dict[str, Any]:
        return {
            "a": x["a"] * y["a"] + x["b"] * y["c"], "b": x["a"] * y["b"] + x["b"] * y["d"],
            "c": x["c"] * y["a"] + x["d"] * y["c"], "d": x["c"] * y["b"] + x["d"] * y["d"],
        }  # fmt: skip

    powers = cm.Unfold(product)(step[()], 500, context=context, mode=mode)
    before, now = 0, 1
    for k in range(500):
        assert int(powers["b"][k]) == now % 2**64
        before, now = now, before + now


def test_wrong_functions(context: cm.Context) -> None:
    hint = "cm.Unfold\\(lambda a: ...\\)"
    cases: list[tuple[type[Exception], str, Any]] = [
        (cm.FormulaError, f"not associative.*{hint}", lambda: cm.Unfold(lambda a, b: a - b)(1.0, 4, context=context)),
        (cm.FormulaError, f"not associative.*{hint}",
         lambda: cm.Unfold(cm.Operator(lambda a, b: a + b + a * a * b * b, 0))(1.0, 4, context=context)),
        (cm.FormulaError, "one value, or of two", lambda: cm.Unfold(lambda a, b, c: a)),
        (cm.ModeError, "unknown", lambda: cm.Unfold(3)),
        (cm.DTypeError, "dtype='float64'", lambda: cm.Unfold(logistic)(1, 4, context=context)),
        (cm.DTypeError, "must give", lambda: cm.Unfold(lambda a: {"x": a})(1.0, 4, context=context)),
        (cm.DTypeError, "without loss", lambda: cm.Unfold(logistic)([0.5, 0.25], 4, dtype="i4", context=context)),
        (cm.DTypeError, "astype", lambda: cm.Unfold(logistic)(cm.array(np.ones(3), context), 4, dtype="f4")),
        (cm.DTypeError, "float32", lambda: cm.Unfold(lambda a: a + np.float64(1))(1j, 4, dtype="f4", context=context)),
        (cm.ShapeError, "whole number", lambda: cm.Unfold(logistic)(0.5, 2.5, context=context)),
        (cm.ModeError, "takes", lambda: cm.Unfold(logistic)(0.5, context=context)),
        (cm.ModeError, "no step", lambda: (cm.Unfold(logistic) >> cm.Reduce("sum"))(0.5, 4, context=context)),
        (cm.ShapeError, "out has shape", lambda: cm.Unfold(logistic)(0.5, 4, out=np.ones(3), context=context)),
    ]  # fmt: skip
    for error, text, call in cases:
        with pytest.raises(error, match=text):
            call()


def test_pickles(context: cm.Context) -> None:
    again = pickle.loads(pickle.dumps(cm.Unfold(logistic)))
    assert_same(again(0.25, 9, context=context), iterates(logistic, 0.25, 9))
