"""B-splines against SciPy, soft dynamic time warping against a loop."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.interpolate import BSpline
from support.vector_oracle import check_derivatives, close

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.vector import OPERATIONS, Variable
from clmapreduce.vector.derivative import gradient
from clmapreduce.vector.evaluate import evaluate

KNOTS = {
    "even": np.arange(9.0),
    "uneven": np.array([-1.0, -0.7, 0.1, 0.4, 1.5, 1.9, 2.0, 4.0, 4.5]),
    "repeated": np.array([0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 2.0, 3.0, 3.0, 3.0, 3.0]),
    "few": np.array([0.0, 1.0, 3.0, 3.5, 4.0]),
}


def _basis(knots: np.ndarray, order: int, at: np.ndarray) -> np.ndarray:
    """Every B-spline, zero outside its support."""
    columns = []
    for i in range(len(knots) - order - 1):
        own = knots[i : i + order + 2]
        inside = (at >= own[0]) & (at < own[-1])
        values = np.zeros_like(at)
        if inside.any():
            values[inside] = BSpline.basis_element(own)(at[inside])
        columns.append(values)
    return np.stack(columns, -1)


@pytest.mark.parametrize("name", list(KNOTS))
@pytest.mark.parametrize("order", [0, 1, 2, 3])
def test_bsplines_on_any_knots(name: str, order: int, rng: np.random.Generator) -> None:
    knots = KNOTS[name]
    t, x = Variable(0, len(knots), 2), Variable(1, 1, 0)
    at = np.concatenate([rng.uniform(knots[0] - 1, knots[-1] + 1, 50), knots])
    f = OPERATIONS["BSpline"](t, x, order)
    assert f.dim == len(knots) - order - 1
    for dtype, tolerance in ((np.float64, 1e-13), (np.float32, 2e-6)):
        actual = evaluate(f, {t: knots.astype(dtype), x: at[:, None].astype(dtype)})
        assert actual.dtype == dtype
        close(actual, _basis(knots.astype(dtype).astype(float), order, at.astype(dtype).astype(float)), tolerance)


@pytest.mark.parametrize("order", [1, 2, 3])
def test_derivatives_of_bsplines(order: int, rng: np.random.Generator) -> None:
    knots = KNOTS["uneven"]
    t, x = Variable(0, len(knots), 2), Variable(1, 1, 0)
    at = rng.uniform(knots[0], knots[-1], 200)
    at = at[np.abs(at[:, None] - knots).min(-1) > 1e-3][:, None]
    check_derivatives(OPERATIONS["BSpline"](t, x, order), {t: knots, x: at}, rng, 1e-5)


def test_wrong_bsplines_are_refused() -> None:
    t, x = Variable(0, 4, 2), Variable(1, 1, 0)
    with pytest.raises(ShapeError, match="give 5 knots or more"):
        OPERATIONS["BSpline"](t, x, 3)
    with pytest.raises(ShapeError, match="x of dimension 4"):
        OPERATIONS["BSpline"](t, t, 1)
    with pytest.raises(FormulaError, match="at least 0"):
        OPERATIONS["BSpline"](t, x, -1)


def _softdtw(x: np.ndarray, y: np.ndarray, gamma: float) -> float:
    table = np.full((len(x) + 1, len(y) + 1), np.inf)
    table[0, 0] = 0
    for i in range(1, len(x) + 1):
        for j in range(1, len(y) + 1):
            before = np.array([table[i - 1, j], table[i, j - 1], table[i - 1, j - 1]])
            low = before.min()
            table[i, j] = (x[i - 1] - y[j - 1]) ** 2 + low - gamma * np.log(np.exp((low - before) / gamma).sum())
    return float(table[-1, -1])


@pytest.mark.parametrize(("n", "m"), [(1, 1), (1, 4), (5, 1), (3, 4), (6, 6)])
@pytest.mark.parametrize("gamma", [0.05, 1.0, 30.0])
def test_soft_dynamic_time_warping(n: int, m: int, gamma: float, rng: np.random.Generator) -> None:
    x, y, g = Variable(0, n, 0), Variable(1, m, 1), Variable(2, 1, 2)
    values = {x: rng.uniform(-1, 1, (3, 1, n)), y: rng.uniform(-1, 1, (1, 2, m)), g: np.array([gamma])}
    f = OPERATIONS["SoftDTW_SqDist"](x, y, g)
    actual = evaluate(f, values)
    for i in range(3):
        for j in range(2):
            close(actual[i, j, 0], np.array(_softdtw(values[x][i, 0], values[y][0, j], gamma)), 1e-12)
    check_derivatives(f, values, rng, 1e-5)


def test_second_derivatives_of_soft_dynamic_time_warping(rng: np.random.Generator) -> None:
    x, y, g = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 1, 2)
    values = {x: rng.uniform(-1, 1, (2, 3)), y: rng.uniform(-1, 1, (2, 3)), g: np.array([0.8])}
    check_derivatives(gradient(OPERATIONS["SoftDTW_SqDist"](x, y, g), x), values, rng, 1e-5)


def test_wrong_gammas_are_refused() -> None:
    x = Variable(0, 3, 0)
    with pytest.raises(ShapeError, match="gamma has dimension 3"):
        OPERATIONS["SoftDTW_SqDist"](x, x, x)
    with pytest.raises(FormulaError, match="at least one"):
        OPERATIONS["SoftMin"](x)
