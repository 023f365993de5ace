"""Reductions as a device with matrix units computes them, on every device: elsewhere their words are emulated."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.dense_pairs import Case
from support.matrix_units import units_everywhere

import clmapreduce as cm
from clmapreduce.schemes.pairs.matrix import boxes
from clmapreduce.schemes.pairs.matrix.boxes import MatrixBox
from clmapreduce.schemes.pairs.matrix.wide_boxes import MatrixWideBox

EPS = float(np.finfo("f4").eps)
NAMES = ["Sum", "Mean", "LogSumExp", "LogSumExpWeight", "SumSoftMaxWeight"]

pytestmark = pytest.mark.drawn(whole=["sparse"], seldom="pocl")


@pytest.fixture(autouse=True)
def units(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every device has them; the boxes that were chosen."""
    return units_everywhere(monkeypatch)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "blocks"])
@pytest.mark.parametrize("name", NAMES)
def test_reductions(
    name: str, sparse: bool, context: cm.Context, rng: np.random.Generator, units: list[Any]
) -> None:  # fmt: skip
    """Points that are near, and others so far apart that products lose their digits; lists of many intervals."""
    dim, centre = int(rng.choice([1, 3, 20])), float(rng.choice([0, 1000]))
    case = Case(name, dim, axis=int(rng.integers(2)), backend=str(rng.choice(["auto", "2D"])), sparse=sparse)
    replace(case, centre=centre if dim < 20 else 0.0).check(rng, context, "parallel", [(67, 300), (300, 67)])
    assert any(units)


