"""Pairs by matrix instructions, on every device: in an NVIDIA GPU's own, elsewhere as the vocabulary spells them."""

from __future__ import annotations

import numpy as np
import pytest
from support.exponent_sums import (
    EPS,
    KINDS,
    TERM_ERROR,
    adversarial,
    assert_sums,
    box_of,
    exponents,
    gaussian,
    points,
    run,
)
from support.pair_plans import layout_of
from support.plans import PARALLEL, SEQUENTIAL

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs, reduce_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.schemes.pairs.matrix.few import factoring_of
from clmapreduce.schemes.pairs.matrix.parts.halves import OperandPieces
from clmapreduce.vector import OPERATIONS, Variable

pytestmark = pytest.mark.drawn(seldom="pocl")

F = OPERATIONS
@pytest.mark.parametrize("across", [1, 2])
def test_sums(context: cm.Context, rng: np.random.Generator, across: int) -> None:
    """Rows and columns around blocks, tiles and groups; one kernel for all of them."""
    dim = int(rng.choice([1, 2, 3, 4, 5, 9, 16]))
    formula, (x, y, s, b) = gaussian(dim)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for rows, columns in ((1, 1), (15, 9), (17, 193), (70, 40), (257, 1000)):
        arrays = {x: points(rng, rows, dim), y: points(rng, columns, dim), s: rng.uniform(0.1, 3, 1).astype("f4")}
        arrays[b] = rng.normal(size=(columns, 1)).astype("f4")
        result = run(call, arrays, context, across=across)
        assert_sums(result, exponents(arrays[x], arrays[y], arrays[s]), arrays[b].astype("f8"), (dim, rows, columns))


@pytest.mark.parametrize("blocks", [1, 2, 3])
def test_half_a_block(context: cm.Context, rng: np.random.Generator, blocks: int) -> None:
    """Where all warps share few rows, the last block may have but eight; also in tiles computed as the formula says."""
    formula, (x, y, s, b) = gaussian(3)
    call, scale = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), np.ones(1, "f4")
    block = box_of(context).block
    for rows in (16 * blocks - 15, 16 * blocks - 8, 16 * blocks - 7, 16 * blocks):
        for width in (1, 40):
            arrays = {x: width * points(rng, rows, 3), y: width * points(rng, 193, 3), s: scale}
            arrays[b] = rng.random((193, 1)).astype("f4")
            result = run(call, arrays, context, blocks=blocks, across=block // 32)
            assert_sums(result, exponents(arrays[x], arrays[y], scale), arrays[b].astype("f8"), (rows, width))


def test_adversarial_points(context: cm.Context, rng: np.random.Generator) -> None:
    """As exact as promised, by this scheme and by the portable one."""
    formula, (x, y, s, b) = gaussian(3)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for kind in KINDS:
        xs, ys, scale = adversarial(rng, kind)
        arrays = {x: xs, y: ys, s: scale, b: rng.random((193, 1)).astype("f4")}
        for result in (run(call, arrays, context), reduce_pairs(call, arrays, Options("parallel", context))):
            assert_sums(result, exponents(xs, ys, scale), arrays[b].astype("f8"), kind)


@pytest.mark.parametrize("again", [0, 1])
def test_numbers_that_are_none(context: cm.Context, rng: np.random.Generator, again: int) -> None:
    """Infinities and NaN among rows and columns reach the sums that they belong to, and no others."""
    formula, (x, y, s, b) = gaussian(3)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys = points(rng, 70, 3), points(rng, 193, 3)
    xs[3, 1], xs[66, 0], xs[40, 2] = np.nan, np.inf, -np.inf
    weights = rng.random((193, 1)).astype("f4")
    arrays = {x: xs, y: ys, s: np.ones(1, "f4"), b: weights}
    result = run(call, arrays, context, fine=again)
    fine = np.isfinite(xs).all(1)
    assert_sums(result[fine], exponents(xs[fine], ys, arrays[s]), weights.astype("f8"))
    assert np.isnan(result[3]) and (result[[66, 40]] == 0).all()
    ys[7, 0] = np.nan
    assert np.isnan(run(call, arrays, context, fine=again)).all()
    ys[7, 0] = np.inf
    result = run(call, arrays, context, fine=again)
    others = np.arange(193) != 7
    assert_sums(result[fine], exponents(xs[fine], ys[others], arrays[s]), weights[others].astype("f8"))


def test_many_splits_batches_and_the_other_axis(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(3, axis=0)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 0, backend="2D")
    arrays = {x: points(rng, 6 * 300, 3).reshape(2, 3, 300, 3), y: points(rng, 3 * 40, 3).reshape(3, 40, 3)}
    arrays |= {s: np.ones(1, "f4"), b: rng.normal(size=(2, 1, 300, 1)).astype("f4")}
    result = run(call, arrays, context, tiles=1)
    assert result.shape == (2, 3, 40, 1)
    weights = np.broadcast_to(arrays[b].astype("f8"), (2, 3, 300, 1))
    for i in range(2):
        for j in range(3):
            assert_sums(result[i, j], exponents(arrays[y][j], arrays[x][i, j], arrays[s]), weights[i, j])


def test_half_the_bytes(context: cm.Context, rng: np.random.Generator) -> None:
    """float16 arrays are computed with as float32, and give float16."""
    formula, (x, y, s, b) = gaussian(3)
    arrays = {x: points(rng, 70, 3), y: points(rng, 193, 3), s: np.ones(1), b: rng.random((193, 1))}
    arrays = {v: a.astype("f2") for v, a in arrays.items()}
    result = run(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), arrays, context)
    expected = np.exp(exponents(arrays[x], arrays[y], arrays[s])) @ arrays[b].astype("f8")
    assert result.dtype == np.float16
    np.testing.assert_allclose(result, expected, rtol=1e-3)


