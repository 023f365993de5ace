"""Long weights of groups whose rows and columns are far apart, by three pieces a number, on every device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.clouds import CLOUDS, clouds
from support.long_weights import assert_products, exponents, run
from support.pair_plans import form_of, layout_of
from support.plans import FACTS, PARALLEL
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.domain.dense import Pairwise
from clmapreduce.dtypes import FLOAT32
from clmapreduce.pairwise.call import PairCall
from clmapreduce.plan import Plan, Stage, where_marked
from clmapreduce.planning.pair_request import passes_of
from clmapreduce.planning.passes import Setting
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix import exponentials as scheme
from clmapreduce.schemes.pairs.matrix.exponentials import Exponentials
from clmapreduce.schemes.pairs.matrix.weighted.launch import WeightedKernel
from clmapreduce.schemes.pairs.matrix.wide_boxes import matrix_wide_box
from clmapreduce.vector import OPERATIONS, Variable

pytestmark = pytest.mark.drawn(seldom="pocl")

F = OPERATIONS


def gaussian(dim: int, size: int) -> tuple[PairCall, tuple[Variable, ...]]:
    x, y, b = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, size, 1)
    return PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 1), (x, y, b)


def again_kernels(plan: Plan) -> list[WeightedKernel]:
    """The kernels for groups that gave up: by products, and by the formula."""
    return [stage.spec for stage in plan.stages if isinstance(stage.spec, WeightedKernel)]


@pytest.mark.parametrize("dim", [1, 4, 9, 16, 21])
def test_sums_of_clouds(context: cm.Context, rng: np.random.Generator, dim: int) -> None:
    """Also results that are split along the columns, and merged; numbers around blocks and groups."""
    size = int(rng.choice([7, 8, 20, 70]))
    call, (x, y, b) = gaussian(dim, size)
    for kind in CLOUDS:
        xs, ys = clouds(rng, kind, dim)
        arrays = {x: xs, y: ys, b: rng.normal(size=(500, size)).astype("f4")}
        for split in ({}, {"tiles": 1, "longest": 64}):
            result = run(call, arrays, context, fine=1, **split)
            assert_products(result, exponents(xs, ys), arrays[b], (kind, dim, size, split))


def test_columns_around_blocks_of_eight(context: cm.Context, rng: np.random.Generator) -> None:
    call, (x, y, b) = gaussian(5, 9)
    for columns in (1, 7, 8, 9, 63, 65):
        xs, ys = (2 * rng.standard_normal((n, 5)).astype("f4") for n in (33, columns))
        weights = rng.normal(size=(columns, 9)).astype("f4")
        assert_products(run(call, {x: xs, y: ys, b: weights}, context, fine=1), exponents(xs, ys), weights, columns)


def _only(count: int) -> Any:
    """As many of the launches that are needed where groups gave up."""

    def chosen(stages: list[Stage], redo: str) -> list[Stage]:
        return where_marked(stages[:count], redo)

    return chosen


def test_far_groups_are_finished_by_products(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Launches by the formula leave them as they are, to the last bit; and only rows too far for three pieces need these."""
    if not context.facts.fp64:
        pytest.skip("float64 makes the pieces")
    call, (x, y, b) = gaussian(6, 12)
    for kind, finished in (("normal", True), ("too far for three pieces", False)):
        xs, ys = clouds(rng, kind, 6)
        arrays = {x: xs, y: ys, b: rng.normal(size=(500, 12)).astype("f4")}
        with monkeypatch.context() as patch:
            result = run(call, arrays, cm.Context(context.device), fine=1)
            patch.setattr(scheme, "where_marked", _only(3))
            shorter = run(call, arrays, cm.Context(context.device), fine=1)
        assert np.array_equal(shorter, result) == finished, kind


