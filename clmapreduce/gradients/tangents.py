"""The derivative of a reduction along directions of its tensors, as a reduction: forward mode."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from clmapreduce.gradients.framework import Framework
from clmapreduce.gradients.job import Job
from clmapreduce.gradients.rules import Terms, rule_of
from clmapreduce.vector import OPERATIONS, ZERO
from clmapreduce.vector.derivative import directional, gradient
from clmapreduce.vector.node import Variable, Vector

Inputs: TypeAlias = "tuple[Sequence[Any], Sequence[Any]]"


def tangent(framework: Framework, job: Job, inputs: Inputs, result: Any) -> Any:
    """The derivative of a job's result along directions of its tensors; None where it is 0.

    inputs: tensors, and for each a direction of its shape, None for one that stays. Raises FormulaError for a reduction
    that has no gradient.
    """
    return summed_tangents(framework, job, rule_of(job)(framework, job, result, result), inputs)


def summed_tangents(framework: Framework, job: Job, terms: Terms, inputs: Inputs) -> Any:
    """The transpose of `summed_gradients`, along directions of the tensors; None where it is 0.

    The terms are linear in their cotangents. The derivative is the gradient by these of what the terms give along the
    directions; no tensor of a cotangent is read.
    """
    tensors, directions = inputs
    cotangents = [variable for variable, _ in terms.cotangents]
    others = [variable for variable, _ in terms.others]
    moved = [pair for pair in zip(job.variables, directions, strict=True) if pair[1] is not None]
    first = 1 + max(v.position for v in (*job.variables, *cotangents, *others))
    along = [Variable(first + place, v.dim, v.category) for place, (v, _) in enumerate(moved)]
    total: Vector = OPERATIONS["Zero"](1)
    for formula, factor in terms.pairs:
        for (variable, _), direction in zip(moved, along, strict=True):
            change = OPERATIONS["|"](factor, directional(formula, variable, direction))
            total = OPERATIONS["Add"](total, change)
    parts = [gradient(total, cotangent) for cotangent in cotangents]
    if all(part.operation is ZERO for part in parts):
        return None
    derived = job.derived("Sum", OPERATIONS["Concat"](*parts) if len(parts) > 1 else parts[0], [*others, *along])
    values = [tensor for _, tensor in (*terms.others, *moved)]
    (change,) = framework.run(derived, (*tensors, *values))
    return change
