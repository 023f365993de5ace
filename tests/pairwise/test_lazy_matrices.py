"""LazyTensors as matrices: products, SciPy's solvers, transposition, slices, dense values and diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, aslinearoperator, cg, eigsh, svds

import clmapreduce as cm
from clmapreduce import LazyTensor, Pm, Vi, Vj

pytestmark = pytest.mark.drawn

M, N = 23, 14


@pytest.fixture
def points(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    return rng.uniform(-1, 1, (M, 3)), rng.uniform(-1, 1, (N, 3))


def gauss(x: np.ndarray, y: np.ndarray) -> tuple[LazyTensor, np.ndarray]:
    """exp(-|x - y|²), lazy and dense."""
    dense = np.exp(-((x[..., :, None, :] - y[..., None, :, :]) ** 2).sum(-1))
    return (-(LazyTensor(x[..., :, None, :]) - LazyTensor(y[..., None, :, :])).sqnorm2()).exp(), dense


def test_products(points: Any, rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    lazy, dense = gauss(*points)
    for shape in ((N,), (N, 1), (N, 4), (2, N, 4), (3, 2, N, 1)):
        v = rng.standard_normal(shape)
        np.testing.assert_allclose(lazy.__matmul__(v, context=context, mode=mode), dense @ v, atol=1e-12)
    with cm.use(context.device):
        w = rng.standard_normal((M, 2))
        np.testing.assert_allclose(lazy.T @ w, dense.T @ w, atol=1e-12)
        np.testing.assert_allclose(lazy.t() @ w[:, 0], dense.T @ w[:, 0], atol=1e-12)
        np.testing.assert_allclose(lazy.rmatvec(w[:, 0].astype("f4")), dense.T @ w[:, 0].astype("f4"), atol=1e-12)
        np.testing.assert_allclose(lazy.matvec(range(N)), dense @ np.arange(N), atol=1e-12)
        np.testing.assert_allclose(Pm(2.0) * lazy.T.T @ np.ones(N), 2 * dense.sum(1), atol=1e-12)


def test_products_of_batches(rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    lazy, dense = gauss(rng.uniform(-1, 1, (4, 1, M, 3)), rng.uniform(-1, 1, (2, N, 3)))
    for shape in ((N,), (N, 3), (2, N, 3), (4, 2, N, 1), (5, 1, 1, N, 1)):
        v = rng.standard_normal(shape)
        result = lazy.__matmul__(v, context=context, mode=mode)
        np.testing.assert_allclose(result, dense @ v, atol=1e-12, err_msg=str(shape))


def test_complex_products(points: Any, rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    lazy, dense = gauss(*points)
    v, w, u = rng.standard_normal(N) + 1j * rng.standard_normal(N), rng.standard_normal((N, 2)), rng.standard_normal(M)
    keywords = {"context": context, "mode": mode}
    np.testing.assert_allclose(lazy.__matmul__(v, **keywords), dense @ v, atol=1e-12)
    lazy, dense = (1j * lazy).exp(), np.exp(1j * dense)
    np.testing.assert_allclose(lazy.__matmul__(w, **keywords), dense @ w, atol=1e-12)
    np.testing.assert_allclose(lazy.__matmul__(v, **keywords), dense @ v, atol=1e-12)
    with cm.use(context.device):
        np.testing.assert_allclose(lazy.rmatvec(u), dense.conj().T @ u, atol=1e-12)
        np.testing.assert_allclose(lazy.matvec(v.astype("c8")), dense @ v, atol=1e-5)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_scipy(dtype: str, rng: np.random.Generator, context: cm.Context) -> None:
    x = rng.uniform(-1, 1, (60, 3)).astype(dtype)
    lazy, dense = gauss(x, x)
    tolerance = 1e-4 if dtype == "f4" else 1e-9
    with cm.use(context.device):
        operator = aslinearoperator(lazy)
        assert isinstance(operator, LinearOperator) and operator.shape == (60, 60) and operator.dtype == np.dtype(dtype)
        values = eigsh(operator, k=4, return_eigenvectors=False)
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(dense.astype(float))[-4:], rtol=tolerance)
        b = rng.standard_normal(60)
        ridge = aslinearoperator(lazy + (Vi(x) == Vj(x)).all() * 0.5)  # points are distinct, so this is the diagonal
        solution, status = cg(ridge, b, rtol=tolerance / 10)
        assert status == 0
        np.testing.assert_allclose(
            solution, np.linalg.solve(dense.astype(float) + 0.5 * np.eye(60), b), atol=50 * tolerance
        )
        np.testing.assert_allclose(operator.matmat(np.eye(60)), dense, atol=tolerance)
        np.testing.assert_allclose(operator.rmatmat(np.eye(60)[:, :2]), dense.T[:, :2], atol=tolerance)
        np.testing.assert_allclose(operator.H.matvec(b), dense.T @ b, atol=10 * tolerance)
        rectangular = aslinearoperator(lazy[:, :20])
        expected = np.linalg.svd(dense[:, :20].astype(float), compute_uv=False)[:2]
        np.testing.assert_allclose(
            np.sort(svds(rectangular, k=2, return_singular_vectors=False)), expected[::-1], rtol=tolerance
        )


SLICES = [
    np.s_[2:5, :], np.s_[:, 3:], np.s_[::2, ::-1], np.s_[-3:, 1:-1], np.s_[[4, 0, 4], :], np.s_[:, [1]], np.s_[:0, :], np.s_[:, :],
    np.s_[np.arange(M) % 3 == 1, np.array([0, -1])],
]  # fmt: skip


@pytest.mark.parametrize("key", SLICES, ids=str)
def test_slices(key: Any, points: Any, context: cm.Context, mode: str) -> None:
    x, y = points
    dense = x[:, None] - 2 * y[None]
    lazy = Vi(x) - 2 * Vj(y)
    rows, cols = key
    expected = dense[rows][:, cols]
    np.testing.assert_array_equal(lazy[key].dense(context=context, mode=mode), expected)
    np.testing.assert_array_equal(lazy[(*key, slice(1, 3))].dense(context=context, mode=mode), expected[..., 1:3])
    np.testing.assert_array_equal(lazy[(*key, -1)].dense(context=context, mode=mode), expected[..., -1])
    assert lazy[key].formula is lazy.formula, "another array, not another kernel"


def test_slices_of_batches(rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    x, y = rng.standard_normal((2, 1, 9, 1, 3)), rng.standard_normal((4, 1, 7, 3))
    lazy, dense = LazyTensor(x) * LazyTensor(y), x * y
    for key in (np.s_[:, :, 1:4, ::2], np.s_[..., 1:4, ::2, :], np.s_[:, :, 1:4, ::2, :]):
        np.testing.assert_array_equal(lazy[key].dense(context=context, mode=mode), dense[:, :, 1:4, ::2])


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (3, "coordinate 3"), (-4, "coordinate -4"), (np.s_[::2], "single steps"), (np.s_[0:4], "stay inside"), (np.s_[2:2], "stay inside"), ("a", "indexes no vector"), (1.0, "indexes no vector"),
        (np.s_[1, :], "K\\[3:4, :\\]"), (np.s_[:, 1.5], "chooses no j"), (np.s_[[M], :], f"does not index {M}"), (np.s_[:, np.ones(N + 1, bool)], f"does not index {N}"),
        (np.s_[[[0, 1]], :], "one axis"), (np.s_[:, :, :, :], "does not index"), (np.s_[..., 0, ..., 0], r"one \.\.\."), (np.s_[:, :, 5], "coordinate 5"), (np.s_[:, :, ::2], "single steps"),
    ],
    ids=str,
)  # fmt: skip
def test_keys_that_fit_nothing(key: Any, message: str, points: Any) -> None:
    x, y = points
    with pytest.raises(cm.ShapeError, match=message):
        (Vi(x) - Vj(y))[key]


def test_slices_need_an_axis() -> None:
    with pytest.raises(cm.ShapeError, match="depends on j"):
        Vi(np.zeros((3, 2)))[:, 1:]
    with pytest.raises(cm.FormulaError, match=r"Vi\(0, 3\) has no array"):
        Vi(0, 3)[1:, :]
    with pytest.raises(cm.ShapeError, match="batch axes"):
        LazyTensor(np.zeros((2, 5, 1, 3)))[1:, :, :]
    assert Vi(np.zeros((3, 2)))[1:, :].shape == (2, 1, 2)


def test_dense_and_diagonal(points: Any, rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    x, y = points
    b, p = rng.standard_normal((2, 4, 9, 1, 3)), rng.standard_normal((4, 1, 1, 1))
    keywords = {"context": context, "mode": mode}
    square = rng.standard_normal((2, 1, 1, 9, 3))
    cases: list[tuple[LazyTensor, np.ndarray]] = [
        (Vi(x) - Vj(y), x[:, None] - y), (Vi(x) | Vj(y), x @ y.T), (Vi(x) * 2, 2 * x[:, None]), (Vj(y) * 2, 2 * y[None]), (Pm(x[0]) * 2, 2 * x[None, None, 0]),
        (LazyTensor(b) * LazyTensor(p) - Vj(y), b * p - y), (LazyTensor(b) * LazyTensor(square), b * square), (LazyTensor(square) + 1, square + 1),
    ]  # fmt: skip
    for lazy, dense in cases:
        result = lazy.dense(**keywords)
        assert result.shape == lazy.shape
        np.testing.assert_allclose(result, dense.reshape(lazy.shape), atol=1e-13)
        np.testing.assert_array_equal(lazy.to_numpy(**keywords), result)
    for lazy, dense in (
        (Vi(x) * Vj(x[::-1]), x * x[::-1]), (Vi(x) | Vj(x), (x * x).sum(1)), (Vi(x) * 2, 2 * x), (Vj(y) * 2, 2 * y), (LazyTensor(b) * LazyTensor(square), b[..., 0, :] * square[..., 0, :, :]),
    ):  # fmt: skip
        np.testing.assert_allclose(lazy.diagonal(**keywords), dense, atol=1e-13)
    with pytest.raises(cm.ShapeError, match="no diagonal"):
        (Vi(x) - Vj(y)).diagonal()


def test_products_that_fit_nothing(points: Any) -> None:
    x, y = points
    lazy = Vi(x) | Vj(y)
    for v in (np.ones(N + 1), np.ones((M, 2)), np.ones((N, M))[..., None][:, :0].reshape(0, 1), 2.0):
        with pytest.raises(cm.ShapeError, match="it needs"):
            lazy @ v
    with pytest.raises(cm.ShapeError, match="vectors"):
        (Vi(x) - Vj(y)) @ np.ones(N)
    with pytest.raises(cm.DTypeError, match=r"float64.*float32|float32.*float64"):
        lazy @ np.ones(N, "f4")
    with pytest.raises(cm.DTypeError, match="int64"):
        lazy @ np.arange(N)
    with pytest.raises(cm.FormulaError, match="two LazyTensors"):
        lazy @ lazy
    with pytest.raises(cm.FormulaError, match=r"Vi\(0, 3\)"):
        (Vi(0, 3) | Vj(y)).dense()


def test_products_with_placeholders(points: Any, context: cm.Context) -> None:
    x, y = points
    later = (Vi(0, 3) | Vj(y)) @ np.ones(N)
    with cm.use(context.device):
        np.testing.assert_allclose(later(x), (x @ y.T).sum(1), atol=1e-12)
