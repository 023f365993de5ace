"""Long vectors with long weights, and gradients of kernels of long vectors, by matrix instructions; on every device: in
an NVIDIA GPU's own, elsewhere as the vocabulary spells them.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of, matrix_default, pair_plan, vector
from support.plans import FACTS, PARALLEL, SEQUENTIAL, source_of
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.domain.dense import Pairwise
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix import chained_statements
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_CHAINED, MATRIX_CHAINED_CPU, MatrixChainedBox
from clmapreduce.schemes.pairs.matrix.chained import chained_products_of
from clmapreduce.schemes.pairs.matrix.parts import results
from clmapreduce.schemes.pairs.matrix.parts.pack import REDO
from clmapreduce.vector import OPERATIONS, Variable, Vector

pytestmark = pytest.mark.drawn(seldom="pocl")

F = OPERATIONS
DIM, SIZE = 37, 20
"""Of most tests: kernels of equal text are built once; five coordinates are left for the last step."""
PROMISED = 3e-6
"""What a term may be off by, and an exponent relative to itself."""


def box_of(context: cm.Context, **more: Any) -> MatrixChainedBox:
    box = MATRIX_CHAINED_CPU if context.facts.kind == "cpu" else replace(MATRIX_CHAINED, numbers=3)
    return replace(box, **more)


def prepared(
    call: PairCall, given: Any, context: cm.Context, box: MatrixChainedBox | None = None, ranges: Any = None
) -> Prepared[Any]:  # fmt: skip
    """A call by the scheme."""
    made = prepare_pairs(call, given, Options("parallel", context), box or box_of(context), ranges)
    assert isinstance(made, Prepared)
    templates = [stage.spec.template for stage in made.executable.plan.stages]
    assert "kernel/matrix/pairwise_matrix_chained" in templates and "kernel/pairs/pairwise_wide" in templates
    return made


def run(
    call: PairCall, given: Any, context: cm.Context, box: MatrixChainedBox | None = None, ranges: Any = None
) -> Any:  # fmt: skip
    """The results of the scheme."""
    return prepared(call, given, context, box, ranges).run()[0]


def points(rng: np.random.Generator, count: int, dim: int = DIM) -> Any:
    """Points whose distances are about 1."""
    return (rng.normal(size=(count, dim)) / (2 * dim) ** 0.5).astype("f4")


def squares(x: Any, y: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return np.square(x.astype("f8")[..., :, None, :] - y.astype("f8")[..., None, :, :]).sum(-1)


def gaussian(dim: int, size: int, axis: int = 1) -> tuple[Vector, tuple[Variable, ...]]:
    """exp(-|x - y|² · s) b with its variables, b of the columns."""
    x, y, s = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, 1, 2)
    b = Variable(3, size, 1 if axis == 1 else 0)
    return F["Exp"](-F["SqDist"](x, y) * s) * b, (x, y, s, b)


def slope(dim: int, by: int = 0) -> tuple[Vector, tuple[Variable, ...]]:
    """The gradient of exp(-|x - y|²) b by x (0) or y (1), of what is summed up over the other one."""
    x, y = Variable(0, dim, 0), Variable(1, dim, 1)
    b = Variable(2, 1, 1 - by)
    g = Variable(3, 1, by)
    return F["Grad"](F["Exp"](-F["SqDist"](x, y)) * b, (x, y)[by], g), (x, y, b, g)


def assert_sums(found: Any, exponent: Any, weights: Any, told: Any = "") -> None:
    """Every number within what its terms may be off by."""
    terms = np.exp(exponent)
    with np.errstate(invalid="ignore"):
        off = np.where(terms > 0, terms * PROMISED * (1 + np.abs(exponent)), 0) @ np.abs(weights)
    wanted = terms @ weights
    assert found.shape == wanted.shape
    assert np.all(np.abs(found - wanted) <= off + 1e-37), (told, np.nanmax(np.abs(found - wanted) / (off + 1e-37)))


def assert_slopes(found: Any, rows: Any, columns: Any, factors: Any, told: Any = "") -> None:
    """Every gradient, as a vector, within what its terms may be off by. factors: of every pair's difference."""
    difference = rows.astype("f8")[:, None] - columns.astype("f8")
    wanted = np.einsum("ij,ijd->id", factors, difference)
    exponent = np.square(difference).sum(-1)
    off = (np.abs(factors) * np.sqrt(exponent) * (1 + exponent)).sum(1) * PROMISED
    off += 2.0**-122 * np.sqrt(exponent).sum(1)  # exponentials below 2^-126 may be 0
    assert found.shape == wanted.shape
    error = np.linalg.norm(found - wanted, axis=1)
    assert np.all(error <= off), (told, np.nanmax(error / off))


