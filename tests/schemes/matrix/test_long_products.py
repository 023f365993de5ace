"""Pairs of long vectors by matrix instructions, on every device: in an NVIDIA GPU's own, elsewhere as the vocabulary
spells them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of, pair_plan
from support.plans import FACTS, PARALLEL, SEQUENTIAL, source_of
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.lowering.pair import Role
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_LONG, MATRIX_LONG_CPU, MatrixLongBox
from clmapreduce.schemes.pairs.matrix.parts import results
from clmapreduce.schemes.pairs.matrix.parts.long_tiles import MatrixLongText
from clmapreduce.schemes.pairs.matrix.parts.operands import OperandText
from clmapreduce.schemes.pairs.matrix.parts.pack import products_of
from clmapreduce.vector import OPERATIONS, Variable, Vector

pytestmark = pytest.mark.drawn(seldom="pocl")

F = OPERATIONS
DIMS = (17, 33, 40, 50, 100, 300)
DIM = 37
"""Of most tests: kernels of equal text are built once; five coordinates are left for the last step."""
PROMISED = 3e-6
"""What a term may be off by, and an exponent relative to itself."""


def box_of(context: cm.Context, **more: Any) -> MatrixLongBox:
    box = MATRIX_LONG_CPU if context.facts.kind == "cpu" else MatrixLongBox(128, 2, 4, 2)
    return replace(box, **more)


def run(
    call: PairCall, given: Any, context: cm.Context, box: MatrixLongBox | None = None, ranges: Any = None
) -> Any:  # fmt: skip
    """The results of the scheme."""
    prepared = prepare_pairs(call, given, Options("parallel", context), box or box_of(context), ranges)
    assert isinstance(prepared, Prepared)
    templates = [stage.spec.template for stage in prepared.executable.plan.stages]
    assert "kernel/matrix/pairwise_matrix_long" in templates
    return prepared.run()[0]


def points(rng: np.random.Generator, count: int, dim: int) -> Any:
    """Points whose distances are about 1."""
    return (rng.normal(size=(count, dim)) / (2 * dim) ** 0.5).astype("f4")


def gaussian(dim: int, axis: int = 1) -> tuple[Vector, tuple[Variable, ...]]:
    """exp(-|x - y|² · s) b with its variables."""
    x, y, s = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, 1, 2)
    b = Variable(3, 1, 1 if axis == 1 else 0)
    return F["Exp"](-F["SqDist"](x, y) * s) * b, (x, y, s, b)


def squares(x: Any, y: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return np.square(x.astype("f8")[..., :, None, :] - y.astype("f8")[..., None, :, :]).sum(-1)


def assert_sums(found: Any, exponent: Any, weights: Any, told: Any = "") -> None:
    """Every row within what its terms may be off by."""
    terms = np.exp(exponent)
    with np.errstate(invalid="ignore"):
        off = np.where(terms > 0, terms * PROMISED * (1 + np.abs(exponent)), 0) @ np.abs(weights)
    wanted = terms @ weights
    assert found.shape == wanted.shape
    assert np.all(np.abs(found - wanted) <= off + 1e-37), (told, np.max(np.abs(found - wanted) / (off + 1e-37)))


BOXES = [MatrixLongBox(32, 2, 2, 1, groups=8, tiles=1), MatrixLongBox(128, 1, 1, 2, groups=8, tiles=2)]


@pytest.mark.parametrize("box", BOXES, ids=str)
def test_sums(context: cm.Context, rng: np.random.Generator, box: MatrixLongBox) -> None:
    """Rows and columns around tiles, of several blocks or several warps; the same kernels for all sizes."""
    if box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    dim = int(rng.choice(DIMS))
    formula, (x, y, s, b) = gaussian(dim)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for rows, columns in ((1, 1), (15, 17), (16, 33), (65, 64), (70, 193)):
        given = {x: points(rng, rows, dim), y: points(rng, columns, dim), s: rng.uniform(0.1, 3, 1).astype("f4")}
        given[b] = rng.normal(size=(columns, 1)).astype("f4")
        exponent = -squares(given[x], given[y]) * float(given[s][0])
        assert_sums(run(call, given, context, box), exponent, given[b].astype("f8"), (dim, rows, columns))


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
    """As exact as promised whatever the points."""
    formula, (x, y, s, b) = gaussian(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for kind in KINDS:
        xs, ys, scale = adversarial(rng, kind)
        scale = float(np.float32(scale))
        given = {x: xs, y: ys, s: np.array([scale], "f4"), b: rng.random((97, 1)).astype("f4")}
        assert_sums(run(call, given, context), -squares(xs, ys) * scale, given[b].astype("f8"), kind)


def test_numbers_that_are_none(context: cm.Context, rng: np.random.Generator) -> None:
    """Infinities and NaN among rows and columns reach the sums that they belong to, and no others."""
    formula, (x, y, s, b) = gaussian(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    xs, ys = points(rng, 70, DIM), points(rng, 97, DIM)
    xs[3, 1], xs[66, 0], xs[40, 36] = np.nan, np.inf, -np.inf
    weights = rng.random((97, 1)).astype("f4")
    given = {x: xs, y: ys, s: np.ones(1, "f4"), b: weights}
    found = run(call, given, context)
    fine = np.isfinite(xs).all(1)
    assert_sums(found[fine], -squares(xs[fine], ys), weights.astype("f8"))
    assert np.isnan(found[3]) and (found[[66, 40]] == 0).all()
    ys[7, 20] = np.nan
    assert np.isnan(run(call, given, context)).all()
    ys[7, 20] = np.inf
    found = run(call, given, context)
    others = np.arange(97) != 7
    assert_sums(found[fine], -squares(xs[fine], ys[others]), weights[others].astype("f8"))


@pytest.mark.parametrize(("least", "function"), [(-1.0, "Inv"), (1e30, "Rsqrt")])
def test_products_alone_and_differences_alone(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, least: float, function: str
) -> None:
    """Either way that tiles may go is right where nothing cancels. The formulas are no exponents, and no other test's:
    plans are kept.
    """
    monkeypatch.setattr(MatrixLongText, "least", lambda _self, _p: least)
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, 1, 1)
    formula = F[function](F["SqDist"](x, y) + b)
    given = {x: points(rng, 70, DIM), y: points(rng, 97, DIM), b: rng.uniform(0.5, 1, (97, 1)).astype("f4")}
    found = run(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), given, context)
    sums = squares(given[x], given[y]) + given[b].T
    wanted = (1 / (sums if function == "Inv" else np.sqrt(sums))).sum(1, keepdims=True)
    np.testing.assert_allclose(found, wanted, rtol=PROMISED)


@pytest.mark.parametrize("patience", [0, 10**6])
def test_groups_that_give_up_and_such_that_never_do(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, patience: int
) -> None:
    """Blobs whose distances lose their digits, with splits or blocks of pairs: pairs alone and tiles by differences
    are both right. No other test has such vectors: plans are kept.
    """
    monkeypatch.setattr(results, "PATIENCE", patience)
    dim = 23 if patience else 24
    formula, (x, y, s, b) = gaussian(dim)
    xs, ys = points(rng, 150, dim), points(rng, 700, dim)
    xs[::2, 0] += 20
    ys[::3, 0] += 20
    given = {x: xs, y: ys, s: np.ones(1, "f4"), b: rng.random((700, 1)).astype("f4")}
    exponent = -squares(xs, ys)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1, backend=str(rng.choice(["1D", "2D"])))
    if rng.integers(2):
        assert_sums(run(call, given, context), exponent, given[b].astype("f8"))
        return
    blocks = drawn_blocks(rng, 150, 700)
    kept = np.where(mask_of(blocks), exponent, -np.inf)
    assert_sums(run(call, given, context, ranges=Halves(1, blocks)), kept, given[b].astype("f8"))


def kernels(name: str, x: Vector, y: Vector) -> Vector:
    """Formulas of one distance, or of one inner product."""
    square = F["SqDist"](x, y)
    if name == "Laplacian":
        return F["Exp"](-F["Sqrt"](square))
    if name == "inverse multiquadric":
        return F["Rsqrt"](square + 1)
    return F["Exp"](-square) * square if name == "several" else (x | y)


def dense(name: str, x: Any, y: Any) -> Any:
    square = squares(x, y)
    if name == "Laplacian":
        return np.exp(-np.sqrt(square))
    if name == "inverse multiquadric":
        return 1 / np.sqrt(square + 1)
    return np.exp(-square) * square if name == "several" else x.astype("f8") @ y.astype("f8").T


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize("name", ["a distance", "inner product"])
def test_other_kernels(context: cm.Context, rng: np.random.Generator, name: str, dtype: str) -> None:
    """Several weights, near and far points, duplicates among them."""
    if name == "a distance":
        name = str(rng.choice(["Laplacian", "inverse multiquadric", "several"]))
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, 2, 1)
    xs, ys = points(rng, 70, DIM).astype(dtype), points(rng, 97, DIM).astype(dtype)
    ys[:20] = xs[10:30]
    ys[60] *= 50
    given = {x: xs, y: ys, b: rng.normal(size=(97, 2)).astype(dtype)}
    found = run(PairCall(kernels(name, x, y) * b, PAIR_REDUCTIONS["Sum"], 1), given, context)
    terms, weights = dense(name, xs, ys), given[b].astype("f8")
    sizes = np.abs(terms)
    if name == "inner product":  # relative to what is added up
        sizes = np.linalg.norm(xs.astype("f8"), axis=1)[:, None] * np.linalg.norm(ys.astype("f8"), axis=1)
    off = PROMISED * np.maximum(sizes, 0.02) @ np.abs(weights)
    if dtype == "float16":
        off = off + 2e-3 * np.abs(terms @ weights) + 1e-6
    assert found.dtype == dtype
    assert np.all(np.abs(found - terms @ weights) <= off)


@pytest.mark.parametrize("name", ["LogSumExp", "SumSoftMaxWeight"])
@pytest.mark.parametrize("product", [True, False])
def test_exponents_of_reductions(context: cm.Context, rng: np.random.Generator, name: str, product: bool) -> None:
    """Far rows too, where the largest exponent is far from 0."""
    x, y, w = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, 2, 1)
    weight = w if name == "SumSoftMaxWeight" else None
    call = PairCall((x | y) if product else -F["SqDist"](x, y), PAIR_REDUCTIONS[name], 1, weight)
    given = {x: points(rng, 40, DIM), y: points(rng, 97, DIM)}
    given[x][30:] *= 20
    if weight is not None:
        given[w] = rng.random((97, 2)).astype("f4")
    found = run(call, given, context)
    exponent = dense("inner product", given[x], given[y]) if product else -squares(given[x], given[y])
    top = exponent.max(1, keepdims=True)
    terms = np.exp(exponent - top)
    if weight is None:
        np.testing.assert_allclose(found, top + np.log(terms.sum(1, keepdims=True)), rtol=PROMISED, atol=PROMISED)
    else:
        off = 2 * PROMISED * (1 + np.abs(exponent).max(1, keepdims=True))
        assert np.all(np.abs(found - terms @ given[w] / terms.sum(1, keepdims=True)) <= off)


@pytest.mark.parametrize("name", ["Sum", "LogSumExp"])
def test_exponents_with_a_coordinate_that_rows_lack(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """So large that the others have no digits left beside it."""
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(3, 1, 1)
    for power in (3, 7, rng.uniform(8, 20)):
        given = {x: points(rng, 40, DIM), y: points(rng, 97, DIM) * 4}
        given[x][:, 5], given[y][:, 5] = 0, 10**power
        exponent = given[x].astype("f8") @ given[y].astype("f8").T
        if name == "Sum":
            given[b] = rng.normal(size=(97, 1)).astype("f4")
            found = run(PairCall(F["Exp"](x | y) * b, PAIR_REDUCTIONS[name], 1), given, context)
            assert_sums(found, exponent, given[b].astype("f8"), power)
        else:
            found = run(PairCall(x | y, PAIR_REDUCTIONS[name], 1), given, context)
            np.testing.assert_allclose(found[:, 0], np.log(np.exp(exponent).sum(1)), rtol=PROMISED, atol=PROMISED)


def lacking(rng: np.random.Generator) -> Any:
    """Rows and columns, with a coordinate of one side that the other lacks and that leaves the others of its vectors no
    digits; numbers of any sign, or all alike.
    """
    for power in (3, 5.5, rng.uniform(6, 8), rng.uniform(8, 20)):
        given = [points(rng, 40, DIM), points(rng, 97, DIM)]
        if rng.integers(2):
            given = [np.repeat(rng.uniform(0.5, 1, (len(one), 1)).astype("f4"), DIM, 1) for one in given]
        side = int(rng.integers(2))
        given[1 - side][:, 5] = 0
        given[side][rng.choice([slice(None), slice(7, 8)]), 5] = 10**power
        yield power, *given


@pytest.mark.parametrize("squared", [False, True])
def test_products_with_a_coordinate_that_others_lack(
    context: cm.Context, rng: np.random.Generator, squared: bool
) -> None:
    """Terms of one column alone: its products are exact whatever those beside it are."""
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, 1, 1)
    call = PairCall((F["Square"](x | y) if squared else (x | y)) * b, PAIR_REDUCTIONS["Sum"], 1)
    for power, xs, ys in lacking(rng):
        for column in (7, int(rng.integers(97))):
            weights = np.zeros((97, 1), "f4")
            weights[column] = 1
            found = run(call, {x: xs, y: ys, b: weights}, context)[:, 0]
            terms = xs.astype("f8") * ys[column]
            size, wanted = np.abs(terms).sum(1), terms.sum(1)
            off = 2 * PROMISED * size**2 if squared else PROMISED * size
            assert np.all(np.abs(found - (wanted**2 if squared else wanted)) <= off), (power, column)


def test_inner_products_of_any_magnitude(context: cm.Context, rng: np.random.Generator) -> None:
    """Rows and columns have scales of their own; what is not finite, or nearly so, is computed as it stands."""
    x, y = Variable(0, 20, 0), Variable(1, 20, 1)
    xs, ys = points(rng, 40, 20).astype("f8"), points(rng, 50, 20).astype("f8")
    xs = (xs * 10.0 ** rng.integers(-15, 15, (40, 1))).astype("f4")
    ys = (ys * 10.0 ** rng.integers(-4, 4, (1, 20))).astype("f4")  # of the columns' coordinates
    xs[5], xs[9, 3], xs[11], ys[31] = 0, np.inf, 1e31, 1e-32
    found = run(PairCall((x | y) * 1, PAIR_REDUCTIONS["Sum"], 1), {x: xs, y: ys}, context)
    with np.errstate(invalid="ignore"):
        wanted = (xs.astype("f8") @ ys.astype("f8").T).sum(1, keepdims=True)
    sizes = np.linalg.norm(xs.astype("f8"), axis=1, keepdims=True) * np.linalg.norm(ys.astype("f8"), axis=1).sum()
    fine = np.arange(40) != 9
    assert np.all(np.abs(found - wanted)[fine] <= PROMISED * sizes[fine])
    assert not np.isfinite(found[9]).any()


def test_many_splits_batches_and_the_other_axis(context: cm.Context, rng: np.random.Generator) -> None:
    formula, (x, y, s, b) = gaussian(DIM, axis=0)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 0, backend="2D")
    given = {x: points(rng, 6 * 150, DIM).reshape(2, 3, 150, DIM), y: points(rng, 3 * 40, DIM).reshape(3, 40, DIM)}
    given |= {s: np.ones(1, "f4"), b: rng.normal(size=(2, 1, 150, 1)).astype("f4")}
    found = run(call, given, context, box_of(context, tiles=1))
    assert found.shape == (2, 3, 40, 1)
    weights = np.broadcast_to(given[b].astype("f8"), (2, 3, 150, 1))
    for i in range(2):
        for j in range(3):
            assert_sums(found[i, j], -squares(given[y][j], given[x][i, j]), weights[i, j])


def test_one_side_for_the_whole_batch(context: cm.Context, rng: np.random.Generator) -> None:
    """Inner products pack what is shared once; a distance has a centre for every element."""
    x, y, b = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, 1, 1)
    xs, ys = points(rng, 3 * 30, DIM).reshape(3, 30, DIM), 5 + points(rng, 3 * 40, DIM).reshape(3, 40, DIM)
    shared, distance = rng.choice(["rows", "columns", "both"]), bool(rng.integers(2))
    xs, ys = xs[0] if shared != "columns" else xs, ys[0] if shared != "rows" else ys
    weights = rng.normal(size=(3, 40, 1)).astype("f4")
    formula = F["Exp"](-F["SqDist"](x, y)) if distance else (x | y)
    found = run(PairCall(formula * b, PAIR_REDUCTIONS["Sum"], 1), {x: xs, y: ys, b: weights}, context)
    for i in range(3):
        rows, columns = np.broadcast_to(xs, (3, 30, DIM))[i], np.broadcast_to(ys, (3, 40, DIM))[i]
        if distance:
            assert_sums(found[i], -squares(rows, columns), weights[i].astype("f8"), shared)
            continue
        off = PROMISED * np.linalg.norm(rows, axis=1)[:, None] * np.linalg.norm(columns, axis=1) @ np.abs(weights[i])
        wanted = dense("inner product", rows, columns) @ weights[i].astype("f8")
        assert np.all(np.abs(found[i] - wanted) <= off), shared


@pytest.mark.parametrize("box", [None, *BOXES], ids=str)
def test_blocks_of_pairs(context: cm.Context, rng: np.random.Generator, box: MatrixLongBox | None) -> None:
    """Rows and intervals that begin and end anywhere, torn lists and none; clusters of one row. Near points and such as
    are computed by differences.
    """
    if box is not None and box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    formula, (x, y, s, b) = gaussian(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1, backend=str(rng.choice(["auto", "2D"])))
    for rows, columns in ((1, 1), (70, 31), (33, 300), (130, 200)):
        blocks, scale = drawn_blocks(rng, rows, columns), float(rng.choice([1, 8]))
        given = {v: (points(rng, n, DIM) * scale).astype("f4") for v, n in ((x, rows), (y, columns))}
        near = min(rows, columns) // 2
        given[y][:near] = given[x][:near] + points(rng, near, DIM) / 100
        given |= {s: np.ones(1, "f4"), b: rng.normal(size=(columns, 1)).astype("f4")}
        exponent = np.where(mask_of(blocks), -squares(given[x], given[y]), -np.inf)
        told = (rows, columns, scale, blocks.clusters, blocks.intervals)
        assert_sums(run(call, given, context, box, Halves(1, blocks)), exponent, given[b].astype("f8"), told)


def test_what_is_in_no_interval_of_a_row(context: cm.Context, rng: np.random.Generator) -> None:
    """Reaches none of its sums, whatever it is; nor do rows beside a cluster's."""
    formula, (x, y, s, b) = gaussian(DIM)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for special in (np.nan, np.inf, 1e30):
        keep = np.repeat(rng.random((4, 150)) < rng.choice([0.4, 0.95]), 10, 0)
        own = rng.integers(150, size=5)
        keep[10:, own] = False
        given = {x: points(rng, 40, DIM), y: points(rng, 150, DIM), s: np.ones(1, "f4")}
        given[b] = rng.random((150, 1)).astype("f4")
        given[b][own[:2]], given[y][own[2:], 7], given[x][[3, 9], 5] = special, special, special
        found = run(call, given, context, ranges=cm.Ranges.from_mask(keep))
        exponent = np.where(keep, -squares(given[x], given[y]), -np.inf)[10:]
        weights = np.where(np.isfinite(given[b]), given[b], 0).astype("f8")
        assert_sums(found[10:], exponent, weights, special)


