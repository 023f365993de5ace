"""Checks of arrays on a device: once per array, and once more whenever it was written."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.segmented.array_facts import fact_of


def fact_after_calls(arrays: Any, what: str, calls: list[str]) -> int:
    return fact_of(arrays, what, lambda: calls.append(what) or len(calls))  # type: ignore[func-returns-value]


def test_a_fact_is_computed_once_until_the_array_changes(context: cm.Context) -> None:
    calls: list[str] = []
    x, y = (cm.array(np.arange(10.0, dtype="f4"), context) for _ in range(2))
    assert fact_after_calls([x], "a", calls) == fact_after_calls([x], "a", calls) == 1
    assert fact_after_calls([x], "b", calls) == 2 and fact_after_calls([x, y], "a", calls) == 3
    assert fact_after_calls([x, y], "a", calls) == 3 and fact_after_calls([x], "a", calls) == 1
    cm.Map(lambda v: v + 1)(y, out=y)
    assert fact_after_calls([x, y], "a", calls) == 4 and fact_after_calls([x], "a", calls) == 1
    cm.Map(lambda v: v + 1)(x, out=x)
    assert fact_after_calls([x], "a", calls) == 5 and fact_after_calls([x.reshape(2, 5)], "a", calls) == 6
    host = np.zeros(3)
    assert fact_after_calls([host], "a", calls) == 7 and fact_after_calls([host], "a", calls) == 8


@pytest.mark.parametrize("count", [6, 9000])
def test_offsets_written_after_a_call_are_checked_again(context: cm.Context, mode: str, count: int) -> None:
    values = cm.array(np.ones(count, "f4"), context)
    offsets = cm.array(np.arange(count + 1, dtype="i4"), context)
    for _ in range(2):
        assert float(np.asarray(cm.segmented_reduce(values, offsets, mode=mode)).sum()) == count
    back = np.arange(count + 1, dtype="i4")
    back[3] = 1
    cm.Map(lambda v: v)(cm.array(back, context), out=offsets)
    with pytest.raises(cm.ShapeError, match=r"offsets\[3\] is 1"):
        cm.segmented_reduce(values, offsets, mode=mode)


def test_arrays_that_one_launch_wrote_stay_distinct(context: cm.Context, mode: str) -> None:
    values, offsets = (cm.array(v, context) for v in (np.ones(9000, "f4"), np.arange(9001, dtype="i4")))
    good, wrong = cm.Map(lambda v: (v, v + 5))(cm.array(np.arange(9000, dtype="i4"), context), mode=mode)
    cm.segmented_reduce(values, offsets, sources=good, mode=mode)
    with pytest.raises(cm.ShapeError, match=r"sources\[8995\] is 9000"):
        cm.segmented_reduce(values, offsets, sources=wrong, mode=mode)


def test_columns_written_after_a_product_are_checked_again(context: cm.Context, mode: str) -> None:
    rows = 5000
    matrix = tuple(cm.array(a, context) for a in (np.arange(rows + 1, dtype="i4"), np.arange(rows, dtype="i4"), np.ones(rows, "f4")))
    x = cm.array(np.ones(rows, "f4"), context)
    for _ in range(2):
        assert np.asarray(cm.spmv(matrix, x, mode=mode)).sum() == rows
    cm.Map(lambda v: v + 1)(matrix[1], out=matrix[1])
    with pytest.raises(cm.ShapeError, match=r"indices\[4999\] is 5000"):
        cm.spmv(matrix, x, mode=mode)
