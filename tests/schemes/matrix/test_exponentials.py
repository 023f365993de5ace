"""Long right-hand sides by matrix instructions, on every device: the devices' own, or as the vocabulary spells them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.lacking import underflow
from support.long_weights import EPS, assert_products, exponents, points, run
from support.pair_plans import layout_of
from support.plans import FACTS, PARALLEL, SEQUENTIAL
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.device.runtime import source_of
from clmapreduce.domain.dense import Pairwise
from clmapreduce.pairwise.call import PairCall
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix import exponentials as scheme
from clmapreduce.schemes.pairs.matrix.exponentials import Exponentials, wide_factoring_of
from clmapreduce.schemes.pairs.matrix.wide_boxes import MATRIX_WIDE_FEW, matrix_wide_box
from clmapreduce.vector import OPERATIONS, Variable


def _is_alike(parameters: Mapping[str, Any]) -> bool:
    return bool(parameters.get("beside")) and parameters["context"].kind == "cpu"


pytestmark = pytest.mark.drawn(seldom="pocl", unless=_is_alike)
beside = pytest.mark.parametrize("beside", [False, True])
"""Whether all numbers are multiplied side by side, as few ones are; CPUs keep their pieces in either case."""

F = OPERATIONS

@beside
def test_kernel_matrix_times_matrix(context: cm.Context, rng: np.random.Generator, beside: bool) -> None:
    """Rows, columns and numbers around blocks, stages and groups; far points, and weights of all sizes."""
    dim = int(rng.choice([1, 3, 7]))
    for size in (int(rng.choice([4, 8, 10, 16])), int(rng.choice([17, 24, 40, 65]))):
        x, y, b = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, size, 1)
        call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
        for rows, columns in ((1, 1), (15, 9), (33, 193), (70, 1000)):
            arrays = {x: points(rng, rows, dim), y: points(rng, columns, dim)}
            arrays[b] = rng.normal(size=(columns, size)).astype("f4")
            label = (dim, size, rows, columns)
            assert_products(run(call, arrays, context, beside=beside), exponents(arrays[x], arrays[y]), arrays[b], label)
    for centre, width, scale in (
        (1000, 1, 1),
        (0, 40, 1),
        (0, 1, 1e-20 if underflow(context) else 1e-30),  # what undoes the scale is a denormal
        (0, 1, 2.0**120),
        (0, 8, 2.0**120),
        (0, 1, 10.0 ** rng.integers(-20, 20, size)),
    ):
        arrays = {v: (points(rng, n, dim) * width + centre).astype("f4") for v, n in ((x, 70), (y, 193))}
        arrays[b] = (rng.normal(size=(193, size)) * scale).astype("f4")
        label = (dim, size, centre, width)
        assert_products(run(call, arrays, context, beside=beside), exponents(arrays[x], arrays[y]), arrays[b], label)


@beside
def test_numbers_that_are_none(context: cm.Context, rng: np.random.Generator, beside: bool) -> None:
    """Infinities and NaN reach the sums that they belong to, and no others."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys, weights = points(rng, 40, 3), points(rng, 90, 3), rng.normal(size=(90, 20)).astype("f4")
    xs[3, 0], xs[30, 1], weights[5, 3], weights[70, 7] = np.nan, np.inf, np.inf, np.nan
    result = run(call, {x: xs, y: ys, b: weights}, context, beside=beside)
    rows = np.isfinite(xs).all(1)
    assert np.isnan(result[3]).all() and np.isnan(result[:, 7]).all() and (result[rows, 3] == np.inf).all()
    whole = np.isfinite(weights).all(0)
    assert (result[30, whole] == 0).all()
    assert_products(result[rows][:, whole], exponents(xs[rows], ys), weights[:, whole])


