"""Block operators against NumPy's `block` of the dense float64 matrices."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

pytestmark = pytest.mark.drawn

HEIGHTS, WIDTHS = (5, 31, 1), (17, 33)
UNIT = {"f4": 2.0**-24, "f8": 2.0**-53}


def gaussian(x: Any, y: Any) -> Any:
    return (-(cm.Vi(x) - cm.Vj(y)).sqnorm2()).exp()


def dense(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    difference = x.astype("f8")[:, None] - y.astype("f8")[None]
    values: np.ndarray = np.exp(-(difference**2).sum(-1))
    return values


@pytest.fixture(params=["f4", "f8"])
def code(request: pytest.FixtureRequest) -> str:
    return str(request.param)


class Points:
    """Rows and columns of points, and the matrix of three by two blocks, of which one is zero."""

    def __init__(self, rng: np.random.Generator, code: str, give: Any = lambda x: x) -> None:
        rows = [rng.standard_normal((n, 2)).astype(code) for n in HEIGHTS]
        columns = [rng.standard_normal((n, 2)).astype(code) for n in WIDTHS]
        zero = (1, 0)
        grid = [
            [None if (r, c) == zero else gaussian(give(x), give(y)) for c, y in enumerate(columns)]
            for r, x in enumerate(rows)
        ]
        self.operator = cm.block(grid)
        self.exact = np.block(
            [
                [np.zeros((len(x), len(y))) if (r, c) == zero else dense(x, y) for c, y in enumerate(columns)]
                for r, x in enumerate(rows)
            ]
        )


@pytest.mark.parametrize("trailing", [(), (1,), (3,)], ids=str)
@pytest.mark.parametrize("on_device", [False, True])
def test_products(code: str, trailing: tuple[int, ...], on_device: bool, context: cm.Context, rng: np.random.Generator) -> None:
    with cm.use(context):
        points = Points(rng, code, (lambda x: cm.array(x, context)) if on_device else (lambda x: x))
        operator, exact = points.operator, points.exact
        assert operator.shape == exact.shape and operator.dtype == np.dtype(code)
        v, w = (rng.standard_normal((n, *trailing)).astype(code) for n in (sum(WIDTHS), sum(HEIGHTS)))
        for product, matrix, vector in ((operator @ v, exact, v), (operator.T @ w, exact.T, w)):
            assert isinstance(product, cm.DeviceArray) == on_device
            result = product.to_numpy() if on_device else product
            bound = 40 * UNIT[code] * (np.abs(matrix) @ np.abs(vector) + 1)
            assert result.dtype == np.dtype(code) and np.all(np.abs(result - matrix @ vector) <= bound)
        np.testing.assert_allclose(operator.to_numpy(), exact, rtol=0, atol=20 * UNIT[code])


def test_rows_of_zeros_and_blocks_of_blocks(context: cm.Context, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((4, 2)), rng.standard_normal((7, 2))
    with cm.use(context):
        inner = cm.block([[gaussian(x, x), None], [None, gaussian(y, y)]])
        outer = cm.block([[inner], [cm.block([[None, gaussian(x, y)], [gaussian(y, x), None]])]])
        zero = np.zeros((4, 7))
        exact = np.block([[dense(x, x), zero], [zero.T, dense(y, y)]])
        exact = np.concatenate([exact, np.block([[np.zeros((4, 4)), dense(x, y)], [dense(y, x), np.zeros((7, 7))]])])
        v = rng.standard_normal(11)
        np.testing.assert_allclose(outer @ v, exact @ v, rtol=0, atol=1e-13)
        again = pickle.loads(pickle.dumps(outer))
        np.testing.assert_array_equal(again @ v, outer @ v)
        empty = cm.block([[gaussian(x[:0], y)], [gaussian(x, y)]])
        np.testing.assert_allclose(empty @ v[:7], dense(x, y) @ v[:7], rtol=0, atol=1e-13)


def test_scipy_takes_it(context: cm.Context, rng: np.random.Generator) -> None:
    linalg = pytest.importorskip("scipy.sparse.linalg")
    with cm.use(context):
        points = Points(rng, "f8")
        operator = linalg.aslinearoperator(points.operator)
        v, w = rng.standard_normal(sum(WIDTHS)), rng.standard_normal(sum(HEIGHTS))
        np.testing.assert_allclose(operator.matvec(v), points.exact @ v, rtol=0, atol=1e-13)
        np.testing.assert_allclose(operator.rmatvec(w), points.exact.T @ w, rtol=0, atol=1e-13)
        np.testing.assert_allclose(operator.matmat(v[:, None]), points.exact @ v[:, None], rtol=0, atol=1e-13)
        _, s, _ = linalg.svds(operator, k=3, random_state=0)
        np.testing.assert_allclose(np.sort(s)[::-1], np.linalg.svd(points.exact)[1][:3], rtol=1e-8)


def test_complex_blocks(context: cm.Context, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((5, 1)).astype("f4"), rng.standard_normal((6, 1)).astype("f4")
    with cm.use(context):
        wave = ((cm.Vi(x) - cm.Vj(y)) * 3).exp1j()
        operator = cm.block([[wave, gaussian(x, x)]])
        exact = np.concatenate([np.exp(3j * (x - y.T)), dense(x, x)], axis=1)
        assert operator.dtype == np.complex64
        v = (rng.standard_normal(11) + 1j * rng.standard_normal(11)).astype("c8")
        np.testing.assert_allclose(operator.matvec(v), exact @ v, rtol=0, atol=1e-4)
        w = (rng.standard_normal(5) + 1j * rng.standard_normal(5)).astype("c8")
        np.testing.assert_allclose(operator.rmatvec(w), exact.conj().T @ w, rtol=0, atol=1e-4)


@pytest.mark.parametrize("on_device", [False, True])
@pytest.mark.parametrize("trailing", [(), (2,)], ids=str)
def test_symmetric_systems(
    code: str, trailing: tuple[int, ...], on_device: bool, context: cm.Context, rng: np.random.Generator
) -> None:
    x, y = rng.standard_normal((40, 2)).astype(code), rng.standard_normal((23, 2)).astype(code)
    b = rng.standard_normal((63, *trailing)).astype(code)
    with cm.use(context):
        operator = cm.block([[gaussian(x, x), gaussian(x, y)], [gaussian(y, x), gaussian(y, y)]])
        right = cm.array(b, context) if on_device else b
        a, status = operator.solve(right, alpha=0.5, eps=1e-6, return_status=True)
    assert status.converged and operator.status is status and isinstance(a, cm.DeviceArray) == on_device
    a = a.to_numpy() if on_device else a
    both = np.concatenate([x, y])
    residual = b - (dense(both, both) + 0.5 * np.eye(63)) @ a
    assert a.shape == b.shape and np.sqrt((residual**2).mean(0)).max() < (2e-5 if code == "f4" else 1.1e-6)


def test_wrong_input(rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((4, 2)), rng.standard_normal((7, 2))
    k = gaussian(x, y)
    for wrong, error, match in (
        ([], cm.ShapeError, "a list of rows"),
        (k, cm.ShapeError, "a list of rows"),
        ([[k, k], [k]], cm.ShapeError, "rows of 2, 1 blocks"),
        ([[k], [gaussian(x, x)]], cm.ShapeError, "widths in column 0 are 4 and 7"),
        ([[k, None]], cm.ShapeError, "widths in column 1 are not known"),
        ([[k, x]], cm.ShapeError, "is no block"),
        ([[cm.Vi(x) - cm.Vj(y)]], cm.ShapeError, "no matrix of numbers"),
        ([[k, gaussian(x.astype("f4"), y.astype("f4"))]], cm.DTypeError, "float32, float64"),
        ([[gaussian(x, y) * cm.Vj(0, 1)]], cm.ModeError, "has no array yet"),
    ):
        with pytest.raises(error, match=match):
            cm.block(wrong)
    operator = cm.block([[k]])
    with pytest.raises(cm.ShapeError, match="it needs"):
        operator @ np.zeros(4)
    with pytest.raises(cm.ShapeError, match="must be square"):
        operator.solve(np.zeros(4))
    with pytest.raises(cm.ArgumentError, match="no such operator"):
        operator + operator
    with pytest.raises(cm.ShapeError, match="the right-hand side has shape"):
        cm.block([[gaussian(x, x)]]).solve(np.zeros(5))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cm.block([[gaussian(x, x)]]).solve(np.ones(4), max_iterations=0)
    assert "no convergence" in str(caught[0].message)
