"""Reductions of JAX arrays beside dense float64 formulas of jax.numpy: values, gradients, and gradients of these."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

jax = pytest.importorskip("jax")
cj = pytest.importorskip("clmapreduce.jax")
jnp = jax.numpy

pytestmark = pytest.mark.drawn

FORMULA = "Exp(-g * SqDist(x, y)) * b"
ALIASES = ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)", "g = Pm(1)"]
TOLERANCE = 1e-10
"""A sum of 257 terms whose exponents reach 50 loses 307 units of 1.1e-16 of Σ|terms|, at most 10^3 here: 3.5e-11. A system's
condition is at most 35, its residual 1e-13.
"""
SECOND = 1e-9
"""Second derivatives have factors up to 10 times as large."""

Reduce = Callable[..., Any]


def weighted(k: Any, y: Any) -> Any:
    return jnp.log(jnp.exp(k) @ (y * y))


def smallest(k: Any, y: Any) -> Any:
    return jnp.sort(k, 1)[:, :3]


REDUCTIONS: dict[str, tuple[Reduce, Reduce]] = {
    "sum": (lambda k, y, **how: k.sum(1, **how), lambda k, y: k.sum(1, keepdims=True)),
    "sum over i": (lambda k, y, **how: k.sum(0, **how), lambda k, y: k.sum(0)[:, None]),
    "mean": (lambda k, y, **how: k.mean(1, **how), lambda k, y: k.mean(1, keepdims=True)),
    "var": (lambda k, y, **how: k.var(1, **how), lambda k, y: k.var(1, keepdims=True)),
    "std": (lambda k, y, **how: k.std(1, **how), lambda k, y: k.std(1, keepdims=True)),
    "logsumexp": (lambda k, y, **how: k.logsumexp(1, **how), lambda k, y: jax.nn.logsumexp(k, 1, keepdims=True)),
    "weighted": (lambda k, y, **how: k.logsumexp(1, weight=cj.Vj(y * y), **how), weighted),
    "softmax": (lambda k, y, **how: k.sumsoftmaxweight(cj.Vj(y), 1, **how), lambda k, y: jax.nn.softmax(k, 1) @ y),
    "softmax and logarithm": (
        lambda k, y, **how: jnp.concatenate(k.sumsoftmaxweight_logsumexp(cj.Vj(y), 1, **how), 1),
        lambda k, y: jnp.concatenate([jax.nn.softmax(k, 1) @ y, jax.nn.logsumexp(k, 1, keepdims=True)], 1),
    ),
    "max": (lambda k, y, **how: k.max(1, **how), lambda k, y: k.max(1, keepdims=True)),
    "min over i": (lambda k, y, **how: k.min(0, **how), lambda k, y: k.min(0)[:, None]),
    "Kmin": (lambda k, y, **how: k.Kmin(3, 1, **how), smallest),
    "vectors": (lambda k, y, **how: (k * cj.Vj(y)).max(1, **how), lambda k, y: (k[..., None] * y).max(1)),
}  # fmt: skip


@pytest.fixture
def how(context: cm.Context, mode: str) -> dict[str, Any]:
    if not context.device.fp64:
        pytest.skip("gradients are compared in float64")
    return {"context": context, "mode": mode}


def normal(rng: np.random.Generator, *shape: int) -> Any:
    return jnp.asarray(rng.standard_normal(shape))


def inputs(rng: np.random.Generator, rows: int, cols: int, batch: tuple[int, ...] = ()) -> list[Any]:
    g = jnp.asarray(rng.uniform(0.5, 1, 1))
    return [normal(rng, *batch, rows, 3), normal(rng, cols, 3), normal(rng, *batch, cols, 2), g]


def dense(x: Any, y: Any, b: Any, g: Any) -> Any:
    return jnp.exp(-g * jnp.square(x[..., :, None, :] - y[..., None, :, :]).sum(-1)) @ b


def near(ours: Any, exact: Any, tolerance: float = TOLERANCE) -> None:
    assert isinstance(ours, jax.Array) and ours.dtype == exact.dtype
    np.testing.assert_allclose(ours, exact, rtol=tolerance, atol=tolerance)


def same_gradients(ours: Reduce, exact: Reduce, arrays: Sequence[Any], rng: np.random.Generator) -> None:
    """Of the values, and of all arrays, for one random cotangent."""
    value, back = jax.vjp(ours, *arrays)
    expected, exact_back = jax.vjp(exact, *arrays)
    near(value, expected)
    cotangent = normal(rng, *expected.shape)
    for one, other in zip(back(cotangent), exact_back(cotangent), strict=True):
        near(one, other)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize(("rows", "cols"), [(1, 1), (7, 5), (33, 257), (4, 0), (0, 4)])
def test_genred_agrees_with_dense(rows: int, cols: int, batch: Any, how: Any, rng: np.random.Generator) -> None:
    reduction = cj.Genred(FORMULA, ALIASES, axis=1)
    same_gradients(lambda *a: reduction(*a, **how), dense, inputs(rng, rows, cols, batch), rng)


def lazy(name: str, how: Any) -> Reduce:
    """One of the reductions, as a function of x, y and g."""
    reduce = REDUCTIONS[name][0]
    return lambda x, y, g: reduce(-cj.Pm(g) * (cj.Vi(x) - cj.Vj(y)).square().sum(), y, **how)


def exactly(name: str) -> Reduce:
    """The same as a dense formula."""
    reduce = REDUCTIONS[name][1]
    return lambda x, y, g: reduce(-g * jnp.square(x[:, None] - y[None]).sum(-1), y)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_lazy_reductions_agree_with_dense(name: str, how: Any, rng: np.random.Generator) -> None:
    x, y, _, g = inputs(rng, 19, 23)
    same_gradients(lazy(name, how), exactly(name), [x, y, g], rng)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_second_derivatives_agree_with_dense(name: str, how: Any, rng: np.random.Generator) -> None:
    x, y, _, g = inputs(rng, 4, 5)
    directions = [normal(rng, *a.shape) for a in (x, y, g)]

    def slope(reduce: Reduce) -> Reduce:
        """The derivative of the sum of squared results along the directions, whose gradient has all second ones."""
        first = jax.grad(lambda *a: jnp.square(reduce(*a)).sum(), (0, 1, 2))
        return lambda *a: sum((u * v).sum() for u, v in zip(first(*a), directions, strict=True))

    result, exact = (jax.grad(slope(f), (0, 1, 2))(x, y, g) for f in (lazy(name, how), exactly(name)))
    for one, other in zip(result, exact, strict=True):
        near(one, other, SECOND)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_forward_mode_agrees_with_dense(name: str, how: Any, rng: np.random.Generator) -> None:
    points = [a for k, a in enumerate(inputs(rng, 19, 23)) if k != 2]
    directions = [normal(rng, *a.shape) for a in points]
    ours, exact = lazy(name, how), exactly(name)
    for f in (ours, jax.jit(ours)):
        for one, other in zip(jax.jvp(f, points, directions), jax.jvp(exact, points, directions), strict=True):
            near(one, other)
    for place in range(3):  # the others have no direction
        alone = [lambda t, f=f: f(*points[:place], t, *points[place + 1 :]) for f in (ours, exact)]  # noqa: B023
        one, other = (jax.jvp(f, points[place : place + 1], directions[place : place + 1])[1] for f in alone)
        near(one, other)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_jacobians_and_hessians_agree_with_dense(name: str, how: Any, rng: np.random.Generator) -> None:
    """A pair of modes a run: directions and cotangents are mapped axes there, of arrays that are not mapped."""
    x, y, _, g = inputs(rng, 4, 5)
    ours, exact = lazy(name, how), exactly(name)
    jax.tree.map(near, jax.jacfwd(ours, (0, 1, 2))(x, y, g), jax.jacrev(exact, (0, 1, 2))(x, y, g))
    first, second = ((jax.jacrev, jax.jacfwd)[k] for k in rng.integers(2, size=2))
    result, expected = (
        second(first(lambda *a, f=f: jnp.square(f(*a)).sum(), (0, 2)), (0, 2))(x, y, g) for f in (ours, exact)
    )
    jax.tree.map(lambda a, b: near(a, b, SECOND), result, expected)


def test_directions_of_batches(how: Any, rng: np.random.Generator) -> None:
    """Arrays with batch axes of their own, mapped or not, in both modes."""
    x, y, _, g = inputs(rng, 6, 5, (2,))
    points, reduction = [x, y, normal(rng, 4, 1, 5, 2), g], cj.Genred(FORMULA, ALIASES, axis=1)
    directions = [normal(rng, *a.shape) for a in points]
    many = [normal(rng, 3, *a.shape) for a in points]

    def along(f: Reduce) -> Any:
        """One direction; three of the same points; and the gradient of the latter by the directions."""
        change = lambda *d: jax.jvp(f, tuple(points), d)[1]  # noqa: E731
        mapped = jax.vmap(change)
        return change(*directions), mapped(*many), jax.grad(lambda *d: jnp.square(mapped(*d)).sum(), (0, 1, 2, 3))(*many)

    def general(x: Any, y: Any, b: Any, g: Any) -> Any:
        return jnp.exp(-g * jnp.square(x[..., :, None, :] - y[..., None, :, :]).sum(-1)) @ b

    ours = lambda *a: reduction(*a, **how)  # noqa: E731
    jax.tree.map(lambda a, b: near(a, b, SECOND), along(ours), along(general))


def test_loops_and_checkpoints_are_differentiated(how: Any, rng: np.random.Generator) -> None:
    x, y, b, g = inputs(rng, 6, 5)
    reduction = cj.Genred(FORMULA, ALIASES, axis=1)

    def loop(f: Reduce) -> Reduce:
        def step(x: Any, _: Any) -> Any:
            moved = x + 0.1 * jax.checkpoint(f)(x, y, b, g).sum(-1, keepdims=True)
            return moved, jax.lax.cond(moved.sum() > 0, lambda x: f(x, y, b, g).sum(), lambda x: 0.0, moved)

        return lambda x: jax.lax.scan(step, x, None, length=3)[1].sum()

    ours, exact = loop(lambda *a: reduction(*a, **how)), loop(dense)
    near(jax.grad(ours)(x), jax.grad(exact)(x), SECOND)
    near(jax.jvp(ours, (x,), (x,))[1], jax.jvp(exact, (x,), (x,))[1], SECOND)


def test_what_nothing_moves_has_zeros(how: Any, rng: np.random.Generator) -> None:
    x, y = normal(rng, 5, 2), normal(rng, 6, 2)

    def steps(x: Any) -> Any:
        return (cj.Vi(x) - cj.Vj(y)).sign().sum(1, **how)

    value, change = jax.jvp(steps, (x,), (x,))
    near(value, jnp.sign(x[:, None] - y).sum(1))
    assert change.shape == value.shape and not change.any()
    assert not jax.grad(lambda x: steps(x).sum())(x).any()
    places, still = jax.jvp(lambda x: cj.Vi(x).sqdist(cj.Vj(y)).argmin(1, **how), (x,), (x,))
    assert places.shape == (5, 1) and still.dtype == jax.dtypes.float0


@pytest.mark.parametrize("name", REDUCTIONS)
def test_jit_gives_the_same_values_and_gradients(name: str, how: Any, rng: np.random.Generator) -> None:
    x, y, _, g = inputs(rng, 6, 7)
    reduce = lazy(name, how)
    same_gradients(jax.jit(reduce), exactly(name), [x, y, g], rng)
    gradient = jax.jit(jax.grad(lambda *a: reduce(*a).sum(), 2))
    near(gradient(x, y, g), jax.grad(lambda *a: exactly(name)(*a).sum(), 2)(x, y, g))


def test_only_what_is_asked_for_is_differentiated(how: Any, rng: np.random.Generator) -> None:
    """One gradient is one more plan: a sum over i for y and b, over j for x and g. All of them are two."""
    arrays = inputs(rng, 6, 7)
    reduction = cj.Genred(FORMULA, ALIASES, axis=1)
    for place in range(4):
        own = {**how, "context": cm.Context(how["context"].device)}
        ours, exact = (jax.grad(lambda *a, f=f: f(*a).sum(), place)(*arrays) for f in (
            lambda *a, own=own: reduction(*a, **own), dense))  # fmt: skip
        near(ours, exact)
        assert len(own["context"].caches().plans) == 1 + 1
    whole = {**how, "context": cm.Context(how["context"].device)}
    jax.grad(lambda *a: reduction(*a, **whole).sum(), (0, 1, 2, 3))(*arrays)
    assert len(whole["context"].caches().plans) == 1 + 2


@pytest.mark.parametrize("jit", [False, True])
def test_solutions_agree_with_dense(jit: bool, how: Any, rng: np.random.Generator) -> None:
    x, b, g = normal(rng, 17, 3), normal(rng, 17, 2), jnp.asarray([0.7])
    solver = cj.KernelSolve(FORMULA, ALIASES, "b", axis=1)

    def ours(x: Any, b: Any, g: Any) -> Any:
        return solver(x, x, b, g, alpha=0.5, eps=1e-13, **how)

    def exact(x: Any, b: Any, g: Any) -> Any:
        kernel = jnp.exp(-g * jnp.square(x[:, None] - x[None]).sum(-1))
        return jnp.linalg.solve(kernel + 0.5 * jnp.eye(17), b)

    same_gradients(jax.jit(ours) if jit else ours, exact, [x, b, g], rng)
    second, expected = (jax.grad(lambda g, f=f: jax.grad(lambda g: jnp.square(f(x, b, g)).sum())(g).sum()) for f in (ours, exact))
    near(second(g), expected(g), SECOND)
    directions = tuple(normal(rng, *a.shape) for a in (x, b, g))
    for one, other in zip(*(jax.jvp(jax.jit(f) if jit else f, (x, b, g), directions) for f in (ours, exact)), strict=True):
        near(one, other)
    for transformed in (jax.jacfwd, jax.jacrev):
        jax.tree.map(near, transformed(ours, (1, 2))(x, b, g), transformed(exact, (1, 2))(x, b, g))
    hessians = (jax.hessian(lambda g, f=f: jnp.square(f(x, b, g)).sum())(g) for f in (ours, exact))
    near(*hessians, SECOND)


def test_ranges_choose_the_pairs_of_gradients(how: Any, rng: np.random.Generator) -> None:
    arrays = inputs(rng, 12, 10)
    mask = np.kron(np.array([[True, False], [True, True]]), np.ones((6, 5), bool))
    blocks = np.array([[0, 6], [6, 12]], np.int32), np.array([1, 3], np.int32), np.array([[0, 5], [0, 5], [5, 10]], np.int32)
    other = np.array([[0, 5], [5, 10]], np.int32), np.array([2, 3], np.int32), np.array([[0, 6], [6, 12], [6, 12]], np.int32)
    reduction = cj.Genred(FORMULA, ALIASES, axis=1)

    def exact(x: Any, y: Any, b: Any, g: Any) -> Any:
        return (jnp.exp(-g * jnp.square(x[:, None] - y[None]).sum(-1)) * mask) @ b

    def ours(*arrays: Any) -> Any:
        return reduction(*arrays, ranges=(*blocks, *other), **how)

    same_gradients(ours, exact, arrays, rng)
    same_gradients(jax.jit(ours), exact, arrays, rng)
