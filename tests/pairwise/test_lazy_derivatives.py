"""Derivatives of LazyTensors, reduced on devices, against finite differences of dense NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce import LazyTensor, Pm, Vi, Vj

pytestmark = pytest.mark.drawn

M, N, D = 6, 5, 3
STEP = 1e-6

FORMULAS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "gaussian": (lambda x, y, p: (-(x - y).sqnorm2() * p).exp(), lambda x, y, p: np.exp(-((x - y) ** 2).sum(-1, keepdims=True) * p)),
    "distance": (lambda x, y, p: (x - y).norm2() + p, lambda x, y, p: np.sqrt(((x - y) ** 2).sum(-1, keepdims=True)) + p),
    "vector": (lambda x, y, p: (x * y).sin() / (1 + x**2) + p, lambda x, y, p: np.sin(x * y) / (1 + x**2) + p),
    "energy": (lambda x, y, p: (x | y) ** 3 * p - x.sqdist(y).log(), lambda x, y, p: (x * y).sum(-1, keepdims=True) ** 3 * p - np.log(((x - y) ** 2).sum(-1, keepdims=True))),
}  # fmt: skip


@pytest.fixture
def data(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return rng.uniform(0.5, 1.5, (M, D)), rng.uniform(-1.5, -0.5, (N, D)), rng.uniform(0.5, 1, 1)


def directional(dense: Callable[..., Any], data: Any, which: int, direction: np.ndarray) -> np.ndarray:
    """The derivative of all pairs' values when one argument moves, by central differences."""
    values = []
    for sign in (1, -1):
        args = list(data)
        args[which] = args[which] + sign * STEP * direction
        values.append(dense(args[0][:, None], args[1][None], args[2]))
    return (values[0] - values[1]) / (2 * STEP)


@pytest.mark.parametrize("name", FORMULAS)
def test_forward_and_reverse(name: str, data: Any, rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    lazy, dense = FORMULAS[name]
    variables = [Vi(data[0]), Vj(data[1]), Pm(data[2])]
    formula = lazy(*variables)
    values = dense(data[0][:, None], data[1][None], data[2])
    e = rng.standard_normal((M, formula.ndim))
    keywords = {"context": context, "mode": mode}
    for which, variable in enumerate(variables):
        direction = rng.standard_normal(data[which].shape)
        slopes = directional(dense, data, which, direction)
        forward = formula.diff(variable, [Vi, Vj, Pm][which](direction))
        assert forward.shape == formula.shape
        np.testing.assert_allclose(forward.sum(1, **keywords), slopes.sum(1), atol=1e-6)
        reverse = formula.grad(variable, Vi(e))
        assert reverse.shape[2:] == ((data[which].shape[-1],) if data[which].shape[-1] > 1 else ())
        expected = (slopes * e[:, None]).sum()
        product = reverse.dense(**keywords).reshape(M, N, -1) * np.broadcast_to(
            [direction[:, None], direction[None], direction[None, None]][which], (M, N, direction.shape[-1])
        )
        np.testing.assert_allclose(product.sum(), expected, atol=1e-6)
    assert values.shape == (M, N, formula.ndim)


def test_gradient_of_a_sum(data: Any, context: cm.Context, mode: str) -> None:
    """The KeOps idiom: the gradient of Σ_j k(x_i, y_j) b_j by x_i."""
    x, y, p = data
    b = np.ones((N, 1))
    formula = (-(Vi(x) - Vj(y)).sqnorm2() * Pm(p)).exp() * Vj(b)
    result = formula.grad(Vi(x), 1.0).sum(1, context=context, mode=mode)
    d = x[:, None] - y
    np.testing.assert_allclose(result, (-2 * p * d * np.exp(-(d**2).sum(-1, keepdims=True) * p)).sum(1), atol=1e-12)
    symbolic = ((Vi(0, D) - Vj(1, D)).sqnorm2()).grad(Vi(0, D), Vi(2, 1)).sum(axis=1, context=context)
    np.testing.assert_allclose(symbolic(x, y, np.ones((M, 1)), mode=mode), 2 * d.sum(1), atol=1e-12)


def test_matrices_and_traces(data: Any, context: cm.Context, mode: str) -> None:
    x, y, _ = data
    keywords = {"context": context, "mode": mode}
    field = (Vi(x) * Vj(y)).sin()
    dense = np.cos(x[:, None] * y) * y
    np.testing.assert_allclose(field.divergence(Vi(x)).dense(**keywords), dense.sum(-1), atol=1e-12)
    jacobian = field.grad_matrix(Vi(x)).dense(**keywords).reshape(M, N, D, D)
    np.testing.assert_allclose(jacobian, dense[..., None] * np.eye(D), atol=1e-12)
    gauss = (-(Vi(x) - Vj(y)).sqnorm2()).exp()
    r = ((x[:, None] - y) ** 2).sum(-1)
    np.testing.assert_allclose(gauss.laplacian(Vi(x)).dense(**keywords), (4 * r - 2 * D) * np.exp(-r), atol=1e-12)
    matrix = np.arange(9.0)
    u = Vi(0, D)
    trace = (LazyTensor(matrix).matvecmult(u) * Vj(y)).trace_operator(u)
    assert not trace.inputs.unbound, "the variable is gone"
    np.testing.assert_allclose(trace.dense(**keywords), (matrix[::4] * y).sum(-1)[None], atol=1e-12)


def test_variables_may_be_shared(data: Any, context: cm.Context) -> None:
    """One array by i and by j is two variables; twice by i it is one."""
    x = data[0]
    formula = Vi(x).sqdist(Vj(x)) + (Vi(x) | Vi(x))
    result = formula.grad(Vi(x), 1.0).dense(context=context)
    np.testing.assert_allclose(result, 2 * (x[:, None] - x) + 2 * x[:, None], atol=1e-12)
    none = (Vj(x) | Vj(x)).grad(Vi(data[0] + 1), 1.0)
    assert not none.dense(context=context).any() and none.shape == (M, M, D)


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_sines_of_sines(code: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Their slopes, and those slopes' slopes: Intel's compiler ended the process over sin(u) cos(u) cos(x) of u = sin x."""
    if code == "f8" and not context.facts.fp64:
        pytest.skip("no float64 here")
    x, y = rng.normal(size=(4, 1)).astype(code), rng.normal(size=(5, 1)).astype(code)
    row, column = cm.Vi(x), cm.Vj(y)
    how = {"axis": 1, "context": context, "mode": mode}
    off = {"rtol": 1e-5, "atol": 1e-5} if code == "f4" else {"rtol": 1e-12, "atol": 1e-12}
    slope = np.cos(np.sin(y)) * np.cos(y)
    bend = -np.sin(np.sin(y)) * np.cos(y) ** 2 - np.cos(np.sin(y)) * np.sin(y)
    first = column.sin().sin().grad(column, row)
    np.testing.assert_allclose(first.sum(**how), x * slope.sum(), **off)
    np.testing.assert_allclose(first.grad(column, row).sum(**how), x**2 * bend.sum(), **off)
    formula = column.sin().sin() * column.cos() * column.sin().cos() * row
    expected = np.sin(np.sin(y)) * np.cos(y) * np.cos(np.sin(y))
    np.testing.assert_allclose(formula.sum(**how), x * expected.sum(), **off)
