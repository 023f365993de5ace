"""Tables read in formulas of pairs, and their gradients, against NumPy's subscripts in float64."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

SIZES = [(1, 1), (33, 31), (257, 1201)]
pytestmark = pytest.mark.drawn

UNIT = {"f4": 2.0**-24, "f8": 2.0**-53}
TABLE = (6, 9)


class Case:
    """Labels, points and a table, with the dense numbers of `table[i, j] · exp(-|x - y|²)` in float64."""

    def __init__(self, rng: np.random.Generator, code: str, rows: int, cols: int) -> None:
        self.table = rng.standard_normal(TABLE).astype(code)
        self.i, self.j = (rng.integers(0, n, (m, 1)) for n, m in zip(TABLE, (rows, cols), strict=True))
        self.x, self.y = (rng.standard_normal((n, 3)).astype(code) for n in (rows, cols))
        self.code = code
        difference = self.x.astype("f8")[:, None] - self.y.astype("f8")[None]
        self.kernel = np.exp(-(difference**2).sum(-1))
        self.values = self.table.astype("f8")[self.i, self.j[:, 0]] * self.kernel

    def places(self) -> tuple[Any, Any]:
        return cm.Vi(self.i.astype(self.code)), cm.Vj(self.j.astype(self.code))

    def lazy_kernel(self) -> Any:
        return (-(cm.Vi(self.x) - cm.Vj(self.y)).sqnorm2()).exp()

    def lazy(self, mode: str = "clamp") -> Any:
        return cm.Table(self.table, mode)[self.places()] * self.lazy_kernel()

    def near(self, result: Any, exact: Any, terms: Any) -> None:
        """Within the budget of 2e-6 · Σ|terms| in float32, and the same number of units in float64."""
        assert result.shape == exact.shape
        assert np.all(np.abs(result - exact) <= 34 * UNIT[self.code] * (terms + 1))


@pytest.fixture(params=SIZES, ids=str)
def case(request: pytest.FixtureRequest, rng: np.random.Generator, code: str) -> Case:
    return Case(rng, code, *request.param)


@pytest.fixture(params=["f4", "f8"])
def code(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("axis", [0, 1])
def test_reductions(case: Case, axis: int, context: cm.Context, mode: str) -> None:
    lazy, keywords = case.lazy(), {"mode": mode, "context": context}
    total = lazy.sum(axis=axis, **keywords)
    case.near(total[:, 0], case.values.sum(axis), np.abs(case.values).sum(axis))
    case.near(lazy.max(axis=axis, **keywords)[:, 0], case.values.max(axis), np.abs(case.values).max(axis))
    exponentials = np.log(np.exp(case.values).sum(axis))
    case.near(lazy.logsumexp(axis=axis, **keywords)[:, 0], exponentials, np.abs(exponentials))
    again = pickle.loads(pickle.dumps(lazy)).sum(axis=axis, **keywords)
    np.testing.assert_array_equal(again, total)


def test_the_gradient_by_the_table(case: Case, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    e = rng.standard_normal(case.i.shape).astype(case.code)
    by_rows = case.lazy().grad(cm.Pm(case.table.reshape(-1)), cm.Vi(e)).sum(axis=1, mode=mode, context=context)
    expected, terms = np.zeros(TABLE), np.zeros(TABLE)
    rows, cols = np.broadcast_arrays(case.i, case.j.T)
    np.add.at(expected, (rows, cols), e * case.kernel)
    np.add.at(terms, (rows, cols), np.abs(e * case.kernel))
    case.near(by_rows.astype("f8").sum(0).reshape(TABLE), expected, terms)


def test_places_of_pairs_and_of_short_tables(code: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    case = Case(rng, code, 45, 130)
    table = rng.standard_normal(12).astype(code)
    i, j = case.places()
    distance = cm.Table(table)[(i - j).abs()]
    exact = table.astype("f8")[np.abs(case.i - case.j.T)]
    case.near(distance.sum(axis=1, mode=mode, context=context)[:, 0], exact.sum(1), np.abs(exact).sum(1))
    own = cm.Table(table)[i].dense(mode=mode, context=context)
    np.testing.assert_array_equal(own[:, 0], table[case.i[:, 0]])
    np.testing.assert_array_equal(cm.Table(table[:1])[j].dense(mode=mode, context=context)[0], np.full(130, table[0]))


@pytest.mark.parametrize("dim", [2, 20])
def test_axes_without_a_place_make_vectors(
    dim: int, code: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    case = Case(rng, code, 70, 90)
    table, y = rng.standard_normal((6, dim)).astype(code), rng.standard_normal((90, dim)).astype(code)
    vectors = cm.Table(table)[case.places()[0]]
    assert vectors.shape == (70, 1, dim)
    rows = table.astype("f8")[case.i[:, 0]]
    weighted = (vectors * case.lazy_kernel()).sum(axis=1, mode=mode, context=context)
    case.near(weighted, case.kernel @ np.ones(90)[:, None] * rows, case.kernel.sum(1)[:, None] * np.abs(rows))
    products = (vectors | cm.Vj(y)).sum(axis=1, mode=mode, context=context)[:, 0]
    case.near(products, rows @ y.astype("f8").sum(0), np.abs(rows) @ np.abs(y).sum(0))


def test_complex_tables(context: cm.Context, rng: np.random.Generator) -> None:
    table = (rng.standard_normal(7) + 1j * rng.standard_normal(7)).astype("c8")
    i, j = (rng.integers(0, 7, (n, 1)) for n in (5, 8))
    lazy = cm.Table(table)[cm.Vi(i.astype("f4"))] * cm.Table(table)[cm.Vj(j.astype("f4"))]
    exact = (table[i] * table[j.T]).sum(1)
    np.testing.assert_allclose(lazy.sum(axis=1, context=context)[:, 0], exact, rtol=0, atol=1e-4)


def test_places_outside(case: Case, context: cm.Context, mode: str) -> None:
    keywords = {"axis": 1, "mode": mode, "context": context}
    np.testing.assert_array_equal(case.lazy("check").sum(**keywords), case.lazy().sum(**keywords))
    where, right = len(case.i) // 2, case.i.astype(case.code)
    for wrong, place in ((-3, 0), (6, 5), (1e30, 5), (np.nan, 0), (np.inf, 5)):
        bad, moved = right.copy(), right.copy()
        bad[where], moved[where] = wrong, place
        j = cm.Vj(case.j.astype(case.code))
        with pytest.raises(cm.PlaceError, match="outside of a checked table"):
            cm.Table(case.table, "check")[cm.Vi(bad), j].sum(**keywords)
        result = cm.Table(case.table)[cm.Vi(bad), j].sum(**keywords)
        np.testing.assert_array_equal(result, cm.Table(case.table)[cm.Vi(moved), j].sum(**keywords))


def test_masks_leave_places_of_pairs_out(context: cm.Context) -> None:
    x = np.arange(8, dtype="f4")[:, None]
    lazy = cm.Table(np.arange(5, dtype="f4"), "check")[(cm.Vi(x) - cm.Vj(x)).abs()]
    with pytest.raises(cm.PlaceError):
        lazy.sum(axis=1, context=context)
    lazy.ranges = cm.Ranges.band(8, 8, 2)
    exact = [sum(abs(i - j) for j in range(8) if abs(i - j) <= 2) for i in range(8)]
    np.testing.assert_array_equal(lazy.sum(axis=1, context=context)[:, 0], exact)


def test_formula_strings(case: Case, context: cm.Context, mode: str) -> None:
    aliases = ["A = Pm(54)", "i = Vi(1)", "j = Vj(1)", "x = Vi(3)", "y = Vj(3)"]
    genred = cm.Genred("Take(A, i * 9 + j) * Exp(-SqDist(x, y))", aliases, reduction_op="Sum", axis=1)
    arrays = (case.table.reshape(-1), case.i.astype(case.code), case.j.astype(case.code), case.x, case.y)
    result = genred(*arrays, mode=mode, context=context)
    case.near(result[:, 0], case.values.sum(1), np.abs(case.values).sum(1))
    both = cm.Genred("Take(A, i * 9 + j) * Sum(A)", aliases[:3], reduction_op="Sum", axis=1)
    total = case.table.astype("f8")
    exact = total[case.i, case.j[:, 0]] * total.sum()
    case.near(both(*arrays[:3], mode=mode, context=context)[:, 0], exact.sum(1), 60 * np.abs(exact).sum(1) + 900)


def test_batches_have_tables_of_their_own(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    tables = rng.standard_normal((4, 10)).astype("f4")
    i, j = rng.integers(0, 5, (4, 33, 1)), rng.integers(0, 2, (4, 20, 1))
    genred = cm.Genred("Take(A, i * 2 + j)", ["A = Pm(10)", "i = Vi(1)", "j = Vj(1)"], reduction_op="Sum", axis=1)
    result = genred(tables, i.astype("f4"), j.astype("f4"), mode=mode, context=context)
    exact = np.stack([t[a * 2 + b.T].astype("f8").sum(1) for t, a, b in zip(tables, i, j, strict=True)])
    np.testing.assert_allclose(result[..., 0], exact, rtol=0, atol=1e-4)


def test_wrong_input(rng: np.random.Generator) -> None:
    x = cm.Vi(rng.standard_normal((4, 1)).astype("f4"))
    with pytest.raises(cm.ShapeError, match="read at 3 places"):
        cm.Table(np.zeros((2, 2), "f4"))[x, x, x]
    with pytest.raises(cm.ShapeError, match="one number, not a vector of 3"):
        cm.Table(np.zeros(2, "f4"))[cm.Vi(np.zeros((4, 3), "f4"))]
    with pytest.raises(cm.DTypeError, match="formulas compute with floats"):
        cm.Table(np.zeros(2, int))[x]
    with pytest.raises(cm.DTypeError, match="float64"):
        cm.Table(np.zeros(2))[x]
    with pytest.raises(cm.ShapeError, match="262144 numbers at most"):
        cm.Table(np.zeros((600, 600), "f4"))[x, x]
    with pytest.raises(cm.FormulaError, match="Take reads a parameter"):
        cm.Genred("Take(x, x)", ["x = Vi(1)"])
    with pytest.raises(cm.ShapeError, match="divides the parameter's"):
        cm.Genred("Take(p, x, 2)", ["p = Pm(5)", "x = Vi(1)"])
