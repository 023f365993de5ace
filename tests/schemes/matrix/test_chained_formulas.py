"""Long vectors with long weights, and gradients of kernels of long vectors, by matrix instructions; on every device: in
an NVIDIA GPU's own, elsewhere as the vocabulary spells them. Which formulas the scheme takes, and what it gives.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.chained_calls import BOXES, SIZE, assert_slopes, box_of, run, slope
from support.long_vectors import DIM, TERM_ERROR, F, assert_sums, gaussian, points, squares
from support.pair_plans import layout_of, matrix_default, pair_plan, vector
from support.plans import FACTS, PARALLEL, SEQUENTIAL, source_of
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.domain.dense import Pairwise
from clmapreduce.pairwise.call import PairCall
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_CHAINED, MatrixChainedBox
from clmapreduce.schemes.pairs.matrix.chained import chained_products_of
from clmapreduce.vector import Variable, Vector

pytestmark = pytest.mark.drawn(seldom="pocl")


@pytest.mark.parametrize("box", BOXES, ids=str)
def test_sums(context: cm.Context, rng: np.random.Generator, box: MatrixChainedBox) -> None:
    """Rows, columns and numbers around tiles; the same kernels for all sizes but those of vectors."""
    if box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    dim, size = int(rng.choice((17, 32, 33, 50, 100))), int(rng.choice((7, 8, 9, 24, 25, 50)))
    formula, (x, y, s, b) = gaussian(dim, size)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for rows, columns in ((1, 1), (15, 17), (16, 33), (65, 64), (70, 193)):
        arrays = {x: points(rng, rows, dim), y: points(rng, columns, dim), s: rng.uniform(0.1, 3, 1).astype("f4")}
        arrays[b] = rng.normal(size=(columns, size)).astype("f4")
        exponent = -squares(arrays[x], arrays[y]) * float(arrays[s][0])
        assert_sums(run(call, arrays, context, box), exponent, arrays[b].astype("f8"), (dim, size, rows, columns))


def test_many_coordinates(context: cm.Context, rng: np.random.Generator) -> None:
    """Where instructions add up their own sums; whole steps alone, or a mixed one."""
    dim = int(rng.choice((336, 340)))
    formula, (x, y, s, b) = gaussian(dim, SIZE)
    arrays = {x: points(rng, 20, dim), y: points(rng, 30, dim), s: np.ones(1, "f4")}
    arrays[b] = rng.normal(size=(30, SIZE)).astype("f4")
    result = run(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), arrays, context)
    assert_sums(result, -squares(arrays[x], arrays[y]), arrays[b].astype("f8"))


@pytest.mark.parametrize("by", [0, 1])
def test_gradients(context: cm.Context, rng: np.random.Generator, by: int) -> None:
    """By either side, whose sums are over the other; around tiles."""
    formula, (x, y, b, g) = slope(DIM, by)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1 - by)
    for rows, columns in ((1, 1), (17, 40), (70, 97)):
        counts = (rows, columns) if by == 0 else (columns, rows)
        arrays = {x: points(rng, counts[0]), y: points(rng, counts[1])}
        arrays |= {b: rng.normal(size=(columns, 1)).astype("f4"), g: rng.normal(size=(rows, 1)).astype("f4")}
        own, others = (arrays[x], arrays[y]) if by == 0 else (arrays[y], arrays[x])
        factors = -2 * np.exp(-squares(own, others)) * arrays[g].astype("f8") * arrays[b].astype("f8").T
        assert_slopes(run(call, arrays, context), own, others, factors, (rows, columns))


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
    if name in ("divided", "weighted") and rng.integers(2):  # in the others, inputs of the products are rounded before
        xs, ys = xs + np.float32(100), ys + np.float32(100)
    arrays = {x: xs, y: ys, s: scales, b: rng.normal(size=(97, b.dim)).astype("f4")}
    result, weights = run(call, arrays, context), arrays[b].astype("f8")
    wide = scales.astype("f8")
    if name == "inner":
        exponent = xs.astype("f8") @ (ys * wide).T
        if slopes:
            weights = weights * ys * wide
        assert_sums(result, exponent, weights)
        return
    metric = np.sqrt(wide) if name == "weighted" else 1 / wide
    rows, columns = xs * metric, ys * metric
    if slopes:
        factors = -2 * np.exp(-squares(rows, columns)) * weights.T
        assert_slopes(result / metric, rows, columns, factors, name)
    else:
        assert_sums(result, -squares(rows, columns), weights, name)


@pytest.mark.parametrize("kind", ["Gaussian", "softmax"])
def test_backward_passes(context: cm.Context, rng: np.random.Generator, kind: str) -> None:
    """Scalars of two products: gradients of K(x, y) b by x, with b and what it is multiplied by long as well; and those
    of a softmax, whose products are both inner ones. Near points, and blocks of pairs.
    """
    size = int(rng.choice((17, 20, 35)))
    x, y, b, g = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, size, 1), Variable(3, size, 0)
    xs, ys = points(rng, 70), points(rng, 130)
    ys[:20] = xs[:20]
    arrays = {x: xs, y: ys, b: rng.normal(size=(130, size)).astype("f4"), g: rng.normal(size=(70, size)).astype("f4")}
    inner = arrays[g].astype("f8") @ arrays[b].astype("f8").T
    magnitude = np.linalg.norm(arrays[g], axis=1)[:, None] * np.linalg.norm(arrays[b], axis=1)
    kernel = F["Exp"](-F["SqDist"](x, y)) if kind == "Gaussian" else F["Exp"](x | y)
    call = PairCall(F["Grad"](kernel * b, x, g), PAIR_REDUCTIONS["Sum"], 1)
    blocks = drawn_blocks(rng, 70, 130) if rng.integers(2) else None
    mask = True if blocks is None else mask_of(blocks)
    result = run(call, arrays, context, box_of(context, numbers=int(rng.choice((2, 5)))), None if blocks is None else Halves(1, blocks))
    if kind == "softmax":
        exponent = xs.astype("f8") @ ys.T.astype("f8")
        weights, terms = ys.astype("f8"), np.where(mask, np.exp(exponent), 0)
        off = (terms * magnitude) @ np.abs(weights) * 2 * TERM_ERROR
        assert np.all(np.abs(result - (terms * inner) @ weights) <= off)
        return
    terms = np.where(mask, np.exp(-squares(xs, ys)), 0)
    difference = xs.astype("f8")[:, None] - ys
    expected = np.einsum("ij,ijd->id", -2 * terms * inner, difference)
    off = 4 * TERM_ERROR * (terms * magnitude * np.linalg.norm(difference, axis=-1)).sum(1)
    assert np.all(np.linalg.norm(result - expected, axis=1) <= off)


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
    """Near and far points, duplicates among them; numbers that are products of two of the column's."""
    kind = np.dtype(dtype) if dtype != "bfloat16" else np.dtype(pytest.importorskip("ml_dtypes").bfloat16)
    x, y, b, c = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, SIZE, 1), Variable(3, 1, 1)
    xs, ys = points(rng, 70).astype(kind), points(rng, 97).astype(kind)
    ys[:20] = xs[10:30]
    arrays = {x: xs, y: ys, b: rng.normal(size=(97, SIZE)).astype(kind), c: rng.normal(size=(97, 1)).astype(kind)}
    result = run(PairCall(kernels(name, x, y) * (b * c), PAIR_REDUCTIONS["Sum"], 1), arrays, context)
    wide = [one.astype("f4") for one in (xs, ys)]
    terms, weights = dense(name, *wide), arrays[b].astype("f8") * arrays[c].astype("f8")
    sizes = np.abs(terms)
    if name == "inner product":  # relative to what is added up
        sizes = np.linalg.norm(wide[0], axis=1)[:, None] * np.linalg.norm(wide[1], axis=1)
    off = 2 * TERM_ERROR * np.maximum(sizes, 0.02) @ np.abs(weights)
    if dtype != "float32":
        off = off + {"float16": 2e-3, "bfloat16": 1e-2}[dtype] * np.abs(terms @ weights) + 1e-6
    assert result.dtype == kind
    assert np.all(np.abs(result.astype("f8") - terms @ weights) <= off)


