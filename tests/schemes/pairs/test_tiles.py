"""Pairs of long vectors: every reduction against dense NumPy in float64, on every device and in both modes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of, pair_plan
from support.plans import FACTS, PARALLEL

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs, reduce_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.schemes.pairs.boxes import TileBox
from clmapreduce.schemes.pairs.tile_shape import Shape
from clmapreduce.vector import OPERATIONS, Variable, Vector

pytestmark = pytest.mark.drawn

F = OPERATIONS
SHAPES = [(1, 1), (1, 193), (31, 1), (31, 193), (193, 31), (193, 1000)]


def points(rng: np.random.Generator, rows: int, dim: int, dtype: str, centre: float = 0.0) -> Any:
    """Points whose distances are about 1."""
    return (rng.normal(size=(rows, dim)) / (2 * dim) ** 0.5 + centre).astype(dtype)


def formula(name: str, x: Vector, y: Vector, b: Vector) -> Any:
    """The formula that each reduction takes."""
    if name == "Sum":
        return F["Exp"](-F["SqDist"](x, y)) * b
    return -F["SqDist"](x, y) if name == "LogSumExp" else F["SqDist"](x, y)


def dense(name: str, squares: Any, weights: Any) -> Any:
    """The results in float64. squares: (rows, columns)."""
    if name == "Sum":
        return np.exp(-squares) @ weights
    if name == "LogSumExp":
        return np.log(np.exp(-squares).sum(1, keepdims=True))
    if name == "Min":
        return squares.min(1, keepdims=True)
    if name == "ArgMin":
        return squares.argmin(1)[:, None]
    return np.argsort(squares, axis=1, kind="stable")[:, :5]


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("local_memory", [16 << 10, 32 << 10, 48 << 10])
def test_launches_fit_any_local_memory(code: str, local_memory: int) -> None:
    """Groups that pack rows have fewer items where their coordinates would not fit."""
    facts = replace(FACTS["nvidia"], matrix_units=False, local_memory=local_memory)
    layout = layout_of("SqDist(Vi(0,40),Vj(1,40))*Vj(2,1)", code=code)
    plan = pair_plan(layout, 10**5, 10**5, PARALLEL, facts)
    assert "kernel/pairs/pairwise_pack" in [stage.spec.template for stage in plan.stages]
    assert all(stage.spec.local_bytes <= local_memory for stage in plan.stages)


def distances(x: Any, y: Any) -> Any:
    return np.square(x.astype("f8")[:, None, :] - y.astype("f8")[None, :, :]).sum(-1)


def check(name: str, result: Any, squares: Any, weights: Any, dtype: str) -> None:
    """Indices by the values that they stand for; the rest within a few roundings of the terms."""
    expected = dense(name, squares, weights)
    eps = 2e-6 if dtype == "float32" else 1e-14
    assert result.shape == expected.shape
    if name.startswith("Arg"):
        squares_found, best = (np.take_along_axis(squares, np.asarray(i, dtype=np.int64), 1) for i in (result, expected))
        np.testing.assert_allclose(squares_found, best, rtol=eps)
    elif name == "Sum":
        terms = np.exp(-squares) @ np.abs(weights)
        assert np.all(np.abs(result - expected) <= eps * np.maximum(terms, 1e-3))
    else:
        np.testing.assert_allclose(result, expected, rtol=eps, atol=eps)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", ["Sum", "LogSumExp", "Min", "ArgMin", "ArgKMin"])
def test_long_vectors(context: cm.Context, mode: str, rng: np.random.Generator, name: str, dtype: str) -> None:
    """Sizes and dimensions around the tiles and stages; a few of all combinations in each run."""
    if dtype == "float64" and not context.facts.fp64:
        pytest.skip("no float64 here")
    for dim in rng.choice([17, 33, 50, 100, 300], size=2, replace=False).tolist():
        rows, columns = SHAPES[rng.integers(len(SHAPES))]
        x, y, b = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, 1, 1)
        columns = max(columns, 5) if name == "ArgKMin" else columns
        arrays = {x: points(rng, rows, dim, dtype), y: points(rng, columns, dim, dtype)}
        weights = rng.normal(size=(columns, 1)).astype(dtype)
        if name == "Sum":
            arrays[b] = weights
        call = PairCall(formula(name, x, y, b), PAIR_REDUCTIONS[name], 1, options=PairOptions(k=5))
        if name != "ArgKMin":
            call = PairCall(formula(name, x, y, b), PAIR_REDUCTIONS[name], 1)
        result = reduce_pairs(call, arrays, Options(mode, context))
        check(name, result, distances(arrays[x], arrays[y]), weights.astype("f8"), dtype)


def test_both_axes_and_batches(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y, b = Variable(0, 33, 0), Variable(1, 33, 1), Variable(2, 2, 0)
    xs, ys = points(rng, 2 * 3 * 19, 33, "float32").reshape(2, 3, 19, 33), points(rng, 3 * 70, 33, "float32")
    ys = ys.reshape(3, 70, 33)
    weights = rng.normal(size=(2, 1, 19, 2)).astype("float32")
    call = PairCall(F["Exp"](-F["SqDist"](x, y)) * b, PAIR_REDUCTIONS["Sum"], 0)
    result = reduce_pairs(call, {x: xs, y: ys, b: weights}, Options(mode, context))
    assert result.shape == (2, 3, 70, 2)
    for i in range(2):
        for j in range(3):
            kernel = np.exp(-distances(ys[j], xs[i, j]))
            expected, terms = kernel @ weights[i, 0].astype("f8"), kernel @ np.abs(weights[i, 0])
            assert np.all(np.abs(result[i, j] - expected) <= 2e-6 * terms)


@pytest.mark.parametrize("columns", [40, 700])
def test_what_lies_far_from_the_origin_keeps_its_digits(
    context: cm.Context, mode: str, rng: np.random.Generator, columns: int
) -> None:
    """Near neighbours a thousand units away: no norm is subtracted from another."""
    x, y, b = Variable(0, 40, 0), Variable(1, 40, 1), Variable(2, 1, 1)
    xs, ys = points(rng, 70, 40, "float32", 1000), points(rng, columns, 40, "float32", 1000)
    ys[: min(70, columns)] = xs[: min(70, columns)]  # distance 0
    weights = rng.random((columns, 1)).astype("float32")
    call = PairCall(formula("Sum", x, y, b), PAIR_REDUCTIONS["Sum"], 1)
    result = reduce_pairs(call, {x: xs, y: ys, b: weights}, Options(mode, context))
    check("Sum", result, distances(xs, ys), weights.astype("f8"), "float32")


def test_several_sums_and_other_terms(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Two lengths, a parameter per coordinate, terms of rows and columns in the loop, one that is not 0 at 0."""
    x, y, z, w = Variable(0, 21, 0), Variable(1, 21, 1), Variable(2, 30, 0), Variable(3, 30, 1)
    p, s, t = Variable(4, 21, 2), Variable(5, 1, 0), Variable(6, 1, 1)
    arrays = {v: rng.normal(size=(37, v.dim)) * 0.3 for v in (x, z, s)}
    arrays |= {v: rng.normal(size=(90, v.dim)) * 0.3 for v in (y, w, t)}
    arrays[p] = rng.random(21) + 0.5
    arrays = {v: a.astype("float32") for v, a in arrays.items()}
    one = F["Sum"](p * F["Abs"](s * x - y))
    two = F["Sum"](F["Exp"](t * z + w))
    call = PairCall(one * two + s, PAIR_REDUCTIONS["Sum"], 1)
    result = reduce_pairs(call, arrays, Options(mode, context))
    d = {v: a.astype("f8") for v, a in arrays.items()}
    first = (d[p] * np.abs(d[s][:, None] * d[x][:, None] - d[y][None])).sum(-1)
    second = np.exp(d[t][None] * d[z][:, None] + d[w][None]).sum(-1)
    expected = (first * second + d[s]).sum(1, keepdims=True)
    np.testing.assert_allclose(result, expected, rtol=5e-6)