BOXES = [
    MatrixChainedBox(32, 2, 1, 1, groups=8, tiles=1, depth=2, numbers=1, chains=1, longest=32),
    MatrixChainedBox(64, 1, 2, 1, groups=8, tiles=2, depth=3, numbers=3, chains=2, longest=64),
]


@pytest.mark.parametrize("box", BOXES, ids=str)
def test_sums(context: cm.Context, rng: np.random.Generator, box: MatrixChainedBox) -> None:
    """Rows, columns and numbers around tiles; the same kernels for all sizes but those of vectors."""
    if box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    dim, size = int(rng.choice((17, 32, 33, 50, 100))), int(rng.choice((7, 8, 9, 24, 25, 50)))
    formula, (x, y, s, b) = gaussian(dim, size)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for rows, columns in ((1, 1), (15, 17), (16, 33), (65, 64), (70, 193)):
        given = {x: points(rng, rows, dim), y: points(rng, columns, dim), s: rng.uniform(0.1, 3, 1).astype("f4")}
        given[b] = rng.normal(size=(columns, size)).astype("f4")
        exponent = -squares(given[x], given[y]) * float(given[s][0])
        assert_sums(run(call, given, context, box), exponent, given[b].astype("f8"), (dim, size, rows, columns))


def test_many_coordinates(context: cm.Context, rng: np.random.Generator) -> None:
    """Where instructions add up their own sums; whole steps alone, or a mixed one."""
    dim = int(rng.choice((336, 340)))
    formula, (x, y, s, b) = gaussian(dim, SIZE)
    given = {x: points(rng, 20, dim), y: points(rng, 30, dim), s: np.ones(1, "f4")}
    given[b] = rng.normal(size=(30, SIZE)).astype("f4")
    found = run(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), given, context)
    assert_sums(found, -squares(given[x], given[y]), given[b].astype("f8"))


@pytest.mark.parametrize("by", [0, 1])
def test_gradients(context: cm.Context, rng: np.random.Generator, by: int) -> None:
    """By either side, whose sums are over the other; around tiles."""
    formula, (x, y, b, g) = slope(DIM, by)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1 - by)
    for rows, columns in ((1, 1), (17, 40), (70, 97)):
        counts = (rows, columns) if by == 0 else (columns, rows)
        given = {x: points(rng, counts[0]), y: points(rng, counts[1])}
        given |= {b: rng.normal(size=(columns, 1)).astype("f4"), g: rng.normal(size=(rows, 1)).astype("f4")}
        own, others = (given[x], given[y]) if by == 0 else (given[y], given[x])
        factors = -2 * np.exp(-squares(own, others)) * given[g].astype("f8") * given[b].astype("f8").T
        assert_slopes(run(call, given, context), own, others, factors, (rows, columns))


