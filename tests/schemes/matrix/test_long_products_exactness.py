"""Sums over pairs of long vectors are as exact as promised, for all points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.long_product_calls import run
from support.long_vectors import DIM, TERM_ERROR, F, assert_sums, gaussian, points, squares
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.pairwise.call import PairCall
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.parts.long_results import LongResults
from clmapreduce.schemes.pairs.matrix.parts.long_tiles import LongTiles
from clmapreduce.vector import Variable

pytestmark = pytest.mark.drawn(seldom="pocl")


def adversarial(rng: np.random.Generator, kind: str) -> tuple[Any, Any, float]:
    """(rows, columns, scale) that products of 16 bits might not bear."""
    x, y = points(rng, 70, DIM), points(rng, 97, DIM)
    if kind == "far from the origin":
        return x + np.float32(1000), y + np.float32(1000), 1
    if kind == "forty bandwidths wide":
        return 40 * x, 40 * y, 1
    if kind == "two blobs":
        x[35:] += 20
        y[rng.permutation(97)[:48]] += 20
    if kind == "duplicates":
        y[:70] = x
        return x, y, 3
    if kind == "duplicates that are far apart":
        y[:70] = x
        return 100 * x, 100 * y, 1
    if kind == "one far away":  # its magnitude is no other's
        x[7], y[50] = 1e12, -1e15
    if kind == "one coordinate is all":
        x[:, 3] += 300
        y[:, 3] += 300
        y[0, 3] = -5000
    if kind == "beyond 16 bits":
        return 1e12 * x, 1e12 * y, 1e-24
    if kind == "tiny":
        return np.float32(1e-16) * x, np.float32(1e-16) * y, 1e32
    if kind == "denormals":
        return np.float32(1e-39) * x, np.float32(1e-39) * y, 1
    if kind == "all the same":
        return np.repeat(x[:1], 70, 0), np.repeat(x[:1], 97, 0), 1
    return x, y, 1


KINDS = (
    "far from the origin", "forty bandwidths wide", "two blobs", "duplicates", "duplicates that are far apart",
    "one far away", "one coordinate is all", "beyond 16 bits", "tiny", "denormals", "all the same",
)  # fmt: skip


def test_adversarial_points(context: cm.Context, rng: np.random.Generator) -> None:
    """Sums are as exact as promised."""
    formula, (x, y, s, b) = gaussian(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for kind in KINDS:
        xs, ys, scale = adversarial(rng, kind)
        scale = float(np.float32(scale))
        arrays = {x: xs, y: ys, s: np.array([scale], "f4"), b: rng.random((97, 1)).astype("f4")}
        assert_sums(run(call, arrays, context), -squares(xs, ys) * scale, arrays[b].astype("f8"), kind)


def test_numbers_that_are_none(context: cm.Context, rng: np.random.Generator) -> None:
    """Infinities and NaN among rows and columns reach the sums that they belong to, and no others."""
    formula, (x, y, s, b) = gaussian(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys = points(rng, 70, DIM), points(rng, 97, DIM)
    xs[3, 1], xs[66, 0], xs[40, 36] = np.nan, np.inf, -np.inf
    weights = rng.random((97, 1)).astype("f4")
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: weights}
    result = run(call, arrays, context)
    fine = np.isfinite(xs).all(1)
    assert_sums(result[fine], -squares(xs[fine], ys), weights.astype("f8"))
    assert np.isnan(result[3]) and (result[[66, 40]] == 0).all()
    ys[7, 20] = np.nan
    assert np.isnan(run(call, arrays, context)).all()
    ys[7, 20] = np.inf
    result = run(call, arrays, context)
    others = np.arange(97) != 7
    assert_sums(result[fine], -squares(xs[fine], ys[others]), weights[others].astype("f8"))


@pytest.mark.parametrize(("least", "function"), [(-1.0, "Inv"), (1e30, "Rsqrt")])
def test_products_alone_and_differences_alone(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, least: float, function: str
) -> None:
    """Both ways to compute tiles are right where nothing cancels. The formulas are no exponents, and of this test alone,
    because plans are cached.
    """
    monkeypatch.setattr(LongTiles, "least", lambda _self, _p: least)
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, 1, 1)
    formula = F[function](F["SqDist"](x, y) + b)
    arrays = {x: points(rng, 70, DIM), y: points(rng, 97, DIM), b: rng.uniform(0.5, 1, (97, 1)).astype("f4")}
    result = run(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), arrays, context)
    sums = squares(arrays[x], arrays[y]) + arrays[b].T
    expected = (1 / (sums if function == "Inv" else np.sqrt(sums))).sum(1, keepdims=True)
    np.testing.assert_allclose(result, expected, rtol=TERM_ERROR)


@pytest.mark.parametrize("patience", [0, 10**6])
def test_groups_that_give_up_and_such_that_never_do(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, patience: int
) -> None:
    """Blobs whose distances lose their digits, with splits or blocks of pairs: single pairs and tiles by differences
    are both right. Vectors of a size of their own, because plans are cached.
    """
    monkeypatch.setattr(LongResults, "patience", patience)
    dim = 23 if patience else 24
    formula, (x, y, s, b) = gaussian(dim)
    xs, ys = points(rng, 150, dim), points(rng, 700, dim)
    xs[::2, 0] += 20
    ys[::3, 0] += 20
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.random((700, 1)).astype("f4")}
    exponent = -squares(xs, ys)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1, backend=str(rng.choice(["1D", "2D"])))
    if rng.integers(2):
        assert_sums(run(call, arrays, context), exponent, arrays[b].astype("f8"))
        return
    blocks = drawn_blocks(rng, 150, 700)
    exponents = np.where(mask_of(blocks), exponent, -np.inf)
    assert_sums(run(call, arrays, context, ranges=Halves(1, blocks)), exponents, arrays[b].astype("f8"))


@pytest.mark.parametrize("name", ["Sum", "LogSumExp"])
def test_exponents_with_a_coordinate_that_rows_lack(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """So large that the others have no digits left beside it."""
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(3, 1, 1)
    for power in (3, 7, rng.uniform(8, 20)):
        arrays = {x: points(rng, 40, DIM), y: points(rng, 97, DIM) * 4}
        arrays[x][:, 5], arrays[y][:, 5] = 0, 10**power
        exponent = arrays[x].astype("f8") @ arrays[y].astype("f8").T
        if name == "Sum":
            arrays[b] = rng.normal(size=(97, 1)).astype("f4")
            result = run(PairCall(F["Exp"](x | y) * b, PAIR_REDUCTIONS[name], 1), arrays, context)
            assert_sums(result, exponent, arrays[b].astype("f8"), power)
        else:
            result = run(PairCall(x | y, PAIR_REDUCTIONS[name], 1), arrays, context)
            np.testing.assert_allclose(result[:, 0], np.log(np.exp(exponent).sum(1)), rtol=TERM_ERROR, atol=TERM_ERROR)


def lacking(rng: np.random.Generator) -> Any:
    """Rows and columns, with a coordinate of one side that the other lacks and that leaves the others of its vectors no
    digits; numbers of any sign, or all alike.
    """
    for power in (3, 5.5, rng.uniform(6, 8), rng.uniform(8, 20)):
        arrays = [points(rng, 40, DIM), points(rng, 97, DIM)]
        if rng.integers(2):
            arrays = [np.repeat(rng.uniform(0.5, 1, (len(one), 1)).astype("f4"), DIM, 1) for one in arrays]
        side = int(rng.integers(2))
        arrays[1 - side][:, 5] = 0
        arrays[side][rng.choice([slice(None), slice(7, 8)]), 5] = 10**power
        yield power, *arrays


@pytest.mark.parametrize("by_squares", [False, True])
def test_products_with_a_coordinate_that_others_lack(
    context: cm.Context, rng: np.random.Generator, by_squares: bool
) -> None:
    """Terms of one column alone: its products are exact beside any others."""
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, 1, 1)
    call = PairCall((F["Square"](x | y) if by_squares else (x | y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    for power, xs, ys in lacking(rng):
        for column in (7, int(rng.integers(97))):
            weights = np.zeros((97, 1), "f4")
            weights[column] = 1
            result = run(call, {x: xs, y: ys, b: weights}, context)[:, 0]
            terms = xs.astype("f8") * ys[column]
            size, expected = np.abs(terms).sum(1), terms.sum(1)
            off = 2 * TERM_ERROR * size**2 if by_squares else TERM_ERROR * size
            assert np.all(np.abs(result - (expected**2 if by_squares else expected)) <= off), (power, column)


def test_inner_products_of_any_magnitude(context: cm.Context, rng: np.random.Generator) -> None:
    """Rows and columns have scales of their own; products with numbers near overflow are computed as the formula says."""
    x, y = Variable(0, 20, 0), Variable(1, 20, 1)
    xs, ys = points(rng, 40, 20).astype("f8"), points(rng, 50, 20).astype("f8")
    xs = (xs * 10.0 ** rng.integers(-15, 15, (40, 1))).astype("f4")
    ys = (ys * 10.0 ** rng.integers(-4, 4, (1, 20))).astype("f4")  # of the columns' coordinates
    xs[5], xs[9, 3], xs[11], ys[31] = 0, np.inf, 1e31, 1e-32
    result = run(PairCall((x | y) * 1, PAIR_REDUCTIONS["Sum"], 1), {x: xs, y: ys}, context)
    with np.errstate(invalid="ignore"):
        expected = (xs.astype("f8") @ ys.astype("f8").T).sum(1, keepdims=True)
    sizes = np.linalg.norm(xs.astype("f8"), axis=1, keepdims=True) * np.linalg.norm(ys.astype("f8"), axis=1).sum()
    fine = np.arange(40) != 9
    assert np.all(np.abs(result - expected)[fine] <= TERM_ERROR * sizes[fine])
    assert not np.isfinite(result[9]).any()
