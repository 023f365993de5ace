"""Sums of functions by approximations that are good beside 1 only: as exact as with careful functions, on every device.
Where a device has no such instructions, the vocabulary's words round to multiples of 2⁻²².
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.schemes.pairs.quick_rows import QuickRows

ROWS, COLUMNS = 300, 1100
TOLERANCE = 3e-6
"""Of Σ|terms|: 2e-6 for approximations, and roundings of sums and arguments."""


@pytest.fixture
def quick(approximating: cm.Context) -> cm.Context:
    """The same, but for PoCL: kernels with several walks over the columns take its compiler half a minute."""
    if approximating.device.vendor == "pocl":
        pytest.skip("half a minute for each kernel")
    return approximating


@pytest.fixture
def approximating(monkeypatch: pytest.MonkeyPatch, context: cm.Context) -> cm.Context:
    """A context whose pairs use approximations, with no plans from before."""
    own = vars(QuickRows)["quick"].func

    def everywhere(scheme: QuickRows) -> Any:
        return own(replace(scheme, facts=replace(scheme.facts, quick_functions=True)))

    patched = cached_property(everywhere)
    patched.__set_name__(QuickRows, "quick")
    monkeypatch.setattr(QuickRows, "quick", patched)
    return cm.Context(context.device)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "log": (lambda z: (1 + z).log(), np.log1p), "sin": (lambda z: z.sin(), np.sin),
    "cos": (lambda z: z.cos(), np.cos), "xlogx": (lambda z: z.xlogx(), lambda z: z * np.log(np.where(z == 0, 1, z))),
    "z sin": (lambda z: z * z.sin(), lambda z: z * np.sin(z)), "1 + z times sin": (lambda z: (1 + z) * z.sin(), lambda z: (1 + z) * np.sin(z)),
}  # fmt: skip


def points(rng: np.random.Generator, *shape: int) -> Any:
    """Multiples of 1/8, whose squared distances float32 holds exactly."""
    return (rng.integers(-20, 21, size=shape) / 8).astype("f4")


def error(result: Any, terms: Any) -> float:
    """Of Σ|terms|, at worst."""
    size = np.abs(terms).sum(-2)
    return float(np.max(np.abs(np.asarray(result, "f8") - terms.sum(-2)) / np.where(size == 0, 1, size)))


def test_rows_of_all_kinds(approximating: cm.Context, rng: np.random.Generator) -> None:
    """Near angles, small ones, large ones, and one with too many turns, in groups of several rows."""
    x, y, b = points(rng, ROWS, 2), points(rng, COLUMNS, 2), rng.normal(size=(COLUMNS, 1)).astype("f4")
    x[:100] *= np.float32(2.0**-9)
    x[200:] *= np.float32(2.0**9)
    x[210] *= np.float32(2.0**16)
    result = ((cm.Vi(x) | cm.Vj(y)).sin() * cm.Vj(b)).sum(1, context=approximating, mode="parallel")
    assert error(result, np.sin(x.astype("f8") @ y.T.astype("f8"))[..., None] * b) <= TOLERANCE


@pytest.mark.drawn
@pytest.mark.parametrize("scale", [1.0, 2.0**-6, 2.0**-12, 2.0**12, 2.0**20, 2.0**23])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_sums_stay_within_the_bound(name: str, scale: float, quick: cm.Context, rng: np.random.Generator) -> None:
    """Also where all terms are so small that approximations have no digit of them, and angles have many turns, or more
    than approximations take.
    """
    x, y, b = points(rng, ROWS, 2), points(rng, COLUMNS, 2), rng.normal(size=(COLUMNS, 1)).astype("f4")
    function, exact = FUNCTIONS[name]
    call = (function(cm.Vi(x).sqdist(cm.Vj(y)) * scale) * cm.Vj(b)).sum(1, context=quick, mode="parallel", call=False)
    word = {"log": "log2", "xlogx": "xlog2x", "cos": "cos"}.get(name, "sin_near")
    assert f"cmr_{word}_quick" in call.source()
    distance = np.square(x[:, None].astype("f8") - y).sum(-1) * scale
    if name == "log":
        distance = (1 + distance).astype("f4") - 1.0  # what the logarithm is of
    assert error(call(), exact(distance)[..., None] * b) <= TOLERANCE


@pytest.mark.parametrize("around", ["alone", "exponential", "quotient", "three weights"])
@pytest.mark.parametrize("scale", [1.0, 2.0**12, 2.0**23])
def test_cosines_of_products(around: str, scale: float, quick: cm.Context, rng: np.random.Generator) -> None:
    """Of either sign, inside of other functions, for several sums at once; the largest have more turns than
    approximations take.
    """
    x, y = points(rng, ROWS, 2), points(rng, COLUMNS, 2)
    b = rng.normal(size=(COLUMNS, 3 if around == "three weights" else 1)).astype("f4")
    cosine = ((cm.Vi(x) | cm.Vj(y)) * scale).cos()
    term = cosine.exp() if around == "exponential" else 1 / (2 + cosine) if around == "quotient" else cosine
    call = (term * cm.Vj(b)).sum(1, context=quick, mode="parallel", call=False)
    assert "cmr_cos_quick" in call.source()
    exact = np.cos(x.astype("f8") @ y.T.astype("f8") * scale)
    exact = np.exp(exact) if around == "exponential" else 1 / (2 + exact) if around == "quotient" else exact
    assert error(call(), exact[..., None] * b) <= TOLERANCE


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**-9, 2.0**-3, 1.0, 2.0, 2.0**12, 2.0**17, 2.0**23])
def test_sines_of_products(scale: float, quick: cm.Context, rng: np.random.Generator) -> None:
    """Of either sign, from those that are as small as their terms to those that are beyond what approximations take."""
    x, y, b = points(rng, ROWS, 2), points(rng, COLUMNS, 2), rng.normal(size=(COLUMNS, 1)).astype("f4")
    call = (((cm.Vi(x) | cm.Vj(y)) * scale).sin() * cm.Vj(b)).sum(1, context=quick, mode="parallel", call=False)
    assert "cmr_sin_near_quick" in call.source()
    assert error(call(), np.sin(x.astype("f8") @ y.T.astype("f8") * scale)[..., None] * b) <= TOLERANCE


@pytest.mark.parametrize("among, others", [(1.0, 2.0**-9), (2.0**-9, 1.0), (2.0**-9, 2.0**9), (2.0**9, 2.0**-9), (1.0, 2.0**24)])
@pytest.mark.parametrize("every", [68, 17])
def test_columns_unlike_those_that_a_group_looks_at(
    among: float, others: float, every: int, quick: cm.Context, rng: np.random.Generator
) -> None:
    """A group that has chosen the wrong functions finds out."""
    x, y, b = points(rng, ROWS, 2), points(rng, COLUMNS, 2), rng.normal(size=(COLUMNS, 1)).astype("f4")
    y *= np.where(np.arange(COLUMNS) % every == 0, among, others).astype("f4")[:, None]
    result = ((cm.Vi(x) | cm.Vj(y)).sin() * cm.Vj(b)).sum(1, context=quick, mode="parallel")
    assert error(result, np.sin(x.astype("f8") @ y.T.astype("f8"))[..., None] * b) <= TOLERANCE


@pytest.mark.parametrize("scales", [(1.0, 2.0**-9), (2.0**9, 2.0**-9), (2.0**25, 2.0**-9), (2.0**25, 1.0)])
def test_rows_of_two_kinds(scales: tuple[float, float], quick: cm.Context, rng: np.random.Generator) -> None:
    """In every group many rows are unlike the others."""
    x, y, b = points(rng, ROWS, 2), points(rng, COLUMNS, 2), rng.normal(size=(COLUMNS, 1)).astype("f4")
    x *= np.where(np.arange(ROWS) % 3 == 0, *scales).astype("f4")[:, None]
    result = ((cm.Vi(x) | cm.Vj(y)).sin() * cm.Vj(b)).sum(1, context=quick, mode="parallel")
    assert error(result, np.sin(x.astype("f8") @ y.T.astype("f8"))[..., None] * b) <= TOLERANCE


@pytest.mark.parametrize("weights", ["zero", "one large", "infinite", "NaN"])
def test_weights_of_sines(weights: str, quick: cm.Context, rng: np.random.Generator) -> None:
    """Near multiples of pi a sine is off by 5e-7, so that of the large weight's terms less than 1e-6 of it is wrong."""
    x, y, b = points(rng, ROWS, 2), points(rng, COLUMNS, 2), np.zeros((COLUMNS, 1), "f4")
    b[700] = {"zero": 0, "one large": 1e30, "infinite": np.inf, "NaN": np.nan}[weights]
    result = np.asarray(((cm.Vi(x) | cm.Vj(y)).sin() * cm.Vj(b)).sum(1, context=quick, mode="parallel"), "f8")
    with np.errstate(all="ignore"):
        exact = (np.sin(x.astype("f8") @ y.T.astype("f8"))[..., None] * b).sum(1)
    np.testing.assert_allclose(result, exact, rtol=TOLERANCE, atol=1e24 if weights == "one large" else 0)