METRICS = {
    name: text.format(x=f"Vi(0,{DIM})", y=f"Vj(1,{DIM})", s=f"Pm(2,{DIM})")
    for name, text in {
        "divided": "Sum(Square(({x}-{y})/{s}))", "scaled": "SqDist({x}/{s},{y}/{s})",
        "weighted": "WeightedSqNorm({s},{x}-{y})", "inner": "({x}|({y}*(-{s})))",
    }.items()
}  # fmt: skip


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("slopes", [True, False])
def test_weights_of_coordinates(context: cm.Context, rng: np.random.Generator, name: str, slopes: bool) -> None:
    """Distances that parameters scale, far from the origin as well; gradients are exact in their metric."""
    x, y, s, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, DIM, 2), Variable(3, 1 if slopes else SIZE, 1)
    value = F["Exp"](-vector(METRICS[name])) * b
    call = PairCall(F["Grad"](value, x, F["IntCst"](1)) if slopes else value, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys, scales = points(rng, 70), points(rng, 97), rng.uniform(0.3, 3, DIM).astype("f4")
    if name in ("divided", "weighted") and rng.integers(2):  # what is rounded before cannot be helped
        xs, ys = xs + np.float32(100), ys + np.float32(100)
    given = {x: xs, y: ys, s: scales, b: rng.normal(size=(97, b.dim)).astype("f4")}
    found, weights = run(call, given, context), given[b].astype("f8")
    wide = scales.astype("f8")
    if name == "inner":
        exponent = xs.astype("f8") @ (ys * wide).T
        if slopes:
            weights = weights * ys * wide
        assert_sums(found, exponent, weights)
        return
    metric = np.sqrt(wide) if name == "weighted" else 1 / wide
    rows, columns = xs * metric, ys * metric
    if slopes:
        factors = -2 * np.exp(-squares(rows, columns)) * weights.T
        assert_slopes(found / metric, rows, columns, factors, name)
    else:
        assert_sums(found, -squares(rows, columns), weights, name)


@pytest.mark.parametrize("kind", ["Gaussian", "softmax"])
def test_backward_passes(context: cm.Context, rng: np.random.Generator, kind: str) -> None:
    """Scalars of two products: gradients of K(x, y) b by x, with b and what it is multiplied by long as well; and those
    of a softmax, whose products are both inner ones. Near points, and blocks of pairs.
    """
    size = int(rng.choice((17, 20, 35)))
    x, y, b, g = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, size, 1), Variable(3, size, 0)
    xs, ys = points(rng, 70), points(rng, 130)
    ys[:20] = xs[:20]
    given = {x: xs, y: ys, b: rng.normal(size=(130, size)).astype("f4"), g: rng.normal(size=(70, size)).astype("f4")}
    inner = given[g].astype("f8") @ given[b].astype("f8").T
    magnitude = np.linalg.norm(given[g], axis=1)[:, None] * np.linalg.norm(given[b], axis=1)
    kernel = F["Exp"](-F["SqDist"](x, y)) if kind == "Gaussian" else F["Exp"](x | y)
    call = PairCall(F["Grad"](kernel * b, x, g), PAIR_REDUCTIONS["Sum"], 1)
    blocks = drawn_blocks(rng, 70, 130) if rng.integers(2) else None
    kept = True if blocks is None else mask_of(blocks)
    found = run(call, given, context, box_of(context, numbers=int(rng.choice((2, 5)))), None if blocks is None else Halves(1, blocks))
    if kind == "softmax":
        exponent = xs.astype("f8") @ ys.T.astype("f8")
        weights, terms = ys.astype("f8"), np.where(kept, np.exp(exponent), 0)
        off = (terms * magnitude) @ np.abs(weights) * 2 * PROMISED
        assert np.all(np.abs(found - (terms * inner) @ weights) <= off)
        return
    terms = np.where(kept, np.exp(-squares(xs, ys)), 0)
    difference = xs.astype("f8")[:, None] - ys
    wanted = np.einsum("ij,ijd->id", -2 * terms * inner, difference)
    off = 4 * PROMISED * (terms * magnitude * np.linalg.norm(difference, axis=-1)).sum(1)
    assert np.all(np.linalg.norm(found - wanted, axis=1) <= off)


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
    """As exact as promised whatever the points, gradients too."""
    formula, (x, y, s, b) = gaussian(DIM, SIZE)
    sums = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    derived, (xd, yd, bd, gd) = slope(DIM)
    slopes = PairCall(derived, PAIR_REDUCTIONS["Sum"], 1)
    for kind in KINDS:
        xs, ys = adversarial(rng, kind)
        weights = rng.normal(size=(97, SIZE)).astype("f4")
        found = run(sums, {x: xs, y: ys, s: np.ones(1, "f4"), b: weights}, context)
        assert_sums(found, -squares(xs, ys), weights.astype("f8"), kind)
        found = run(slopes, {xd: xs, yd: ys, bd: weights[:, :1], gd: np.ones((70, 1), "f4")}, context)
        factors = -2 * np.exp(-squares(xs, ys)) * weights[:, 0].astype("f8")
        assert_slopes(found, xs, ys, factors, kind)