@beside
def test_columns_that_come_nearer(context: cm.Context, rng: np.random.Generator, beside: bool) -> None:
    """Scalars that grow from stage to stage, by far more than 16 bits hold; and those that shrink."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys, weights = points(rng, 40, 3) / 8, points(rng, 400, 3) / 8, rng.normal(size=(400, 20)).astype("f4")
    ys[:, 0] += np.linspace(3.2, 0, 400, dtype="f4")
    for points_in_order in (ys, ys[::-1].copy()):
        result = run(call, {x: xs.astype("f4"), y: points_in_order, b: weights}, context, beside=beside)
        assert_products(result, exponents(xs.astype("f4"), points_in_order), weights)


@beside
def test_long_sums_of_one_sign(context: cm.Context, rng: np.random.Generator, beside: bool) -> None:
    """Errors of instructions that cut digits off all have one sign, and so add up."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    arrays = {x: rng.random((16, 3), "f4"), y: rng.random((20_000, 3), "f4"), b: rng.random((20_000, 20), "f4")}
    result = run(call, arrays, context, beside=beside)
    expected = np.exp(exponents(arrays[x], arrays[y])) @ arrays[b].astype("f8")
    assert np.max(np.abs(result / expected - 1)) <= 1e-6


@beside
def test_near_columns_that_weigh_nothing(context: cm.Context, rng: np.random.Generator, beside: bool) -> None:
    """Sums of scalars far below the row's largest, whose weight is 0: each number has columns of one distance only."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys, ring = points(rng, 40, 3) / 8, points(rng, 400, 3) / 8, rng.integers(20, size=400)
    ys[:, 0] += np.sqrt(4 * ring, dtype="f4")
    weights = np.where(ring[:, None] == np.arange(20), rng.random((400, 20)), 0).astype("f4")
    for order in (np.arange(400), np.argsort(ring), np.argsort(-ring)):
        result = run(call, {x: xs, y: ys[order], b: weights[order]}, context, beside=beside)
        assert_products(result, exponents(xs, ys[order]), weights[order])


@beside
def test_weights_far_below_those_of_far_columns(context: cm.Context, rng: np.random.Generator, beside: bool) -> None:
    """A number's largest weight has scalars that are next to nothing: its columns' weights need all their digits."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    for far in (3.1, 9.0):
        xs, ys = points(rng, 40, 3) / 8, points(rng, 400, 3) / 8
        weights = (rng.random((400, 20)) * 10.0 ** -rng.integers(4, 30, 20)).astype("f4")
        heavy = rng.choice(400, 9, replace=False)
        ys[heavy, 0] += far
        weights[heavy] = 1
        arrays = {x: xs.astype("f4"), y: ys.astype("f4"), b: weights}
        assert_products(run(call, arrays, context, beside=beside), exponents(arrays[x], arrays[y]), weights, far)


def test_far_groups_in_stretches_that_are_no_whole_tiles(context: cm.Context, rng: np.random.Generator) -> None:
    """The columns behind a stretch are the next one's."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 12, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    arrays = {x: 8 * points(rng, 50, 3), y: 8 * points(rng, 1001, 3), b: rng.normal(size=(1001, 12)).astype("f4")}
    for tile in (16, 48):
        result = run(call, arrays, context, tile=tile)
        assert_products(result, exponents(arrays[x], arrays[y]), arrays[b])


def test_weights_that_have_no_pieces(context: cm.Context, rng: np.random.Generator) -> None:
    """The largest float, which rounding to 11 bits makes infinite: such groups are left to the formula."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 12, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys, weights = 8 * points(rng, 40, 3), 8 * points(rng, 90, 3), rng.normal(size=(90, 12)).astype("f4")
    weights[17, 5] = np.finfo("f4").max
    result = run(call, {x: xs, y: ys + 1, b: weights}, context)
    assert np.isfinite(result).all()
    assert_products(result, exponents(xs, (ys + 1).astype("f4")), weights)