@pytest.mark.parametrize("around", ["square", "exponential", "two sums"])
@pytest.mark.parametrize("scale", [2.0**-9, 1.0, 2.0**12, 2.0**23])
def test_sines_in_other_functions(around: str, scale: float, quick: cm.Context, rng: np.random.Generator) -> None:
    """As series, of angles less whole turns."""
    x, y = points(rng, ROWS, 2), points(rng, COLUMNS, 2)
    b = rng.normal(size=(COLUMNS, 2 if around == "two sums" else 1)).astype("f4")
    sine, exact = ((cm.Vi(x) | cm.Vj(y)) * scale).sin(), np.sin(x.astype("f8") @ y.T.astype("f8") * scale)
    term = sine**2 if around == "square" else sine.exp() if around == "exponential" else sine
    exact = exact**2 if around == "square" else np.exp(exact) if around == "exponential" else exact
    call = (term * cm.Vj(b)).sum(1, context=quick, mode="parallel", call=False)
    assert "cmr_sin_quick" in call.source()
    assert error(call(), exact[..., None] * b) <= TOLERANCE


def test_one_row_with_long_angles(quick: cm.Context, rng: np.random.Generator) -> None:
    """Its cosines are no numbers by approximations; its group's other rows keep theirs."""
    x = np.full((5000, 1), 1.5, "f4")
    x[4321] = 2.0**26
    y = (rng.integers(8, 17, (3000, 1)) / 8).astype("f4")
    result = np.asarray((cm.Vi(x) * cm.Vj(y)).cos().sum(1, context=quick, mode="parallel"))
    assert error(result, np.cos(x[:, None].astype("f8") * y)) <= TOLERANCE


