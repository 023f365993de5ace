"""LazyTensors of JAX arrays as matrices: products, solutions, all numbers, other ways to give arrays. And long ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

jax = pytest.importorskip("jax")
cj = pytest.importorskip("clmapreduce.jax")
jnp = jax.numpy

pytestmark = pytest.mark.drawn

Function = Callable[[Any, Any], Any]
TOLERANCE = 1e-10
"""Sums of 9 terms below 100, and a system whose condition is at most 19, with a residual of 1e-13."""


def dense(x: Any) -> Any:
    return jnp.exp(-jnp.square(x[:, None] - x).sum(-1))


def lazy(x: Any) -> Any:
    return (-cj.Vi(x).sqdist(cj.Vj(x))).exp()


def logsumexp(x: Any, b: Any) -> Any:
    reduction = cj.generic_logsumexp("-SqDist(x, y) * g", "a = Vi(1)", "x = Vi(3)", "y = Vj(3)", "g = Pm(1)")
    return reduction(x, x, jnp.square(b[0, 0]))


def by_shape(x: Any, b: Any) -> Any:
    return cj.LazyTensor(x[:, None, :]).sqdist(cj.LazyTensor(x[None])).sum(1)


WAYS: dict[str, tuple[Function, Function]] = {
    "product": (lambda x, b: lazy(x) @ b, lambda x, b: dense(x) @ b),
    "of a vector": (lambda x, b: lazy(x) @ b[:, 0], lambda x, b: dense(x) @ b[:, 0]),
    "transposed": (lambda x, b: (lazy(x) * cj.Vj(b[:, :1])).T @ b, lambda x, b: b[:, :1] * (dense(x) @ b)),
    "solution": (
        lambda x, b: lazy(x).solve(b, alpha=0.5, eps=1e-13), lambda x, b: jnp.linalg.solve(dense(x) + 0.5 * jnp.eye(9), b),
    ),
    "all numbers": (lambda x, b: lazy(x).dense(), lambda x, b: dense(x)),
    "parameters": (lambda x, b: (cj.Vi(x) * 2.5 + cj.Pm(x[0])).sum(0), lambda x, b: (x * 2.5 + x[0]).sum(0)[None]),
    "a number of a parameter": (logsumexp, lambda x, b: jax.nn.logsumexp(jnp.square(b[0, 0]) * jnp.log(dense(x)), 1, keepdims=True)),
    "axes by shape": (by_shape, lambda x, b: -jnp.log(dense(x)).sum(1, keepdims=True)),
}  # fmt: skip


@pytest.fixture
def home(context: cm.Context) -> cm.Context:
    if not context.device.fp64:
        pytest.skip("results are compared in float64")
    return context


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_values_and_gradients(way: str, jit: bool, home: cm.Context, rng: np.random.Generator) -> None:
    x, b = (jnp.asarray(rng.uniform(-1, 1, shape)) for shape in [(9, 3), (9, 2)])
    ours, exact = WAYS[way]
    weights = jnp.asarray(rng.standard_normal(exact(x, b).shape))

    def both(function: Function) -> Any:
        return function(x, b), jax.grad(lambda x, b: (weights * function(x, b)).sum(), (0, 1))(x, b)

    with home:
        result = both(jax.jit(ours) if jit else ours)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE), result, both(exact))


def test_many_rows(home: cm.Context, rng: np.random.Generator) -> None:
    x, y = (jnp.asarray(rng.uniform(-1, 1, shape)) for shape in [(100_003, 3), (3, 3)])

    def both(function: Function) -> Any:
        return jax.value_and_grad(lambda x, y: jnp.square(function(x, y)).sum(), (0, 1))(x, y)

    result = both(lambda x, y: (-cj.Vi(x).sqdist(cj.Vj(y))).exp().sum(1, context=home))
    exact = both(lambda x, y: jnp.exp(-jnp.square(x[:, None] - y).sum(-1)).sum(1))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12), result, exact)
