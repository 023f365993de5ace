"""The derivative of a reduction along directions of its tensors, as a reduction: forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from clmapreduce.gradients.framework import Framework
from clmapreduce.gradients.job import Job
from clmapreduce.gradients.rules import rule_of
from clmapreduce.vector import OPERATIONS, ZERO
from clmapreduce.vector.derivative import directional, gradient
from clmapreduce.vector.node import Variable, Vector

Inputs: TypeAlias = "tuple[Sequence[Any], Sequence[Any]]"


def tangent(framework: Framework, job: Job, inputs: Inputs, result: Any) -> Any:
    """The derivative of a job's result along directions of its tensors; None where it is 0.

    inputs: tensors, and for each a direction of its shape, None for one that stays. Raises FormulaError for a reduction
    that has no gradient.
    """
    terms, more, beside = rule_of(job)(job, inputs[0], result, result, framework.run)
    return summed_tangents(framework, job, terms, inputs, (more, beside[1:]))


def summed_tangents(
    framework: Framework, job: Job, terms: Sequence[tuple[Vector, Vector]], inputs: Inputs,
    beside: tuple[Sequence[Variable], Sequence[Any]],
) -> Any:  # fmt: skip
    """The transpose of `summed_gradients`, along directions of the tensors; None where it is 0.

    The terms are linear in a cotangent g, the first of the variables beside. The derivative is the gradient by g of
    what they give along the directions. beside: g and more variables, and the tensors of these but not of g.
    """
    (tensors, directions), ((cotangent, *others), values) = inputs, beside
    moved = [pair for pair in zip(job.variables, directions, strict=True) if pair[1] is not None]
    first = 1 + max(v.position for v in (*job.variables, cotangent, *others))
    along = [Variable(first + place, v.dim, v.category) for place, (v, _) in enumerate(moved)]
    total: Vector = OPERATIONS["Zero"](1)
    for formula, factor in terms:
        for (variable, _), direction in zip(moved, along, strict=True):
            change = OPERATIONS["|"](factor, directional(formula, variable, direction))
            total = OPERATIONS["Add"](total, change)
    formula = gradient(total, cotangent)
    if formula.operation is ZERO:
        return None
    derived = job.derived("Sum", formula, [*others, *along])
    (change,) = framework.run(derived, (*tensors, *values, *(tensor for _, tensor in moved)))
    return change
