"""Pairs of long vectors by matrix instructions, on every device: in an NVIDIA GPU's own, elsewhere as the vocabulary
spells them. Which formulas the scheme takes, what it gives, and what its text is.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.long_product_calls import BOXES, dense, kernels, run
from support.long_vectors import DIM, TERM_ERROR, F, assert_sums, gaussian, points, squares
from support.pair_plans import layout_of, pair_plan
from support.plans import FACTS, PARALLEL, SEQUENTIAL, source_of

import clmapreduce as cm
from cl_templates.loader import _lookup
from clmapreduce.lowering.pair import Role
from clmapreduce.pairwise.call import PairCall
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.boxes import MatrixLongBox
from clmapreduce.schemes.pairs.matrix.parts.operands import SideOperands
from clmapreduce.schemes.pairs.matrix.parts.pack import products_of
from clmapreduce.vector import Variable

pytestmark = pytest.mark.drawn(seldom="pocl")

DIMS = (17, 33, 40, 50, 100, 300)


@pytest.mark.parametrize("box", BOXES, ids=str)
def test_sums(context: cm.Context, rng: np.random.Generator, box: MatrixLongBox) -> None:
    """Rows and columns around tiles, of several blocks or several warps; the same kernels for all sizes."""
    if box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    dim = int(rng.choice(DIMS))
    formula, (x, y, s, b) = gaussian(dim)
    call = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1)
    for rows, columns in ((1, 1), (15, 17), (16, 33), (65, 64), (70, 193)):
        arrays = {x: points(rng, rows, dim), y: points(rng, columns, dim), s: rng.uniform(0.1, 3, 1).astype("f4")}
        arrays[b] = rng.normal(size=(columns, 1)).astype("f4")
        exponent = -squares(arrays[x], arrays[y]) * float(arrays[s][0])
        assert_sums(run(call, arrays, context, box), exponent, arrays[b].astype("f8"), (dim, rows, columns))


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
    arrays = {x: xs, y: ys, b: rng.normal(size=(97, 2)).astype(dtype)}
    result = run(PairCall(kernels(name, x, y) * b, PAIR_REDUCTIONS["Sum"], 1), arrays, context)
    terms, weights = dense(name, xs, ys), arrays[b].astype("f8")
    sizes = np.abs(terms)
    if name == "inner product":  # relative to what is added up
        sizes = np.linalg.norm(xs.astype("f8"), axis=1)[:, None] * np.linalg.norm(ys.astype("f8"), axis=1)
    off = TERM_ERROR * np.maximum(sizes, 0.02) @ np.abs(weights)
    if dtype == "float16":
        off = off + 2e-3 * np.abs(terms @ weights) + 1e-6
    assert result.dtype == dtype
    assert np.all(np.abs(result - terms @ weights) <= off)


@pytest.mark.parametrize("name", ["LogSumExp", "SumSoftMaxWeight"])
@pytest.mark.parametrize("product", [True, False])
def test_exponents_of_reductions(context: cm.Context, rng: np.random.Generator, name: str, product: bool) -> None:
    """Far rows too, where the largest exponent is far from 0."""
    x, y, w = Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, 2, 1)
    weight = w if name == "SumSoftMaxWeight" else None
    call = PairCall((x | y) if product else -F["SqDist"](x, y), PAIR_REDUCTIONS[name], 1, weight)
    arrays = {x: points(rng, 40, DIM), y: points(rng, 97, DIM)}
    arrays[x][30:] *= 20
    if weight is not None:
        arrays[w] = rng.random((97, 2)).astype("f4")
    result = run(call, arrays, context)
    exponent = dense("inner product", arrays[x], arrays[y]) if product else -squares(arrays[x], arrays[y])
    top = exponent.max(1, keepdims=True)
    terms = np.exp(exponent - top)
    if weight is None:
        np.testing.assert_allclose(result, top + np.log(terms.sum(1, keepdims=True)), rtol=TERM_ERROR, atol=TERM_ERROR)
    else:
        off = 2 * TERM_ERROR * (1 + np.abs(exponent).max(1, keepdims=True))
        assert np.all(np.abs(result - terms @ arrays[w] / terms.sum(1, keepdims=True)) <= off)


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
    """There are slopes where the distance goes into exponents alone, by a factor that is the same for all pairs."""
    (product,) = products_of(layout_of(text, op), PARALLEL, FACTS["nvidia"])
    assert (product.slopes is None) if count is None else (product.slopes is not None and len(product.slopes) == count)


@pytest.mark.parametrize("role", [Role.ROW, Role.COLUMN])
def test_words_fill_an_operand(role: Role) -> None:
    side = SideOperands(role, products_of(layout_of(f"SqDist(Vi(0,{DIM}),Vj(1,{DIM}))"), PARALLEL, FACTS["nvidia"]), 64, True)
    place_of = _lookup.get_template("kernel/matrix/pairwise_operands.cl.mako").module.place_of
    line, pair, *places = (text.replace("/", "//") for text in place_of(side.of_rows, side.words))
    halves = [{"word": word} for word in range(side.words // 2)]
    assert sorted(eval(text, half) for text in places for half in halves) == list(range(side.words))
    numbers = {(eval(line, half), eval(pair, half)) for half in halves}
    assert numbers == {(at, k) for at in range(side.lines) for k in range(8)}
    assert side.steps == 3 and side.stage == 64 * 16


@pytest.mark.parametrize("dim", [300, 400])
def test_instructions_add_to_no_large_sum(dim: int) -> None:
    """They cut off what they add: each step has sums of its own, which floats add up, and warps stay as broad."""
    layout = layout_of(f"Exp(-SqDist(Vi(0,{dim}),Vj(1,{dim})))")
    plan = pair_plan(layout, 1000, 1000, PARALLEL, FACTS["nvidia"], box=MatrixLongBox(128, 4, 8, 2))
    text = source_of(next(s for s in plan.stages if "matrix_long" in s.spec.template))
    assert "cmr_matrix_product_float4(m" not in text and "m3_7 += part7;" in text
    assert "tiles of 128 rows and 128 columns" in plan.why


@pytest.mark.parametrize(("dim", "product_count"), [(32, 0), (17, 1), (21, 5), (22, 0), (300, 0)])
def test_a_short_last_step_is_one_product(dim: int, product_count: int) -> None:
    """Of at most five coordinates: three pieces of each fit an instruction."""
    products = products_of(layout_of(f"SqDist(Vi(0,{dim}),Vj(1,{dim}))"), PARALLEL, FACTS["nvidia"])
    assert SideOperands(Role.ROW, products, 64, True).parts[0].mixed == product_count
