"""Derivatives: laws, shapes, higher orders, traces; each operation's own gradient stands in its own test."""

from __future__ import annotations

import numpy as np
import pytest
from support.vector_oracle import check_derivatives, close, jacobian

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.vector import OPERATIONS, ZERO, Variable, Vector, postorder
from clmapreduce.vector.derivative import (
    adjoint_operator,
    directional,
    divergence,
    fresh,
    grad_matrix,
    gradient,
    laplacian,
    substitute,
    trace_operator,
)
from clmapreduce.vector.evaluate import evaluate

X, Y, B, S = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 2, 1), Variable(3, 1, 2)
exp, sqdist, normalize, concat = (OPERATIONS[name] for name in ("Exp", "SqDist", "Normalize", "Concat"))


def arrays(rng: np.random.Generator) -> dict[Variable, np.ndarray]:
    return {
        X: rng.uniform(-1, 1, (5, 1, 3)), Y: rng.uniform(-1, 1, (1, 4, 3)),
        B: rng.uniform(-1, 1, (1, 4, 2)), S: rng.uniform(0.5, 1, 1),
    }  # fmt: skip


def formulas() -> dict[str, Vector]:
    kernel = exp(-sqdist(X, Y) / S)
    return {
        "kernel": kernel * B,
        "field": kernel * (X - Y) + X,
        "normalised": normalize(X - Y) * (X | Y) ** 2,
        "coordinates": concat(X * Y, OPERATIONS["Elem"](X, 1) * B, S),
        "shared": (kernel + 1) / (kernel * kernel + S) * (X + kernel),
        "broadcast": (X * S).sum() * Y - S,
    }


@pytest.mark.parametrize("name", list(formulas()))
def test_gradients_agree_with_finite_differences(name: str, rng: np.random.Generator) -> None:
    check_derivatives(formulas()[name], arrays(rng), rng)


@pytest.mark.parametrize("name", list(formulas()))
def test_second_derivatives_agree_with_finite_differences(name: str, rng: np.random.Generator) -> None:
    f = formulas()[name]
    values = arrays(rng)
    g = fresh(f.dim, f)
    values[g] = rng.standard_normal(f.dim)
    for v in f.variables:
        check_derivatives(gradient(f, v, g), values, rng, 1e-5)


@pytest.mark.parametrize("name", list(formulas()))
def test_grad_matrix_is_the_jacobian_row_by_row(name: str, rng: np.random.Generator) -> None:
    f, values = formulas()[name], arrays(rng)
    for v in (X, S):
        expected = jacobian(f, v, values)
        close(evaluate(grad_matrix(f, v), values), expected.reshape(*expected.shape[:-2], -1), 1e-6)


@pytest.mark.parametrize("name", [name for name, f in formulas().items() if f.dim == 3])
def test_divergence_is_the_trace_of_the_jacobian(name: str, rng: np.random.Generator) -> None:
    f, values = formulas()[name], arrays(rng)
    expected = np.einsum("...kk->...", jacobian(f, X, values))[..., None]
    close(evaluate(divergence(f, X), values), expected, 1e-6)


def test_the_divergence_of_what_mixes_coordinates(rng: np.random.Generator) -> None:
    values = arrays(rng)
    formula = concat(OPERATIONS["Extract"](X * Y, 1, 2), OPERATIONS["Elem"](X, 0) ** 2)
    matrix = OPERATIONS["MatVecMult"](OPERATIONS["TensorProd"](X, Y), X)
    for f in (formula * X, matrix - formula, -formula / S):
        expected = np.einsum("...kk->...", jacobian(f, X, values))[..., None]
        close(evaluate(divergence(f, X), values), expected, 1e-6)


def test_the_laplacian_of_a_gaussian(rng: np.random.Generator) -> None:
    values = arrays(rng)
    f = exp(-sqdist(X, Y) / S)
    actual = evaluate(laplacian(f, X), values)
    s, d2 = values[S], ((values[X] - values[Y]) ** 2).sum(-1, keepdims=True)
    close(actual, (4 * d2 / s**2 - 6 / s) * np.exp(-d2 / s), 1e-12)


def test_adjoint_and_trace_of_linear_maps(rng: np.random.Generator) -> None:
    values = arrays(rng)
    f = (X | Y) * Y - 2 * X + OPERATIONS["SumT"](OPERATIONS["Elem"](X, 2), 3) / S
    g = fresh(3, f)
    values[g] = rng.standard_normal(3)
    matrix = jacobian(f, X, values)
    close(evaluate(trace_operator(f, X), values), np.einsum("...kk->...", matrix)[..., None], 1e-7)
    close(evaluate(adjoint_operator(f, X, g), values), np.einsum("...k,...kl->...l", values[g], matrix), 1e-7)
    for other in (X * X, X + 1, X + Y):
        with pytest.raises(FormulaError, match="not linear"):
            trace_operator(other, X)
        with pytest.raises(FormulaError, match="not linear"):
            adjoint_operator(other, X, g)


def test_what_does_not_depend_on_the_variable_has_a_structural_zero() -> None:
    f = exp(Y) * OPERATIONS["Sign"](X)
    for actual, dim in [
        (gradient(f, S, Y), 1),
        (gradient(f, X, Y), 3),
        (directional(f, X, Y), 3),
        (grad_matrix(f, X), 9),
    ]:
        assert actual.operation is ZERO
        assert actual.dim == dim


def test_gradients_share_the_formulas_parts() -> None:
    kernel = exp(-sqdist(X, Y) / S)
    assert kernel in postorder([gradient(kernel, X)])
    assert gradient(kernel, X) is gradient(exp(-sqdist(X, Y) / S), X)


def test_structural_zeros_absorb_nan(rng: np.random.Generator) -> None:
    f = OPERATIONS["Elem"](X, 0) / OPERATIONS["Elem"](Y, 0)
    values = {X: np.ones(3), Y: np.array([2.0, np.nan, np.inf])}
    close(evaluate(gradient(f, X), values), np.array([0.5, 0, 0]))
    close(evaluate(gradient(X * Y, X, gradient(f, X)), values), np.array([1.0, 0, 0]))


def test_substitution() -> None:
    f = exp(X * Y) + X
    assert substitute(f, {X: Y + Y}) is exp((Y + Y) * Y) + (Y + Y)
    assert substitute(f, {B: B}) is f
    with pytest.raises(ShapeError, match="dimension 2"):
        substitute(f, {X: B})


def test_wrong_arguments_are_named() -> None:
    f = X * S
    with pytest.raises(FormulaError, match="give a vector of that dimension"):
        gradient(f, X)
    with pytest.raises(ShapeError, match="dimension 2, the formula 3"):
        gradient(f, X, B)
    with pytest.raises(FormulaError, match="differentiates by a variable"):
        gradient(f, X + 1, X)
    with pytest.raises(ShapeError, match="Laplacian: the formula has dimension 3"):
        laplacian(f, X)
    with pytest.raises(ShapeError, match="Divergence: the formula has dimension 3, the variable 1"):
        divergence(f, S)
    with pytest.raises(ShapeError, match="direction has dimension 2"):
        directional(f, X, B)
