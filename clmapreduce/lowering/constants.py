"""Constants taken out of a formula, so that another number is another argument and not another kernel, unless it has
another sign.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from clmapreduce.vector.node import Category, Constant, Variable, Vector, make, postorder

FIRST = 1_000_000
"""Positions from here on belong to constants."""
KEPT = (0.0, 1.0, -1.0)
"""Numbers that stay: they make kernels shorter."""

TakenConstants = tuple[tuple[Variable, Constant], ...]


@lru_cache(maxsize=256)
def slotted(roots: tuple[Vector | None, ...]) -> tuple[tuple[Vector | None, ...], TakenConstants]:
    """The formulas with variables for their constants, and which stands for which. Where all numbers of
    a constant have the same sign, the variable stands for their magnitudes, and the sign stays in the formula, because
    kernels may depend on it.
    """
    slots: list[tuple[Variable, Constant]] = []
    replaced: dict[Vector, Vector] = {}
    for vector in postorder([root for root in roots if root is not None]):
        if isinstance(vector, Constant) and not all(value in KEPT for value in vector.values):
            slot = Variable(FIRST + len(slots), vector.dim, Category.PARAMETER)
            negative = all(value < 0 for value in vector.values)
            slots.append((slot, Constant(tuple(-value for value in vector.values)) if negative else vector))
            magnitude = abs(slot) if negative or all(value >= 0 for value in vector.values) else slot
            replaced[vector] = -magnitude if negative else magnitude
        else:
            replaced[vector] = _with(vector, [replaced[arg] for arg in vector.args])
    return tuple(None if root is None else replaced[root] for root in roots), tuple(slots)


def _with(vector: Vector, args: Sequence[Vector]) -> Vector:
    """The vector with other arguments."""
    if all(new is old for new, old in zip(args, vector.args, strict=True)):
        return vector
    return make(vector.operation, tuple(args), vector.params)


def without_abs(vector: Vector) -> Vector:
    """The variable that stands for a constant's magnitudes, where a vector is their absolute value, which changes
    nothing; other vectors as they are.
    """
    of = vector.args[0] if vector.operation.name == "Abs" else vector
    return of if isinstance(of, Variable) and of.position >= FIRST else vector