def test_near_groups_are_computed_once(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launches for far ones leave them as they are, to the last bit."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    arrays = {x: points(rng, 70, 3), y: points(rng, 193, 3), b: rng.normal(size=(193, 20)).astype("f4")}
    result = run(call, arrays, context)
    monkeypatch.setattr(scheme, "where_marked", lambda stages, redo: [])
    np.testing.assert_array_equal(run(call, arrays, cm.Context(context.device)), result)


def test_groups_that_give_up_with_many_numbers(context: cm.Context, rng: np.random.Generator) -> None:
    """More than an item takes: several share a row."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 45, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    arrays = {x: 8 * points(rng, 70, 3), y: 8 * points(rng, 193, 3), b: rng.normal(size=(193, 45)).astype("f4")}
    result = run(call, arrays, context, numbers=5)
    assert_products(result, exponents(arrays[x], arrays[y]), arrays[b])


@beside
def test_exponents_of_either_sign(context: cm.Context, rng: np.random.Generator, beside: bool) -> None:
    """Scalars between 2^-16 and 2^16, and all but one of them without a weight."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    for scalar, each in ((F["Exp"](x | y), 1.0), (F["Exp"](x | y) + F["Exp"]((x | y) * 0.5), 0.5)):
        call = PairCall(scalar * b, PAIR_REDUCTIONS["Sum"], 1)
        xs, ys = rng.normal(size=(40, 3)).astype("f4"), rng.normal(size=(400, 3)).astype("f4")
        xs, ys = xs / np.linalg.norm(xs, axis=1)[:, None], 10 * ys / np.linalg.norm(ys, axis=1)[:, None]
        weights = np.zeros((400, 20), "f4")
        weights[rng.choice(400, 20, replace=False), np.arange(20)] = 1
        exponent = xs.astype("f8") @ ys.astype("f8").T
        expected = np.exp(exponent) @ weights.astype("f8") + (0 if each == 1 else np.exp(exponent / 2) @ weights)
        result = run(call, {x: xs, y: ys, b: weights}, context, beside=beside)
        np.testing.assert_allclose(result, expected, rtol=3e-6 + 8 * EPS * 10)


def test_batches_splits_and_the_other_axis(context: cm.Context, rng: np.random.Generator) -> None:
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 0)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 0, backend="2D")
    arrays = {x: points(rng, 6 * 150, 3).reshape(2, 3, 150, 3), y: points(rng, 3 * 40, 3).reshape(3, 40, 3)}
    arrays[b] = rng.normal(size=(2, 1, 150, 20)).astype("f4")
    result = run(call, arrays, context)
    assert result.shape == (2, 3, 40, 20)
    for i in range(2):
        for j in range(3):
            assert_products(result[i, j], exponents(arrays[y][j], arrays[x][i, j]), arrays[b][i, 0])


@pytest.mark.parametrize("backend", ["auto", "2D"])
def test_blocks_of_pairs(context: cm.Context, rng: np.random.Generator, backend: str) -> None:
    """Intervals that begin and end anywhere: whole stages, several in one, torn lists and none; clusters of one row.
    Near points and far ones.
    """
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1, backend=backend)
    for rows, columns in ((1, 1), (70, 31), (33, 300), (90, 1000)):
        blocks, wide = drawn_blocks(rng, rows, columns), 1 if columns < 100 else 8
        arrays = {v: (points(rng, n, 3) * wide).astype("f4") for v, n in ((x, rows), (y, columns))}
        arrays[b] = rng.normal(size=(columns, 20)).astype("f4")
        exponent = np.where(mask_of(blocks), exponents(arrays[x], arrays[y]), -np.inf)
        label = (rows, columns, wide, blocks.clusters, blocks.intervals)
        assert_products(run(call, arrays, context, Halves(1, blocks)), exponent, arrays[b], label)


