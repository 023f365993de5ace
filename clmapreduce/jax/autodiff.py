"""The differentiable function of reductions: its backward pass is a reduction again, so it has one as well."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from clmapreduce.gradients.framework import Framework, Results, Tensors
from clmapreduce.gradients.job import Job
from clmapreduce.gradients.terms import gradients
from clmapreduce.jax.callback import Callback, on_host


@jax.tree_util.register_static
@dataclass(frozen=True)
class Needed:
    """Which arguments are differentiated by; JAX carries it from the forward to the backward pass."""

    flags: tuple[bool, ...]


def is_zero(cotangent: Any) -> bool:
    """Whether a cotangent is 0 whatever the numbers are."""
    return isinstance(cotangent, jax.custom_derivatives.SymbolicZero)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _reduce(job: Job, *arrays: Any) -> Any:
    """The results of a job, for its arrays."""
    return on_host(job, Callback(Job.results, job), arrays)


def _forward(job: Job, *primals: Any) -> Any:
    arrays = tuple(primal.value for primal in primals)
    results = _reduce(job, *arrays)
    return results, (arrays, results[0], Needed(tuple(primal.perturbed for primal in primals)))


def _backward(job: Job, saved: Any, cotangents: Any) -> Any:
    arrays, result, needed = saved
    if is_zero(cotangents[0]):
        return tuple(None for _ in arrays)
    return tuple(gradients(JAX, job, (arrays, needed.flags), result, cotangents[0]))


_reduce.defvjp(_forward, _backward, symbolic_zeros=True)


class Jax(Framework):
    """JAX."""

    def run(self, job: Job, tensors: Tensors) -> Results:
        results: Results = _reduce(job, *tensors)
        return results

    def constants(self, job: Job, tensors: Tensors) -> Results:
        return self.run(job, [jax.lax.stop_gradient(tensor) for tensor in tensors])

    def where(self, mask: Any, chosen: Any, other: Any) -> Any:
        return jnp.where(mask, chosen, other)

    def clamped(self, places: Any, last: int) -> Any:
        return places.clip(0, last)

    def root(self, values: Any) -> Any:
        return jnp.sqrt(values)

    def split(self, tensor: Any, dims: Sequence[int]) -> Sequence[Any]:
        parts: Sequence[Any] = jnp.split(tensor, np.cumsum(dims)[:-1], -1)
        return parts

    def fitted(self, values: Any, shape: tuple[int, ...]) -> Any:
        values = values.sum(tuple(range(values.ndim - len(shape))))
        repeated = tuple(k for k, length in enumerate(shape) if length == 1 and values.shape[k] != 1)
        return jnp.broadcast_to(values.sum(repeated, keepdims=True), shape)

    def spread(self, values: Any, shape: tuple[int, ...]) -> Any:
        return jnp.broadcast_to(values, shape)

    def gathered(self, tensor: Any, places: Any) -> Any:
        *batch, count, rows = places.shape
        lines = jnp.broadcast_to(tensor, (*batch, *tensor.shape[-2:]))
        chosen = jnp.take_along_axis(lines, places.reshape(*batch, count * rows, 1), -2)
        return chosen.reshape(*batch, count, rows, tensor.shape[-1])

    def stacked(self, coordinates: Sequence[Any]) -> Any:
        return jnp.moveaxis(jnp.stack(list(coordinates), -1), -2, -3)


JAX = Jax()
