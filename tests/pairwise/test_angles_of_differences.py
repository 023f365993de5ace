"""Sines and cosines of differences, from those of either side: as exact as functions of every pair, on every device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.passes import OnePass

ROWS, COLUMNS = 300, 1100


@pytest.fixture
def apart(monkeypatch: pytest.MonkeyPatch, context: cm.Context) -> cm.Context:
    """A context that takes angles apart on CPUs too, with no plans from before."""
    if not context.device.fp64:
        pytest.skip("the device has no float64")
    monkeypatch.setattr(
        OnePass, "_separates", lambda self, mode, facts: self.bound.linear and mode is ComputeMode.PARALLEL
    )
    return cm.Context(context.device)


def sides(x: Any, y: Any) -> tuple[Any, Any]:
    """The rows and columns of all pairs; before them may be a batch."""
    return cm.LazyTensor(x[..., :, None, :]), cm.LazyTensor(y[..., None, :, :])


def differences(x: Any, y: Any) -> Any:
    """In float64."""
    return x[..., :, None, :].astype("f8") - y[..., None, :, :]


def periodic(x: Any, y: Any) -> tuple[Any, Any]:
    """A kernel of period 2, and the same in float64."""
    u, v = sides(x, y)
    lazy = (-2 * ((np.pi * 0.5 * (u - v)).sin() ** 2).sum(-1)).exp()
    angles = np.float64(np.float32(np.pi * 0.5)) * differences(x, y)
    return lazy, np.exp(-2 * np.square(np.sin(angles)).sum(-1))


def mixture(x: Any, y: Any) -> tuple[Any, Any]:
    """A Gaussian times a wave, and the same in float64."""
    (u, v), scale = sides(x, y), 1 / 4 ** np.ceil(np.log2(x.shape[-1]))
    lazy, difference = (-scale * ((u - v) ** 2).sum(-1)).exp() * (3 * (u - v).sum(-1)).cos(), differences(x, y)
    return lazy, np.exp(-scale * np.square(difference).sum(-1)) * np.cos(3 * difference.sum(-1))


def waves(x: Any, y: Any) -> tuple[Any, Any]:
    """A wave for each coordinate, and the same in float64."""
    u, v = sides(x, y)
    return (u - v).cos().sum(-1), np.cos(differences(x, y)).sum(-1)


@pytest.mark.drawn
@pytest.mark.parametrize("batch", [(), (3,)])
@pytest.mark.parametrize("place", [0.0, 1000.0])
@pytest.mark.parametrize("dim", [1, 2, 5, 8, 12, 20])
@pytest.mark.parametrize("kernel", [periodic, mixture, waves])
def test_sums(kernel: Any, dim: int, place: float, batch: tuple[int, ...], apart: cm.Context, rng: np.random.Generator) -> None:
    x, y = ((rng.normal(size=(*batch, n, dim)) + place).astype("f4") for n in (ROWS, COLUMNS))
    b = rng.normal(size=(*batch, COLUMNS, 2)).astype("f4")
    lazy, exact = kernel(x, y)
    weighted = lazy * cm.LazyTensor(b[..., None, :, :])
    call = weighted.sum(len(batch) + 1, context=apart, mode="parallel", call=False)
    walked = dim > 16 and kernel is mixture  # one wave beside coordinates that are walked
    assert ("cos_called_double" in call.source()) != walked and "sin_fast_float" not in call.source()
    terms = exact[..., None] * b[..., None, :, :]
    error = np.abs(np.asarray(call(), "f8") - terms.sum(-2)) / np.abs(terms).sum(-2)
    assert error.max() <= 3e-6


def test_columns_of_a_mask(apart: cm.Context, rng: np.random.Generator) -> None:
    """Only some blocks of pairs are summed up."""
    x, y = (rng.normal(size=(n, 2)).astype("f4") for n in (256, 512))
    rows, columns = ((np.arange(0, n, 64)[:, None] + [0, 64]).astype("i4") for n in (256, 512))
    mask = rng.random((4, 8)) < 0.5
    lazy, exact = periodic(x, y)
    lazy.ranges = cm.Ranges.from_matrix(rows, columns, mask)
    terms = exact * np.kron(mask, np.ones((64, 64)))
    result = np.asarray(lazy.sum(1, context=apart, mode="parallel"))[:, 0]
    np.testing.assert_allclose(result, terms.sum(1), rtol=3e-6, atol=1e-30)


def test_exact_functions_stay(apart: cm.Context, rng: np.random.Generator) -> None:
    x, y = (rng.normal(size=(n, 1)).astype("f4") for n in (ROWS, COLUMNS))
    call = waves(x, y)[0].sum(1, context=apart, mode="parallel", precision="exact", call=False)
    assert "cos_called" not in call.source() and "cos(" in call.source()


def test_long_vectors_stay(apart: cm.Context) -> None:
    """They are walked, and no number of a row is kept for each coordinate."""
    x, y = np.zeros((4, 30), "f4"), np.ones((5, 30), "f4")
    call = waves(x, y)[0].sum(1, context=apart, mode="parallel", call=False)
    assert "cos_called_double" not in call.source()
    np.testing.assert_allclose(call(), np.full((4, 1), 150 * np.cos(1)), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_angles_that_are_no_numbers(apart: cm.Context) -> None:
    """A row at infinity spoils its own sum; a column, every sum."""
    x, y = np.array([[0.5], [np.inf], [np.nan]], "f4"), np.linspace(0, 1, 40, dtype="f4")[:, None]
    result = np.asarray(waves(x, y)[0].sum(1, context=apart, mode="parallel"))[:, 0]
    assert np.isfinite(result).tolist() == [True, False, False]
    y[7] = np.inf
    assert np.isnan(np.asarray(waves(x, y)[0].sum(1, context=apart, mode="parallel"))).all()