@pytest.mark.parametrize("kind", ["tiny", "huge", "mixed", "one-hot", "tiny beside huge", "denormals", "far rows"])
def test_weights_of_any_magnitude(context: cm.Context, rng: np.random.Generator, kind: str) -> None:
    """Weights need no scales. A column far away keeps what it alone gives a number."""
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
    found = run(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), {x: xs, y: ys, s: np.ones(1, "f4"), b: weights}, context)
    assert_sums(found, -squares(xs, ys), weights.astype("f8"), kind)


def test_numbers_that_are_none(context: cm.Context, rng: np.random.Generator) -> None:
    """Infinities and NaN among rows, columns and weights reach the sums that they belong to, and no others; whose groups
    are computed again, and say so.
    """
    formula, (x, y, s, b) = gaussian(DIM, SIZE)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys = points(rng, 70), points(rng, 97)
    xs[3, 1], xs[66, 0], xs[40, 36] = np.nan, np.inf, -np.inf
    weights = rng.random((97, SIZE)).astype("f4")
    given = {x: xs, y: ys, s: np.ones(1, "f4"), b: weights}
    fine = np.isfinite(xs).all(1)
    found = run(call, given, context)
    assert_sums(found[fine], -squares(xs[fine], ys), weights.astype("f8"))
    assert np.isnan(found[3]).all() and (found[[66, 40]] == 0).all()
    weights[5, 2], weights[90, 2], weights[7, 9], weights[50, 19] = np.inf, np.inf, -np.inf, np.nan
    others = [d for d in range(SIZE) if d not in (2, 9, 19)]
    found = run(call, given, context)
    assert_sums(found[fine][:, others], -squares(xs[fine], ys), weights[:, others].astype("f8"))
    assert (found[fine, 2] == np.inf).all() and (found[fine, 9] == -np.inf).all() and np.isnan(found[:, 19]).all()
    ys[7, 20] = np.nan
    assert np.isnan(run(call, given, context)).all()


@pytest.mark.parametrize("spread", [0, 10**6])
def test_differences_alone_and_numbers_alone(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, spread: int
) -> None:
    """Either way that groups of gradients may go is right where nothing cancels. No other test has such vectors: plans
    are kept.
    """
    monkeypatch.setattr(chained_statements, "SPREAD", spread)
    dim = 21 if spread else 22
    formula, (x, y, b, g) = slope(dim)
    given = {x: points(rng, 70, dim), y: points(rng, 97, dim)}
    given |= {b: np.ones((97, 1), "f4"), g: np.ones((70, 1), "f4")}
    made = prepared(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), given, context)
    assert REDO in made.executable.plan.scratch
    assert_slopes(made.run()[0], given[x], given[y], -2 * np.exp(-squares(given[x], given[y])))


