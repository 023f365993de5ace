"""The differentiable function of reductions: its derivatives are reductions again, so they have some as well."""

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
from clmapreduce.gradients.rules import rule_of
from clmapreduce.gradients.tangents import tangent
from clmapreduce.gradients.terms import gradients
from clmapreduce.jax.callback import Callback, on_host
from clmapreduce.jax.derivative import Arrays, Derivative, change


@dataclass(frozen=True)
class OfReduction(Derivative):
    """The derivative of a job's first result."""

    job: Job

    def along(self, arrays: Arrays, result: Any, directions: Arrays) -> Any:
        return tangent(JAX, self.job, (arrays, directions), result)

    def back(self, arrays: Arrays, result: Any, needed: Sequence[bool], cotangent: Any) -> Arrays:
        return gradients(JAX, self.job, (arrays, needed), result, cotangent)


def directions_of(tangents: Sequence[Any]) -> list[Any]:
    """Tangents, None for those that are 0 whatever the numbers are."""
    return [None if isinstance(t, jax.custom_derivatives.SymbolicZero) else t for t in tangents]


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _reduce(job: Job, *arrays: Any) -> Any:
    """The results of a job, for its arrays."""
    return on_host(job, Callback(Job.results, job), arrays)


@partial(_reduce.defjvp, symbolic_zeros=True)
def _reduced_along(job: Job, arrays: Any, tangents: Any) -> Any:
    results = _reduce(job, *arrays)
    directions = directions_of(tangents)
    still = [np.zeros(result.shape, jax.dtypes.float0) for result in results]  # indices never move
    if not jnp.issubdtype(results[0].dtype, jnp.floating):
        return results, tuple(still)
    if all(direction is None for direction in directions):
        return results, (jnp.zeros_like(results[0]), *still[1:])
    rule_of(job)  # raises for a reduction without a derivative
    return results, (change(OfReduction(job), arrays, results[0], directions), *still[1:])


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
