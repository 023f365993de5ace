"""float16 without float16: every number as it is read, and the nearest one, the even one of two, as it is stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

ALL = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def same_numbers(actual: Any, expected: Any) -> None:
    """Asserts equal bits, NaN of any kind where NaN is expected."""
    assert actual.dtype == expected.dtype
    word, nan = np.dtype(f"u{expected.itemsize}"), np.isnan(expected)
    np.testing.assert_array_equal(actual.view(word)[~nan], expected.view(word)[~nan])
    assert np.isnan(actual[nan]).all()


def middles() -> np.ndarray:
    """Numbers halfway between two neighbours, and those just beside them, beyond the largest one too."""
    finite = np.unique(ALL[np.isfinite(ALL)].astype(np.float64))
    ties = np.concatenate([(finite[1:] + finite[:-1]) / 2, [65520, -65520, 2.0**-25, -(2.0**-25)]])
    return np.concatenate([ties, np.nextafter(ties, np.inf), np.nextafter(ties, -np.inf)])


def test_every_number_is_read(poor: cm.Context, mode: str) -> None:
    same_numbers(cm.Map(lambda a: a.astype("f4"))(ALL, context=poor, mode=mode), ALL.astype(np.float32))


def test_what_only_moves_keeps_every_bit(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Copies, choices, lookups, tables, sorted places: also the payload of a NaN."""
    keep, places = rng.random(len(ALL)) < 0.5, rng.permutation(len(ALL)).astype(np.int32)
    other = rng.permutation(ALL)
    chosen = cm.Map(lambda k, a, b: (cm.where(k, a, b), a))(keep, ALL, other, context=poor, mode=mode)
    for result, expected in zip(chosen, (np.where(keep, ALL, other), ALL), strict=True):
        np.testing.assert_array_equal(result.view("u2"), expected.view("u2"))
    taken = cm.Map(lambda t, i: cm.take(t, i))(cm.Table(ALL), places, context=poor, mode=mode)
    np.testing.assert_array_equal(taken.view("u2"), ALL[places].view("u2"))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_nearest_number(dtype: str, poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if dtype == "f8" and not poor.facts.fp64:
        pytest.skip("no float64")
    bits = rng.integers(0, 1 << 63, 1 << 18, np.int64) * 2 + rng.integers(0, 2, 1 << 18)
    near = rng.standard_normal(1 << 17) * 2.0 ** rng.integers(-30, 20, 1 << 17)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 65519.996, 65520, -65520, 2.0**-25, 2.0**-149, 1e-40, 3e38]
    with np.errstate(all="ignore"):
        x = np.concatenate([bits.view("f8").astype(dtype), near.astype(dtype), np.array(special, dtype)])
        x = np.concatenate([x, middles().astype(dtype), bits.astype("u4").view("f4").astype(dtype)])
        expected = x.astype(np.float16)
    same_numbers(cm.Map(lambda a: a.astype("f2"))(x, context=poor, mode=mode), expected)


@pytest.mark.parametrize("code", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_whole_numbers(code: str, poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    dtype = np.dtype(code)
    x = rng.integers(0, 2, 257).astype(dtype)
    if code != "?":
        info = np.iinfo(dtype)
        x = np.concatenate([rng.integers(max(info.min, -70000), min(info.max, 70000), 4000, endpoint=True).astype(dtype),
                            np.array([info.min, info.max], dtype)])  # fmt: skip
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    same_numbers(cm.Map(lambda a: a.astype("f2"))(x, context=poor, mode=mode), expected)
    small = (np.arange(-9, 9) / 4).astype("f2")
    if code[0] in "iu":
        to_whole = cm.Map(lambda a: abs(a).astype(dtype))(small, context=poor, mode=mode)
        np.testing.assert_array_equal(to_whole, np.abs(small).astype(dtype))


def test_constants_are_rounded_before_they_are_compared(poor: cm.Context, mode: str) -> None:
    """0.1 is no float16: NumPy takes the nearest one, which is in the array."""
    x = np.array([0.1, 0.0999, 0.1001, 1, 2], np.float16)
    for weak in (0.1, np.float16(0.1)):
        equal, less, sums = cm.Map(lambda a, w=weak: (a == w, a < w, a + w))(x, context=poor, mode=mode)
        np.testing.assert_array_equal(equal, x == weak)
        np.testing.assert_array_equal(less, x < weak)
        np.testing.assert_array_equal(sums, x + weak)
        passed = cm.Map(lambda a, w: (a == w, a + w))(x, weak, context=poor, mode=mode)
        np.testing.assert_array_equal(passed[0], x == weak)
        np.testing.assert_array_equal(passed[1], x + weak)
    beyond = cm.Map(lambda a: a + 70000.0)(x, context=poor, mode=mode)
    assert beyond.dtype == np.float16 and np.isinf(beyond).all()


def test_a_result_is_rounded_once(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """(a + b) - a in float16 loses b's digits; in float32 it does not."""
    a, b = np.full(1000, 2048, np.float16), rng.integers(1, 64, 1000).astype(np.float16) / np.float16(64)
    result = cm.Map(lambda a, b: (a + b) - a)(a, b, context=poor, mode=mode)
    np.testing.assert_array_equal(result, b)
    rounded = cm.Map(lambda a, b: (a.astype("f4") + b).astype("f2") - a)(a, b, context=poor, mode=mode)
    np.testing.assert_array_equal(rounded, (a + b) - a)