@pytest.mark.parametrize("name", ["Mean", "LogSumExp"])
def test_other_reductions_of_blocks(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """Whose results count columns, or know of rows that meet none; in batches, over the other axis."""
    x, y = Variable(0, DIM, 0), Variable(1, DIM, 1)
    formula = F["Exp"](-F["SqDist"](x, y)) if name == "Mean" else -F["SqDist"](x, y)
    call = PairCall(formula, PAIR_REDUCTIONS[name], 0)
    given = {x: points(rng, 2 * 150, DIM).reshape(2, 150, DIM), y: points(rng, 40, DIM)}
    blocks = drawn_blocks(rng, 40, 150)
    keep = mask_of(blocks)
    found = run(call, given, context, ranges=Halves(0, blocks))
    for i in range(2):
        exponent = np.where(keep, -squares(given[y], given[x][i]), -np.inf)
        with np.errstate(all="ignore"):
            wanted = np.exp(exponent).sum(1) / keep.sum(1) if name == "Mean" else np.log(np.exp(exponent).sum(1))
        np.testing.assert_allclose(found[i, :, 0], wanted, rtol=PROMISED, atol=0 if name == "Mean" else PROMISED)


# ---------------------------------------------------------------------------------------------------------- no device
DISTANCE = "SqDist(Vi(0,40),Vj(1,40))"


def test_what_the_scheme_leaves_to_others() -> None:
    """Short vectors, sums of other terms, several sums, orders that matter, places, one item at a time."""
    facts = FACTS["nvidia"]
    for text in (f"Exp(-{DISTANCE})", f"Sqrt({DISTANCE})", "Vi(0,40)|Vj(1,40)"):
        assert products_of(layout_of(text), PARALLEL, facts)
        assert not products_of(layout_of(text), SEQUENTIAL, facts)
        assert not products_of(layout_of(text, "ArgMin"), PARALLEL, facts)
        assert not products_of(layout_of(text, few=True), PARALLEL, facts)
        assert not products_of(layout_of(text, code="f8"), PARALLEL, facts)
    for text in (
        "Exp(-SqDist(Vi(0,3),Vj(1,3)))", "Sum(Abs(Vi(0,40)-Vj(1,40)))", "Sum(Vi(2,40)*Square(Vi(0,40)-Vj(1,40)))",
        f"{DISTANCE}*(Vi(0,40)|Vj(1,40))*SqDist(Vi(2,20),Vj(3,20))", "Vi(0,40)|Vi(1,40)",
    ):  # fmt: skip
        assert not products_of(layout_of(text), PARALLEL, facts), text


@pytest.mark.parametrize(
    ("text", "op", "count"),
    [
        (f"Exp(-{DISTANCE}*Pm(2,1))*Vj(3,2)", "Sum", 1), (f"Exp(-{DISTANCE})+Exp(-{DISTANCE}/Pm(2,1)-Vi(3,1))", "Sum", 2),
        (f"-{DISTANCE}", "LogSumExp", 1), (f"Exp(-{DISTANCE}*Vi(2,1))", "Sum", None), (f"Exp(-Sqrt({DISTANCE}))", "Sum", None),
        (f"Exp(-{DISTANCE})*{DISTANCE}", "Sum", None), (DISTANCE, "Sum", None), (f"Exp(-Square({DISTANCE}))", "Sum", None),
    ],
)  # fmt: skip
def test_slopes_are_those_of_exponents(text: str, op: str, count: int | None) -> None:
    """Known where the distance goes into exponents alone, by a factor that is the same for all pairs."""
    (found,) = products_of(layout_of(text, op), PARALLEL, FACTS["nvidia"])
    assert (found.slopes is None) if count is None else (found.slopes is not None and len(found.slopes) == count)


@pytest.mark.parametrize("role", [Role.ROW, Role.COLUMN])
def test_words_fill_an_operand(role: Role) -> None:
    side = OperandText(role, products_of(layout_of(f"SqDist(Vi(0,{DIM}),Vj(1,{DIM}))"), PARALLEL, FACTS["nvidia"]), 64, True)
    words = [
        eval(side.word(k, piece).replace("/", "//"), {"line": line})
        for k in range(8)
        for piece in (0, 1)
        for line in range(side.lines)
    ]
    assert sorted(words) == list(range(side.words))
    assert side.steps == 3 and side.stage == 64 * 16


def test_many_steps_are_added_up_in_two_sums() -> None:
    """Instructions cut off what they add: no accumulator of theirs takes more than some steps, and warps are narrower."""
    facts, box = FACTS["nvidia"], MatrixLongBox(128, 4, 8, 2)
    short = pair_plan(layout_of("Exp(-SqDist(Vi(0,300),Vj(1,300)))"), 1000, 1000, PARALLEL, facts, box=box)
    long = pair_plan(layout_of("Exp(-SqDist(Vi(0,400),Vj(1,400)))"), 1000, 1000, PARALLEL, facts, box=box)
    texts = [source_of(next(s for s in plan.stages if "matrix_long" in s.spec.template)) for plan in (short, long)]
    assert "tm0_0" not in texts[0] and "tm0_0" in texts[1]
    assert "m0_7" in texts[0] and "m0_7" not in texts[1]
    assert "tiles of 128 rows and 128 columns" in short.why and "128 rows and 64 columns" in long.why
    assert MATRIX_LONG.tile == 128


@pytest.mark.parametrize(("dim", "mixed"), [(32, 0), (17, 1), (21, 5), (22, 0), (300, 0)])
def test_a_short_last_step_is_one_product(dim: int, mixed: int) -> None:
    """Of at most five coordinates: three pieces of each fit an instruction."""
    products = products_of(layout_of(f"SqDist(Vi(0,{dim}),Vj(1,{dim}))"), PARALLEL, FACTS["nvidia"])
    assert OperandText(Role.ROW, products, 64, True).parts[0].mixed == mixed
