"""More elements than an int counts."""

from __future__ import annotations

import numpy as np
import pytest

import clmapreduce as cm

LENGTH = 2**31 + 777


@pytest.mark.sweep
@pytest.mark.timeout(1200)
def test_more_elements_than_an_int_counts(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    values = np.ones(LENGTH, np.uint8)
    offsets = np.sort(np.concatenate([[0, LENGTH], rng.integers(0, LENGTH, 1000), [2**31, 2**31]]))
    given, where = cm.array(values, context), cm.array(offsets, context)
    sums = cm.segmented_reduce(given, where, mode=mode)
    np.testing.assert_array_equal(np.asarray(sums).astype(np.int64), np.diff(offsets))
    values[2**31 + 5 :] = 9
    given = cm.array(values, context)
    best = np.asarray(cm.segmented_reduce(given, [0, 1000, LENGTH], "argmax", mode=mode))
    assert best.tolist() == [0, 2**31 + 5 - 1000]
    keys, counts = cm.reduce_by_key(given, given, mode=mode)
    assert np.asarray(keys).tolist() == [1, 9]
    assert np.asarray(counts).tolist() == [2**31 + 5, 9 * (LENGTH - 2**31 - 5)]
