"""Reductions of JAX arrays under vmap and jit, indices, dtypes, complex numbers, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.child_processes import with_library

import clmapreduce as cm
from clmapreduce.device.context import context_of

jax = pytest.importorskip("jax")
cj = pytest.importorskip("clmapreduce.jax")
jnp = jax.numpy

pytestmark = pytest.mark.drawn

FORMULA = "Exp(-g * SqDist(x, y)) * b"
ALIASES = ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)", "g = Pm(1)"]
TOLERANCE = 1e-10
"""As of tests/jax_arrays/test_gradients.py."""
MAPPED = {
    "x": (0, None, None, None), "columns": (None, 0, 0, None), "all": (0, 0, 0, 0), "g": (None, None, None, 0),
    "inner axes": (1, None, 2, None),
}  # fmt: skip


@pytest.fixture
def how(context: cm.Context, mode: str) -> dict[str, Any]:
    if not context.device.fp64:
        pytest.skip("results are compared in float64")
    return {"context": context, "mode": mode}


def dense(x: Any, y: Any, b: Any, g: Any) -> Any:
    return jnp.exp(-g * jnp.square(x[..., :, None, :] - y[..., None, :, :]).sum(-1)) @ b


def arrays(rng: np.random.Generator, axes: tuple[int | None, ...], batches: tuple[tuple[int, ...], ...]) -> list[Any]:
    """x, y, b and g, each with a batch of its own and a mapped axis of 3."""
    shapes = [(*batch, *shape) for batch, shape in zip(batches, [(6, 3), (5, 3), (5, 2), (1,)], strict=True)]
    shapes = [s if axis is None else (*s[:axis], 3, *s[axis:]) for s, axis in zip(shapes, axes, strict=True)]
    return [jnp.asarray(rng.uniform(0.5, 1, shape)) for shape in shapes]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("axes", MAPPED.values(), ids=MAPPED)
@pytest.mark.parametrize("batches", [((), (), (), ()), ((2,), (), (4, 1), ())], ids=str)
def test_a_mapped_axis_is_a_batch(axes: Any, batches: Any, jit: bool, how: Any, rng: np.random.Generator) -> None:
    reduction = cj.Genred(FORMULA, ALIASES, axis=1)
    operands = arrays(rng, axes, batches)

    def both(f: Any) -> Any:
        mapped = jax.vmap(f, axes)
        gradient = jax.vmap(jax.grad(lambda *a: jnp.square(f(*a)).sum(), (0, 1, 2, 3)), axes)
        return jax.jit(lambda *a: (mapped(*a), gradient(*a))) if jit else lambda *a: (mapped(*a), gradient(*a))

    ours, exact = both(lambda *a: reduction(*a, **how))(*operands), both(dense)(*operands)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=TOLERANCE, atol=TOLERANCE), ours, exact)


def test_two_mapped_axes_of_different_arrays(how: Any, rng: np.random.Generator) -> None:
    x, y, b = (jnp.asarray(rng.uniform(0, 1, shape)) for shape in [(2, 6, 3), (4, 5, 3), (5, 2)])
    reduction = cj.Genred(FORMULA, ALIASES, axis=1)
    outer = lambda f: jax.vmap(jax.vmap(f, (None, 0, None)), (0, None, None))  # noqa: E731
    ours = outer(lambda x, y, b: reduction(x, y, b, jnp.ones(1), **how))(x, y, b)
    exact = outer(lambda x, y, b: dense(x, y, b, jnp.ones(1)))(x, y, b)
    assert ours.shape == (2, 4, 6, 2)
    np.testing.assert_allclose(ours, exact, rtol=TOLERANCE)


def test_mapped_systems(how: Any, rng: np.random.Generator) -> None:
    x, b = jnp.asarray(rng.standard_normal((7, 3))), jnp.asarray(rng.standard_normal((4, 7, 2)))
    g = jnp.asarray(rng.uniform(0.5, 1, (4, 1)))
    solver = cj.KernelSolve(FORMULA, ALIASES, "b", axis=1)
    ours = jax.vmap(lambda b, g: solver(x, x, b, g, alpha=0.5, eps=1e-13, **how))(b, g)
    kernels = jnp.exp(-g[..., None] * jnp.square(x[:, None] - x[None]).sum(-1)) + 0.5 * jnp.eye(7)
    np.testing.assert_allclose(ours, jnp.linalg.solve(kernels, b), rtol=1e-9, atol=1e-9)


def test_hessians_by_two_reverse_passes(how: Any, rng: np.random.Generator) -> None:
    """jacrev maps the backward pass over all cotangents."""
    x, y = (jnp.asarray(rng.standard_normal(shape)) for shape in [(3, 2), (4, 2)])
    ours = jax.jacrev(jax.jacrev(lambda x: (-cj.Vi(x).sqdist(cj.Vj(y))).logsumexp(1, **how).sum()))(x)
    squares = lambda x: -jnp.square(x[:, None] - y[None]).sum(-1)  # noqa: E731
    exact = jax.hessian(lambda x: jax.nn.logsumexp(squares(x), 1).sum())(x)
    np.testing.assert_allclose(ours, exact, rtol=1e-9, atol=1e-9)


def test_loops_and_checkpoints(how: Any, rng: np.random.Generator) -> None:
    x, y = (jnp.asarray(rng.standard_normal(shape)) for shape in [(4, 3), (5, 3)])
    ours = lambda x: (-cj.Vi(x).sqdist(cj.Vj(y))).sumsoftmaxweight(cj.Vj(y), 1, **how)  # noqa: E731
    exact = lambda x: jax.nn.softmax(-jnp.square(x[:, None] - y[None]).sum(-1), 1) @ y  # noqa: E731

    def gradient(step: Any) -> Any:
        """Of three steps of a mean shift."""
        steps = lambda x: jax.lax.scan(lambda x, _: (step(x), None), x, length=3)[0]  # noqa: E731
        return jax.grad(lambda x: jnp.square(steps(x)).sum())(x)

    for step in (ours, jax.checkpoint(ours)):
        np.testing.assert_allclose(gradient(step), gradient(exact), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("jit", [False, True])
def test_indices(jit: bool, how: Any, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((33, 3)), rng.standard_normal((257, 3))
    search = cj.generic_argkmin("SqDist(x, y)", "a = Vi(5)", "x = Vi(3)", "y = Vj(3)")
    function = lambda x, y: search(x, y, **how)  # noqa: E731
    places = (jax.jit(function) if jit else function)(jnp.asarray(x), jnp.asarray(y))
    exact = np.argsort(np.square(x[:, None] - y).sum(-1), 1, kind="stable")[:, :5]
    assert places.dtype == jnp.int64
    np.testing.assert_array_equal(places, exact)
    with jax.enable_x64(False):
        narrow = (jax.jit(function) if jit else function)(jnp.asarray(x, jnp.float32), jnp.asarray(y, jnp.float32))
        assert narrow.dtype == jnp.int32 and narrow.shape == (33, 5)


def test_values_beside_indices_have_gradients(how: Any, rng: np.random.Generator) -> None:
    x, y = (jnp.asarray(rng.standard_normal(shape)) for shape in [(6, 2), (9, 2)])

    def nearest(x: Any) -> Any:
        values, places = cj.Vi(x).sqdist(cj.Vj(y)).Kmin_argKmin(2, 1, **how)
        return values.sum(), places

    gradient, places = jax.grad(nearest, has_aux=True)(x)
    np.testing.assert_allclose(gradient, 2 * (x[:, None] - y[places]).sum(1), rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_dtypes_are_kept(dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = (jnp.asarray(rng.uniform(0, 1, shape), dtype) for shape in [(5, 3), (8, 3)])
    reduce = lambda x, y: cj.Vi(x).sqdist(cj.Vj(y)).sum(1, context=context, mode=mode)  # noqa: E731
    exact = np.square(np.asarray(x, float)[:, None] - np.asarray(y, float)).sum(-1).sum(1, keepdims=True)
    for result in (reduce(x, y), jax.jit(reduce)(x, y)):
        assert result.dtype == x.dtype
        np.testing.assert_allclose(np.asarray(result, float), exact, rtol=8 * float(jnp.finfo(dtype).eps))


def test_complex_numbers_and_slices(how: Any, rng: np.random.Generator) -> None:
    x, y = rng.standard_normal((4, 1)), rng.standard_normal((6, 1)) + 1j * rng.standard_normal((6, 1))
    ours = jax.jit(lambda y: (cj.Vi(jnp.asarray(x)) * cj.Vj(y)).sum(1, **how))(jnp.asarray(y))
    np.testing.assert_allclose(ours, x * y.sum(), rtol=1e-13)
    kernel = cj.Vi(jnp.asarray(x)).sqdist(cj.Vj(jnp.asarray(y.real)))
    part = np.square(x - y.real.T)[1:3][:, [0, 4]]
    np.testing.assert_allclose(kernel[1:3, [0, 4]].sum(1, **how), part.sum(1, keepdims=True), rtol=1e-13)
    np.testing.assert_allclose(kernel.to_numpy(**how), np.square(x - y.real.T), rtol=1e-13)


def test_arrays_on_the_cpu_are_not_copied(rng: np.random.Generator) -> None:
    from clmapreduce.jax.arrays import arrays_from, host_view

    x = jax.device_put(rng.standard_normal((40, 3)), jax.devices("cpu")[0])
    assert host_view(x).ctypes.data == x.unsafe_buffer_pointer()
    block = np.zeros(4160, np.uint8)
    lines = block[-block.ctypes.data % 64 :][:4096].view(np.float64)
    (result,) = arrays_from([lines], x)
    assert result.unsafe_buffer_pointer() == lines.ctypes.data


def test_a_program_runs_again_with_other_numbers(how: Any, rng: np.random.Generator) -> None:
    """Large enough for XLA to use its threads, one of which waits in the callback."""
    x, y = (jnp.asarray(rng.standard_normal((20_000, 3))) for _ in range(2))
    step = jax.jit(lambda x: x + cj.Vi(x).sqdist(cj.Vj(y[:100])).sum(1, **how) * 1e-3)
    for _ in range(3):
        exact = x + np.square(np.asarray(x)[:, None] - np.asarray(y[:100])).sum((1, 2))[:, None] * 1e-3
        x = step(x)
        np.testing.assert_allclose(x, exact, rtol=1e-12, atol=1e-12)


def test_programs_run_where_they_were_traced(context: cm.Context) -> None:
    """Callbacks come in threads of XLA's, which do not know of the `with` around a call."""
    x, own = jnp.ones((3, 2), jnp.float32), cm.Context(context.device)
    with own:
        traced = jax.jit(lambda x: (cj.Vi(x).sqdist(cj.Vj(x)) + 0.1).sqrt().sum(1))
        first = traced(x)
    usual = context_of(None)
    before = len(usual.caches().plans)
    np.testing.assert_array_equal(traced(x + 1), first)
    assert len(own.caches().plans) == 1 and len(usual.caches().plans) == before