@pytest.mark.parametrize("patience", [0, 10**6])
def test_groups_that_give_up_and_such_that_never_do(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, patience: int
) -> None:
    """Blobs whose distances lose their digits: pairs alone and groups again are both right. No other test has such
    vectors: plans are kept.
    """
    monkeypatch.setattr(results, "PATIENCE", patience)
    dim = 23 if patience else 24
    formula, (x, y, s, b) = gaussian(dim, SIZE)
    xs, ys = points(rng, 150, dim), points(rng, 400, dim)
    xs[::2, 0] += 20
    ys[::3, 0] += 20
    given = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.normal(size=(400, SIZE)).astype("f4")}
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1, backend=str(rng.choice(["1D", "2D"])))
    assert_sums(run(call, given, context), -squares(xs, ys), given[b].astype("f8"))


def kernels(name: str, x: Vector, y: Vector) -> Vector:
    """Formulas of one distance, or of one inner product."""
    square = F["SqDist"](x, y)
    if name == "Laplacian":
        return F["Exp"](-F["Sqrt"](square))
    if name == "inverse multiquadric":
        return F["Rsqrt"](square + 1)
    return (x | y) if name == "inner product" else F["Exp"](x | y)


def dense(name: str, x: Any, y: Any) -> Any:
    square, inner = squares(x, y), x.astype("f8") @ y.astype("f8").T
    if name == "Laplacian":
        return np.exp(-np.sqrt(square))
    if name == "inverse multiquadric":
        return 1 / np.sqrt(square + 1)
    return inner if name == "inner product" else np.exp(inner)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("name", ["Laplacian", "inverse multiquadric", "inner product", "exponential"])
def test_other_kernels(context: cm.Context, rng: np.random.Generator, name: str, dtype: str) -> None:
    """Near and far points, duplicates among them; numbers that are made of two of the column's."""
    kind = np.dtype(dtype) if dtype != "bfloat16" else np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    x, y, b, c = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, SIZE, 1), Variable(3, 1, 1)
    xs, ys = points(rng, 70).astype(kind), points(rng, 97).astype(kind)
    ys[:20] = xs[10:30]
    given = {x: xs, y: ys, b: rng.normal(size=(97, SIZE)).astype(kind), c: rng.normal(size=(97, 1)).astype(kind)}
    found = run(PairCall(kernels(name, x, y) * (b * c), PAIR_REDUCTIONS["Sum"], 1), given, context)
    wide = [one.astype("f4") for one in (xs, ys)]
    terms, weights = dense(name, *wide), given[b].astype("f8") * given[c].astype("f8")
    sizes = np.abs(terms)
    if name == "inner product":  # relative to what is added up
        sizes = np.linalg.norm(wide[0], axis=1)[:, None] * np.linalg.norm(wide[1], axis=1)
    off = 2 * PROMISED * np.maximum(sizes, 0.02) @ np.abs(weights)
    if dtype != "float32":
        off = off + {"float16": 2e-3, "bfloat16": 1e-2}[dtype] * np.abs(terms @ weights) + 1e-6
    assert found.dtype == kind
    assert np.all(np.abs(found.astype("f8") - terms @ weights) <= off)


def test_products_with_a_coordinate_that_others_lack(context: cm.Context, rng: np.random.Generator) -> None:
    """So large that the others have no digits left beside it; beside products that have lost none."""
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, SIZE, 1)
    for power in (5.5, rng.uniform(6, 8), rng.uniform(8, 20)):
        xs, ys, weights = points(rng, 70), points(rng, 97), rng.normal(size=(97, SIZE)).astype("f4")
        xs[:, 5], ys[rng.choice([slice(None), slice(7, 8)]), 5] = 0, 10**power
        weights[:, 1:] *= (np.arange(97) == 7)[:, None]  # the others' terms are 0
        found = run(PairCall((x | y) * b, PAIR_REDUCTIONS["Sum"], 1), {x: xs, y: ys, b: weights}, context)
        sizes, wanted = np.abs(xs).astype("f8") @ np.abs(ys).T.astype("f8"), xs.astype("f8") @ ys.T.astype("f8")
        assert np.all(np.abs(found - wanted @ weights) <= PROMISED * sizes @ np.abs(weights)), power