@pytest.mark.parametrize(
    ("numbers", "sparse"), [(1, False), (4, False), (7, False), (16, False), (40, False), (10, True), (40, True)]
)
def test_vectors_of_numbers(
    numbers: int, sparse: bool, context: cm.Context, rng: np.random.Generator, units: list[Any]
) -> None:  # fmt: skip
    """Kernels times vectors of few numbers and of many, which are matrix products; and softmax with such weights."""
    x, y, b = (rng.normal(size=shape).astype("f4") for shape in ((70, 3), (300, 3), (300, numbers)))
    keep = np.repeat(rng.random((7, 300)) < rng.choice([0.5, 0.98]), 10, 0) if sparse else np.ones((70, 300), bool)
    keep[:, 299] = True  # softmax of nothing is none
    ranges = cm.Ranges.from_mask(keep) if sparse else None
    how: dict[str, Any] = {"context": context, "mode": "parallel"}
    distances = ((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)
    terms = np.exp(-np.square(x.astype("f8")[:, None] - y).sum(-1)) * keep
    kernel = (-distances).exp()
    kernel.ranges = ranges
    result = kernel.__matmul__(b, **how)
    np.testing.assert_allclose(result, terms @ b, atol=1e-5 * np.abs(terms @ np.abs(b)).max())
    result = (-distances).sumsoftmaxweight(cm.Vj(b), dim=1, ranges=ranges, **how)
    np.testing.assert_allclose(result, terms @ b / terms.sum(1, keepdims=True), atol=2e-5)
    long = numbers >= (17 if sparse else 7)  # intervals are short here
    assert any(units) and (not long or any(isinstance(box, MatrixWideBox) for box in units))


def test_softmax_of_long_weights_where_groups_give_up(
    context: cm.Context, rng: np.random.Generator, units: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As calls of many pairs do: vectors too far apart for two pieces a number are computed by three."""
    monkeypatch.setattr(boxes, "SOME_PAIRS", 0)
    dim, size, apart = int(rng.integers(4, 17)), int(rng.choice([17, 40])), float(rng.choice([0.1, 1, 10]))
    x, y, b = (rng.normal(size=shape).astype("f4") for shape in ((150, dim), (300, dim), (300, size)))
    x, y = np.float32(apart) * x, np.float32(apart) * y
    tensor = -((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)
    result = tensor.sumsoftmaxweight(cm.Vj(b), dim=1, context=cm.Context(context.device), mode="parallel")
    exponents = -np.square(x.astype("f8")[:, None] - y).sum(-1)
    terms = np.exp(exponents - exponents.max(1, keepdims=True))
    # Half a last bit for every step of an exponent, and chains of sums; in the sum and in what it is divided by.
    bound = 2 * EPS * (17 + (dim + 8) / 2 * np.abs(exponents).max()) * (terms @ np.abs(b))
    assert np.all(np.abs(result * terms.sum(1, keepdims=True) - terms @ b) <= bound), (dim, size, apart)
    assert any(getattr(box, "fine", 0) for box in units)


def test_gradients(context: cm.Context, rng: np.random.Generator, units: list[Any]) -> None:
    """A sum and its gradient in one pass, and the gradient alone."""
    x, y, b = (rng.normal(size=shape).astype("f4") for shape in ((70, 3), (300, 3), (300, 1)))
    value = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)).exp() * cm.Vj(b)
    apart = x.astype("f8")[:, None] - y
    terms = np.exp(-np.square(apart).sum(-1))[..., None] * b
    slopes = -2 * apart * terms
    how: dict[str, Any] = {"dim": 1, "context": context, "mode": "parallel"}
    for tensor, each in (
        (value.concat(value.grad(cm.Vi(x), 1)), np.concatenate([terms, slopes], -1)),
        (value.grad(cm.Vi(x), 1), slopes),
    ):
        result = tensor.sum(**how)
        assert np.all(np.abs(result - each.sum(1)) <= 1e-5 * np.abs(each).sum(1))
    assert any(units)


def test_exponentials_that_may_not_be_rough(context: cm.Context, rng: np.random.Generator, units: list[Any]) -> None:
    """Exponentials as large parts of an exponent, in differences that nearly cancel, and in vectors whose largest entry
    decides. Each result is as accurate as without units.
    """
    x, y = (rng.uniform(0, 0.2, size=(n, 3)).astype("f4") for n in (70, 300))
    kernel = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)).exp()
    terms = np.exp(-np.square(x.astype("f8")[:, None] - y).sum(-1))
    how: dict[str, Any] = {"dim": 1, "context": context, "mode": "parallel"}
    result = (1e3 * kernel).logsumexp(**how)[:, 0]
    top = 1e3 * terms.max(1)
    expected = top + np.log(np.exp(1e3 * terms - top[:, None]).sum(1))
    np.testing.assert_allclose(result, expected, atol=1e3 * 4e-7)
    np.testing.assert_allclose((1 - kernel).sum(**how)[:, 0], (1 - terms).sum(1), atol=300 * 2e-7)
    second = (-2 * ((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)).exp()
    best = kernel.concat(second).argmax(**how)
    for d, power in enumerate((terms, terms**2)):
        choice = np.take_along_axis(power, best[:, d : d + 1].astype(int), 1)[:, 0]
        assert np.all(power.max(1) - choice <= 4e-7)
    assert not any(units)


TERMS: dict[str, tuple[int, int]] = {
    "Gaussian": (3, 1), "Gaussian of numbers": (1, 1), "long vectors": (40, 1), "long weights": (3, 20),
    "gradient": (3, 1), "vectors of 20 numbers": (20, 1),
}  # fmt: skip
"""Numbers of a point and of its weights, for sums of Gaussians times weights."""


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "blocks"])
@pytest.mark.parametrize("name", TERMS)
def test_sums_of_floats_of_16_bits(
    name: str, sparse: bool, dtype: str, context: cm.Context, rng: np.random.Generator, units: list[Any]
) -> None:
    """Points that are 0, -0, subnormal, infinite, NaN, or so large that products do not suffice."""
    dim, numbers = TERMS[name]
    arrays = [rng.normal(size=shape) for shape in ((67, dim), (301, dim), (301, numbers))]
    x, y, b = arrays[0] / dim**0.5, arrays[1] / dim**0.5, arrays[2]
    x[:7] = np.array([0, -0.0, 1e-7, 1e-39, np.inf, np.nan, 3e4])[:, None]
    y[:4], b[:3] = x[:4], np.array([-0.0, 1e-7, 1e-39])[:, None]
    x, y, b = (array.astype(dtype) for array in (x, y, b))
    slopes = name == "gradient"
    value = (-cm.Vi(x).sqdist(cm.Vj(y))).exp() * cm.Vj(b)
    value = value.grad(cm.Vi(x), 1) if slopes else value
    keep = np.repeat(np.repeat(rng.random((7, 31)) < 0.5, 10, 0)[:67], 10, 1)[:, :301] if sparse else None
    ranges = None if keep is None else cm.Ranges.from_mask(keep)
    result = value.sum(1, context=context, mode="parallel", ranges=ranges)
    terms = gaussians(x, y, b, slopes)
    near(result, terms if keep is None else np.where(keep[..., None], terms, 0), dtype)
    assert sparse or any(units)


def gaussians(x: Any, y: Any, b: Any, slopes: bool) -> Any:
    """Every pair's Gaussian times weights in float64, or its slopes by x."""
    x, y, b = (array.astype("f8") for array in (x, y, b))
    with np.errstate(invalid="ignore"):
        apart = x[:, None] - y
        terms = np.exp(-np.square(apart).sum(-1, keepdims=True)) * b
        return -2 * apart * terms if slopes else terms


def near(result: Any, terms: Any, dtype: str) -> None:
    """Sums as exact as products are, rounded to the dtype once; NaN where it belongs."""
    numbers, expected = ml_dtypes.finfo(dtype), terms.sum(1)
    off = 1e-5 * np.abs(terms).sum(1) + float(numbers.eps) / 2 * np.abs(expected) + float(numbers.smallest_subnormal)
    assert result.dtype == dtype
    np.testing.assert_array_equal(np.isnan(result.astype("f4")), np.isnan(expected))
    numeric = ~np.isnan(expected)
    assert np.all(np.abs(result.astype("f8") - expected)[numeric] <= off[numeric])


@pytest.mark.drawn
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize(("name", "dim"), [("logsumexp", 3), ("logsumexp", 40), ("argmin", 3)])
def test_exponents_and_places_of_floats_of_16_bits(
    name: str, dim: int, dtype: str, context: cm.Context, rng: np.random.Generator, units: list[Any]
) -> None:
    """Of points of whole numbers, the first nearest one."""
    x, y = (rng.integers(-3, 4, size=(n, dim)).astype(dtype) for n in (67, 301))
    squares = np.square(x.astype("f8")[:, None] - y.astype("f8")).sum(-1)
    distances = cm.Vi(x).sqdist(cm.Vj(y))
    how: dict[str, Any] = {"dim": 1, "context": context, "mode": "parallel"}
    if name == "argmin":
        np.testing.assert_array_equal(distances.argmin(**how)[:, 0], squares.argmin(1))
    else:
        result, expected = (-distances).logsumexp(**how)[:, 0], np.log(np.exp(-squares).sum(1))
        assert result.dtype == dtype
        rounding = float(ml_dtypes.finfo(dtype).eps) / 2 + 3e-6
        np.testing.assert_allclose(result.astype("f8"), expected, rtol=rounding, atol=1e-5)
    assert all(units)


@pytest.mark.parametrize(("length", "few"), [(50, MatrixBox), (600, MatrixWideBox)])
def test_blocks_of_short_intervals(
    length: int, few: type[Any], context: cm.Context, rng: np.random.Generator, units: list[Any]
) -> None:  # fmt: skip
    """Vectors of ten numbers go the way of long ones only where most stages are whole; those of forty always do."""
    clusters = np.arange(0, 1200, length)[:, None] + np.array([[0, length]])
    ranges = cm.Ranges.from_matrix(clusters, clusters, np.eye(len(clusters), dtype=bool))
    x = rng.normal(size=(1200, 3)).astype("f4")
    kernel = (-((cm.Vi(x) - cm.Vj(x)) ** 2).sum(-1)).exp()
    kernel.ranges = ranges
    terms = np.exp(-np.square(x.astype("f8")[:, None] - x).sum(-1))
    terms *= np.equal.outer(np.arange(1200) // length, np.arange(1200) // length)
    for numbers, kind in ((10, few), (40, MatrixWideBox)):
        b = rng.normal(size=(1200, numbers)).astype("f4")
        result = kernel.__matmul__(b, context=context, mode="parallel")
        np.testing.assert_allclose(result, terms @ b, atol=1e-5 * np.abs(terms @ np.abs(b)).max())
        assert type(units[-1]) is kind