def test_blocks_of_pairs(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(3)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    keep = rng.random((100, 300)) < 0.2
    keep[rng.random(100) < 0.2] = False
    keep = np.repeat(np.repeat(keep[::7, ::11], 7, 0)[:100], 11, 1)[:, :300]
    arrays = {x: points(rng, 100, 3), y: points(rng, 300, 3), s: np.ones(1, "f4")}
    arrays[b] = rng.normal(size=(300, 1)).astype("f4")
    exponent = np.where(keep, exponents(arrays[x], arrays[y], arrays[s]), -np.inf)
    assert_sums(run(call, arrays, context, cm.Ranges.from_mask(keep)), exponent, arrays[b].astype("f8"))


@pytest.mark.parametrize("name", ["LogSumExp", "SumSoftMaxWeight"])
def test_exponents_of_reductions(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """Far rows too, where the largest exponent is far below 0."""
    x, y, w = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 2, 1)
    weight = w if name == "SumSoftMaxWeight" else None
    call = PairCall(-F["SqDist"](x, y), PAIR_REDUCTIONS[name], 1, weight)
    arrays = {x: points(rng, 40, 3), y: points(rng, 193, 3)}
    arrays[x][30:] += 20
    if weight is not None:
        arrays[w] = rng.random((193, 2)).astype("f4")
    result = run(call, arrays, context)
    exponent = exponents(arrays[x], arrays[y], np.ones(1))
    top = exponent.max(1, keepdims=True)
    terms = np.exp(exponent - top)
    if weight is None:
        np.testing.assert_allclose(result, top + np.log(terms.sum(1, keepdims=True)), rtol=2e-6, atol=2e-6)
    else:
        off = 2 * TERM_ERROR + 16 * EPS * np.abs(top)
        assert np.all(np.abs(result - terms @ arrays[w] / terms.sum(1, keepdims=True)) <= off)


def test_products_of_other_kinds(context: cm.Context, rng: np.random.Generator) -> None:
    """Two products in a formula, one of them an inner product, the other with a bandwidth for each row; and other factors."""
    x, y, r, c = Variable(0, 2, 0), Variable(1, 2, 1), Variable(2, 1, 0), Variable(3, 1, 1)
    formula = F["Exp"](-F["SqDist"](x, y) * r) + F["Square"](c) * F["Exp"]((x | y) - r) * F["Square"](x - y)
    arrays = {v: rng.uniform(0.2, 1, (n, v.dim)).astype("f4") for v, n in ((x, 50), (r, 50), (y, 120), (c, 120))}
    result = run(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), arrays, context)
    a, b, rows, columns = (arrays[v].astype("f8") for v in (x, y, r, c))
    near = np.exp(-np.square(a[:, None] - b[None]).sum(-1) * rows)
    other = columns.T**2 * np.exp(a @ b.T - rows)
    expected = near.sum(1)[:, None] + np.einsum("ij,ijd->id", other, np.square(a[:, None] - b[None]))
    np.testing.assert_allclose(result, expected, rtol=TERM_ERROR)