@beside
def test_what_is_in_no_interval_of_a_row(context: cm.Context, rng: np.random.Generator, beside: bool) -> None:
    """Columns outside of a row's intervals do not change its sums: NaN, infinities, and numbers that would leave others no digits."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    for special in (np.nan, np.inf, 1e30):
        keep = np.repeat(rng.random((4, 200)) < rng.choice([0.4, 0.95]), 10, 0)
        keep[:10, 16:80] = True
        own = rng.integers(200, size=5)
        keep[10:, own] = False
        arrays = {x: points(rng, 40, 3), y: points(rng, 200, 3), b: rng.normal(size=(200, 20)).astype("f4")}
        arrays[b][own, rng.integers(20, size=5)] = special
        arrays[y][own[0]] = special
        result = run(call, arrays, context, cm.Ranges.from_mask(keep), beside=beside)
        exponent = np.where(keep, exponents(arrays[x], arrays[y]), -np.inf)[10:]
        assert_products(result[10:], exponent, np.where(np.isfinite(arrays[b]), arrays[b], 0), special)


@beside
def test_numbers_that_are_none_in_blocks(context: cm.Context, rng: np.random.Generator, beside: bool) -> None:
    """In stages of one interval and in stages of several."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 1)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    keep = np.zeros((40, 300), bool)
    keep[:20, 5:203], keep[20:, 7:9], keep[20:, 40:45] = True, True, True
    arrays = {x: points(rng, 40, 3), y: points(rng, 300, 3), b: rng.normal(size=(300, 20)).astype("f4")}
    arrays[b][[7, 41, 100, 202], [0, 1, 2, 3]] = [np.nan, np.inf, -np.inf, np.nan]
    arrays[x][[2, 30], 1] = np.nan
    result = run(call, arrays, context, cm.Ranges.from_mask(keep), beside=beside)
    near = np.exp(exponents(arrays[x], arrays[y]))
    with np.errstate(all="ignore"):
        expected = np.stack([near[i][keep[i]] @ arrays[b][keep[i]].astype("f8") for i in range(40)])
    assert (np.isfinite(expected).sum(), np.isnan(expected).sum()) == (19 * 16 + 19 * 18, 19 * 2 + 19 + 2 * 20)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_blocks_in_batches(context: cm.Context, rng: np.random.Generator) -> None:
    """Every element of a batch meets the same pairs; weights of rows of the other axis."""
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 20, 0)
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 0)
    arrays = {x: points(rng, 6 * 150, 3).reshape(2, 3, 150, 3), y: points(rng, 3 * 40, 3).reshape(3, 40, 3)}
    arrays[b] = rng.normal(size=(2, 1, 150, 20)).astype("f4")
    blocks = drawn_blocks(rng, 40, 150)
    result = run(call, arrays, context, Halves(0, blocks))
    for i in range(2):
        for j in range(3):
            exponent = np.where(mask_of(blocks), exponents(arrays[y][j], arrays[x][i, j]), -np.inf)
            assert_products(result[i, j], exponent, arrays[b][i, 0])


def test_what_the_scheme_leaves_to_others() -> None:
    assert wide_factoring_of(layout_of("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)"), PARALLEL) is not None
    for text in (
        "Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,4)", "Exp(-SqDist(Vi(0,20),Vj(1,20)))*Vj(2,40)", "Sqrt(SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)",
        "Exp(-SqDist(Vi(0,3),Vj(1,3)))*(Vi(2,40)-Vj(3,40))",
    ):  # fmt: skip
        assert wide_factoring_of(layout_of(text), PARALLEL) is None
    layout = layout_of("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)")
    assert wide_factoring_of(layout, SEQUENTIAL) is None


def test_registers_are_limited_where_a_compiler_obeys() -> None:
    """NVIDIA's obeys where the kernel does not fix its group size."""
    layout = layout_of("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)")
    for vendor, options in (("nvidia", ("-cl-nv-maxrregcount=96",)), ("amd", ())):
        plan = Exponentials(layout, Pairwise(1000, 1000), PARALLEL, FACTS[vendor]).plan(MATRIX_WIDE_FEW[1])
        spec = plan.stages[1].spec
        assert spec.options == options
        assert ("reqd_work_group_size" in source_of(spec)) == (not options)
    few = replace(MATRIX_WIDE_FEW[1], registers=0)
    free = Exponentials(layout, Pairwise(1000, 1000), PARALLEL, FACTS["nvidia"]).plan(few).stages[1].spec
    assert not free.options and "reqd_work_group_size" in source_of(free)


def test_more_products_have_more_registers() -> None:
    """Up to the most with which as many groups run at once."""
    kinds = {8: (80, 96, 96, 128, 128), 16: (96, 128, 128, 128, 128), 24: (128,) * 5, 40: (168,) * 5, 64: (0, 0, 0, 168, 168)}
    for numbers, registers in kinds.items():
        assert tuple(matrix_wide_box(numbers, steps).registers for steps in range(1, 6)) == registers
