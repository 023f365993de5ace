"""Weighted distances and inner products of long vectors, those of scaled vectors too, by matrix instructions on every
device, against NumPy in float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of, vector
from support.random_blocks import Halves, drawn_blocks, mask_of

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_LONG_CPU, MatrixLongBox
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct, long_products
from clmapreduce.vector import Variable

pytestmark = pytest.mark.drawn(seldom="pocl")

DIM = 37
NAMES = (f"x=Vi(0,{DIM})", f"y=Vj(1,{DIM})", f"s=Pm(2,{DIM})", "b=Vj(3,1)", "u=Pm(4,1)", "v=Vi(5,1)")
VARIABLES = [
    Variable(0, DIM, 0), Variable(1, DIM, 1), Variable(2, DIM, 2), Variable(3, 1, 1), Variable(4, 1, 2), Variable(5, 1, 0)
]  # fmt: skip
TERM_ERROR = 3e-6


@dataclass(frozen=True)
class Product:
    """A product as KeOps writes it and as NumPy does: the numbers of rows and columns, of x, y, s, u and v."""

    text: str
    distance: bool
    numbers: Callable[[Any, Any, Any, Any, Any], tuple[Any, Any]]


PRODUCTS = {
    "divided": Product("Sum(Square((x-y)/s))", True, lambda x, y, s, u, v: (x / s, y / s)),
    "scaled": Product("SqDist(x/s,y/s)", True, lambda x, y, s, u, v: (x / s, y / s)),
    "weighted": Product("WeightedSqNorm(s,x-y)", True, lambda x, y, s, u, v: (x * np.sqrt(s), y * np.sqrt(s))),
    "a power": Product("Sum(s*s*s/u*Square(y-x))", True, lambda x, y, s, u, v: (x * (s**3 / u) ** 0.5, y * (s**3 / u) ** 0.5)),
    "of functions": Product("SqDist(Sin(x*v)+s,y*u)", True, lambda x, y, s, u, v: (np.sin(x * v) + s, y * u)),
    "inner": Product("Sum(x*s*y)", False, lambda x, y, s, u, v: (x * s, y)),
    "inner, divided": Product("Sum((x/s)*y/(v*u))", False, lambda x, y, s, u, v: (x / s / v, y / u)),
    "inner of functions": Product("Sum((x+v)*Exp(-y*s)*(2-x))", False, lambda x, y, s, u, v: ((x + v) * (2 - x), np.exp(-y * s))),
    "cosine": Product("Normalize(x)|Normalize(y)", False, lambda x, y, s, u, v: tuple(a / np.linalg.norm(a, axis=-1, keepdims=True) for a in (x, y))),
}  # fmt: skip


def random_arrays(rng: np.random.Generator, rows: int, columns: int, batch: int = 0) -> dict[Variable, Any]:
    shapes = [(rows, DIM), (columns, DIM), (DIM,), (columns, 1), (1,), (rows, 1)]
    arrays = [rng.normal(size=((batch,) if batch else ()) + shape) for shape in shapes]
    arrays[0], arrays[1] = arrays[0] / DIM**0.5, arrays[1] / DIM**0.5
    for k in (2, 4, 5):  # weights and divisors
        arrays[k] = rng.uniform(0.5, 2, arrays[k].shape)
    return {variable: array.astype("f4") for variable, array in zip(VARIABLES, arrays, strict=True)}


def run(text: str, arrays: dict[Variable, Any], context: cm.Context, name: str = "Sum", ranges: Any = None) -> Any:
    """The results of the scheme for long vectors."""
    formula = vector(text, *NAMES)
    arrays_of_formula = {variable: array for variable, array in arrays.items() if variable in formula.variables}
    box = MATRIX_LONG_CPU if context.facts.kind == "cpu" else MatrixLongBox(128, 2, 4, 2)
    options = Options("parallel", context)
    prepared = prepare_pairs(PairCall(formula, PAIR_REDUCTIONS[name], 1), arrays_of_formula, options, box, ranges)
    assert isinstance(prepared, Prepared)
    assert "kernel/matrix/pairwise_matrix_long" in [stage.spec.template for stage in prepared.executable.plan.stages]
    return prepared.run()[0]


def dense(product_case: Product, arrays: dict[Variable, Any]) -> tuple[Any, Any]:
    """The products in float64, and what their rounding is relative to."""
    x, y, s, _, u, v = (array.astype("f8") for array in arrays.values())
    s, u = s[..., None, :], u[..., None, :]
    rows, columns = product_case.numbers(x, y, s, u, v)
    if product_case.distance:
        square = np.square(rows[..., :, None, :] - columns[..., None, :, :]).sum(-1)
        return square, square
    norms = [np.linalg.norm(side, axis=-1) for side in (rows, columns)]
    return rows @ np.swapaxes(columns, -1, -2), norms[0][..., :, None] * norms[1][..., None, :]


def assert_sums(product_case: Product, result: Any, arrays: dict[Variable, Any], mask: Any = True) -> None:
    """Sums of exp(-p/4) b within what their terms may be off by."""
    product, size = dense(product_case, arrays)
    b = np.swapaxes(arrays[VARIABLES[3]].astype("f8"), -1, -2)
    terms = np.where(mask, np.exp(-product / 4) * b, 0)
    off = TERM_ERROR * (np.abs(terms) * (1 + size)).sum(-1)
    assert np.all(np.abs(result[..., 0] - terms.sum(-1)) <= off + 1e-37)


@pytest.mark.parametrize("name", PRODUCTS)
def test_sums(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """Of exponentials, for sizes around tiles; distances that lose their digits are computed as the formula says."""
    product_case = PRODUCTS[name]
    for rows, columns in ((1, 1), (70, 193)):
        arrays = random_arrays(rng, rows, columns)
        if columns > 1 and rng.integers(2):
            arrays[VARIABLES[1]][: rows // 2] = arrays[VARIABLES[0]][rows // 2 :]
        assert_sums(product_case, run(f"Exp(-({product_case.text})/4)*b", arrays, context), arrays)


@pytest.mark.parametrize("name", ["weighted", "inner"])
@pytest.mark.parametrize("kind", ["0", "below 0", "not finite", "large and small"])
def test_any_weights(context: cm.Context, rng: np.random.Generator, name: str, kind: str) -> None:
    """Weights of 0, of either sign, infinite, and of many magnitudes."""
    arrays = random_arrays(rng, 40, 70)
    weights = arrays[VARIABLES[2]]
    if kind == "large and small":
        weights *= (10.0 ** rng.integers(-12, 4, DIM)).astype("f4")
        weights *= DIM / weights.sum()
    weights[[3, 20]] = {"0": 0, "below 0": -0.3, "not finite": np.inf}.get(kind, weights[[3, 20]])
    result = run(f"Exp(-({PRODUCTS[name].text})/4)*b", arrays, context)
    if kind == "not finite":
        x, y = arrays[VARIABLES[0]].astype("f8"), arrays[VARIABLES[1]].astype("f8")
        if name == "weighted":
            assert np.all(result == 0)
            return
        unclear = (np.sign(x[:, None, 3] * y[:, 3]) != np.sign(x[:, None, 20] * y[:, 20])).any(1)
        assert np.all(np.isnan(result[unclear])) and not np.isfinite(result[~unclear]).any()
        return
    x, y, s = (arrays[VARIABLES[k]].astype("f8") for k in range(3))
    pairs = np.square(x[:, None] - y) if name == "weighted" else x[:, None] * y
    product, size = (pairs * s).sum(-1), (np.abs(pairs * s)).sum(-1)
    if name == "inner":
        size = np.maximum(size, np.linalg.norm(x * np.sqrt(np.abs(s)), axis=1)[:, None] * np.linalg.norm(y * np.sqrt(np.abs(s)), axis=1))
    terms = np.exp(-product / 4) * arrays[VARIABLES[3]].T
    assert np.all(np.abs(result[:, 0] - terms.sum(1)) <= TERM_ERROR * (np.abs(terms) * (1 + size)).sum(1))


@pytest.mark.parametrize("name", ["divided", "inner", "cosine"])
def test_far_from_the_origin_batches_and_blocks(context: cm.Context, rng: np.random.Generator, name: str) -> None:
    """Differences keep their digits; every element of a batch has weights of its own."""
    product_case = PRODUCTS[name]
    arrays = random_arrays(rng, 40, 150, batch=2)
    if product_case.distance:
        for k in (0, 1):
            arrays[VARIABLES[k]] += np.float32(1000)
    blocks = drawn_blocks(rng, 40, 150) if rng.integers(2) else None
    mask = True if blocks is None else mask_of(blocks)
    ranges = None if blocks is None else Halves(1, blocks)
    assert_sums(product_case, run(f"Exp(-({product_case.text})/4)*b", arrays, context, ranges=ranges), arrays, mask)


BOXES = [MatrixLongBox(32, 2, 2, 1, groups=8, tiles=1), MatrixLongBox(64, 1, 1, 2, groups=8, tiles=2)]


@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("case", ["inner and distance", "two distances", "many steps"])
def test_pairs_of_two_products(context: cm.Context, rng: np.random.Generator, case: str, box: MatrixLongBox) -> None:
    """One after the other; near points and far ones; with sums of sums of one of them; blocks of pairs."""
    if box.block > context.facts.max_group_size:
        pytest.skip("groups are smaller here")
    dim = 340 if case == "many steps" else 20
    z, w = Variable(6, dim, 0), Variable(7, dim, 1)
    arrays = random_arrays(rng, 70, 130)
    arrays[VARIABLES[1]][:20] = arrays[VARIABLES[0]][30:50]
    arrays |= {z: rng.normal(size=(70, dim)).astype("f4"), w: rng.normal(size=(130, dim)).astype("f4")}
    x, y, s, b = (arrays[VARIABLES[k]].astype("f8") for k in range(4))
    square = np.square(x[:, None] - y)
    first, inner = np.exp(-square.sum(-1)), arrays[z].astype("f8") @ arrays[w].astype("f8").T
    names = (*NAMES, f"z=Vi(6,{dim})", f"w=Vj(7,{dim})")
    size = np.linalg.norm(arrays[z], axis=1)[:, None] * np.linalg.norm(arrays[w], axis=1)
    if case == "two distances":
        text, second = "(Exp(-SqDist(x,y))+Exp(-WeightedSqNorm(s,x-y)/4))*b", np.exp(-(square * s).sum(-1) / 4)
        terms, off = first + second, 3 * (first + second)
    else:
        text, terms, off = "Exp(-SqDist(x,y))*(z|w)*b", first * inner, 3 * first * (size + np.abs(inner))
    blocks = drawn_blocks(rng, 70, 130) if rng.integers(2) else None
    mask = True if blocks is None else mask_of(blocks)
    formula = vector(text, *names)
    arrays_of_formula = {variable: array for variable, array in arrays.items() if variable in formula.variables}
    ranges = None if blocks is None else Halves(1, blocks)
    call, options = PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), Options("parallel", context)
    prepared = prepare_pairs(call, arrays_of_formula, options, box, ranges)
    assert isinstance(prepared, Prepared)
    result, terms, off = prepared.run()[0], np.where(mask, terms, 0) @ b, np.where(mask, off, 0) @ np.abs(b)
    assert np.all(np.abs(result - terms) <= TERM_ERROR * off)


def products_of(text: str) -> tuple[LongProduct, ...]:
    layout = layout_of(text)
    return long_products(layout.pair, layout.bound)


def test_what_is_recognised() -> None:
    """Squares of one difference times parameters, and products of sides; factors of the whole sum stand outside."""
    x, y, s = "Vi(0,40)", "Vj(1,40)", "Pm(2,40)"
    for text, distance, metric, inputs in (
        (f"SqDist({x},{y})", True, False, 2),
        (f"Sum(-Square({x}-{y})*Pm(2,1))", True, False, 2),
        (f"Sum(Square(({x}-{y})/{s}))", True, True, 3),
        (f"SqDist({x}/{s},{y}/{s})", True, False, 3),
        (f"WeightedSqDist({s},{x},{y})", True, True, 3),
        (f"{x}|({y}*{s})", False, False, 3),
    ):
        (product,) = products_of(f"Exp(-{text})")
        assert product.distance == distance, text
        assert (product.metric is not None) == metric and len(product.inputs) == inputs, text
        assert product.slopes is not None and product.size == 40
    for text in (
        f"Sum(Abs({x}-{y}))",
        f"Sum(Square({x}-{y})*Vi(2,40))",
        f"Sum(Square({x}-{y})*Square({x}-{y}))",
        f"Sum(Square({x}+{y}))",
        f"Sum({x}*{y}+{x}*Sin({y}))",
        f"Sum({x}/({x}+{y}))",
        f"({x}|{y})*SqDist({x},{y})*Sum(Abs({x}-{y}))",
        f"({x}|{y})*SqDist({x},{y})*SqDist(Vi(3,20),Vj(4,20))",
    ):
        assert products_of(text) == (), text
    two = products_of(f"({x}|{y})*Exp(-SqDist({x}/{s},{y}/{s}))")
    assert [product.distance for product in two] == [False, True]
    assert two[0].slopes is None and two[1].slopes is not None
