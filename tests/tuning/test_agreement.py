"""Which results count as the same in another launch box: of every kind of dtype, beside the bounds that the guide states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.tuning import passes, requests
from clmapreduce.tuning.agreement import agree

LINES = requests.TOLERANCE
BOUNDS = [("f2", 4e-3), ("f4", 1e-5), ("f8", 1e-10), ("c8", 1e-5), ("c16", 1e-10)]


@pytest.mark.parametrize(("code", "bound"), BOUNDS)
def test_floats_may_differ_by_the_bound_beside_the_largest(code: str, bound: float, rng: np.random.Generator) -> None:
    expected = rng.uniform(0.5, 1, 100).astype(code)
    if expected.dtype.kind == "c":
        expected = (expected + 1j * rng.uniform(0.5, 1, 100)).astype(code)
    expected[0] = 8
    for share, near in ((0.0, True), (0.3, True), (-0.3, True), (40.0, False), (-40.0, False)):
        for place in (0, 7, 99):
            result = expected.copy()
            result[place] += np.asarray(share * bound * 8).astype(code)
            assert agree([result], [expected], LINES) == near, (share, place)
            if expected.dtype.kind == "c":
                assert agree([result * np.asarray(1j, code)], [expected * np.asarray(1j, code)], LINES) == near


def test_nothing_hides_in_nan_and_infinity() -> None:
    expected = np.array([1.0, np.nan, np.inf, -np.inf])
    assert agree([expected.copy()], [expected], LINES)
    for place, value in ((0, np.nan), (1, 1.0), (2, 1e300), (2, -np.inf), (3, np.nan), (0, np.inf)):
        result = expected.copy()
        result[place] = value
        assert not agree([result], [expected], LINES), (place, value)


@pytest.mark.parametrize("code", ["?", "i1", "u2", "i4", "u8"])
def test_integers_are_equal_or_not(code: str) -> None:
    expected = np.array([0, 1, 1, 1]).astype(code)
    assert agree([expected.copy()], [expected], LINES)
    assert not agree([expected[::-1]], [expected], LINES) and not agree([1 - expected.astype("i8")], [expected], LINES)


def test_records_agree_field_by_field() -> None:
    dtype = np.dtype([("value", "f4"), ("place", "i8"), ("more", [("z", "c8")])], align=True)
    expected = np.zeros(3, dtype)
    expected["value"], expected["place"], expected["more"]["z"] = 1, 5, 1j
    near, far, other, deep = (expected.copy() for _ in range(4))
    near["value"] += np.float32(1e-6)
    far["value"][1] += 1e-3
    other["place"][2] += 1
    deep["more"]["z"][0] += 1e-3
    assert agree([near], [expected], LINES)
    assert not any(agree([wrong], [expected], LINES) for wrong in (far, other, deep))


@pytest.mark.parametrize(("dtype", "bits"), [(cm.dd, 104), (cm.qd, 208), (cm.df, 46), (cm.qf, 92)])
def test_numbers_in_several_floats_agree_in_all_of_them(dtype: Any, bits: int) -> None:
    """The last word alone tells them apart: 2^-bits is about their rounding."""
    dtype = np.dtype(getattr(dtype, "dtype", dtype))
    first, last = dtype.names[0], dtype.names[-1]  # type: ignore[index]
    expected = np.zeros(3, dtype)
    expected[first] = 1
    near, far, nan = (expected.copy() for _ in range(3))
    near[last][1] += 2.0**-bits
    far[last][1] += 2.0 ** (-bits + 16)
    nan[first][2] = np.nan
    assert agree([near], [expected], LINES) and agree([nan.copy()], [nan], LINES)
    assert not agree([far], [expected], LINES) and not agree([nan], [expected], LINES)


def test_no_results_and_empty_ones_agree() -> None:
    assert agree([], [], LINES) and agree([np.zeros((0, 3), "f4")], [np.zeros((0, 3), "f4")], LINES)


def test_pairs_may_differ_by_more() -> None:
    assert all(passes.TOLERANCE[size] >= LINES[size] for size in (2, 4, 8))