def test_what_is_refused(how: Any, rng: np.random.Generator) -> None:
    x, y, b, g = (jnp.asarray(rng.standard_normal(s)) for s in [(6, 3), (5, 3), (5, 2), (1,)])
    reduction = cj.Genred(FORMULA, ALIASES, axis=1)
    for call in (reduction, jax.jit(lambda *a: reduction(*a, **how))):
        with pytest.raises(cm.ShapeError, match="disagree on N"):
            call(x, y[:4], b, g)
        with pytest.raises(cm.DTypeError, match="cast one"):
            call(x, y.astype("float32"), b, g)
    with pytest.raises(cm.DTypeError, match="no JAX array"):
        reduction(cm.array(np.ones((6, 3)), how["context"]), y, b, g)
    with pytest.raises(cm.ModeError, match="out="):
        reduction(x, y, b, g, out=np.empty((6, 2)), **how)
    with pytest.raises(cm.ArgumentError, match="one module"):
        cj.Vi(x) + cm.Vj(np.asarray(y))
    with pytest.raises(cm.FormulaError, match="no gradient"):
        jax.grad(lambda x: cj.Vi(x).prod(0, **how).sum())(x)
    with pytest.raises(cm.FormulaError, match="no gradient"):
        jax.jvp(lambda x: cj.Vi(x).prod(0, **how), (x,), (x,))
    solver = cj.KernelSolve(FORMULA, ALIASES, "b", axis=1)
    with pytest.raises(cm.ModeError, match="return_status"):
        jax.jit(lambda b: solver(y, y, b, g, return_status=True, **how))(b)
    with pytest.raises(cm.ModeError, match="x0="):
        jax.jit(lambda b: solver(y, y, b, g, x0=b, **how))(b)
    with jax.enable_x64(False), pytest.raises(cm.DTypeError, match="jax_enable_x64"):
        reduction(np.ones((6, 3)), y, b, g)


