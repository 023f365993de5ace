"""More than 2^31 elements: indices of 64 bits. Run by hand: `pytest -m sweep tests/primitives/test_large.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.memory_needed import needs

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared

pytestmark = [pytest.mark.sweep, pytest.mark.timeout(1800)]

LENGTH = 2**31 + 4099


def assert_wide(primitive: Any, *values: Any, **more: Any) -> None:
    """Asserts that the call's kernels count with 64 bits; nothing is launched."""
    options = Options(more.pop("mode"), more.pop("context"))
    prepared = primitive._prepare(values, options, **more)
    assert isinstance(prepared, Prepared)
    assert prepared.executable.plan.narrow is False
    assert not prepared.executable.plan.stages[0].spec.narrow


@pytest.fixture
def long(context: cm.Context) -> np.ndarray:
    """Bytes with a few landmarks on both sides of index 2^31."""
    needs(context, LENGTH, 2 * LENGTH)
    x = np.zeros(LENGTH, np.uint8)
    x[[5, 2**31 - 1, 2**31, LENGTH - 1]] = [3, 5, 7, 200]
    return x


def test_reduces(long: np.ndarray, context: cm.Context, mode: str) -> None:
    assert_wide(cm.Reduce("sum"), long, context=context, mode=mode)
    assert cm.Reduce("sum")(long, context=context, mode=mode) == 215
    assert cm.Reduce("maximum")(long, context=context, mode=mode) == 200
    assert_wide(cm.Reduce("argmax"), long, context=context, mode=mode)
    assert cm.Reduce("argmax")(long, context=context, mode=mode) == LENGTH - 1
    long[2**31] = 201
    assert cm.Reduce("argmax")(long, context=context, mode=mode) == 2**31
    ones = cm.Map(lambda x: x * 0 + 255) >> cm.Reduce("sum")
    assert ones(long, context=context, mode=mode) == 255 * LENGTH


def test_an_index_in_a_fused_reduce(context: cm.Context, mode: str) -> None:
    """No array at all: only the count is large."""
    total = cm.Map(lambda: cm.index) >> cm.Reduce("sum")
    assert_wide(total, length=LENGTH, context=context, mode=mode)
    assert total(length=LENGTH, context=context, mode=mode) == LENGTH * (LENGTH - 1) // 2
    assert (cm.Map(lambda: cm.index) >> cm.Reduce("maximum"))(length=LENGTH, context=context, mode=mode) == LENGTH - 1


def test_a_map_with_the_index(long: np.ndarray, context: cm.Context, mode: str) -> None:
    f = cm.Map(lambda x: x + (cm.index % 251).astype("u1") + (cm.index >> 31).astype("u1"))
    assert_wide(f, long, context=context, mode=mode)
    result = f(long, context=context, mode=mode)
    for begin in (0, 2**30, 2**31 - 1000, LENGTH - 3000):
        at = np.arange(begin, begin + 3000)
        assert (result[at] == long[at] + (at % 251 + (at >> 31)).astype(np.uint8)).all(), begin


def test_rows_that_are_broadcast(context: cm.Context, mode: str) -> None:
    """A stride over 2^31 elements."""
    rows = 2**31 // 4096 + 3
    needs(context, rows * 4096, 2 * rows * 4096)
    column, row = np.arange(rows, dtype=np.uint8)[:, None], np.arange(4096, dtype=np.uint8)[None]
    f = cm.Map("a + b")
    assert_wide(f, column, row, context=context, mode=mode)
    result = f(column, row, context=context, mode=mode)
    assert (result[-3:] == column[-3:] + row).all()
    assert (result[:3] == column[:3] + row).all()


def test_a_scan(long: np.ndarray, context: cm.Context, mode: str) -> None:
    """Prefix maxima stay bytes; prefix sums would need 16 GiB."""
    needs(context, LENGTH, 3 * LENGTH)
    assert_wide(cm.Scan("maximum"), long, context=context, mode=mode)
    result = cm.Scan("maximum")(long, context=context, mode=mode)
    for begin, end, value in (
        (0, 5, 0),
        (5, 2**31 - 1, 3),
        (2**31 - 1, 2**31, 5),
        (2**31, LENGTH - 1, 7),
        (LENGTH - 1, LENGTH, 200),
    ):
        assert result[begin] == result[end - 1] == value
        assert (result[begin : min(end, begin + 10**6)] == value).all()
