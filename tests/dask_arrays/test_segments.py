"""Segments and runs of keys across the borders of chunks, and sparse matrices by chunks of rows."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import dask.array as da
import numpy as np
import pytest

import clmapreduce as cm

pytestmark = pytest.mark.drawn
LENGTH = 500
CHUNKS = (60, (1, 250, 249), 13)
UNIT = 2.0**-24
OPS = ("sum", "minimum", "maximum", "any", "all", "argmin", "argmax", "logsumexp", "mean", "var", "std")


@pytest.fixture
def offsets(rng: np.random.Generator) -> np.ndarray:
    """Empty segments, also at both ends and at borders, short ones, and one over many chunks."""
    inside = np.sort(rng.integers(0, 60, 40)).tolist()
    return np.array([0, 0, *inside, 60, 60, 250, 251, 400, 420, 420, *np.sort(rng.integers(420, LENGTH, 30)), LENGTH, LENGTH])


def one_by_one(values: np.ndarray, offsets: np.ndarray, name: str) -> list[Any]:
    """The exact result of every segment; None for one that is empty."""
    results: list[Any] = []
    for begin, end in pairwise(offsets):
        part = values[begin:end].astype(np.float64)
        if begin == end:
            results.append(None)
        elif name == "logsumexp":
            results.append(part.max() + np.log(np.exp(part - part.max()).sum()))
        else:
            numpys = {"minimum": "min", "maximum": "max"}.get(name, name)
            results.append(getattr(np, numpys)(part))
    return results


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("name", OPS)
def test_operators(
    name: str, chunks: Any, offsets: np.ndarray, here: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    values = rng.standard_normal(LENGTH).astype(np.float32)
    lazy = cm.segmented_reduce(da.from_array(values, chunks=chunks), offsets, name, mode=mode)
    plain = cm.segmented_reduce(values, offsets, name, mode=mode, context=here)
    result = lazy.compute()
    assert lazy.shape == result.shape == plain.shape and lazy.dtype == result.dtype == plain.dtype
    for own, other, exact in zip(result, plain, one_by_one(values, offsets, name), strict=True):
        if exact is None:
            np.testing.assert_array_equal(own, other)
        elif name in ("sum", "logsumexp", "mean", "var", "std"):
            assert abs(float(own) - exact) <= 4 * LENGTH * UNIT * max(1, abs(exact))
        else:
            assert own == exact


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
class TestSegments:
    def test_integers_with_init_empty_and_trailing_axes(
        self, chunks: Any, offsets: np.ndarray, here: cm.Context, mode: str, rng: np.random.Generator
    ) -> None:
        values = rng.integers(-99, 99, (LENGTH, 3))
        how: dict[str, Any] = {"init": 1000, "empty": 7, "mode": mode}
        result = cm.segmented_reduce(da.from_array(values, chunks=(chunks, 2)), offsets, **how).compute()
        sums = np.array([values[a:b].sum(0) + 1000 if a < b else [7] * 3 for a, b in pairwise(offsets)])
        np.testing.assert_array_equal(result, sums)

    def test_map_of_several_values(
        self, chunks: Any, offsets: np.ndarray, here: cm.Context, mode: str, rng: np.random.Generator
    ) -> None:
        a, b = rng.integers(-99, 99, (2, LENGTH))
        values = da.from_array(a, chunks=chunks), da.from_array(b, chunks=90)
        result = cm.segmented_reduce(values, offsets[:-1], "maximum", map=lambda a, b: a * b, starts=True, mode=mode)
        expected = cm.segmented_reduce(a * b, offsets, "maximum", context=here)
        np.testing.assert_array_equal(result.compute(), expected)

    def test_in_order(
        self, chunks: Any, offsets: np.ndarray, here: cm.Context, mode: str, rng: np.random.Generator
    ) -> None:
        values = rng.integers(0, 3, LENGTH)
        first = cm.Operator(lambda a, b: cm.where(a != 0, a, b), 0, commutative=False)
        result = cm.segmented_reduce(da.from_array(values, chunks=chunks), offsets, first, mode=mode).compute()
        parts = (values[a:b] for a, b in pairwise(offsets))
        assert [next((v for v in part if v), 0) for part in parts] == list(result)

    @pytest.mark.parametrize("key", ["first", "last"])
    def test_runs(self, key: str, chunks: Any, here: cm.Context, mode: str, rng: np.random.Generator) -> None:
        """Keys of which 10 are alike, in runs of 1 to 200, the first ones over many chunks."""
        lengths = np.concatenate([[190, 70], rng.integers(1, 30, 60)])
        keys = (np.repeat(np.arange(len(lengths)) * 10, lengths)[:LENGTH] + rng.integers(0, 10, LENGTH)).astype(np.int32)
        values = rng.integers(-99, 99, (LENGTH, 2))
        run_keys, reduced = cm.reduce_by_key(
            da.from_array(keys, chunks=chunks), da.from_array(values, chunks=(77, 1)), equal=lambda a, b: a // 10 == b // 10, key=key, mode=mode
        )
        begins = np.concatenate([[0], np.flatnonzero(np.diff(keys // 10)) + 1, [LENGTH]])
        np.testing.assert_array_equal(run_keys.compute(), keys[begins[:-1] if key == "first" else begins[1:] - 1])
        np.testing.assert_array_equal(reduced.compute(), np.add.reduceat(values, begins[:-1]))

    def test_run_lengths(self, chunks: Any, here: cm.Context, mode: str, rng: np.random.Generator) -> None:
        keys = np.repeat(rng.permutation(60), rng.integers(1, 60, 60))[:LENGTH]
        run_keys, counts, starts = cm.run_lengths(da.from_array(keys, chunks=chunks), mode=mode)
        begins = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1])
        np.testing.assert_array_equal(run_keys.compute(), keys[begins])
        np.testing.assert_array_equal(starts.compute(), begins)
        np.testing.assert_array_equal(counts.compute(), np.diff([*begins, LENGTH]))

    @pytest.mark.parametrize("name", ["argmin", "mean"])
    def test_places_in_runs(
        self, name: str, chunks: Any, here: cm.Context, mode: str, rng: np.random.Generator
    ) -> None:
        keys = np.repeat(rng.permutation(20), rng.integers(1, 100, 20))[:LENGTH]
        keys = np.concatenate([keys, np.full(LENGTH - len(keys), 99)])
        values = rng.integers(-99, 99, LENGTH)
        _, reduced = cm.reduce_by_key(
            da.from_array(keys, chunks=chunks), da.from_array(values, chunks=chunks), name, mode=mode
        )
        begins = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1, [LENGTH]])
        np.testing.assert_allclose(reduced.compute(), one_by_one(values, begins, name), rtol=1e-15)

    def test_products_with_entries_in_chunks(
        self, chunks: Any, offsets: np.ndarray, here: cm.Context, mode: str, rng: np.random.Generator
    ) -> None:
        indices, data = rng.integers(0, 30, LENGTH), rng.integers(-9, 9, LENGTH)
        x = rng.integers(-9, 9, (30, 2))
        matrix = (offsets, da.from_array(indices, chunks=chunks), da.from_array(data, chunks=90))
        result = cm.spmv(matrix, x, mode=mode)
        parts = pairwise(offsets)
        expected = np.array([(data[a:b, None] * x[indices[a:b]]).sum(0) for a, b in parts])
        assert isinstance(result, da.Array) and result.shape == expected.shape and result.dtype == expected.dtype
        np.testing.assert_array_equal(result.compute(), expected)
        smallest = cm.spmv((offsets, matrix[1], None), da.from_array(x[:, 0], chunks=7), add="maximum", mode=mode)
        expected = cm.spmv((offsets, indices, None), x[:, 0], add="maximum", context=here)
        np.testing.assert_array_equal(smallest.compute(), expected)


def test_products_of_sparse_blocks_and_matrices(here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    sparse = pytest.importorskip("scipy.sparse")
    matrix = sparse.random_array((50, 30), density=0.2, rng=rng, format="csr")
    x = rng.standard_normal(30)
    chunked = da.from_array(x, chunks=7)
    expected = cm.spmv(matrix, x, context=here, mode=mode)
    np.testing.assert_array_equal(cm.spmv(matrix, chunked, mode=mode).compute(), expected)
    rows = da.from_array(np.arange(50)[:, None], chunks=(20, 1))
    blocks = rows.map_blocks(lambda r: matrix[r[:, 0]], dtype=matrix.dtype, meta=matrix[:0], chunks=(rows.chunks[0], (30,)))
    bound = 2 * matrix.shape[1] * np.finfo(float).eps * (abs(matrix) @ abs(x))  # two sums of at most 30 products each
    assert (abs(cm.spmv(blocks, chunked, mode=mode).compute() - expected) <= bound).all()


@pytest.mark.parametrize("dtypes", [(np.int32, np.float32), (np.float32, np.int32), (np.float32, np.float64)])
def test_calls_on_other_dtypes(dtypes: tuple[type, type], here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Calls that differ in their values' dtype only, one after the other in one process."""
    keys, offsets = np.repeat(np.arange(5), 100), np.arange(0, LENGTH + 1, 100)
    for dtype in dtypes:
        values = (100 * rng.standard_normal(LENGTH)).astype(dtype)
        chunked = da.from_array(values, chunks=70)
        expected = cm.segmented_reduce(values, offsets, "sum", mode=mode, context=here)
        for lazy in (
            cm.segmented_reduce(chunked, offsets, "sum", mode=mode),
            cm.reduce_by_key(da.from_array(keys, chunks=70), chunked, "sum", mode=mode)[1],
        ):
            result = lazy.compute()
            assert result.dtype == expected.dtype
            np.testing.assert_allclose(result, expected, rtol=0, atol=LENGTH * UNIT * np.abs(values).sum())