@pytest.mark.parametrize("product", [True, False])
def test_attention(context: cm.Context, rng: np.random.Generator, product: bool) -> None:
    """Softmax times long values: the second pass over all pairs is the scheme's. Far rows too, where the largest
    exponent is far from 0.
    """
    x, y, w = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, SIZE, 1)
    formula = (x | y) if product else -F["SqDist"](x, y)
    call = PairCall(formula, PAIR_REDUCTIONS["SumSoftMaxWeight"], 1, w)
    for large in (1, 1e9) if product else (1,):
        arrays = {x: points(rng, 40), y: points(rng, 97), w: rng.normal(size=(97, SIZE)).astype("f4")}
        arrays[x][30:] *= 20
        arrays[x][:, 5], arrays[y][:, 5] = 0, large  # beside which others have no digits
        exponent = arrays[x].astype("f8") @ arrays[y].astype("f8").T if product else -squares(arrays[x], arrays[y])
        terms = np.exp(exponent - exponent.max(1, keepdims=True))
        terms /= terms.sum(1, keepdims=True)
        off = 2 * TERM_ERROR * (1 + np.abs(exponent).max(1, keepdims=True)) * (terms @ np.abs(arrays[w]))
        assert np.all(np.abs(run(call, arrays, context) - terms @ arrays[w]) <= off)


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
        box = matrix_default(layout, domain, PARALLEL, FACTS["nvidia"])
        assert isinstance(box, MatrixChainedBox) and 8 * box.numbers >= SIZE
        without = replace(FACTS["nvidia"], matrix_units=False)
        assert matrix_default(layout, domain, PARALLEL, without) is None


def test_local_memory_of_any_size() -> None:
    """Stages get shallower and tiles narrower until they fit."""
    facts = FACTS["nvidia"]
    sizes = []
    for local_memory in (facts.local_memory, 32768, 20480):
        less = replace(facts, local_memory=local_memory)
        plan = pair_plan(layout_of(LONG), 1000, 1000, PARALLEL, less, box=MATRIX_CHAINED)
        (source,) = (source_of(stage) for stage in plan.stages if "chained" in stage.spec.template)
        sizes.append(int(re.search(r"__local uint memory\[(\d+)\]", source)[1]))
        assert 4 * sizes[-1] <= local_memory
    assert sizes[0] > sizes[1] > sizes[2]
