"""Evaluation: broadcasting, dtypes, and random formulas against an interpreter of their own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.vector_oracle import check_derivatives, close

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.formula.node import Symbol
from clmapreduce.vector import OPERATIONS, Constant, Variable, Vector
from clmapreduce.vector.derivative import divergence, grad_matrix, substitute
from clmapreduce.vector.evaluate import evaluate, scalars
from clmapreduce.vector.node import text
from clmapreduce.vector.parse import parse

LEAVES = {3: [Variable(0, 3, 0), Variable(1, 3, 1)], 1: [Variable(2, 1, 1), Variable(3, 1, 2)]}
ARRAYS: dict[Variable, tuple[int, ...]] = {
    LEAVES[3][0]: (4, 1, 3), LEAVES[3][1]: (1, 5, 3), LEAVES[1][0]: (1, 5, 1), LEAVES[1][1]: (1,),
}  # fmt: skip

# smooth and bounded, so that values stay in range and finite differences hold: a name, what NumPy says
UNARY: dict[str, Callable[..., Any]] = {
    "Sin": np.sin, "Cos": np.cos, "Atan": np.arctan, "Minus": np.negative,
    "SinXDivX": lambda x: np.sinc(x / np.pi),
}  # fmt: skip
BINARY: dict[str, Callable[..., Any]] = {"Add": np.add, "Subtract": np.subtract, "Mult": np.multiply}
TO_ONE: dict[str, Callable[..., Any]] = {
    "Sum": lambda x: x.sum(-1, keepdims=True), "SqNorm2": lambda x: (x**2).sum(-1, keepdims=True),
    "Elem": lambda x: x[..., 1:2],
}  # fmt: skip
Recipe = tuple[Any, ...]


WIDEST = 9


def recipes() -> st.SearchStrategy[Recipe]:
    leaf = st.tuples(st.just("leaf"), st.sampled_from([1, 3]), st.integers(0, 1))
    constant = st.tuples(st.just("constant"), st.floats(-2, 2))

    def larger_recipes(inner: st.SearchStrategy[Recipe]) -> st.SearchStrategy[Recipe]:
        return st.one_of(
            st.tuples(st.just("unary"), st.sampled_from(sorted(UNARY)), inner),
            st.tuples(st.just("binary"), st.sampled_from(sorted(BINARY)), inner, inner),
            st.tuples(st.just("one"), st.sampled_from(sorted(TO_ONE)), inner),
            st.tuples(st.just("wide"), st.sampled_from(["Concat", "TensorProd"]), inner, inner),
            st.tuples(st.just("places"), st.lists(st.integers(-1, 5), min_size=1, max_size=5, unique=True), inner),
        )

    return st.recursive(st.one_of(leaf, leaf, constant), larger_recipes, max_leaves=12)


def vector_of(recipe: Recipe) -> Vector:
    """The recipe as a formula."""
    kind, *rest = recipe
    if kind == "leaf":
        return LEAVES[rest[0]][rest[1]]
    if kind == "constant":
        return Constant((rest[0],))
    args = [vector_of(part) for part in rest[1:]]
    if not _fits(kind, rest[0], *(arg.dim for arg in args)):
        return args[0]
    if kind == "places":
        return OPERATIONS["Select"](args[0], *(k if k < args[0].dim else -1 for k in rest[0]))  # type: ignore[no-any-return]
    if kind == "one" and rest[0] == "Elem":
        return OPERATIONS["Elem"](args[0], min(1, args[0].dim - 1))  # type: ignore[no-any-return]
    return OPERATIONS[rest[0]](*args)  # type: ignore[no-any-return]


def evaluate_recipe(recipe: Recipe, values: dict[Variable, np.ndarray]) -> np.ndarray:
    """The recipe in NumPy, without a formula."""
    kind, *rest = recipe
    if kind == "leaf":
        return values[LEAVES[rest[0]][rest[1]]]
    if kind == "constant":
        return np.array([rest[0]])
    args = [evaluate_recipe(part, values) for part in rest[1:]]
    if not _fits(kind, rest[0], *(arg.shape[-1] for arg in args)):
        return args[0]
    if kind == "places":
        columns = [args[0][..., k] if 0 <= k < args[0].shape[-1] else 0 * args[0][..., 0] for k in rest[0]]
        return np.stack(columns, -1)
    if kind == "wide":
        a, b = (np.broadcast_to(arg, (4, 5, arg.shape[-1])) for arg in args)
        if rest[0] == "Concat":
            return np.concatenate([a, b], -1)
        return np.einsum("...k,...l->...kl", a, b).reshape(4, 5, -1)
    if kind == "one" and args[0].shape[-1] == 1:
        return args[0] ** 2 if rest[0] == "SqNorm2" else args[0]
    return np.asarray({"unary": UNARY, "binary": BINARY, "one": TO_ONE}[kind][rest[0]](*args))


def _fits(kind: str, name: Any, *dims: int) -> bool:
    """Whether the operation takes these dimensions; where not, a recipe means its first part."""
    if kind == "binary":
        return len({*dims, 1}) < 3
    if kind == "wide":
        return (sum(dims) if name == "Concat" else dims[0] * dims[1]) <= WIDEST
    return True


@settings(max_examples=200, deadline=None)
@given(recipes(), st.integers(0, 2**32 - 1))
@example(("binary", "Add", ("leaf", 1, 0), ("binary", "Subtract", ("places", [1, 2], ("constant", 0.0)), ("leaf", 1, 0))), 0)
def test_random_formulas(recipe: Recipe, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = {variable: rng.uniform(-1, 1, shape) for variable, shape in ARRAYS.items()}
    f = vector_of(recipe)
    assert vector_of(recipe) is f
    expected = evaluate_recipe(recipe, values)
    assert f.dim == expected.shape[-1]
    close(evaluate(f, values), expected, 1e-11)
    assert parse(text(f))[0] is f
    if np.abs(expected).max() < 1e3:
        check_derivatives(f, values, rng, 1e-4)
    x, y = LEAVES[3]
    close(evaluate(substitute(f, {x: y}), values), evaluate(f, {**values, x: values[y]}), 1e-11)
    if f.dim == 3:
        matrix = evaluate(grad_matrix(f, x), values)
        trace = matrix.reshape(*matrix.shape[:-1], 3, 3).trace(axis1=-2, axis2=-1)
        close(evaluate(divergence(f, x), values), trace[..., None], 1e-11)


def test_results_have_the_broadcast_leading_shape(rng: np.random.Generator) -> None:
    x, y = Variable(0, 3, 0), Variable(1, 1, 1)
    assert evaluate(x * y, {x: np.ones((2, 4, 1, 3)), y: np.ones((1, 5, 1))}).shape == (2, 4, 5, 3)
    assert evaluate(x.sum(), {x: np.ones((0, 3))}).shape == (0, 1)
    assert evaluate(Constant((1, 2)), {}).tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_computing_stays_in_the_arrays_dtype(dtype: type, rng: np.random.Generator) -> None:
    x, y = Variable(0, 3, 0), Variable(1, 3, 1)
    values = {x: rng.uniform(0.1, 0.9, (4, 1, 3)).astype(dtype), y: rng.uniform(0.1, 0.9, (1, 4, 3)).astype(dtype)}
    eighths = {v: rng.integers(1, 8, array.shape).astype(dtype) / dtype(8) for v, array in values.items()}
    nodes = {part: [Symbol(f"s{part.position}{k}", np.dtype(dtype)) for k in range(3)] for part in (x, y)}
    constant = [Symbol("c", np.dtype(dtype))]
    unary = [
        "Exp",
        "Log",
        "XLogX",
        "SinXDivX",
        "Rsqrt",
        "Step",
        "ReLU",
        "Round",
        "Max",
        "ArgMin",
        "Norm2",
        "Sign",
        "Inv",
    ]
    binary = ["Divide", "Powf", "LessThan", "Equal", "Atan2", "DivideOrZero", "SqDist", "TensorProd"]
    formulas = [OPERATIONS[name](x) for name in unary] + [OPERATIONS[name](x, y) for name in binary]
    formulas += [x**-3, OPERATIONS["IfElse"](x, y, x), OPERATIONS["Clamp"](x, 0, y)]
    formulas += [OPERATIONS["ElemT"](x.sum(), 3, 1), OPERATIONS["Sinc"](x), OPERATIONS["BSpline"](x, y.sum(), 1)]
    cases = [(f, values) for f in formulas]
    # These jump where a quotient or a sum rounds to a whole number: numbers without rounding errors.
    cases += [(OPERATIONS["Mod"](x, y), eighths), (OPERATIONS["OneHot"](x.sum(), 3), eighths)]
    for f, arrays in cases:
        actual = evaluate(f, arrays)
        assert actual.dtype == dtype, f
        close(actual.astype(float), evaluate(f, arrays, np.float64), 30 * float(np.finfo(dtype).eps))
        (node,) = scalars([f], lambda part: nodes.get(part, constant * part.dim))  # type: ignore[call-overload]
        assert {part.dtype for part in node} == {np.dtype(dtype)}, f


def test_missing_and_misshapen_arrays_are_named() -> None:
    x = Variable(0, 3, 0)
    with pytest.raises(FormulaError, match=r"no array given for Var\(0,3,0\)"):
        evaluate(x, {})
    with pytest.raises(ShapeError, match=r"shape \(5, 2\); its last axis must have 3"):
        evaluate(x, {x: np.ones((5, 2))})
    with pytest.raises(ShapeError):
        evaluate(x, {x: np.float64(3)})
