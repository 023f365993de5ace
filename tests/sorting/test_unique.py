"""unique beside NumPy's, with all that it may tell."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from support.oracles import PLAIN, assert_same

import clmapreduce as cm

pytestmark = pytest.mark.drawn

DTYPES = [dtype for dtype in (*PLAIN, np.dtype("f2")) if dtype.kind != "c"]


def few_values(rng: np.random.Generator, dtype: np.dtype, shape: Any) -> np.ndarray:
    """Values of which many are equal; of floats NaN of both signs among them."""
    if dtype.kind == "f":
        return rng.choice([1.5, -2.0, 0.0, np.nan, -np.nan, np.inf, 1e-7], shape).astype(dtype)
    return rng.integers(0, 2 if dtype.kind == "b" else 9, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_all_that_is_told_is_numpys(dtype: np.dtype, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for shape in ((0,), (1,), (2,), (31,), (33,), (3, 40), (), (10_007,)):
        x = few_values(rng, dtype, shape)
        for nan in (True, False):
            if dtype.kind == "f" and not nan:
                x = np.nan_to_num(x, nan=2)  # NumPy leaves open which one of several NaN comes first
            options = dict(zip(("return_index", "return_inverse", "return_counts"), rng.integers(0, 2, 3).astype(bool).tolist(), strict=True))
            expected = np.unique(x, equal_nan=nan, **options)
            expected = expected if isinstance(expected, tuple) else (expected,)
            for array in (x, cm.array(x, context)):
                results = cm.unique(array, equal_nan=nan, context=context, mode=mode, **options)
                results = results if isinstance(results, tuple) else (results,)
                assert all(isinstance(r, cm.DeviceArray) == isinstance(array, cm.DeviceArray) for r in results)
                for result, right in zip(results, expected, strict=True):
                    assert_same(np.asarray(result), np.asarray(right, x.dtype if right is expected[0] else np.int64), (shape, nan, options))


def test_values_are_rebuilt_from_what_is_told(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(0, 1000, (97, 33))
    values, index, inverse, counts = cm.unique(x, return_index=True, return_inverse=True, return_counts=True, context=context)
    assert_same(values[inverse], x)
    assert_same(x.reshape(-1)[index], values)
    assert counts.sum() == x.size


def test_numpys_and_the_standards_names(context: cm.Context, rng: np.random.Generator) -> None:
    x = np.append(rng.integers(0, 9, 700).astype("f4"), np.float32(np.nan))
    d = cm.array(x, context)
    assert_same(cm.unique(np.full(3, np.nan), equal_nan=False, context=context), np.full(3, np.nan))
    assert_same(np.unique(d).to_numpy(), np.unique(x))
    for ours, numpys in zip(np.unique(d, return_counts=True), np.unique(x, return_counts=True), strict=True):
        assert_same(ours.to_numpy(), numpys)
    names = d.__array_namespace__()
    assert_same(names.unique_values(d).to_numpy(), np.unique(x, equal_nan=False))
    for name, numpys in (("unique_counts", np.unique_counts), ("unique_inverse", np.unique_inverse), ("unique_all", np.unique_all)):
        for ours, theirs in itertools.zip_longest(getattr(names, name)(d), numpys(x)):
            assert_same(ours.to_numpy(), theirs, name)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: cm.unique(np.ones(3, "c8"), context=c), cm.DTypeError, "complex64"),
        (lambda c: cm.unique(np.ones(3), return_counts=1, context=c), cm.ArgumentError, "return_counts"),
        (lambda c: cm.unique(np.ones(3), equal_nan="yes", context=c), cm.ArgumentError, "equal_nan"),
        (lambda c: np.unique(cm.array(np.ones(3), c), axis=0), cm.ArgumentError, "axis"),
    ],
)
def test_wrong_input(call: Any, error: type[Exception], words: str, context: cm.Context) -> None:
    with pytest.raises(error, match=words):
        call(context)
