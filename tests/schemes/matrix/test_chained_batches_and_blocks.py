"""Long vectors with long weights in batches, over the other axis, over blocks of pairs; the same bits every time."""

from __future__ import annotations

import numpy as np
import pytest
from support.chained_calls import BOXES, SIZE, assert_slopes, box_of, run, slope
from support.long_vectors import DIM, assert_sums, gaussian, points, squares
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.pairwise.call import PairCall
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.boxes import MatrixChainedBox

pytestmark = pytest.mark.drawn(seldom="pocl")


def test_many_splits_batches_and_the_other_axis(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(DIM, SIZE, axis=0)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 0, backend="2D")
    arrays = {x: points(rng, 6 * 150).reshape(2, 3, 150, DIM), y: points(rng, 3 * 40).reshape(3, 40, DIM)}
    arrays |= {s: np.ones(1, "f4"), b: rng.normal(size=(2, 1, 150, SIZE)).astype("f4")}
    arrays[b][1, 0, 3, 4] = np.inf  # of some elements of the batch, some splits and some numbers
    result = run(call, arrays, context, box_of(context, tiles=1))
    assert result.shape == (2, 3, 40, SIZE)
    weights = np.broadcast_to(arrays[b].astype("f8"), (2, 3, 150, SIZE))
    fine = np.arange(SIZE) != 4
    for i in range(2):
        for j in range(3):
            exponent = -squares(arrays[y][j], arrays[x][i, j])
            assert_sums(result[i, j][:, fine], exponent, weights[i, j][:, fine])
            assert i == 0 or (result[i, j, :, 4] == np.inf).all()
    assert np.isfinite(result[0]).all()


def test_gradients_of_a_batch(context: cm.Context, rng: np.random.Generator) -> None:
    """Every element has a centre of its own, whichever side it shares."""
    formula, (x, y, b, g) = slope(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    common_side = rng.choice(["rows", "columns", "none"])
    xs, ys = points(rng, 3 * 30).reshape(3, 30, DIM), points(rng, 3 * 40).reshape(3, 40, DIM)
    xs, ys = xs[0] if common_side == "rows" else xs, ys[0] if common_side == "columns" else ys
    arrays = {x: xs, y: ys, b: rng.normal(size=(3, 40, 1)).astype("f4"), g: np.ones((30, 1), "f4")}
    result = run(call, arrays, context)
    for i in range(3):
        rows, columns = np.broadcast_to(xs, (3, 30, DIM))[i], np.broadcast_to(ys, (3, 40, DIM))[i]
        factors = -2 * np.exp(-squares(rows, columns)) * arrays[b][i, :, 0].astype("f8")
        assert_slopes(result[i], rows, columns, factors, common_side)


@pytest.mark.parametrize("box", [None, *BOXES], ids=str)
def test_blocks_of_pairs(context: cm.Context, rng: np.random.Generator, box: MatrixChainedBox | None) -> None:
    """Rows and intervals that begin and end anywhere, torn lists and none; clusters of one row. Sums or gradients, some
    of which are computed again.
    """
    if box is not None and box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    backend, slopes = str(rng.choice(["auto", "2D"])), bool(rng.integers(2))
    formula, (x, y, *others) = slope(DIM) if slopes else gaussian(DIM, SIZE)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1, backend=backend)
    for rows, columns in ((1, 1), (70, 31), (33, 300), (130, 200)):
        blocks, scale = drawn_blocks(rng, rows, columns), float(rng.choice([1, 8]))
        xs, ys = (points(rng, rows) * scale).astype("f4"), (points(rng, columns) * scale).astype("f4")
        near = min(rows, columns) // 2
        ys[:near] = xs[:near] + points(rng, near) / 100
        weights = rng.normal(size=(columns, 1 if slopes else SIZE)).astype("f4")
        more = (weights, np.ones((rows, 1), "f4")) if slopes else (np.ones(1, "f4"), weights)
        arrays = {x: xs, y: ys, **dict(zip(others, more, strict=True))}
        exponent = np.where(mask_of(blocks), -squares(xs, ys), -np.inf)
        label = (rows, columns, scale, blocks.clusters, blocks.intervals)
        result = run(call, arrays, context, box, Halves(1, blocks))
        if slopes:
            assert_slopes(result, xs, ys, -2 * np.exp(exponent) * weights[:, 0].astype("f8"), label)
        else:
            assert_sums(result, exponent, weights.astype("f8"), label)


def test_what_is_in_no_interval_of_a_row(context: cm.Context, rng: np.random.Generator) -> None:
    """Columns outside of a row's intervals do not change its sums, whatever their numbers."""
    formula, (x, y, s, b) = gaussian(DIM, SIZE)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for special in (np.nan, np.inf, 1e30):
        keep = np.repeat(rng.random((4, 150)) < rng.choice([0.4, 0.95]), 10, 0)
        own = rng.integers(150, size=5)
        keep[10:, own] = False
        arrays = {x: points(rng, 40), y: points(rng, 150), s: np.ones(1, "f4")}
        arrays[b] = rng.random((150, SIZE)).astype("f4")
        arrays[b][own[:2]], arrays[y][own[2:], 7], arrays[x][[3, 9], 5] = special, special, special
        result = run(call, arrays, context, ranges=cm.Ranges.from_mask(keep))
        exponent = np.where(keep, -squares(arrays[x], arrays[y]), -np.inf)[10:]
        weights = np.where(np.isfinite(arrays[b]), arrays[b], 0).astype("f8")
        assert_sums(result[10:], exponent, weights, special)


def test_the_same_bits_every_time(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(DIM, SIZE)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    arrays = {x: points(rng, 200), y: points(rng, 300), s: np.ones(1, "f4")}
    arrays[b] = rng.normal(size=(300, SIZE)).astype("f4")
    first = run(call, arrays, context)
    for _ in range(5):
        np.testing.assert_array_equal(run(call, arrays, context), first)
