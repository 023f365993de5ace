"""Sums and gradients of long vectors are as exact as promised, for all points and weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.chained_calls import SIZE, assert_slopes, prepared, run, slope
from support.lacking import underflow
from support.long_vectors import DIM, TERM_ERROR, assert_sums, gaussian, points, squares

import clmapreduce as cm
from clmapreduce.pairwise.call import PairCall
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.chained_numbers import ChainedNumbers
from clmapreduce.schemes.pairs.matrix.parts.long_results import LongResults
from clmapreduce.schemes.pairs.matrix.parts.pack import REDO
from clmapreduce.vector import Variable

pytestmark = pytest.mark.drawn(seldom="pocl")


def adversarial(rng: np.random.Generator, kind: str) -> tuple[Any, Any]:
    """Points that products of 16 bits might not bear."""
    x, y = points(rng, 70), points(rng, 97)
    if kind == "far from the origin":
        return x + np.float32(1000), y + np.float32(1000)
    if kind == "forty bandwidths wide":
        return 40 * x, 40 * y
    if kind == "two blobs":
        x[35:] += 20
        y[rng.permutation(97)[:48]] += 20
    if kind == "duplicates":
        y[:70] = x
    if kind == "duplicates that are far apart":
        y[:70] = x
        return 100 * x, 100 * y
    if kind == "one far away":
        x[7], y[50] = 1e12, -1e15
    if kind == "one coordinate is all":
        x[:, 3] += 300
        y[:, 3] += 300
        y[0, 3] = -5000
    if kind == "denormals":
        return np.float32(1e-39) * x, np.float32(1e-39) * y
    if kind == "all the same":
        return np.repeat(x[:1], 70, 0), np.repeat(x[:1], 97, 0)
    return x, y


KINDS = (
    "far from the origin", "forty bandwidths wide", "two blobs", "duplicates", "duplicates that are far apart",
    "one far away", "one coordinate is all", "denormals", "all the same",
)  # fmt: skip


def test_adversarial_points(context: cm.Context, rng: np.random.Generator) -> None:
    """Sums and gradients are as exact as promised."""
    formula, (x, y, s, b) = gaussian(DIM, SIZE)
    sums = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    derivative, (xd, yd, bd, gd) = slope(DIM)
    slopes = PairCall(derivative, PAIR_REDUCTIONS["Sum"], 1)
    for kind in KINDS:
        xs, ys = adversarial(rng, kind)
        weights = rng.normal(size=(97, SIZE)).astype("f4")
        result = run(sums, {x: xs, y: ys, s: np.ones(1, "f4"), b: weights}, context)
        assert_sums(result, -squares(xs, ys), weights.astype("f8"), kind)
        result = run(slopes, {xd: xs, yd: ys, bd: weights[:, :1], gd: np.ones((70, 1), "f4")}, context)
        factors = -2 * np.exp(-squares(xs, ys)) * weights[:, 0].astype("f8")
        assert_slopes(result, xs, ys, factors, kind, underflow(context))


@pytest.mark.parametrize("kind", ["tiny", "huge", "mixed", "one-hot", "tiny beside huge", "denormals", "far rows"])
def test_weights_of_any_magnitude(context: cm.Context, rng: np.random.Generator, kind: str) -> None:
    """Weights need no scales. A far column counts where only its weight is not zero."""
    formula, (x, y, s, b) = gaussian(DIM, SIZE)
    xs, ys = points(rng, 70), points(rng, 97)
    if kind != "far rows":
        ys[40:60] *= 3
    weights = rng.normal(size=(97, SIZE))
    if kind == "tiny":
        weights *= 1e-30
    if kind == "huge":
        weights *= 1e34
    if kind == "mixed":
        weights *= 10.0 ** rng.integers(-18, 18, (97, SIZE))
    if kind == "one-hot":
        weights = np.eye(SIZE)[rng.integers(SIZE, size=97)]
    if kind == "tiny beside huge":
        weights[40:60] *= 1e-12
        weights[:40, ::2] = 0
    if kind == "denormals":
        weights *= 1e-36
    if kind == "far rows":  # whose scalars are near 1e-34, whose lowest digits are below 2^-126
        xs[:, 0] += 8.5
        weights *= 1e30
    weights = weights.astype("f4")
    result = run(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), {x: xs, y: ys, s: np.ones(1, "f4"), b: weights}, context)
    assert_sums(result, -squares(xs, ys), weights.astype("f8"), kind)


def test_numbers_that_are_none(context: cm.Context, rng: np.random.Generator) -> None:
    """Infinities and NaN among rows, columns and weights reach the sums that they belong to, and no others; whose groups
    are computed again, and say so.
    """
    formula, (x, y, s, b) = gaussian(DIM, SIZE)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys = points(rng, 70), points(rng, 97)
    xs[3, 1], xs[66, 0], xs[40, 36] = np.nan, np.inf, -np.inf
    weights = rng.random((97, SIZE)).astype("f4")
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: weights}
    fine = np.isfinite(xs).all(1)
    result = run(call, arrays, context)
    assert_sums(result[fine], -squares(xs[fine], ys), weights.astype("f8"))
    assert np.isnan(result[3]).all() and (result[[66, 40]] == 0).all()
    weights[5, 2], weights[90, 2], weights[7, 9], weights[50, 19] = np.inf, np.inf, -np.inf, np.nan
    others = [d for d in range(SIZE) if d not in (2, 9, 19)]
    result = run(call, arrays, context)
    assert_sums(result[fine][:, others], -squares(xs[fine], ys), weights[:, others].astype("f8"))
    assert (result[fine, 2] == np.inf).all() and (result[fine, 9] == -np.inf).all() and np.isnan(result[:, 19]).all()
    ys[7, 20] = np.nan
    assert np.isnan(run(call, arrays, context)).all()


@pytest.mark.parametrize("spread", [0, 10**6])
def test_differences_alone_and_numbers_alone(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, spread: int
) -> None:
    """Both ways to compute gradients are right where nothing cancels. Vectors of a size of their own, because plans are
    cached.
    """
    monkeypatch.setattr(ChainedNumbers, "spread", spread)
    dim = 21 if spread else 22
    formula, (x, y, b, g) = slope(dim)
    arrays = {x: points(rng, 70, dim), y: points(rng, 97, dim)}
    arrays |= {b: np.ones((97, 1), "f4"), g: np.ones((70, 1), "f4")}
    call = prepared(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), arrays, context)
    assert REDO in call.executable.plan.scratch
    assert_slopes(call.run()[0], arrays[x], arrays[y], -2 * np.exp(-squares(arrays[x], arrays[y])))


@pytest.mark.parametrize("patience", [0, 10**6])
def test_groups_that_give_up_and_such_that_never_do(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, patience: int
) -> None:
    """Blobs whose distances lose their digits: single pairs and whole groups, computed again, are both right.
    Vectors of a size of their own, because plans are cached.
    """
    monkeypatch.setattr(LongResults, "patience", patience)
    dim = 23 if patience else 24
    formula, (x, y, s, b) = gaussian(dim, SIZE)
    xs, ys = points(rng, 150, dim), points(rng, 400, dim)
    xs[::2, 0] += 20
    ys[::3, 0] += 20
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.normal(size=(400, SIZE)).astype("f4")}
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1, backend=str(rng.choice(["1D", "2D"])))
    assert_sums(run(call, arrays, context), -squares(xs, ys), arrays[b].astype("f8"))


def test_products_with_a_coordinate_that_others_lack(context: cm.Context, rng: np.random.Generator) -> None:
    """So large that the others have no digits left beside it, in some products; other products keep all digits."""
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, SIZE, 1)
    for power in (5.5, rng.uniform(6, 8), rng.uniform(8, 20)):
        xs, ys, weights = points(rng, 70), points(rng, 97), rng.normal(size=(97, SIZE)).astype("f4")
        xs[:, 5], ys[rng.choice([slice(None), slice(7, 8)]), 5] = 0, 10**power
        weights[:, 1:] *= (np.arange(97) == 7)[:, None]  # the others' terms are 0
        result = run(PairCall((x | y) * b, PAIR_REDUCTIONS["Sum"], 1), {x: xs, y: ys, b: weights}, context)
        sizes, expected = np.abs(xs).astype("f8") @ np.abs(ys).T.astype("f8"), xs.astype("f8") @ ys.T.astype("f8")
        assert np.all(np.abs(result - expected @ weights) <= TERM_ERROR * sizes @ np.abs(weights)), power
