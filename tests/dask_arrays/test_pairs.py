"""Reductions over pairs of chunked points: by either axis, with chunks of what is reduced merged by the operators."""

from __future__ import annotations

import gc
from typing import Any

import dask.array as da
import numpy as np
import pytest

import clmapreduce as cm

pytestmark = pytest.mark.drawn

M, N = 61, 53
CHUNKS = ((20, 17), ((1, 59, 1), (50, 3)))
UNIT = 2.0**-24


@pytest.fixture
def x(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-9, 9, (M, 3)).astype(np.float32)


@pytest.fixture
def y(rng: np.random.Generator) -> np.ndarray:
    return rng.integers(-9, 9, (N, 3)).astype(np.float32)


def squares(x: Any, y: Any) -> Any:
    """Distances squared: whole numbers, so that sums are exact and equal ones many."""
    return ((cm.Vi(x) - cm.Vj(y)) ** 2).sum()


def distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((x[:, None].astype(np.float64) - y[None]) ** 2).sum(-1)


@pytest.fixture(params=CHUNKS, ids=str)
def chunked(request: pytest.FixtureRequest, x: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
    rows, columns = request.param
    return da.from_array(x, chunks=(rows, 2)), da.from_array(y, chunks=(columns, 3))


EXACT = {"sum": np.sum, "max": np.max, "min": np.min, "argmin": np.argmin, "argmax": np.argmax}
ROUNDED = {"mean": np.mean, "var": np.var, "std": np.std}


@pytest.mark.parametrize("axis", [0, 1])
class TestEitherAxis:
    @pytest.mark.parametrize("name", EXACT)
    def test_exact(
        self, name: str, axis: int, chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str
    ) -> None:
        result = getattr(squares(*chunked), name)(axis=axis, mode=mode)
        exact = EXACT[name](distances(x, y), axis=axis)[:, None]
        assert isinstance(result, da.Array) and result.shape == exact.shape
        computed = result.compute()
        assert computed.dtype == result.dtype == (np.int64 if name.startswith("arg") else np.float32)
        np.testing.assert_array_equal(computed, exact)

    @pytest.mark.parametrize("name", ROUNDED)
    def test_rounded(
        self, name: str, axis: int, chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str
    ) -> None:
        result = getattr(squares(*chunked), name)(axis=axis, mode=mode).compute()
        exact = ROUNDED[name](distances(x, y), axis=axis)[:, None]
        np.testing.assert_allclose(result, exact, rtol=4 * M * UNIT)

    def test_log_sum_exp(
        self, axis: int, chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str
    ) -> None:
        """Chunks whose largest exponents are hundreds apart: exponentials alone would be 0, or infinite."""
        result = (-squares(*chunked)).logsumexp(axis=axis, mode=mode).compute()
        exponents = -distances(x, y)
        top = exponents.max(axis, keepdims=True)
        exact = np.log(np.exp(exponents - top).sum(axis)) + top.squeeze(axis)
        np.testing.assert_allclose(result[:, 0], exact, rtol=0, atol=4 * UNIT * np.abs(exponents).max())

    def test_nearest(self, axis: int, chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str) -> None:
        """More than some chunks have columns; of equal distances the lower index."""
        values, places = squares(*chunked).Kmin_argKmin(5, axis=axis, mode=mode)
        table = distances(x, y) if axis else distances(x, y).T
        order = np.argsort(table, axis=1, kind="stable")[:, :5]
        np.testing.assert_array_equal(places.compute(), order)
        np.testing.assert_array_equal(values.compute(), np.take_along_axis(table, order, 1))

    def test_both(self, axis: int, chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str) -> None:
        values, places = squares(*chunked).max_argmax(axis=axis, mode=mode)
        table = distances(x, y)
        np.testing.assert_array_equal(values.compute()[:, 0], table.max(axis))
        np.testing.assert_array_equal(places.compute()[:, 0], table.argmax(axis))


def test_weights(chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    b = rng.standard_normal((N, 2)).astype(np.float32)
    exponents = -distances(x, y) / 50
    kernel = -squares(*chunked) / 50
    soft = kernel.sumsoftmaxweight(cm.Vj(da.from_array(b, chunks=(11, 1))), axis=1, mode=mode).compute()
    weights = np.exp(exponents - exponents.max(1, keepdims=True))
    weights /= weights.sum(1, keepdims=True)
    bound = 64 * N * UNIT * (weights @ np.abs(b))
    assert np.all(np.abs(soft - weights @ b.astype(np.float64)) <= bound)
    summed = (kernel.exp() * cm.Vj(b)).sum(axis=1, mode=mode).compute()
    powers = np.exp(exponents)
    assert np.all(np.abs(summed - powers @ b.astype(np.float64)) <= 64 * N * UNIT * (powers @ np.abs(b)))
    np.testing.assert_array_equal((kernel.exp() @ da.from_array(b, chunks=(11, 2))).compute().shape, (M, 2))


@pytest.mark.parametrize("scheme", ["direct_sum", "block_sum", "kahan_scheme"])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_sum_schemes(scheme: str, dtype: str, chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context) -> None:
    """Accumulators of float32 under float16, of two numbers with Kahan's sum."""
    X, Y = (one.astype(dtype) for one in chunked)
    result = squares(X, Y).sum(axis=1, sum_scheme=scheme)
    assert result.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(result.compute(), distances(x, y).sum(1, keepdims=True).astype(dtype))


def test_genred_with_numbers(chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str) -> None:
    genred = cm.Genred("SqDist(x, y) * g", ["x = Vi(3)", "y = Vj(3)", "g = Pm(1)"], axis=0)
    exact = 2 * distances(x, y).sum(0)[:, None]
    np.testing.assert_array_equal(genred(*chunked, 2.0, mode=mode).compute(), exact)
    parameter = da.from_array(np.full(1, 2, np.float32), chunks=1)
    np.testing.assert_array_equal(genred(chunked[0], y, parameter, mode=mode).compute(), exact)


def test_a_users_operator_in_the_order_of_columns(chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str) -> None:
    """The first value that is not 0."""
    first = cm.Operator(lambda a, b: cm.where(a != 0, a, b), 0, commutative=False)
    result = squares(*chunked).reduce(first, axis=1, mode=mode).compute()
    table = distances(x, y)
    assert [row[row != 0][0] for row in table] == list(result[:, 0])


def test_long_sums(chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """More numbers than registers."""
    b = rng.integers(-9, 9, (N, 40)).astype(np.float32)
    result = (squares(*chunked) * cm.Vj(da.from_array(b, chunks=(11, 7)))).sum(axis=1, mode=mode)
    np.testing.assert_array_equal(result.compute(), distances(x, y) @ b)


def test_complex_numbers(chunked: Any, x: np.ndarray, y: np.ndarray, here: cm.Context, mode: str) -> None:
    X, Y = chunked[0] + 1j * chunked[0][:, ::-1], chunked[1] * (1 + 2j)
    z, w = x + 1j * x[:, ::-1], y * (1 + 2j)
    result = (cm.Vi(X.astype(np.complex64)) * cm.Vj(Y.astype(np.complex64))).sum(axis=1, mode=mode)
    np.testing.assert_array_equal(result.compute(), z * w.sum(0))


def test_rows_alone_and_one_column(x: np.ndarray, here: cm.Context, mode: str) -> None:
    X = da.from_array(x, chunks=(20, 3))
    np.testing.assert_array_equal(cm.Vi(X).sum(axis=0, mode=mode).compute(), x.sum(0, keepdims=True))
    np.testing.assert_array_equal(cm.Vi(X).sum(axis=1, mode=mode).compute(), x)


def test_the_same_chunks_give_the_same_bits(here: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((2, 500, 3)).astype(np.float32)
    lazy = (-squares(da.from_array(x, chunks=100), da.from_array(y, chunks=70))).exp().sum(axis=1, mode=mode)
    first = lazy.compute(scheduler="sync").tobytes()
    assert {lazy.compute(num_workers=workers).tobytes() for workers in (1, 2, 4)} == {first}


@pytest.mark.parametrize(("room", "count"), [(1 << 30, 4), (1 << 20, 0)])
def test_a_worker_copies_columns_to_its_device_once(
    room: int, count: int, here: cm.Context, mode: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    """Not at all where they have no room: then rows and columns are streamed."""
    from clmapreduce.dask.work import copies

    x, y, b = (rng.integers(-9, 9, shape).astype(np.float32) for shape in ((1_000, 2), (80_000, 2), (80_000, 1)))
    X, Y, B = (da.from_array(each, chunks=(300 if each is x else 40_000, -1)).persist() for each in (x, y, b))
    monkeypatch.setattr(copies, "is_worker", lambda: True)
    here.wait()
    gc.collect()
    arena = here.queue.arena
    monkeypatch.setenv("CLMR_MEMORY_LIMIT", str(arena.reserved_bytes - arena.idle_bytes + room))
    for factor in (1, 2):
        call = (factor * cm.Vi(X) * cm.Vj(Y)).sum(-1) @ B
        np.testing.assert_array_equal(call.compute(), factor * (x @ (y.T @ b)))
        assert len(copies.COPIES) == count
    del call, Y, B
    gc.collect()
    assert not len(copies.COPIES)


def test_explain_is_of_one_chunk(here: cm.Context, x: np.ndarray, y: np.ndarray) -> None:
    lazy = squares(da.from_array(x, chunks=(20, 2)), da.from_array(y, chunks=(17, 3)))
    assert "cmr_pairwise" in lazy.sum(axis=1, call=False).explain()
