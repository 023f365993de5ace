"""Sums of long values by cells: long weights and gradients, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.far_points import clusters, distances, points, squares
from support.matrix_units import units_everywhere

import clmapreduce as cm
from clmapreduce.schemes.pairs.long_values import CHAIN

pytestmark = [pytest.mark.drawn(seldom="pocl"), pytest.mark.usefixtures("looks_for_cells")]

ROWS, COLUMNS = 600, 3_100
EPS = float(np.finfo("f4").eps)


def assert_sums(result: Any, terms: Any, between: Any, dim: int, products: float = 0.0) -> None:
    """terms: of every row and column, and number. between: squared distances. products: what an exponent is off by, as
    a share of itself, where matrix units compute it.
    """
    exponent = products + EPS * (dim + 8) / 2  # half a last bit for every step
    # Three deviations of a chain of 512 sums.
    bound = (np.abs(terms) * (34 * EPS + exponent * between)[:, :, None]).sum(1) + 1e-30
    assert np.all(np.abs(result - terms.sum(1)) <= bound)


@pytest.mark.parametrize("numbers", [17, 40, 133])
@pytest.mark.parametrize("dim", [2, 5, 20])
def test_long_weights(dim: int, numbers: int, alone: cm.Context, rng: np.random.Generator) -> None:
    """Most lists are longer than one sum may be, which adds up 512 columns."""
    x, y = clusters(rng, ROWS, dim, 5), clusters(rng, COLUMNS, dim, 5)
    b = rng.standard_normal((COLUMNS, numbers)).astype("f4")
    result = ((-distances(x, y)).exp() * cm.Vj(b)).sum(1, context=alone, mode="parallel")
    between = squares(x, y)
    assert COLUMNS / 5 > CHAIN
    assert_sums(result, np.exp(-between)[:, :, None] * b.astype("f8"), between, dim)


@pytest.mark.parametrize("dim", [18, 37])
def test_long_gradients(dim: int, alone: cm.Context, rng: np.random.Generator) -> None:
    x, y = clusters(rng, ROWS, dim), clusters(rng, COLUMNS, dim)
    b = rng.standard_normal((COLUMNS, 1)).astype("f4")
    kernel = (-distances(x, y)).exp() * cm.Vj(b) * (cm.Vi(x) - cm.Vj(y))
    result = kernel.sum(1, context=alone, mode="parallel")
    between, differences = squares(x, y), x.astype("f8")[:, None] - y
    terms = np.exp(-between)[:, :, None] * b.astype("f8") * differences
    assert_sums(result, terms, between, dim)


@pytest.mark.parametrize("cloud", ["normal", "clusters", "one cluster", "outliers"])
@pytest.mark.parametrize("dim", [3, 20])
def test_any_points(
    cloud: str, dim: int, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """Matrix units compute what is near; cells, or other launches, what these leave."""
    units_everywhere(monkeypatch)
    x, y = (points(rng, cloud, count, dim) for count in (ROWS, COLUMNS))
    b = rng.standard_normal((COLUMNS, 20)).astype("f4")
    kernel = (-distances(x, y)).exp() * cm.Vj(b)
    result = kernel.sum(1, context=cm.Context(context.device), mode="parallel")
    between = squares(x, y)
    terms = np.exp(-between)[:, :, None] * b.astype("f8")
    assert_sums(result, terms, between, dim, 16 * 2.0**-22)  # sixteen sums of 22 bits


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3e38])
def test_weights_that_are_no_numbers(bad: float, context: cm.Context, rng: np.random.Generator) -> None:
    """Infinity times 0 is no number, in every row; so no pair is left out."""
    x, y = clusters(rng, ROWS, 3), clusters(rng, COLUMNS, 3)
    b = rng.standard_normal((COLUMNS, 20)).astype("f4")
    column, number = int(rng.integers(COLUMNS)), int(rng.integers(20))
    b[column, number] = bad
    kernel = (-distances(x, y)).exp() * cm.Vj(b)
    result = kernel.sum(1, context=context, mode="parallel")
    between = squares(x, y)
    expected = np.exp(-np.where(between < 200, between, np.inf)) @ np.nan_to_num(b.astype("f8"), posinf=0, nan=0)
    others = np.arange(20) != number
    np.testing.assert_allclose(result[:, others], expected[:, others], rtol=1e-4, atol=1e-5)
    if np.isfinite(bad):
        far = between[:, column] > 200
        np.testing.assert_allclose(result[far, number], expected[far, number], rtol=1e-4, atol=1e-5)
    else:
        assert np.all(np.isnan(result[between[:, column] > 200, number]))


@pytest.mark.parametrize(("code", "suits"), [("f4", True), ("f2", False)])
def test_sums_that_are_converted_do_not_suit(
    code: str, suits: bool, context: cm.Context, rng: np.random.Generator
) -> None:  # fmt: skip
    """A sum that begins again is added to what was stored."""
    x, y = (clusters(rng, n, 3).astype(code) for n in (ROWS, COLUMNS))
    kernel = (-distances(x, y)).exp() * cm.Vj(rng.standard_normal((COLUMNS, 20)).astype(code))
    plan = kernel.sum(1, context=cm.Context(context.device), mode="parallel", call=False).explain()
    assert ("by cells" in plan) is suits