@pytest.mark.parametrize("product", [True, False])
def test_attention(context: cm.Context, rng: np.random.Generator, product: bool) -> None:
    """Softmax times long values: the second pass over all pairs is the scheme's. Far rows too, where the largest
    exponent is far from 0.
    """
    x, y, w = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, SIZE, 1)
    formula = (x | y) if product else -F["SqDist"](x, y)
    call = PairCall(formula, PAIR_REDUCTIONS["SumSoftMaxWeight"], 1, w)
    for large in (1, 1e9) if product else (1,):
        given = {x: points(rng, 40), y: points(rng, 97), w: rng.normal(size=(97, SIZE)).astype("f4")}
        given[x][30:] *= 20
        given[x][:, 5], given[y][:, 5] = 0, large  # beside which others have no digits
        exponent = given[x].astype("f8") @ given[y].astype("f8").T if product else -squares(given[x], given[y])
        terms = np.exp(exponent - exponent.max(1, keepdims=True))
        terms /= terms.sum(1, keepdims=True)
        off = 2 * PROMISED * (1 + np.abs(exponent).max(1, keepdims=True)) * (terms @ np.abs(given[w]))
        assert np.all(np.abs(run(call, given, context) - terms @ given[w]) <= off)


def test_many_splits_batches_and_the_other_axis(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(DIM, SIZE, axis=0)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 0, backend="2D")
    given = {x: points(rng, 6 * 150).reshape(2, 3, 150, DIM), y: points(rng, 3 * 40).reshape(3, 40, DIM)}
    given |= {s: np.ones(1, "f4"), b: rng.normal(size=(2, 1, 150, SIZE)).astype("f4")}
    given[b][1, 0, 3, 4] = np.inf  # of some elements of the batch, some splits and some numbers
    found = run(call, given, context, box_of(context, tiles=1))
    assert found.shape == (2, 3, 40, SIZE)
    weights = np.broadcast_to(given[b].astype("f8"), (2, 3, 150, SIZE))
    fine = np.arange(SIZE) != 4
    for i in range(2):
        for j in range(3):
            exponent = -squares(given[y][j], given[x][i, j])
            assert_sums(found[i, j][:, fine], exponent, weights[i, j][:, fine])
            assert i == 0 or (found[i, j, :, 4] == np.inf).all()
    assert np.isfinite(found[0]).all()


