"""Places of extrema in rows: compared in vectors, on CPUs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

CODES = ["f4", "f8", "f2", "i4", "i8", "u1", "i2", "?"]
LENGTHS = [127, 128, 129, 160, 333, 1024, 5003]


def places(name: str, x: Any, context: cm.Context, mode: str, **more: Any) -> Any:
    return np.asarray(cm.Reduce(name)(cm.array(x, context=context), axis=-1, mode=mode, **more))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", ["argmin", "argmax"])
def test_the_first_place_counts(name: str, code: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Few different numbers, so that most are equal to others; and many."""
    if code == "f8" and not context.facts.fp64:
        pytest.skip("the device has no float64")
    for length in rng.choice(LENGTHS, 3, replace=False):
        for most in (2, 100):
            x = rng.integers(0, most, (int(rng.integers(40, 70)), length)).astype(code)
            np.testing.assert_array_equal(places(name, x, context, mode), getattr(np, name)(x, axis=-1))


@pytest.mark.parametrize("length", [128, 333])
def test_the_first_nan_of_a_row_counts(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(60, length)).astype(np.float32)
    x[rng.integers(60, size=40), rng.integers(length, size=40)] = np.nan
    x[7], x[8], x[9] = np.nan, np.inf, -np.inf
    for name in ("argmin", "argmax"):
        np.testing.assert_array_equal(places(name, x, context, mode), getattr(np, name)(x, axis=-1))


def test_places_of_a_cube_and_of_a_callers_array(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=(5, 9, 200)).astype(np.float32)
    np.testing.assert_array_equal(places("argmax", x, context, mode), x.argmax(axis=-1))
    kept = places("argmin", x, context, mode, keepdims=True)
    np.testing.assert_array_equal(kept, x.argmin(axis=-1, keepdims=True))
    out = np.full((5, 9), -1, np.int64)
    assert cm.Reduce("argmax")(x, axis=2, out=out, context=context, mode=mode) is out
    np.testing.assert_array_equal(out, x.argmax(axis=2))


def test_parts_of_an_array(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=50 * 150 + 3).astype(np.float32)
    part = cm.array(x, context=context)[3:].reshape(50, 150)
    result = np.asarray(cm.Reduce("argmax")(part, axis=1, mode=mode))
    np.testing.assert_array_equal(result, x[3:].reshape(50, 150).argmax(axis=1))