@pytest.mark.parametrize("factor", [-3.0, 1e-12, 2.5e12])
def test_factors_of_all_terms(factor: float, quick: cm.Context, rng: np.random.Generator) -> None:
    """They wait until a tile is summed, and change no share of terms; some rows are computed again."""
    x, y = points(rng, ROWS, 2), points(rng, COLUMNS, 2)
    x[::50] *= 2.0**-14
    tensor = ((cm.Vi(x) | cm.Vj(y)).sin() * np.float32(factor)).sum(1, context=quick, mode="parallel", call=False)
    assert "cmr_sin_near_quick" in tensor.source()
    terms = np.sin(x.astype("f8") @ y.T.astype("f8")) * np.float64(np.float32(factor))
    assert error(tensor()[:, 0], terms.T) <= TOLERANCE


def test_one_row_with_small_terms(quick: cm.Context, rng: np.random.Generator) -> None:
    """Its group computes again, other groups do not; rows and columns are many."""
    x = np.full((5000, 1), 1.5, "f4")
    x[4321] = 1e-6
    y = rng.uniform(1, 1.5, (3000, 1)).astype("f4")
    result = np.asarray((cm.Vi(x) * cm.Vj(y)).sin().sum(1, context=quick, mode="parallel"))
    terms = np.sin((x[:, None] * y).astype("f8"))
    assert error(result, terms) <= TOLERANCE
    assert np.abs(result[4321] / terms[4321].sum() - 1) <= TOLERANCE