def test_nothing(here: cm.Context, mode: str) -> None:
    none = da.zeros(0, dtype=np.float32)
    assert cm.segmented_reduce(none, [0], mode=mode).compute().shape == (0,)
    np.testing.assert_array_equal(cm.segmented_reduce(none, [0, 0], mode=mode).compute(), [0])
    keys, reduced = cm.reduce_by_key(none, none, mode=mode)
    assert keys.compute().shape == reduced.compute().shape == (0,)


def test_wrong_offsets_are_told_at_once(here: cm.Context) -> None:
    values = da.ones(10, chunks=3)
    with pytest.raises(cm.ShapeError, match="offsets"):
        cm.segmented_reduce(values, [0, 7, 5, 10])
    with pytest.raises(cm.ArgumentError, match=r"offsets\.compute"):
        cm.segmented_reduce(values, da.from_array(np.array([0, 10])))
    with pytest.raises(cm.ModeError, match="sources"):
        cm.segmented_reduce(values, [0, 10], sources=[0])
    with pytest.raises(cm.FormulaError, match=r"da\.arange"):
        cm.segmented_reduce(values, [0, 10], map=lambda v: v * cm.index)
    with pytest.raises(cm.ShapeError, match="lengths must agree"):
        cm.reduce_by_key(da.ones(9, chunks=3), values)
    with pytest.raises(cm.ModeError, match="count"):
        cm.reduce_by_key(values, values, count="device")
    with pytest.raises(cm.ArgumentError, match=r"indptr\.compute"):
        cm.spmv((da.arange(3), da.arange(2), None), np.ones(2))
    with pytest.raises(cm.ShapeError, match="whole rows"):
        cm.spmv(da.ones((4, 4), chunks=2), np.ones(4))
