"""reduce_by_key of keys in any order: sorted first, texts and dates by number; beside loops over NumPy's unique keys."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.oracles import PRIME, assert_near, assert_same

import clmapreduce as cm

pytestmark = pytest.mark.drawn


def grouped(keys: np.ndarray, values: np.ndarray, function: Any) -> tuple[np.ndarray, list[Any]]:
    """The distinct keys in order, and a function of the values of each."""
    names, numbers = np.unique(keys, return_inverse=True)
    return names, [function(values[numbers == k]) for k in range(len(names))]


@pytest.mark.parametrize("dtype", ["i4", "u1", "i8", "f4", "f8", "?"])
def test_every_key_has_one_run(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (0, 1, 2, 31, 33, 5003):
        keys = rng.integers(0, 2 if dtype == "?" else 20, length).astype(dtype)
        if dtype[0] == "f":
            keys = rng.choice([0.0, -0.0, 1.5, np.nan, -np.nan, -np.inf], length).astype(dtype)
        x = rng.integers(-99, 99, length)
        for name, function in (("sum", np.sum), ("maximum", np.max), ("mean", np.mean)):
            names, expected = grouped(keys, x, function)
            for k, v in itertools.product((keys, cm.array(keys, context)), (x, cm.array(x, context))):
                each, reduced = cm.reduce_by_key(k, v, name, sort=True, context=context, mode=mode)
                assert_same(np.asarray(each), names, (length, name))
                assert np.allclose(np.asarray(reduced), expected, rtol=1e-12, atol=0), (length, name)


def test_values_of_several_arrays_and_columns_go_along(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    keys, w, x = rng.integers(0, 7, 4001), rng.integers(0, 9, 4001).astype("f8"), rng.integers(-9, 9, (4001, 3)).astype("f8")
    names, expected = grouped(keys, x * w[:, None], lambda v: v.sum(0))
    each, reduced = cm.reduce_by_key(keys, (w[:, None] * np.ones(3), x), map=lambda a, b: a * b, sort=True, context=context, mode=mode)
    assert_same(each, names)
    assert_same(reduced, np.array(expected))
    first = cm.Operator(lambda a, b: cm.where(a >= 0, a, b), -1, commutative=False, check=False)
    order = cm.reduce_by_key(keys, np.arange(4001), first, sort=True, context=context, mode=mode)[1]
    assert_same(order, np.unique(keys, return_index=True)[1], "the order is stable")


def test_long_lines(context: cm.Context, rng: np.random.Generator) -> None:
    keys, x = rng.integers(-500, 500, PRIME).astype("i2"), rng.random(PRIME).astype("f4")
    names, numbers = np.unique(keys, return_inverse=True)
    each, reduced = cm.reduce_by_key(keys, x, sort=True, context=context)
    assert_same(each, names)
    assert_near(reduced, np.bincount(numbers, x), 1e-5 * np.bincount(numbers, x))
    device = cm.reduce_by_key(cm.array(keys, context), cm.array(x, context), sort=True)[1]
    assert_near(device.to_numpy(), np.bincount(numbers, x), 1e-5 * np.bincount(numbers, x))
    padded, totals, count = cm.reduce_by_key(keys, x, sort=True, count="device", context=context)
    assert_same(padded[: int(count)], names)
    assert_near(totals[: int(count)], np.bincount(numbers, x), 1e-5 * np.bincount(numbers, x))


@pytest.mark.parametrize("kind", ["U", "S", "O", "M", "m", "list"])
def test_texts_and_dates_are_numbered(kind: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    words = {
        "U": np.array(["pear", "apple", "fig", ""]), "S": np.array([b"x", b"yy"]), "O": np.array(["b", "a"], object),
        "M": np.array(["2026-11-26", "NaT", "1999-01-01"], "M8[D]"), "m": np.array([5, -3], "m8[s]"), "list": np.array(["u", "v"]),
    }[kind]  # fmt: skip
    keys, x = words[rng.integers(0, len(words), 3001)], rng.integers(0, 99, 3001)
    names, expected = grouped(keys, x, np.sum)
    for values in (x, cm.array(x, context)):
        each, reduced = cm.reduce_by_key(keys.tolist() if kind == "list" else keys, values, sort=True, context=context, mode=mode)
        assert each.dtype == keys.dtype
        np.testing.assert_array_equal(each, names)
        assert_same(np.asarray(reduced), np.array(expected))
    runs = cm.reduce_by_key(np.repeat(keys[:3], 2), x[:6], context=context, mode=mode)[0]
    assert len(runs) == 1 + np.count_nonzero(np.unique(keys[:3], return_inverse=True)[1][1:] != np.unique(keys[:3], return_inverse=True)[1][:-1])


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: cm.reduce_by_key(np.ones(3, "c8"), np.ones(3), sort=True, context=c), cm.DTypeError, "complex64, which is not sorted"),
        (lambda c: cm.reduce_by_key(np.zeros(3, [("a", "i4")]), np.ones(3), sort=True, context=c), cm.DTypeError, "not sorted"),
        (lambda c: cm.reduce_by_key(np.ones((3, 1)), np.ones(3), sort=True, context=c), cm.ShapeError, "one dimension"),
        (lambda c: cm.reduce_by_key(np.ones(3), np.ones(4), sort=True, context=c), cm.ShapeError, "they must agree"),
        (lambda c: cm.reduce_by_key(np.ones(3), np.ones(3), sort=1, context=c), cm.ArgumentError, "sort is 1"),
        (lambda c: cm.reduce_by_key(["a", "b"], np.ones(2), count="device", context=c), cm.ModeError, "stay on the host"),
        (lambda c: cm.reduce_by_key(np.array([1, "a", None], object), np.ones(3), context=c), cm.DTypeError, "not ordered"),
    ],
)
def test_wrong_input(call: Any, error: type[Exception], words: str, context: cm.Context) -> None:
    with pytest.raises(error, match=words):
        call(context)