@pytest.mark.parametrize("small", [1, 3, 31, 32, 33, 64])
def test_some_rows_of_every_group(small: int, quick: cm.Context, rng: np.random.Generator) -> None:
    """Few rows are shared by the items, more are computed again with the whole group: 64 rows a group on CPUs."""
    x, y = rng.uniform(1, 1.5, (64 * 5, 1)).astype("f4"), rng.uniform(1, 1.5, (3000, 1)).astype("f4")
    for group in range(5):
        x[64 * group + rng.permutation(64)[:small]] *= 1e-6
    result = np.asarray((cm.Vi(x) * cm.Vj(y)).sin().sum(1, context=quick, mode="parallel"))
    exact = np.sin((x[:, None] * y).astype("f8")).sum(1)
    assert np.abs(result / exact - 1).max() <= TOLERANCE


def test_numbers_that_are_none(quick: cm.Context) -> None:
    """NaN and infinities come out as of careful functions, and other rows are right."""
    x = np.array([[1.0], [0.0], [np.inf], [np.nan], [-1.0], [1e-42], [2.0]], "f4")
    y = np.ones((40, 1), "f4")
    for function, exact in ((lambda z: z.log(), np.log), (lambda z: z.cos(), np.cos)):
        result = np.asarray(function(cm.Vi(x) * cm.Vj(y)).sum(1, context=quick, mode="parallel"))[:, 0]
        with np.errstate(all="ignore"):
            expected = 40 * exact(x[:, 0].astype("f8"))
        tiny = np.abs(x[:, 0] - 1e-42) < 1e-40
        np.testing.assert_allclose(result[~tiny], expected[~tiny], rtol=TOLERANCE, atol=40 * 2e-6)


@pytest.mark.parametrize("layout", ["vector", "mean", "batch", "ranges", "float64 sums", "split", "axis 0"])
def test_layouts(layout: str, quick: cm.Context, rng: np.random.Generator) -> None:
    """With groups that compute again, where x is small."""
    batch = (3,) if layout == "batch" else ()
    x, y = points(rng, *batch, ROWS, 2), points(rng, *batch, 9 * COLUMNS if layout == "split" else COLUMNS, 2)
    x[..., 100:, :] *= 2.0**-14
    b = rng.random((*batch, y.shape[-2], 3 if layout == "vector" else 1)).astype("f4")
    products = (x[..., :, None, :].astype("f8") * y[..., None, :, :]).sum(-1)
    terms = np.sin(products)[..., None] * b[..., None, :, :]
    if batch:
        rows, columns, weights = (cm.LazyTensor(a) for a in (x[:, :, None], y[:, None], b[:, None]))
    else:
        rows, columns, weights = cm.Vi(x), cm.Vj(y), cm.Vj(b)
    tensor = (rows | columns).sin() * weights
    how: dict[str, Any] = {"context": quick, "mode": "parallel"}
    if layout == "axis 0":
        result = ((cm.Vi(y) | cm.Vj(x)).sin() * cm.Vi(b)).sum(0, **how)
    elif layout == "mean":
        result = tensor.mean(1, **how) * np.float32(y.shape[-2])
    elif layout == "ranges":
        mask = rng.random((3, 4)) < 0.6
        mask[:, 0] = True
        ends = [np.array([0, 90, 170, ROWS]), np.array([0, 300, 555, 700, COLUMNS])]
        ranges = cm.Ranges.from_matrix(*(np.stack([e[:-1], e[1:]], 1) for e in ends), mask)
        whole = np.repeat(np.repeat(mask, np.diff(ends[0]), 0), np.diff(ends[1]), 1)
        terms, result = terms * whole[..., None], tensor.sum(1, ranges=ranges, **how)
    else:
        more: dict[str, Any] = {"dtype_acc": "float64"} if layout == "float64 sums" else {}
        result = tensor.sum(len(batch) + 1, **how, **more)
    assert error(result, terms) <= TOLERANCE


def test_exact_functions_are_asked_for(quick: cm.Context, rng: np.random.Generator) -> None:
    x = points(rng, 40, 1)
    for options in ({"precision": "exact"}, {"mode": "sequential"}, {"sum_scheme": "kahan_scheme"}):
        call = (cm.Vi(x) * cm.Vj(x)).sin().sum(1, context=quick, call=False, **options)
        assert "_quick" not in call.source()
