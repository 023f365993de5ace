"""The NumPy twin of a formula."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from clmapreduce.errors import FormulaError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.functions import apply, as_node, cast
from clmapreduce.formula.node import Literal, Node, Symbol, index

X, N = Symbol("x", np.dtype("f4")), Symbol("n", np.dtype("u1"))
DATA = np.array([0.5, -2, 3], np.float32)


def test_values_broadcast_and_keep_the_nodes_dtype() -> None:
    result = evaluate(X * N + 1, {X: DATA[:, None], N: np.array([1, 2], np.uint8)})
    np.testing.assert_array_equal(result, (DATA[:, None] * [1, 2] + 1).astype(np.float32), strict=True)
    assert evaluate(X + 1, {X: np.float32(2)}) == np.float32(3)
    assert evaluate(X < 1, {X: DATA}).dtype == np.bool_
    assert evaluate(index * 2, {index: np.arange(3)}).tolist() == [0, 2, 4]


def test_integers_wrap_in_their_own_dtype() -> None:
    data = np.array([200, 255], np.uint8)
    assert evaluate(N + 100, {N: data}).tolist() == [44, 99]
    assert evaluate(-N, {N: data}).tolist() == [56, 1]
    assert evaluate(cast(N, np.dtype("i1")), {N: data}).tolist() == [-56, -1]


def test_constants_take_their_nodes_dtype() -> None:
    half = evaluate(Literal(0.1, np.dtype("f2")), {})
    assert (half.dtype, half) == (np.float16, np.float16(0.1))
    assert evaluate(as_node(2**64 - 1, np.dtype("u8")), {}) == np.uint64(2**64 - 1)
    assert evaluate(Literal(True, np.dtype("f4")), {}) == np.float32(1)


def test_what_overflows_or_is_undefined_does_not_warn() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert evaluate(Literal(70000, np.dtype("f2")), {}) == np.inf
        assert np.isnan(evaluate(apply("log", X), {X: np.float32(-1)}))
        assert evaluate(X / 0, {X: np.float32(1)}) == np.inf
        assert evaluate(N // 0, {N: np.array([7], np.uint8)}).tolist() == [0]
        evaluate(cast(X, np.dtype("i4")), {X: np.array([np.nan, np.inf], np.float32)})


def test_a_missing_value_is_named() -> None:
    with pytest.raises(FormulaError, match="no value given for 'x'"):
        evaluate(X + 1, {})
    with pytest.raises(FormulaError, match="no value given for 'the index'"):
        evaluate(index + 1, {})


def test_shared_parts_are_computed_once_also_across_calls() -> None:
    node: Node = X
    for _ in range(60):
        node = node + node  # 2^60 paths, 60 values
    memo: dict[int, object] = {}
    assert evaluate(node, {X: np.float64(1)}, memo) == np.float32(2.0**60)
    memo[id(node)] = "kept"
    assert evaluate(node, {}, memo) == "kept"


def test_deep_formulas_need_no_deep_stack() -> None:
    node: Node = X
    for _ in range(10_000):
        node = apply("maximum", node, X) + 0.0
    np.testing.assert_array_equal(evaluate(node, {X: DATA}), DATA)