def test_a_device_without_float64_is_refused_before_a_program_runs() -> None:
    """While JAX traces: what a callback raises would reach the caller as an error of XLA."""
    narrow = [context for context in map(cm.Context, cm.devices()) if not context.device.fp64]
    if not narrow:
        pytest.skip("all devices have float64")
    x = jnp.ones((3, 2), jnp.float64)
    with pytest.raises(cm.DTypeError):
        jax.jit(lambda x: cj.Vi(x).sqdist(cj.Vj(x)).sum(1, context=narrow[0]))(x)


def test_numpy_arrays_and_status(how: Any, rng: np.random.Generator) -> None:
    x, b = rng.standard_normal((9, 3)), rng.standard_normal((9, 2))
    solver = cj.KernelSolve(FORMULA, ALIASES, "b", axis=1)
    a, status = solver(x, jnp.asarray(x), b, 0.7, alpha=0.5, eps=1e-12, x0=jnp.asarray(b), return_status=True, **how)
    kernel = np.exp(-0.7 * np.square(x[:, None] - x).sum(-1)) + 0.5 * np.eye(9)
    assert isinstance(a, jax.Array) and status.converged and solver.status is status
    np.testing.assert_allclose(kernel @ np.asarray(a), b, rtol=1e-9, atol=1e-9)


def test_arrays_are_planned_as_numpys_are(how: Any, rng: np.random.Generator) -> None:
    arrays = [rng.standard_normal(s) for s in [(6, 3), (5, 3), (5, 2), (1,)]]
    theirs, ours = (module.Genred(FORMULA, ALIASES, axis=1) for module in (cm, cj))
    assert ours.explain(*map(jnp.asarray, arrays), **how) == theirs.explain(*arrays, **how)
    assert ours.source(*map(jnp.asarray, arrays), **how) == theirs.source(*arrays, **how)


def test_the_library_does_not_import_jax() -> None:
    text = "import sys, clmapreduce; assert not {'jax', 'sklearn'} & set(sys.modules)"
    root = Path(__file__).resolve().parents[2]
    assert subprocess.run([sys.executable, "-c", text], cwd=root, env=with_library(), check=False).returncode == 0
