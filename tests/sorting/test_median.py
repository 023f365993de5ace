"""segmented_median beside NumPy's median of each segment."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm

pytestmark = pytest.mark.drawn


def medians(x: np.ndarray, offsets: np.ndarray, dtype: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.array([np.median(x[a:b]) for a, b in itertools.pairwise(offsets)], dtype)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "u1", "i8", "?"])
def test_medians_are_numpys(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (0, 1, 2, 31, 33, 1000, 20_011):
        x = rng.integers(0, 2 if dtype == "?" else 100, length).astype(dtype)
        if dtype[0] == "f" and length:
            x = np.where(rng.random(length) < 0.01, np.nan, x * rng.choice([-0.5, 1], length)).astype(dtype)
            x[rng.integers(0, length, 2)] = np.inf
        inner = np.sort(rng.integers(0, length + 1, rng.integers(0, 2 + length // int(rng.choice([1, 20])))))
        offsets = np.concatenate([[0], inner, [length]])
        expected = medians(x, offsets, dtype if dtype[0] == "f" else "f8")
        for v, o in itertools.product((x, cm.array(x, context)), (offsets, cm.array(offsets, context))):
            result = cm.segmented_median(v, o, context=context, mode=mode)
            assert isinstance(result, cm.DeviceArray) == (isinstance(v, cm.DeviceArray) or isinstance(o, cm.DeviceArray))
            assert_same(np.asarray(result), expected, length)


def test_no_segments_have_no_medians(context: cm.Context) -> None:
    assert_same(cm.segmented_median(np.zeros(0, "f4"), [0], context=context), np.zeros(0, "f4"))
    assert_same(cm.segmented_median(np.zeros(0), [0, 0, 0], context=context), np.full(2, np.nan))


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda c: cm.segmented_median(np.ones(5), [0, 3], context=c), cm.ShapeError, r"offsets\[1\] is 3"),
        (lambda c: cm.segmented_median(np.ones((5, 2)), [0, 5], context=c), cm.ShapeError, "one dimension"),
        (lambda c: cm.segmented_median(np.ones(5, "c8"), [0, 5], context=c), cm.DTypeError, "not sorted"),
    ],
)
def test_wrong_input(call: Any, error: type[Exception], words: str, context: cm.Context) -> None:
    with pytest.raises(error, match=words):
        call(context)
