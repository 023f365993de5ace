"""Long weights of any scalar by matrix instructions, on every device: in an NVIDIA GPU's own, elsewhere as the
vocabulary spells them.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of
from support.plans import PARALLEL, SEQUENTIAL
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.boxes import (
    MATRIX_WEIGHTED,
    MATRIX_WEIGHTED_CPU,
    MatrixWeightedBox,
    matrix_again_box,
)  # fmt: skip
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.matrix.weighted.launch import suits_weights
from clmapreduce.vector import OPERATIONS, Variable, Vector

pytestmark = pytest.mark.drawn(seldom="pocl")

F = OPERATIONS
SIZE = 20
TERM_ERROR = 2e-6
"""The error bound of a term."""


def box_of(context: cm.Context, **more: Any) -> MatrixWeightedBox:
    box = MATRIX_WEIGHTED_CPU if context.facts.kind == "cpu" else replace(MATRIX_WEIGHTED, numbers=3)
    return replace(box, **more)


def run(
    call: PairCall, arrays: Any, context: cm.Context, box: MatrixWeightedBox | None = None, ranges: Any = None
) -> Any:  # fmt: skip
    """The results of the scheme."""
    prepared = prepare_pairs(call, arrays, Options("parallel", context), box or box_of(context), ranges)
    assert isinstance(prepared, Prepared)
    templates = [stage.spec.template for stage in prepared.executable.plan.stages]
    assert "kernel/matrix/pairwise_matrix_weighted" in templates and "kernel/pairs/pairwise_wide" in templates
    return prepared.run()[0]


def kernel(name: str, x: Vector, y: Vector) -> Vector:
    square = F["SqDist"](x, y)
    if name == "Laplacian":
        return F["Exp"](-F["Sqrt"](square))
    if name == "inverse multiquadric":
        return F["Rsqrt"](square + 1)
    return F["Pow"]((x | y) + 1, 3)


def dense(name: str, x: Any, y: Any) -> Any:
    """The kernel in float64, and what its roundings are relative to."""
    x, y = x.astype("f8")[..., :, None, :], y.astype("f8")[..., None, :, :]
    with np.errstate(invalid="ignore"):
        square = np.square(x - y).sum(-1)
    if name == "Laplacian":
        values = np.exp(-np.sqrt(square))
        return values, values * (1 + np.sqrt(square))
    if name == "inverse multiquadric":
        return 1 / np.sqrt(square + 1), 1 / np.sqrt(square + 1)
    return ((x * y).sum(-1) + 1) ** 3, 4 * (np.abs(x * y).sum(-1) + 1) ** 3


NAMES = ("Laplacian", "inverse multiquadric", "polynomial")


def assert_sums(result: Any, terms: tuple[Any, Any], weights: Any, label: Any = "") -> None:
    """Every number within what its terms may be off by."""
    off = TERM_ERROR * terms[1] @ np.abs(weights)
    expected = terms[0] @ weights
    assert result.shape == expected.shape
    assert np.all(np.abs(result - expected) <= off), (label, np.nanmax(np.abs(result - expected) / off))


BOXES = [
    MatrixWeightedBox(32, 2, 1, 1, groups=8, tiles=1, numbers=1, chains=1, longest=32),
    MatrixWeightedBox(64, 1, 2, 1, groups=8, tiles=2, numbers=3, chains=2, longest=64),
]


@pytest.mark.parametrize("box", [None, *BOXES], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_sums(context: cm.Context, rng: np.random.Generator, name: str, box: MatrixWeightedBox | None) -> None:
    """Rows, columns and numbers around tiles and batches of them; far from the origin as well."""
    if box is not None and box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    dim, size = int(rng.choice((1, 3, 11))), int(rng.choice((17, 24, 25, 50)))
    x, y, b = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, size, 1)
    call = PairCall(kernel(name, x, y) * b, PAIR_REDUCTIONS["Sum"], 1)
    for rows, columns in ((1, 1), (15, 17), (64, 65), (70, 193), (33, 700)):
        shift = 0 if name == "polynomial" else float(rng.choice((0, 100)))
        arrays = {v: (rng.normal(size=(n, dim)) / 2 + shift).astype("f4") for v, n in ((x, rows), (y, columns))}
        arrays[b] = rng.normal(size=(columns, size)).astype("f4")
        label = (dim, size, rows, columns, shift)
        assert_sums(run(call, arrays, context, box), dense(name, arrays[x], arrays[y]), arrays[b].astype("f8"), label)


@pytest.mark.parametrize("kind", ["tiny", "huge", "mixed", "one-hot", "none of them finite"])
def test_weights_of_any_magnitude(context: cm.Context, rng: np.random.Generator, kind: str) -> None:
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, SIZE, 1)
    call = PairCall(kernel("Laplacian", x, y) * b, PAIR_REDUCTIONS["Sum"], 1)
    arrays = {x: rng.normal(size=(70, 3)).astype("f4"), y: rng.normal(size=(97, 3)).astype("f4")}
    weights = rng.normal(size=(97, SIZE)) * {"tiny": 1e-33, "huge": 1e34}.get(kind, 1)
    if kind == "mixed":
        weights *= 10.0 ** rng.integers(-18, 18, (97, SIZE))
    if kind == "one-hot":
        weights = np.eye(SIZE)[rng.integers(SIZE, size=97)]
    arrays[b] = weights.astype("f4")
    terms = dense("Laplacian", arrays[x], arrays[y])
    if kind == "none of them finite":
        arrays[b][3, 4], arrays[b][90, 7], arrays[y][50, 1], arrays[x][9, 0] = np.inf, np.nan, np.inf, np.nan
        result = run(call, arrays, context)
        fine = np.arange(SIZE)[~np.isin(np.arange(SIZE), (4, 7))]
        rows, others = np.arange(70) != 9, np.arange(97) != 50
        part = tuple(term[rows][:, others] for term in terms)
        assert_sums(result[rows][:, fine], part, arrays[b][others][:, fine].astype("f8"))
        assert (result[rows, 4] == np.inf).all() and np.isnan(result[:, 7]).all() and np.isnan(result[9]).all()
        return
    assert_sums(run(call, arrays, context), terms, arrays[b].astype("f8"), kind)


def test_many_splits_batches_and_the_other_axis(context: cm.Context, rng: np.random.Generator) -> None:
    x, y, b, s = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, SIZE, 0), Variable(3, 1, 2)
    call = PairCall(F["Rsqrt"](F["SqDist"](x, y) * s + 1) * b, PAIR_REDUCTIONS["Mean"], 0, backend="2D")
    arrays = {x: rng.normal(size=(2, 3, 150, 3)).astype("f4"), y: rng.normal(size=(3, 40, 3)).astype("f4")}
    arrays |= {b: rng.normal(size=(2, 1, 150, SIZE)).astype("f4"), s: np.ones(1, "f4")}
    result = run(call, arrays, context, box_of(context, tiles=1))
    weights = np.broadcast_to(arrays[b].astype("f8"), (2, 3, 150, SIZE))
    for i in range(2):
        for j in range(3):
            terms = dense("inverse multiquadric", arrays[y][j], arrays[x][i, j])
            assert_sums(result[i, j] * 150, terms, weights[i, j])


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("box", [None, *BOXES], ids=str)
def test_blocks_of_pairs(
    context: cm.Context, rng: np.random.Generator, box: MatrixWeightedBox | None, dtype: str
) -> None:
    """Rows and intervals that begin and end anywhere, torn lists and none; clusters of one row."""
    if box is not None and box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    x, y, b = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, SIZE, 1)
    call = PairCall(
        kernel("Laplacian", x, y) * b, PAIR_REDUCTIONS["Sum"], 1, backend=str(rng.choice(["auto", "2D"]))
    )
    for rows, columns in ((1, 1), (70, 31), (33, 700), (130, 200)):
        blocks = drawn_blocks(rng, rows, columns)
        arrays = {v: rng.normal(size=(n, 3)).astype(dtype) for v, n in ((x, rows), (y, columns))}
        arrays[b] = rng.normal(size=(columns, SIZE)).astype(dtype)
        terms = tuple(np.where(mask_of(blocks), term, 0) for term in dense("Laplacian", arrays[x], arrays[y]))
        result = run(call, arrays, context, box, Halves(1, blocks))
        if dtype == "float16":
            expected = terms[0] @ arrays[b].astype("f8")
            assert np.all(np.abs(result - expected) <= 1e-3 * np.abs(expected) + TERM_ERROR * terms[1] @ np.abs(arrays[b]) + 1e-7)
            continue
        assert_sums(result, terms, arrays[b].astype("f8"), (rows, columns, blocks.clusters, blocks.intervals))


def test_what_suits_the_scheme() -> None:
    """Scalars of no loops, times numbers of the column."""
    laplacian = "Exp(-Sqrt(SqDist(Vi(0,3),Vj(1,3))))"
    assert suits_weights(layout_of(f"{laplacian}*Vj(2,40)"), PARALLEL)
    assert not suits_weights(layout_of(f"{laplacian}*Vj(2,40)"), SEQUENTIAL)
    assert not suits_weights(layout_of(f"{laplacian}*Vj(2,40)", code="f8"), PARALLEL)
    for text in (laplacian, f"{laplacian}*(Vi(2,40)-Vj(3,40))", "Exp(-SqDist(Vi(0,40),Vj(1,40)))*Vj(2,40)"):
        assert not suits_weights(layout_of(text), PARALLEL), text


@pytest.mark.parametrize("rows", [16, 32, 48, 64, 128])
@pytest.mark.parametrize("blocks", [1, 3, 8, 13])
def test_boxes_of_groups_that_are_computed_again(rows: int, blocks: int) -> None:
    """They have the rows of the groups of before, in warps of 32 items."""
    for terms in (3, 24):
        box = matrix_again_box(rows, blocks, terms)
        assert FragmentLayout(box.block, box.across, box.rows).rows == rows and box.block % 32 == 0
        assert box.numbers == blocks
