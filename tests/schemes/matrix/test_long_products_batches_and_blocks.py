"""Products of long vectors in batches, over the other axis and over blocks of pairs."""

from __future__ import annotations

import numpy as np
import pytest
from support.long_product_calls import BOXES, box_of, dense, run
from support.long_vectors import DIM, TERM_ERROR, F, assert_sums, gaussian, points, squares
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.pairwise.call import PairCall
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.boxes import MatrixLongBox
from clmapreduce.vector import Variable

pytestmark = pytest.mark.drawn(seldom="pocl")


def test_many_splits_batches_and_the_other_axis(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(DIM, axis=0)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 0, backend="2D")
    arrays = {x: points(rng, 6 * 150, DIM).reshape(2, 3, 150, DIM), y: points(rng, 3 * 40, DIM).reshape(3, 40, DIM)}
    arrays |= {s: np.ones(1, "f4"), b: rng.normal(size=(2, 1, 150, 1)).astype("f4")}
    result = run(call, arrays, context, box_of(context, tiles=1))
    assert result.shape == (2, 3, 40, 1)
    weights = np.broadcast_to(arrays[b].astype("f8"), (2, 3, 150, 1))
    for i in range(2):
        for j in range(3):
            assert_sums(result[i, j], -squares(arrays[y][j], arrays[x][i, j]), weights[i, j])


def test_one_side_for_the_whole_batch(context: cm.Context, rng: np.random.Generator) -> None:
    """Inner products pack a shared side once; a distance has a centre for every element of the batch."""
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, 1, 1)
    xs, ys = points(rng, 3 * 30, DIM).reshape(3, 30, DIM), 5 + points(rng, 3 * 40, DIM).reshape(3, 40, DIM)
    common_side, distance = rng.choice(["rows", "columns", "both"]), bool(rng.integers(2))
    xs, ys = xs[0] if common_side != "columns" else xs, ys[0] if common_side != "rows" else ys
    weights = rng.normal(size=(3, 40, 1)).astype("f4")
    formula = F["Exp"](-F["SqDist"](x, y)) if distance else (x | y)
    result = run(PairCall(formula * b, PAIR_REDUCTIONS["Sum"], 1), {x: xs, y: ys, b: weights}, context)
    for i in range(3):
        rows, columns = np.broadcast_to(xs, (3, 30, DIM))[i], np.broadcast_to(ys, (3, 40, DIM))[i]
        if distance:
            assert_sums(result[i], -squares(rows, columns), weights[i].astype("f8"), common_side)
            continue
        off = TERM_ERROR * np.linalg.norm(rows, axis=1)[:, None] * np.linalg.norm(columns, axis=1) @ np.abs(weights[i])
        expected = dense("inner product", rows, columns) @ weights[i].astype("f8")
        assert np.all(np.abs(result[i] - expected) <= off), common_side


@pytest.mark.parametrize("box", [None, *BOXES], ids=str)
def test_blocks_of_pairs(context: cm.Context, rng: np.random.Generator, box: MatrixLongBox | None) -> None:
    """Rows and intervals that begin and end anywhere, lists with gaps and empty ones; clusters of one row. Near points, and
    points that are computed by differences.
    """
    if box is not None and box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    formula, (x, y, s, b) = gaussian(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1, backend=str(rng.choice(["auto", "2D"])))
    for rows, columns in ((1, 1), (70, 31), (33, 300), (130, 200)):
        blocks, scale = drawn_blocks(rng, rows, columns), float(rng.choice([1, 8]))
        arrays = {v: (points(rng, n, DIM) * scale).astype("f4") for v, n in ((x, rows), (y, columns))}
        near = min(rows, columns) // 2
        arrays[y][:near] = arrays[x][:near] + points(rng, near, DIM) / 100
        arrays |= {s: np.ones(1, "f4"), b: rng.normal(size=(columns, 1)).astype("f4")}
        exponent = np.where(mask_of(blocks), -squares(arrays[x], arrays[y]), -np.inf)
        label = (rows, columns, scale, blocks.clusters, blocks.intervals)
        assert_sums(run(call, arrays, context, box, Halves(1, blocks)), exponent, arrays[b].astype("f8"), label)


def test_what_is_in_no_interval_of_a_row(context: cm.Context, rng: np.random.Generator) -> None:
    """Columns outside of a row's intervals do not change its sums, nor do rows beside a cluster's."""
    formula, (x, y, s, b) = gaussian(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for special in (np.nan, np.inf, 1e30):
        keep = np.repeat(rng.random((4, 150)) < rng.choice([0.4, 0.95]), 10, 0)
        own = rng.integers(150, size=5)
        keep[10:, own] = False
        arrays = {x: points(rng, 40, DIM), y: points(rng, 150, DIM), s: np.ones(1, "f4")}
        arrays[b] = rng.random((150, 1)).astype("f4")
        arrays[b][own[:2]], arrays[y][own[2:], 7], arrays[x][[3, 9], 5] = special, special, special
        result = run(call, arrays, context, ranges=cm.Ranges.from_mask(keep))
        exponent = np.where(keep, -squares(arrays[x], arrays[y]), -np.inf)[10:]
        weights = np.where(np.isfinite(arrays[b]), arrays[b], 0).astype("f8")
        assert_sums(result[10:], exponent, weights, special)


@pytest.mark.parametrize("name", ["Mean", "LogSumExp"])
def test_other_reductions_of_blocks(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """Whose results count columns, or know of rows that meet none; in batches, over the other axis."""
    x, y = Variable(0, DIM, 0), Variable(1, DIM, 1)
    formula = F["Exp"](-F["SqDist"](x, y)) if name == "Mean" else -F["SqDist"](x, y)
    call = PairCall(formula, PAIR_REDUCTIONS[name], 0)
    arrays = {x: points(rng, 2 * 150, DIM).reshape(2, 150, DIM), y: points(rng, 40, DIM)}
    blocks = drawn_blocks(rng, 40, 150)
    keep = mask_of(blocks)
    result = run(call, arrays, context, ranges=Halves(0, blocks))
    for i in range(2):
        exponent = np.where(keep, -squares(arrays[y], arrays[x][i]), -np.inf)
        with np.errstate(all="ignore"):
            expected = np.exp(exponent).sum(1) / keep.sum(1) if name == "Mean" else np.log(np.exp(exponent).sum(1))
        np.testing.assert_allclose(result[i, :, 0], expected, rtol=TERM_ERROR, atol=0 if name == "Mean" else TERM_ERROR)