def test_gradients_of_a_batch(context: cm.Context, rng: np.random.Generator) -> None:
    """Every element has a centre of its own, whichever side it shares."""
    formula, (x, y, b, g) = slope(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    shared = rng.choice(["rows", "columns", "none"])
    xs, ys = points(rng, 3 * 30).reshape(3, 30, DIM), points(rng, 3 * 40).reshape(3, 40, DIM)
    xs, ys = xs[0] if shared == "rows" else xs, ys[0] if shared == "columns" else ys
    given = {x: xs, y: ys, b: rng.normal(size=(3, 40, 1)).astype("f4"), g: np.ones((30, 1), "f4")}
    found = run(call, given, context)
    for i in range(3):
        rows, columns = np.broadcast_to(xs, (3, 30, DIM))[i], np.broadcast_to(ys, (3, 40, DIM))[i]
        factors = -2 * np.exp(-squares(rows, columns)) * given[b][i, :, 0].astype("f8")
        assert_slopes(found[i], rows, columns, factors, shared)


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
        given = {x: xs, y: ys, **dict(zip(others, more, strict=True))}
        exponent = np.where(mask_of(blocks), -squares(xs, ys), -np.inf)
        told = (rows, columns, scale, blocks.clusters, blocks.intervals)
        found = run(call, given, context, box, Halves(1, blocks))
        if slopes:
            assert_slopes(found, xs, ys, -2 * np.exp(exponent) * weights[:, 0].astype("f8"), told)
        else:
            assert_sums(found, exponent, weights.astype("f8"), told)


def test_what_is_in_no_interval_of_a_row(context: cm.Context, rng: np.random.Generator) -> None:
    """Reaches none of its sums, whatever it is."""
    formula, (x, y, s, b) = gaussian(DIM, SIZE)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for special in (np.nan, np.inf, 1e30):
        keep = np.repeat(rng.random((4, 150)) < rng.choice([0.4, 0.95]), 10, 0)
        own = rng.integers(150, size=5)
        keep[10:, own] = False
        given = {x: points(rng, 40), y: points(rng, 150), s: np.ones(1, "f4")}
        given[b] = rng.random((150, SIZE)).astype("f4")
        given[b][own[:2]], given[y][own[2:], 7], given[x][[3, 9], 5] = special, special, special
        found = run(call, given, context, ranges=cm.Ranges.from_mask(keep))
        exponent = np.where(keep, -squares(given[x], given[y]), -np.inf)[10:]
        weights = np.where(np.isfinite(given[b]), given[b], 0).astype("f8")
        assert_sums(found[10:], exponent, weights, special)


def test_the_same_bits_every_time(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(DIM, SIZE)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    given = {x: points(rng, 200), y: points(rng, 300), s: np.ones(1, "f4")}
    given[b] = rng.normal(size=(300, SIZE)).astype("f4")
    first = run(call, given, context)
    for _ in range(5):
        np.testing.assert_array_equal(run(call, given, context), first)


LONG = f"Exp(-SqDist(Vi(0,{DIM}),Vj(1,{DIM})))*Vj(2,{SIZE})"
SLOPE = f"Grad(Exp(-SqDist(Vi(0,{DIM}),Vj(1,{DIM})))*Vj(2,1),Vi(0,{DIM}),Vi(3,1))"


def test_what_suits_the_scheme() -> None:
    """A scalar of one product, times numbers of the column or differences of the product's own vectors."""
    facts = FACTS["nvidia"]
    for text in METRICS.values():
        for formula in (f"Grad(Exp(-{text}),Vi(0,{DIM}),Vi(3,1))", f"Exp(-{text})*Vj(4,{SIZE})"):
            assert chained_products_of(layout_of(formula), PARALLEL, facts), formula
    for text in (LONG, SLOPE):
        assert chained_products_of(layout_of(text), PARALLEL, facts)
        assert not chained_products_of(layout_of(text), SEQUENTIAL, facts)
        assert not chained_products_of(layout_of(text, code="f8"), PARALLEL, facts)
    other = f"Exp(-SqDist(Vi(0,{DIM}),Vj(1,{DIM})))*(Vi(3,{SIZE})-Vj(2,{SIZE}))"
    for text in (other, f"Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,{SIZE})", f"Exp(-SqDist(Vi(0,{DIM}),Vj(1,{DIM})))"):
        assert not chained_products_of(layout_of(text), PARALLEL, facts), text


def test_where_it_is_chosen() -> None:
    """On devices with matrix units alone."""
    domain = Pairwise(10000, 10000, 1, 10**6)
    for text in (LONG, SLOPE):
        layout = layout_of(text)
        found = matrix_default(layout, domain, PARALLEL, FACTS["nvidia"])
        assert isinstance(found, MatrixChainedBox) and 8 * found.numbers >= SIZE
        without = replace(FACTS["nvidia"], matrix_units=False)
        assert matrix_default(layout, domain, PARALLEL, without) is None


def test_local_memory_of_any_size() -> None:
    """Stages get shallower and tiles narrower until they fit."""
    facts = FACTS["nvidia"]
    sizes = []
    for local_memory in (facts.local_memory, 16384, 8192):
        less = replace(facts, local_memory=local_memory)
        plan = pair_plan(layout_of(LONG), 1000, 1000, PARALLEL, less, box=MATRIX_CHAINED)
        (source,) = (source_of(stage) for stage in plan.stages if "chained" in stage.spec.template)
        sizes.append(int(re.search(r"__local uint memory\[(\d+)\]", source)[1]))
        assert 4 * sizes[-1] <= local_memory
    assert sizes[0] > sizes[1] > sizes[2]