@pytest.mark.parametrize("name", ["ArgMin", "Max_ArgMax", "ArgKMin", "Min"])
def test_filters_decide_nothing(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """The same bits as without them."""
    x, y = Variable(0, 3, 0), Variable(1, 3, 1)
    options = PairOptions(k=3) if name == "ArgKMin" else PairOptions()
    call = PairCall(F["SqDist"](x, y), PAIR_REDUCTIONS[name], 1, options=options)
    for kind in (*KINDS, "none"):
        xs, ys, _ = adversarial(rng, "far from the origin" if kind == "none" else kind)
        if kind == "none":
            xs[[3, 40], 1], ys[[7, 90], 2] = [np.nan, np.inf], [np.inf, np.nan]
        plain = reduce_pairs(call, {x: xs, y: ys}, Options("parallel", context))
        prepared = prepare_pairs(call, {x: xs, y: ys}, Options("parallel", context), box_of(context))
        assert isinstance(prepared, Prepared)
        assert any(
            stage.spec.template.startswith("kernel/matrix/pairwise_matrix") for stage in prepared.executable.plan.stages
        )
        for one, two in zip(prepared.run(), plain if isinstance(plain, tuple) else (plain,), strict=True):
            np.testing.assert_array_equal(one, two, kind)


def test_filters_of_inner_products_and_blocks(context: cm.Context, rng: np.random.Generator) -> None:
    """The largest inner product of every row, over blocks of pairs; rows of large numbers and of small ones."""
    x, y = Variable(0, 5, 0), Variable(1, 5, 1)
    call = PairCall(x | y, PAIR_REDUCTIONS["ArgMax"], 1)
    keep = np.repeat(np.repeat(rng.random((5, 4)) < 0.6, 30, 0), 50, 1)
    for scale in (1.0, 300.0, 1e-3):
        xs, ys = ((rng.normal(size=(n, 5)) * scale).astype("f4") for n in (150, 200))
        result = run(call, {x: xs, y: ys}, context, cm.Ranges.from_mask(keep))
        products = np.where(keep, xs.astype("f8") @ ys.astype("f8").T, -np.inf)
        best = products.max(1)
        some = np.isfinite(best)
        products_found = np.take_along_axis(products, result, 1)[:, 0]
        assert np.all(best[some] - products_found[some] <= 8 * EPS * np.abs(best[some])) and (result[~some] == 0).all()


def test_what_the_scheme_leaves_to_others() -> None:
    """Products that are more than exponents, or not the value that is looked for; one item at a time."""
    assert factoring_of(layout_of(), PARALLEL) is not None
    assert factoring_of(layout_of("SqDist(Vi(0,3),Vj(1,3))", "ArgMin"), PARALLEL) is not None
    for layout in (
        layout_of("Sqrt(SqDist(Vi(0,3),Vj(1,3)))", "ArgMin"), layout_of("Vi(0,3)*Vj(1,3)", "Min"), layout_of("Sqrt(SqDist(Vi(0,3),Vj(1,3)))"), layout_of("Sin(Vi(0,1)*Vj(1,1))"),
        layout_of("SqDist(Vi(0,3),Vj(1,3))", "Max_SumShiftExp"), layout_of(few=True), layout_of("Exp(Vi(0,1)-Vj(1,1))"),
        layout_of(code="f8"),
    ):  # fmt: skip
        assert factoring_of(layout, PARALLEL) is None
    assert factoring_of(layout_of(), SEQUENTIAL) is None


@pytest.mark.parametrize("count", [1, 2, 3, 4, 10, 16])
def test_pieces_meet_their_partners(count: int) -> None:
    """Along the depth stand r h·h, h·l and l·h of every number, and each side's addend beside ones."""
    slots = OperandPieces(count)
    pairs = slots.meetings
    assert len(pairs) == 16 * slots.steps and slots.steps == -(-(3 * count + 6) // 16)
    for k in range(count):
        assert {(f"s{k}h", f"s{k}h"), (f"s{k}h", f"s{k}l"), (f"s{k}l", f"s{k}h")} <= set(pairs)
    ones = {(f"n{i}", "1.0f") for i in range(3)} | {("1.0f", f"n{i}") for i in range(3)}
    assert ones <= set(pairs) and pairs.count(("0.0f", "0.0f")) == 16 * slots.steps - 3 * count - 6