def test_near_groups_are_left(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups that did not give up keep their sums, to the last bit."""
    call, (x, y, b) = gaussian(6, 12)
    xs, ys = rng.standard_normal((300, 6)).astype("f4"), (0.1 * rng.standard_normal((500, 6))).astype("f4")
    xs[:150] *= np.float32(0.1)
    arrays = {x: xs, y: ys, b: rng.normal(size=(500, 12)).astype("f4")}
    result = run(call, arrays, context, fine=1)
    monkeypatch.setattr(scheme, "where_marked", _only(0))
    near = run(call, arrays, cm.Context(context.device), fine=1)
    np.testing.assert_array_equal(result[:128], near[:128])
    assert_products(result, exponents(xs, ys), arrays[b])


def test_the_last_group_alone_is_far(context: cm.Context, rng: np.random.Generator) -> None:
    """In groups side by side along the numbers, and along the columns."""
    call, (x, y, b) = gaussian(4, 70)
    xs, ys = (0.1 * rng.standard_normal((n, 4)).astype("f4") for n in (300, 400))
    xs[290:] *= np.float32(20)
    weights = rng.normal(size=(400, 70)).astype("f4")
    for split in ({}, {"longest": 64}):
        for numbers in (2, 5):
            result = run(call, {x: xs, y: ys, b: weights}, context, fine=1, numbers=numbers, **split)
            assert_products(result, exponents(xs, ys), weights, (split, numbers))


def test_columns_too_long_for_three_pieces(context: cm.Context, rng: np.random.Generator) -> None:
    """Where their products with rows are as small as others: a coordinate that is large in them and small in all rows."""
    x, y, b = Variable(0, 4, 0), Variable(1, 4, 1), Variable(2, 12, 1)
    call = PairCall(F["Exp"](x | y) * b, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys = (rng.standard_normal((n, 4)).astype("f4") for n in (70, 300))
    xs[:, 3] *= np.float32(1e-3)
    ys[rng.integers(64, size=3), 3] = 777.7
    weights = rng.normal(size=(300, 12)).astype("f4")
    exponent = xs.astype("f8") @ ys.astype("f8").T
    assert_products(run(call, {x: xs, y: ys, b: weights}, context, fine=1), exponent, weights)


def test_numbers_that_are_none(context: cm.Context, rng: np.random.Generator) -> None:
    """Infinities and NaN reach the sums that they belong to, and no others."""
    call, (x, y, b) = gaussian(4, 20)
    xs, ys = (2 * rng.standard_normal((n, 4)).astype("f4") for n in (70, 90))
    weights = rng.normal(size=(90, 20)).astype("f4")
    xs[3, 0], xs[50, 1], weights[5, 3], weights[70, 7] = np.nan, np.inf, np.inf, np.nan
    result = run(call, {x: xs, y: ys, b: weights}, context, fine=1)
    rows, whole = np.isfinite(xs).all(1), np.isfinite(weights).all(0)
    assert np.isnan(result[3]).all() and np.isnan(result[:, 7]).all() and (result[50, whole] == 0).all()
    near = exponents(xs[rows], ys)[:, 5] > -80  # others may be 0 in float32, and 0 times an infinity NaN
    assert (result[rows, 3][near] == np.inf).all()
    assert_products(result[rows][:, whole], exponents(xs[rows], ys), weights[:, whole])


@pytest.mark.parametrize("backend", ["auto", "2D"])
def test_blocks_of_pairs(context: cm.Context, rng: np.random.Generator, backend: str) -> None:
    """Intervals that begin and end anywhere; columns outside of them do not change a sum."""
    call, (x, y, b) = gaussian(4, 20)
    call = replace(call, backend=backend)
    for rows, columns in ((1, 1), (70, 31), (90, 1000)):
        blocks = drawn_blocks(rng, rows, columns)
        arrays = {v: 2 * rng.standard_normal((n, 4)).astype("f4") for v, n in ((x, rows), (y, columns))}
        arrays[b] = rng.normal(size=(columns, 20)).astype("f4")
        exponent = np.where(mask_of(blocks), exponents(arrays[x], arrays[y]), -np.inf)
        result = run(call, arrays, context, Halves(1, blocks), fine=1)
        assert_products(result, exponent, arrays[b], (rows, columns, blocks.clusters, blocks.intervals))


def test_batches(context: cm.Context, rng: np.random.Generator) -> None:
    """Elements with a centre and a scale of their own; some near, some far."""
    call, (x, y, b) = gaussian(4, 11)
    widths = np.array([0.1, 2, 5])[:, None, None]
    arrays = {v: (widths * rng.standard_normal((3, n, 4)) + 7 * widths).astype("f4") for v, n in ((x, 70), (y, 123))}
    arrays[b] = rng.normal(size=(3, 123, 11)).astype("f4")
    result = run(call, arrays, context, fine=1)
    for k in range(3):
        assert_products(result[k], exponents(arrays[x][k], arrays[y][k]), arrays[b][k], k)


def test_exponents_with_more_than_a_product(context: cm.Context, rng: np.random.Generator) -> None:
    """Numbers of the row and the column beside the products: a factor, and an addend."""
    x, y, b, r, c = Variable(0, 4, 0), Variable(1, 4, 1), Variable(2, 9, 1), Variable(3, 1, 0), Variable(4, 1, 1)
    call = PairCall(F["Exp"](r - F["SqDist"](x, y) - c) * r * b, PAIR_REDUCTIONS["Sum"], 1)
    arrays = {x: 2 * rng.standard_normal((70, 4)).astype("f4"), y: 2 * rng.standard_normal((123, 4)).astype("f4")}
    arrays |= {r: rng.random((70, 1), "f4"), c: rng.random((123, 1), "f4"), b: rng.normal(size=(123, 9)).astype("f4")}
    exponent = exponents(arrays[x], arrays[y]) + arrays[r] - arrays[c].T
    result = run(call, arrays, context, fine=1)
    assert_products(result / arrays[r], exponent, arrays[b])


def default_plan(dim: int, size: int, rows: int = 10**5, columns: int = 10**4, **changes: bool) -> Plan:
    """On NVIDIA, with local memory of 48 KiB. changes: of the device."""
    form = form_of(f"Exp(-SqDist(Vi(0,{dim}),Vj(1,{dim})))*Vj(2,{size})")
    setting = Setting(Pairwise(rows, columns, 1, 4 * rows), PARALLEL, replace(FACTS["nvidia"], **changes))
    return passes_of(form).plan(setting, (FLOAT32,))


def default_kernels(dim: int, size: int, rows: int = 10**5, **changes: bool) -> list[WeightedKernel]:
    return again_kernels(default_plan(dim, size, rows, **changes))


@pytest.mark.parametrize("size", [8, 24, 48, 64, 150])
def test_launches_share_the_pieces_of_weights(size: int) -> None:
    """Whatever the length of vectors: if need be, their tiles are narrower."""
    for dim in (4, 13, 16, *([24] if size <= 64 else [])):
        fine, formula = default_kernels(dim, size)
        assert (fine.weighted.matrix is not None, formula.weighted.matrix) == (True, None)
        assert fine.weighted.side == formula.weighted.side, (dim, size)


def test_products_are_chosen_from_four_numbers_on() -> None:
    """And only for as many pairs as a launch more is worth; where float64 makes the pieces."""
    for dim, rows, fp64, fine in ((4, 10**5, True, 1), (3, 10**5, True, 0), (4, 1000, True, 0), (4, 10**5, False, 0)):
        kernels = default_kernels(dim, 8, rows, fp64=fp64)
        assert sum(kernel.weighted.matrix is not None for kernel in kernels) == fine, (dim, rows, fp64)
    assert all(len(default_kernels(dim, size)) == 2 for dim in (17, 24) for size in (8, 64))
    assert not default_kernels(24, 8, 1000) and not default_kernels(24, 65) and not default_kernels(25, 8)
    assert matrix_wide_box(8, 2).fine == 0


def test_products_need_float64() -> None:
    """Whatever the box says."""
    layout = layout_of("Exp(-SqDist(Vi(0,4),Vj(1,4)))*Vj(2,40)")
    box = replace(matrix_wide_box(40, 1), fine=1)
    for fp64 in (True, False):
        facts = replace(FACTS["nvidia"], fp64=fp64)
        plan = Exponentials(layout, Pairwise(1000, 1000), PARALLEL, facts).plan(box)
        assert [kernel.weighted.matrix is not None for kernel in again_kernels(plan)] == [True] * fp64 + [False]


def test_memory_limits_what_may_not_be_needed() -> None:
    """Pieces of weights and columns of a gigabyte: then the formula computes far groups; and, of weights alone, all."""
    for columns, kernels in ((10**6, [True, False]), (4 * 10**6, [False]), (2 * 10**7, [])):
        plan = default_plan(16, 8, 1000, columns)
        assert [kernel.weighted.matrix is not None for kernel in again_kernels(plan)] == kernels, columns
        assert ("three pieces" in plan.why) == (True in kernels)
