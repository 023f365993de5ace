"""Segments, keys and sparse matrices that several devices share."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm

from .conftest import Several

ELEMENTS, SEGMENTS = 60_000, 4000


@pytest.fixture
def offsets(rng: np.random.Generator) -> np.ndarray:
    """Of segments of all lengths, empty ones and one longer than a block among them."""
    ends = np.sort(rng.integers(0, ELEMENTS // 2, SEGMENTS - 1))
    return np.concatenate([[0], ends, [ELEMENTS - 5, ELEMENTS]]).astype("i4")


def summed(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    totals = np.concatenate([np.zeros((1, *values.shape[1:])), np.cumsum(values, axis=0)])
    return totals[offsets[1:]] - totals[offsets[:-1]]


@pytest.mark.drawn
@pytest.mark.parametrize("columns", [(), (3,)])
def test_segments(
    columns: tuple[int, ...], offsets: np.ndarray, mode: str, several: Several, rng: np.random.Generator
) -> None:
    values = rng.random((ELEMENTS, *columns))
    results = [cm.segmented_reduce(values, offsets, mode=mode, context=several(count)) for count in (1, 2, 3)]
    np.testing.assert_allclose(results[0], summed(values, offsets), rtol=1e-9, atol=1e-9)
    for result in results[1:]:
        assert_same(result, results[0])


def test_keys(several: Several, rng: np.random.Generator) -> None:
    keys = np.repeat(np.arange(SEGMENTS), rng.integers(1, 40, SEGMENTS)).astype("i4")
    values = rng.random(len(keys))
    (own, one), (other, two) = (cm.reduce_by_key(keys, values, context=several(count)) for count in (1, 2))
    assert_same(own, np.arange(SEGMENTS, dtype="i4"))
    assert_same(other, own)
    np.testing.assert_allclose(one, np.bincount(keys, values), rtol=1e-12)
    assert_same(two, one)


def test_a_sparse_matrix_by_rows(offsets: np.ndarray, several: Several, rng: np.random.Generator) -> None:
    """Every device has x as a whole."""
    x = rng.random(900)
    columns = rng.integers(0, len(x), ELEMENTS).astype("i4")
    data = rng.random(ELEMENTS)
    one, two = (cm.spmv((offsets, columns, data), x, context=several(count)) for count in (1, 2))
    np.testing.assert_allclose(one, summed(data * x[columns], offsets), rtol=1e-9, atol=1e-9)
    assert_same(two, one)
