"""Formulas of neighbours: conditions anywhere on a line, and maps of later elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.device.array import element
from clmapreduce.segmented.lines import Row, count_where, holds_anywhere, mapped


def falls(a: Any, b: Any) -> Any:
    return b < a


def even(a: Any) -> Any:
    return a % 2 == 0


def steps(a: Any, b: Any, c: Any) -> Any:
    return b - a, c


@pytest.mark.parametrize("length", [1, 2, 15, 16, 17, 1000, 70_001])
def test_neighbours(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = np.sort(rng.integers(0, 1 << 30, length + 1)).astype("i4")
    options = Options(mode, context)
    for array in (x, cm.array(x, context)):
        on_device = isinstance(array, cm.DeviceArray)
        differences, last = mapped(steps, [Row(array), Row(array, ahead=1), Row(np.int64(7))], length, options, on_device)
        assert_same(differences, np.diff(x))
        assert_same(last, np.full(length, 7))
        assert not holds_anywhere(falls, [Row(array), Row(array, ahead=1)], length, options)
    for at in {0, length // 2, length - 1}:
        wrong = x.copy()
        wrong[at] = x[at + 1] + 1
        assert holds_anywhere(falls, [Row(wrong), Row(wrong, ahead=1)], length, options), at


@pytest.mark.parametrize("every", [1, 2, 64])
def test_samples(every: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Every n-th element and the one after it; repeated calls on other numbers."""
    options, length = Options(mode, context), 70_001
    for _ in range(3):
        x = rng.integers(0, 1 << 30, length).astype("i4")
        for ahead, part in ((0, x[:-1:every]), (1, x[1::every])):
            for array in (x, cm.array(x, context)):
                count = count_where(even, [Row(array, ahead, every)], len(part), options)
                assert count == np.count_nonzero(part % 2 == 0)


def test_one_element_of_a_device_array(context: cm.Context) -> None:
    x = np.arange(12.0, dtype="f4").reshape(3, 4)
    device_array = cm.array(x, context)
    for place in (0, 5, 11, -1, -12):
        assert_same(element(device_array, place), x.reshape(-1)[place])
