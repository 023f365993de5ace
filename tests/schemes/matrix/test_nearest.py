"""The K best of many distances of long vectors, listed by matrix instructions and decided as the formula says; on every
device: in an NVIDIA GPU's own, elsewhere as the vocabulary spells them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of, matrix_default, pair_plan, vector
from support.plans import FACTS, PARALLEL, SEQUENTIAL
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.domain.blocks import Blocks
from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.sparse import sparse
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_NEAREST, MATRIX_NEAREST_CPU, MatrixLongBox, MatrixNearestBox
from clmapreduce.schemes.pairs.matrix.parts.ranking import MOST_KEPT, Nearest, nearest_of
from clmapreduce.vector import Variable

pytestmark = pytest.mark.drawn(seldom="pocl")

DIM = 37
SAMPLE = 16
"""One tile of so many is the sample, for 10 columns of 10⁵."""
DISTANCE = f"SqDist(Vi(0,{DIM}),Vj(1,{DIM}))"
X, Y = Variable(0, DIM, 0), Variable(1, DIM, 1)
WIDE = MatrixNearestBox(64, 1, 2, 2, groups=8, tiles=2, merge_block=32, sample=2)


def box_of(context: cm.Context, **more: Any) -> MatrixNearestBox:
    box = MATRIX_NEAREST_CPU if context.facts.kind == "cpu" else replace(MATRIX_NEAREST, sample=2, tiles=2)
    return replace(box, **more)


def run(
    name: str, x: Any, y: Any, context: cm.Context, k: int | None = None, text: str = DISTANCE, s: Any = 1,
    box: MatrixNearestBox | None = None, axis: int = 1, blocks: Any = None,
) -> list[Any]:  # fmt: skip
    """The outputs of the scheme, (…, rows, values) each."""
    formula = vector(text)
    arrays = {X: x, Y: y, Variable(2, np.size(s), 2): np.atleast_1d(s).astype("f4")}
    arrays_of_formula = {variable: array for variable, array in arrays.items() if variable in formula.variables}
    call = PairCall(formula, PAIR_REDUCTIONS[name], axis, None, PairOptions(k=k))
    ranges = None if blocks is None else Halves(axis, blocks)
    prepared = prepare_pairs(call, arrays_of_formula, Options("parallel", context), box or box_of(context), ranges)
    assert isinstance(prepared, Prepared)
    assert "kernel/matrix/pairwise_matrix_nearest" in [stage.spec.template for stage in prepared.executable.plan.stages]
    return [np.asarray(result).reshape(*result.shape[: x.ndim - 1], -1) for result in prepared.run()]


def points(rng: np.random.Generator, count: int, dim: int = DIM) -> Any:
    return rng.normal(size=(count, dim)).astype("f4")


def squares(x: Any, y: Any) -> Any:
    with np.errstate(invalid="ignore", over="ignore"):
        return np.square(x.astype("f8")[:, None] - y.astype("f8")).sum(-1)


def assert_nearest(result: Any, square: Any, k: int, label: Any = "") -> None:
    """Columns whose distances are the least, in order, up to what the formula rounds; none that is no number."""
    square = np.where(square < np.finfo("f4").max, square, np.inf)
    expected = np.sort(square, axis=1)[:, :k]
    own, there = np.take_along_axis(square, result, 1), np.isfinite(expected)
    assert result.shape == expected.shape and np.all(result[~there] == 0), label
    assert np.all(np.abs(own[there] - expected[there]) <= 1e-5 * expected[there]), label
    assert all(len(set(row[keep])) == keep.sum() for row, keep in zip(result, there, strict=True)), label


@pytest.mark.parametrize("box", [None, WIDE], ids=str)
@pytest.mark.parametrize("k", [1, 3, 15])
def test_columns(context: cm.Context, rng: np.random.Generator, k: int, box: MatrixNearestBox | None) -> None:
    """Rows and columns around tiles, fewer columns than lists hold, and more than buckets of a look."""
    if box is not None and box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    for rows, columns in ((1, k), (15, 17), (70, 193), (33, 2500)):
        x, y = points(rng, rows), points(rng, columns)
        name = "ArgKMin" if k > 1 else "ArgMin"
        (result,) = run(name, x, y, context, k if k > 1 else None, box=box)
        assert_nearest(result, squares(x, y), k, (rows, columns))


@pytest.mark.parametrize("name", ["Min", "Max", "ArgMax", "Min_ArgMin", "Max_ArgMax", "KMin", "KMin_ArgKMin"])
def test_other_operators(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """Values and places; the farthest too."""
    x, y = points(rng, 40), points(rng, 700)
    k = 4 if "K" in name else 1
    outputs = run(name, x, y, context, k if "K" in name else None)
    square = squares(x, y)
    sign = -1 if "Max" in name else 1
    expected = sign * np.sort(sign * square, axis=1)[:, :k]
    if not name.startswith("Arg"):
        np.testing.assert_allclose(outputs[0], expected, rtol=1e-5)
    if "Arg" in name:
        np.testing.assert_allclose(np.take_along_axis(square, outputs[-1], 1), expected, rtol=1e-5)


@pytest.mark.parametrize("text", [f"-{DISTANCE}", f"Pm(2,1)*{DISTANCE}", f"Sqrt({DISTANCE})/Pm(2,1)"])
def test_values_that_fall_or_grow_with_distances(context: cm.Context, rng: np.random.Generator, text: str) -> None:
    """By a factor of either sign, known only at run time; and their roots."""
    x, y, s = points(rng, 40), points(rng, 700), float(rng.choice([0.5, -3]))
    (result,) = run("ArgKMin", x, y, context, 3, text, s)
    values = {"-": -1.0, "P": s}.get(text[0], 1 / s) * squares(x, y) ** (0.5 if "Sqrt" in text else 1)
    own = np.take_along_axis(values, result, 1)
    np.testing.assert_allclose(own, np.sort(values, axis=1)[:, :3], rtol=1e-5)


@pytest.mark.parametrize("name", ["ArgMin", "ArgKMin", "ArgMax"])
def test_weights_below_zero(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """Squares that count less than nothing, all or some: no distance at all, and bounds below 0."""
    x, y, k = points(rng, 40), points(rng, 500), 4 if "K" in name else 1
    for weights in (-np.ones(DIM, "f4"), rng.normal(size=DIM).astype("f4")):
        text = f"WeightedSqDist(Pm(2,{DIM}),Vi(0,{DIM}),Vj(1,{DIM}))"
        (result,) = run(name, x, y, context, k if "K" in name else None, text, weights)
        values = ((x.astype("f8")[:, None] - y) ** 2 * weights).sum(-1)
        values = -values if name == "ArgMax" else values
        sizes = ((x.astype("f8")[:, None] - y) ** 2 * abs(weights)).sum(-1).max(1, keepdims=True)
        off = np.take_along_axis(values, result, 1) - np.sort(values, axis=1)[:, :k]
        assert np.all(np.abs(off) <= 2 * (DIM + 8) * 2.0**-24 * sizes)  # what the formula may round of either one


INNER = f"Vi(0,{DIM})|Vj(1,{DIM})"
COSINES = {
    "inner": INNER, "negative": f"-({INNER})", "cosine": f"Normalize(Vi(0,{DIM}))|Normalize(Vj(1,{DIM}))",
    "divided": f"({INNER})/(Norm2(Vi(0,{DIM}))*Norm2(Vj(1,{DIM})))", "scaled": f"Pm(2,1)*({INNER})/SqNorm2(Vj(1,{DIM}))",
}  # fmt: skip


@pytest.mark.parametrize("name", COSINES)
@pytest.mark.parametrize("special", [False, True])
def test_inner_products(context: cm.Context, rng: np.random.Generator, name: str, special: bool) -> None:
    """The largest and the smallest, of vectors of many magnitudes, scaled by norms or not; with rows and columns whose
    numbers 16 bits do not bear, zeros, and duplicates.
    """
    x, y, s = points(rng, 60), points(rng, 700), float(rng.choice([2, -0.5]))
    x *= (10.0 ** rng.integers(-6, 4, (60, 1))).astype("f4")
    y[300:400] = y[:100]
    if special:
        y *= (10.0 ** rng.uniform(-2, 2, (700, 1))).astype("f4")
        x[5], y[50], x[7, 3], y[60, 2] = 0, 0, np.nan, np.nan
        if name in ("inner", "negative"):
            y[70] = 3e30
    operator, sign = ("ArgKMin", 1) if rng.integers(2) else ("ArgMax", -1)
    k = 4 if operator == "ArgKMin" else 1
    (result,) = run(operator, x, y, context, k if k > 1 else None, COSINES[name], s)
    wide = [a.astype("f8") for a in (x, y)]
    with np.errstate(all="ignore"):
        norms = [np.linalg.norm(a, axis=1) for a in wide]
        sizes = norms[0][:, None] * norms[1]
        values = wide[0] @ wide[1].T
        scale = {"inner": 1.0, "negative": -1.0, "scaled": s / norms[1] ** 2}.get(name, 1 / sizes)
        values, sizes = values * scale, np.abs(sizes * scale)
        values = np.where(np.abs(values) < 3e38, sign * values, np.inf)
        if special and name == "cosine":
            values[:, 50] = 0  # Normalize leaves nothing as it is
    fine = np.isfinite(values).sum(1) >= k
    fine &= np.isfinite(x).all(1) & (norms[0] > 0)
    expected = np.sort(values, axis=1)[fine, :k]
    own = np.take_along_axis(values, result, 1)[fine]
    size = np.take_along_axis(np.where(np.isfinite(sizes), sizes, 0), result, 1)[fine].max(1, keepdims=True)
    assert np.all(np.abs(own - expected) <= 1e-5 * np.maximum(size, np.abs(expected)))


def adversarial(rng: np.random.Generator, kind: str) -> tuple[Any, Any]:
    x, y = points(rng, 70), points(rng, 300)
    if kind == "far from the origin":
        return x + np.float32(1000), y + np.float32(1000)
    if kind == "two blobs, far apart":
        x[35:] += 500
        y[::2] += 500
    if kind == "near ones among far ones":
        y[:70] = x + points(rng, 70) / 1000
        return 100 * x, 100 * y
    if kind == "one far away":
        x[7], y[50] = 1e12, -1e15
    if kind == "tiny":
        return np.float32(1e-16) * x, np.float32(1e-16) * y
    if kind == "huge":
        return np.float32(1e17) * x, np.float32(1e17) * y
    if kind == "beyond floats":
        x[3], y[5], y[9] = 1e31, 1e31, -1e31
    return x, y


KINDS = (
    "far from the origin", "two blobs, far apart", "near ones among far ones", "one far away", "tiny", "huge",
    "beyond floats",
)  # fmt: skip


@pytest.mark.parametrize("name", ["ArgMin", "ArgKMin"])
def test_adversarial_points(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """Pairs that bounds cannot order are computed again: always the right columns."""
    for kind in KINDS:
        x, y = adversarial(rng, kind)
        k = 5 if "K" in name else 1
        (result,) = run(name, x, y, context, k if "K" in name else None)
        assert_nearest(result, squares(x, y), k, kind)


@pytest.mark.parametrize("name", ["ArgMin", "ArgKMin", "ArgMax"])
def test_ties_go_to_the_lower_index(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """Whole numbers, whose distances are exact, and duplicates: the very columns of a stable sort."""
    x, y = (rng.integers(-1, 2, (count, DIM)).astype("f4") for count in (40, 600))
    y[300:] = y[:300]
    square = squares(x, y)
    k = 7 if "K" in name else 1
    (result,) = run(name, x, y, context, k if "K" in name else None)
    order = np.argsort(-square if name == "ArgMax" else square, axis=1, kind="stable")
    np.testing.assert_array_equal(result, order[:, :k])


def test_numbers_that_are_none(context: cm.Context, rng: np.random.Generator) -> None:
    """Rows and columns with NaN or infinities are no neighbours, and do not change those of others."""
    x, y = points(rng, 70), points(rng, 300)
    x[3, 1], x[66, 0], y[7, 20], y[200, 3], y[64:80] = np.nan, np.inf, np.nan, -np.inf, np.nan
    (result,) = run("ArgKMin", x, y, context, 4)
    assert_nearest(result, squares(x, y), 4)
    assert (result[[3, 66]] == 0).all()
    values, places = run("KMin_ArgKMin", x[:5], np.full_like(y, np.nan), context, 4)
    assert np.all(values == np.inf) and np.all(places == 0)


@pytest.mark.parametrize("k", [3, 14])
def test_all_in_doubt(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, k: int
) -> None:  # fmt: skip
    """Where bounds exclude nothing, tiles compute all rows. Vectors of a size of their own, because plans are cached."""
    monkeypatch.setattr(Nearest, "doubt", property(lambda _self: 0.9))
    dim = 23
    x, y = points(rng, 300, dim), points(rng, 900, dim)
    text = f"SqDist(Vi(0,{dim}),Vj(1,{dim}))"
    formula = vector(text)
    call = PairCall(formula, PAIR_REDUCTIONS["ArgKMin"], 1, None, PairOptions(k=k))
    arrays = {Variable(0, dim, 0): x, Variable(1, dim, 1): y}
    blocks = drawn_blocks(rng, 300, 900)
    for ranges, keep in ((None, np.full((300, 900), True)), (Halves(1, blocks), mask_of(blocks))):
        prepared = prepare_pairs(call, arrays, Options("parallel", context), box_of(context), ranges)
        assert isinstance(prepared, Prepared)
        result = prepared.run()[0].reshape(300, k)
        assert_nearest(result, np.where(keep, squares(x, y), np.inf), k)


@pytest.mark.parametrize("code", ["f4", "f2"])
def test_batches_the_other_axis_and_floats_of_16_bits(context: cm.Context, rng: np.random.Generator, code: str) -> None:
    """Every element has lists of its own."""
    x, y = (points(rng, 3 * count).reshape(3, count, DIM).astype(code) for count in (400, 50))
    (result,) = run("ArgKMin", x, y, context, 2, axis=0)
    for i in range(3):
        assert_nearest(result[i].reshape(50, 2), squares(y[i], x[i]), 2)


@pytest.mark.parametrize("box", [None, WIDE], ids=str)
@pytest.mark.parametrize("k", [1, 6])
def test_blocks_of_pairs(context: cm.Context, rng: np.random.Generator, k: int, box: MatrixNearestBox | None) -> None:
    """Clusters of all sizes, rows with fewer than k columns or none, and points at nearly equal distances."""
    if box is not None and box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    name = "ArgKMin" if k > 1 else "ArgMin"
    for rows, columns in ((1, 40), (130, 193), (70, 2500)):
        x, y, blocks = points(rng, rows), points(rng, columns), drawn_blocks(rng, rows, columns)
        (result,) = run(name, x, y, context, k if k > 1 else None, box=box, blocks=blocks)
        assert_nearest(result, np.where(mask_of(blocks), squares(x, y), np.inf), k, (blocks.clusters, blocks.intervals))
    for kind in KINDS[:3]:
        x, y = adversarial(rng, kind)
        blocks = drawn_blocks(rng, len(x), len(y))
        (result,) = run(name, x, y, context, k if k > 1 else None, box=box, blocks=blocks)
        assert_nearest(result, np.where(mask_of(blocks), squares(x, y), np.inf), k, (kind, blocks.clusters))


@pytest.mark.parametrize("text", [DISTANCE, INNER])
def test_ties_of_blocks(context: cm.Context, rng: np.random.Generator, text: str) -> None:
    """Of all elements of a batch, along the other axis: the very columns of a stable sort, and their values."""
    x, y = (rng.integers(-1, 2, (2, count, DIM)).astype("f4") for count in (600, 40))
    x[:, 300:] = x[:, :300]
    blocks = drawn_blocks(rng, 40, 600)
    values, result = run("KMin_ArgKMin", x, y, context, 7, text, axis=0, blocks=blocks)
    for i in range(2):
        own = squares(y[i], x[i]) if text == DISTANCE else (y[i] @ x[i].T).astype("f8")
        distances = np.where(mask_of(blocks), own, np.inf)
        order = np.argsort(distances, axis=1, kind="stable")[:, :7]
        expected = np.take_along_axis(distances, order, 1)
        np.testing.assert_array_equal(values[i].reshape(40, 7), expected)
        np.testing.assert_array_equal(result[i].reshape(40, 7), np.where(expected < np.inf, order, 0))


def test_the_same_bits_every_time(context: cm.Context, rng: np.random.Generator) -> None:
    x, y = points(rng, 100), points(rng, 2000)
    first = run("KMin_ArgKMin", x, y, context, 6)
    for _ in range(5):
        for one, other in zip(run("KMin_ArgKMin", x, y, context, 6), first, strict=True):
            np.testing.assert_array_equal(one, other)


# ---------------------------------------------------------------------------------------------------------- no device
def test_what_suits_the_scheme() -> None:
    """The few best of one distance, scaled, under a root or not."""
    for text, op, more in (
        (DISTANCE, "ArgMin", {}), (f"-{DISTANCE}", "Max", {}), (f"Sqrt({DISTANCE}/Pm(2,1))", "ArgKMin", {"k": MOST_KEPT}),
        (f"WeightedSqDist(Pm(2,{DIM}),Vi(0,{DIM}),Vj(1,{DIM}))", "KMin", {"k": 3}), (INNER, "ArgMax", {}),
        (f"({INNER})*Vi(2,1)/Vj(3,1)", "ArgMin", {}),
    ):  # fmt: skip
        layout = layout_of(text, op, **more)
        assert nearest_of(layout.pair, layout.bound) is not None, text
    for text, op, more in (
        (DISTANCE, "Sum", {}), (f"{DISTANCE}+Vj(2,1)", "ArgMin", {}), (f"{DISTANCE}*Vj(2,1)", "ArgMin", {}),
        (f"Sqrt({INNER})", "ArgMax", {}), (f"Sqrt({DISTANCE})*Norm2(Vi(0,{DIM}))", "ArgMax", {}),
        ("SqDist(Vi(0,3),Vj(1,3))", "ArgMin", {}), (f"({INNER})*{DISTANCE}", "ArgMin", {}),
        (DISTANCE, "ArgKMin", {"k": MOST_KEPT + 1}), (f"Exp(-{DISTANCE})", "ArgMax", {}),
    ):  # fmt: skip
        layout = layout_of(text, op, **more)
        assert nearest_of(layout.pair, layout.bound) is None, text


def test_where_it_is_chosen() -> None:
    """On devices with matrix units, for many pairs; bars are for lists of several columns, and look at more columns
    where there are few. Sums do not change.
    """
    facts, many, few = FACTS["nvidia"], Pairwise(10**5, 10**5, 1, 10**7), Pairwise(1000, 1000, 1, 10**6)
    one, ten = layout_of(DISTANCE, "ArgMin"), layout_of(DISTANCE, "ArgKMin", k=10)
    assert matrix_default(one, many, PARALLEL, facts) == replace(MATRIX_NEAREST, sample=0)
    assert matrix_default(ten, many, PARALLEL, facts) == replace(MATRIX_NEAREST, sample=SAMPLE)
    samples = []
    for columns in (1, 2, 16, 1024):
        columns *= MATRIX_NEAREST.tile * MATRIX_NEAREST.tiles
        box = matrix_default(ten, Pairwise(10**6, columns, 1, 10**7), PARALLEL, facts)
        assert isinstance(box, MatrixNearestBox)
        samples.append(box.sample)
    assert samples == [2, 2, 8, 32]
    assert matrix_default(ten, few, PARALLEL, facts) is None
    most = layout_of(DISTANCE, "ArgKMin", k=MOST_KEPT)
    assert isinstance(matrix_default(most, many, PARALLEL, facts), MatrixNearestBox)
    assert matrix_default(ten, many, SEQUENTIAL, facts) is None
    assert matrix_default(ten, many, PARALLEL, replace(facts, matrix_units=False)) is None
    assert type(matrix_default(layout_of(f"Exp(-{DISTANCE})"), many, PARALLEL, facts)) is MatrixLongBox
    assert matrix_default(ten, Pairwise(10**9, 1000, 1, 10**9), PARALLEL, facts) is None
    for size, box in ((1000, MATRIX_NEAREST), (16, replace(MATRIX_NEAREST, block=64, rows=1))):
        box = replace(box, sample=SAMPLE)
        begins = np.arange(0, 96_000, size)
        clusters = np.stack([begins, begins + size], 1)
        whole = np.tile([[0, 10**5]], (len(begins), 1))
        blocks = Blocks(clusters, np.arange(len(begins) + 1), whole, 96_000, 10**5)
        assert matrix_default(ten, sparse(Pairwise(96_000, 10**5, 1, 10**7), blocks), PARALLEL, facts) == box


def test_explanations() -> None:
    """Lists, and bars where there are some; launches for rows in doubt."""
    plan = pair_plan(layout_of(DISTANCE, "ArgKMin", k=10), 10**5, 10**5, PARALLEL, FACTS["nvidia"], box=MATRIX_NEAREST)
    assert "lists of 12 columns a row" in plan.why and "bars from every 8 tiles" in plan.why
    kernels = [stage.spec.kernel for stage in plan.stages]
    assert kernels.count("cmr_pairwise_matrix_nearest") == 2 and "cmr_pairwise_tiles" in kernels
    plan = pair_plan(
        layout_of(DISTANCE, "ArgKMin", k=10), 10**5, 10**5, PARALLEL, FACTS["nvidia"], box=MATRIX_NEAREST, sparse=True
    )
    assert "blocks: " in plan.why and "bars from every 8 tiles" in plan.why
    for columns in (1, 5):
        plan = pair_plan(layout_of(DISTANCE, "ArgMin"), 10, columns, PARALLEL, FACTS["nvidia"], box=MATRIX_NEAREST)
        assert "bars" not in plan.why
