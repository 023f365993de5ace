"""More elements than an int counts, and a billion segments."""

from __future__ import annotations

import numpy as np
import pytest
from support.memory_needed import needs

import clmapreduce as cm

LENGTH = 2**31 + 777


@pytest.mark.sweep
@pytest.mark.timeout(1200)
def test_more_elements_than_an_int_counts(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    values = np.ones(LENGTH, np.uint8)
    offsets = np.sort(np.concatenate([[0, LENGTH], rng.integers(0, LENGTH, 1000), [2**31, 2**31]]))
    device_values, where = cm.array(values, context), cm.array(offsets, context)
    sums = cm.segmented_reduce(device_values, where, mode=mode)
    np.testing.assert_array_equal(np.asarray(sums).astype(np.int64), np.diff(offsets))
    values[2**31 + 5 :] = 9
    device_values = cm.array(values, context)
    best = np.asarray(cm.segmented_reduce(device_values, [0, 1000, LENGTH], "argmax", mode=mode))
    assert best.tolist() == [0, 2**31 + 5 - 1000]
    keys, counts = cm.reduce_by_key(device_values, device_values, mode=mode)
    assert np.asarray(keys).tolist() == [1, 9]
    assert np.asarray(counts).tolist() == [2**31 + 5, 9 * (LENGTH - 2**31 - 5)]


@pytest.mark.sweep
@pytest.mark.timeout(1200)
def test_a_few_elements_from_far_away(context: cm.Context, mode: str) -> None:
    """Places that no int holds, of segments and elements that one counts."""
    values = np.zeros(LENGTH, np.uint8)
    values[-5:] = [1, 2, 3, 4, 5]
    device_values = cm.array(values, context)
    sources = np.array([LENGTH - 5, LENGTH - 3])
    sums = cm.segmented_reduce(device_values, [0, 2, 5], sources=sources, mode=mode)
    assert np.asarray(sums).tolist() == [3, 12]
    columns = np.array([LENGTH - 1, 0, LENGTH - 4, LENGTH - 2])
    for x, expected in ((device_values, [5, 6]), (device_values.reshape(LENGTH // 5, 5), [[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]])):
        columns = columns if x.ndim == 1 else np.array([LENGTH // 5 - 1, 0, 0, LENGTH // 5 - 1])
        product = cm.spmv(([0, 2, 4], columns, None), x, mode=mode)
        assert np.asarray(product).tolist() == expected


@pytest.mark.sweep
@pytest.mark.timeout(1200)
def test_a_billion_short_segments(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """More than 2^30 of 1, 0 and 2 elements, one after another."""
    threes = 2**30 // 3 + 1
    count = 3 * threes
    needs(context, 4 * (count + 1), 12 * count)
    values = np.tile(rng.integers(1, 256, 3 * 1013, np.uint8), threes // 1013 + 1)[:count]
    offsets = np.empty(count + 1, np.int32)
    for k, ahead in enumerate((0, 1, 1)):
        offsets[k:count:3] = np.arange(ahead, count + ahead, 3, dtype=np.int32)
    offsets[count] = count
    device_values, where = cm.array(values, context), cm.array(offsets, context)
    del offsets
    largest = np.asarray(cm.segmented_reduce(device_values, where, "maximum", empty=0, mode=mode)).reshape(-1, 3)
    values = values.reshape(-1, 3)
    assert np.array_equal(largest[:, 0], values[:, 0])
    assert not largest[:, 1].any()
    assert np.array_equal(largest[:, 2], np.maximum(values[:, 1], values[:, 2]))