def test_values_that_are_no_numbers(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y, b = Variable(0, 20, 0), Variable(1, 20, 1), Variable(2, 1, 1)
    xs, ys = points(rng, 40, 20, "float32"), points(rng, 50, 20, "float32")
    xs[3, 7], ys[11, 2] = np.nan, np.inf
    weights = np.ones((50, 1), "float32")
    total = PairCall(formula("Sum", x, y, b), PAIR_REDUCTIONS["Sum"], 1)
    result = reduce_pairs(total, {x: xs, y: ys, b: weights}, Options(mode, context))
    with np.errstate(all="ignore"):
        squares = distances(xs, ys)
    good = np.arange(40) != 3
    assert np.isnan(result[3]).all()
    check("Sum", result[good], squares[good], weights, "float32")
    nearest = PairCall(F["SqDist"](x, y), PAIR_REDUCTIONS["ArgMin"], 1)
    assert np.array_equal(
        reduce_pairs(nearest, {x: xs, y: ys}, Options(mode, context))[good, 0], squares[good].argmin(1)
    )


BOXES = [
    TileBox(32, 8, 8, unroll=1, tiles=1),
    TileBox(64, 4, 8, folded=8, unroll=1),
    TileBox(256, 4, 4),
    TileBox(128, 1, 4),
]


@pytest.mark.drawn
@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("name", ["Sum", "ArgKMin"])
def test_every_box(context: cm.Context, rng: np.random.Generator, box: TileBox, name: str) -> None:
    """The shapes that other devices take, in the parallel mode."""
    if box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    x, y, b = Variable(0, 50, 0), Variable(1, 50, 1), Variable(2, 1, 1)
    arrays = {x: points(rng, 150, 50, "float32"), y: points(rng, 210, 50, "float32")}
    weights = rng.normal(size=(210, 1)).astype("float32")
    if name == "Sum":
        arrays[b] = weights
    options = PairOptions(k=5) if name == "ArgKMin" else PairOptions()
    call = PairCall(formula(name, x, y, b), PAIR_REDUCTIONS[name], 1, options=options)
    prepared = prepare_pairs(call, arrays, Options("parallel", context), box=box)
    assert isinstance(prepared, Prepared)
    check(name, prepared.run()[0], distances(arrays[x], arrays[y]), weights.astype("f8"), "float32")


@pytest.mark.parametrize("box", [*BOXES, TileBox(256, 8, 8)], ids=str)
@pytest.mark.parametrize("itemsize", [4, 8])
def test_items_cover_a_tile_once(box: TileBox, itemsize: int) -> None:
    shape = Shape(box, itemsize)
    rows: set[int] = set()
    width = shape.vector(box.rows)
    for owner in range(shape.owners):
        first = owner // 8 * 8 * box.rows + owner % 8 * width
        rows |= {first + shape.row_offset(v) for v in range(box.rows)}
    assert rows == set(range(shape.tile_rows))
    assert shape.tile_rows * shape.tile_columns == box.block * box.rows * box.columns


@pytest.mark.parametrize("dim", [17, 40, 129])
@pytest.mark.parametrize("spread", ["one blob", "two blobs", "rows equal columns", "huge"])
def test_distances_from_products_keep_their_digits(
    context: cm.Context, rng: np.random.Generator, dim: int, spread: str
) -> None:
    """Where products would lose digits, tiles are computed again by differences."""
    x, y, b = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, 1, 1)
    columns = 2000 if context.device.kind == "gpu" else 500  # fewer are not worth a launch for the norms
    xs, ys = points(rng, 300, dim, "float32", 3), points(rng, columns, dim, "float32", 3)
    if spread == "two blobs":  # as far apart as makes every norm large, and neighbours near
        xs[150:] += 20
        ys[rng.permutation(columns)[: columns // 2]] += 20
    if spread == "rows equal columns":
        ys[:300] = xs
    if spread == "huge":
        ys[7] = 1e30
    weights = rng.random((columns, 1)).astype("float32")
    for name in ("Sum", "LogSumExp"):
        call = PairCall(formula(name, x, y, b), PAIR_REDUCTIONS[name], 1)
        arrays = {x: xs, y: ys, **({b: weights} if name == "Sum" else {})}
        prepared = prepare_pairs(call, arrays, Options("parallel", context))
        assert isinstance(prepared, Prepared)
        first = prepared.executable.plan.stages[0].spec.template  # of matrix units the launch over rows finds them
        assert first in ("kernel/pairs/pairwise_norms", "kernel/matrix/pairwise_operands")
        check(name, prepared.run()[0], distances(xs, ys), weights.astype("f8"), "float32")


def test_products_alone_are_right_where_nothing_cancels(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No tile is computed again here, so that only products are tested."""
    monkeypatch.setattr("clmapreduce.schemes.pairs.tile_numbers.LEAST", -1.0)
    x, y, b = Variable(0, 61, 0), Variable(1, 61, 1), Variable(2, 1, 1)
    arrays = {x: points(rng, 150, 61, "float32", 3), y: points(rng, 300, 61, "float32", 3)}
    weights = rng.random((300, 1)).astype("float32")
    call = PairCall(formula("Sum", x, y, b), PAIR_REDUCTIONS["Sum"], 1)
    result = reduce_pairs(call, arrays | {b: weights}, Options("parallel", context))
    check("Sum", result, distances(arrays[x], arrays[y]), weights.astype("f8"), "float32")


def test_float16_arrays(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = Variable(0, 36, 0), Variable(1, 36, 1)
    arrays = {x: points(rng, 40, 36, "float16"), y: points(rng, 200, 36, "float16")}
    result = reduce_pairs(PairCall(F["SqDist"](x, y), PAIR_REDUCTIONS["ArgMin"], 1), arrays, Options(mode, context))
    check("ArgMin", result, distances(arrays[x], arrays[y]), None, "float32")
