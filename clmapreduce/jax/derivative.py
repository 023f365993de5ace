"""The primitive of JAX that is linear in directions: forward mode evaluates it, reverse mode transposes it.

JAX derives one mode from the other by transposition. So a reduction needs one operation that gives its change along
directions, and whose transpose is the reduction that gives its gradients. Both consist of reductions, so that they have
derivatives as well.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from clmapreduce.gradients.job import Job
from clmapreduce.vector.node import Category

Arrays = Sequence[Any]


class Derivative(ABC):
    """The derivative of what a job gives. Equal ones compute the same."""

    job: Job

    @abstractmethod
    def along(self, arrays: Arrays, result: Any, directions: Arrays) -> Any:
        """The change of the result along directions of the arrays, None for one that stays; None where it is 0."""

    @abstractmethod
    def back(self, arrays: Arrays, result: Any, needed: Sequence[bool], cotangent: Any) -> Arrays:
        """Per array the gradient of (result | cotangent); None where it is 0 or not needed."""


def change(derivative: Derivative, arrays: Arrays, result: Any, directions: Arrays) -> Any:
    """The change of a result along directions of the arrays. A direction is None for an array that stays."""
    moved = tuple(direction is not None for direction in directions)
    return _change.bind(*arrays, result, *(d for d in directions if d is not None), derivative=derivative, moved=moved)


def _parts(operands: Arrays, moved: Sequence[bool]) -> tuple[list[Any], Any, list[Any]]:
    """Arrays, result and directions, one per array, of the primitive's operands."""
    rest = iter(operands[len(moved) + 1 :])
    return list(operands[: len(moved)]), operands[len(moved)], [next(rest) if one else None for one in moved]


def _shape(operands: Arrays, derivative: Derivative, moved: Sequence[bool]) -> tuple[int, ...]:
    """The change's shape: that of the result, in every batch of it and of the directions."""
    _, result, directions = _parts(operands, moved)
    batches = [d.shape[: _batch_axes(derivative, k, d.ndim)] for k, d in enumerate(directions) if d is not None]
    return (*jnp.broadcast_shapes(result.shape[:-2], *batches), *result.shape[-2:])


def _batch_axes(derivative: Derivative, place: int, ndim: int) -> int:
    """How many axes of an array, or of its direction, are batches."""
    return ndim - (1 if derivative.job.variables[place].category is Category.PARAMETER else 2)


def _evaluate(*operands: Any, derivative: Derivative, moved: tuple[bool, ...]) -> Any:
    result = operands[len(moved)]
    value = derivative.along(*_parts(operands, moved))
    shape = _shape(operands, derivative, moved)
    return jnp.zeros(shape, result.dtype) if value is None else jnp.broadcast_to(value, shape)


def _abstract(*operands: Any, derivative: Derivative, moved: tuple[bool, ...]) -> Any:
    return jax.core.ShapedArray(_shape(operands, derivative, moved), operands[len(moved)].dtype)


def _jvp(operands: Arrays, tangents: Arrays, **settings: Any) -> tuple[Any, Any]:
    """As of the reductions that it consists of, along the operands that move."""
    places = [place for place, tangent in enumerate(tangents) if not isinstance(tangent, ad.Zero)]

    def of_moved(*values: Any) -> Any:
        replaced = dict(zip(places, values, strict=True))
        return _evaluate(*(replaced.get(place, x) for place, x in enumerate(operands)), **settings)

    both: tuple[Any, Any] = jax.jvp(of_moved, [operands[k] for k in places], [tangents[k] for k in places])
    return both


def _transpose(cotangent: Any, *operands: Any, derivative: Derivative, moved: tuple[bool, ...]) -> list[Any]:
    """Gradients for the directions; the other operands have none, because the change is not linear in them."""
    arrays, result, directions = _parts(operands, moved)
    needed = [ad.is_undefined_primal(direction) for direction in directions]
    if isinstance(cotangent, ad.Zero):
        return [None] * len(operands)
    shapes = [d.aval.shape if n else x.shape for d, n, x in zip(directions, needed, arrays, strict=True)]
    own = [x if x.shape == shape else jnp.broadcast_to(x, shape) for x, shape in zip(arrays, shapes, strict=True)]
    values = derivative.back(own, result, needed, cotangent)
    full = [jnp.zeros_like(x) if v is None else v for x, v in zip(own, values, strict=True)]
    return [None] * (len(moved) + 1) + [full[k] if needed[k] else None for k, one in enumerate(moved) if one]


def _batch(operands: Arrays, axes: Arrays, *, derivative: Derivative, moved: tuple[bool, ...]) -> tuple[Any, int]:
    """A mapped axis becomes the first batch axis, in front of equally many of each operand that has it."""
    places = [*range(len(moved)), None, *(place for place, one in enumerate(moved) if one)]
    own = [
        x.ndim - (axis is not None) - 2 if place is None
        else _batch_axes(derivative, place, x.ndim - (axis is not None))
        for x, axis, place in zip(operands, axes, places, strict=True)
    ]  # fmt: skip
    fronted = [
        x if axis is None else _fronted(x, axis, max(own) - count)
        for x, axis, count in zip(operands, axes, own, strict=True)
    ]
    return _change.bind(*fronted, derivative=derivative, moved=moved), 0


def _fronted(x: Any, axis: int, missing: int) -> Any:
    """An axis in front, then axes of length 1 for those batch axes that only other operands have."""
    first = jnp.moveaxis(x, axis, 0)
    return first.reshape(first.shape[0], *[1] * missing, *first.shape[1:])


_change = Primitive("clmapreduce_change")
_change.def_impl(_evaluate)
_change.def_abstract_eval(_abstract)
ad.primitive_jvps[_change] = _jvp
ad.primitive_transposes[_change] = _transpose
batching.primitive_batchers[_change] = _batch
mlir.register_lowering(_change, mlir.lower_fun(_evaluate, multiple_results=False))
