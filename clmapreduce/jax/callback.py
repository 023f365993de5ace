"""Calls of the library inside JAX's programs: directly where the numbers are there, else as callbacks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from clmapreduce.device.array import NumpyArray
from clmapreduce.gradients.job import Job
from clmapreduce.jax.arrays import arrays_from, fitting, host_view, is_traced
from clmapreduce.vector.node import Category


@dataclass(frozen=True)
class Callback:
    """A call that a program of JAX makes: compute(owner, arrays). Equal ones are one program, compiled once."""

    compute: Callable[[Any, Sequence[NumpyArray]], Sequence[NumpyArray]]
    owner: Any

    def __call__(self, *arrays: Any) -> tuple[NumpyArray, ...]:
        results = self.compute(self.owner, [host_view(x) for x in arrays])
        return tuple(map(fitting, results))


def on_host(job: Job, callback: Callback, arrays: Sequence[Any]) -> tuple[Any, ...]:
    """What a call gives for arrays, one per variable of a job; its results have shapes and dtypes as the job's.

    Under jit and vmap the job is planned while JAX traces, which raises what is wrong with it, and run as a callback.
    vmap adds a batch axis.
    """
    if not is_traced(arrays):
        return arrays_from(callback(*arrays), arrays[0])
    shapes = [
        jax.ShapeDtypeStruct(shape, jax.dtypes.canonicalize_dtype(dtype))
        for shape, dtype in job.outputs([x.shape for x in arrays], arrays[0].dtype)
    ]
    level = _of_equal_rank(job, arrays)
    results: tuple[Any, ...] = jax.pure_callback(callback, tuple(shapes), *level, vmap_method="expand_dims")
    return results


def _of_equal_rank(job: Job, arrays: Sequence[Any]) -> list[Any]:
    """Arrays with equally many batch axes, so that one more in front of all is one of the batch."""
    own = [x.ndim - (1 if v.category is Category.PARAMETER else 2) for v, x in zip(job.variables, arrays, strict=True)]
    return [x.reshape((1,) * (max(own) - count) + x.shape) for x, count in zip(arrays, own, strict=True)]
