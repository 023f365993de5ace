"""The gradient of a reduction as a reduction: one for all variables of a side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.gradients.framework import Framework
from clmapreduce.gradients.job import Job
from clmapreduce.gradients.rules import Term, Terms, rule_of
from clmapreduce.vector import OPERATIONS, ZERO
from clmapreduce.vector.derivative import gradient
from clmapreduce.vector.node import Category, Variable, Vector


def gradients(
    framework: Framework, job: Job, inputs: tuple[Sequence[Any], Sequence[bool]], result: Any, cotangent: Any
) -> list[Any]:
    """Per variable of a job, the gradient of (result | cotangent); None where it is 0 or not needed.

    inputs: tensors, and which of them need one. Raises FormulaError for a reduction that has none.
    """
    return summed_gradients(framework, job, rule_of(job)(framework, job, result, cotangent), inputs)


def summed_gradients(
    framework: Framework, job: Job, terms: Terms, inputs: tuple[Sequence[Any], Sequence[bool]]
) -> list[Any]:
    """Per variable of a job, the sum over pairs of all terms' gradients by it; None where it is 0 or not needed.

    inputs: tensors, and which of them need one.
    """
    tensors, needed = inputs
    more, others = zip(*terms.cotangents, *terms.others, strict=True)
    formulas = {v: _total(terms.pairs, v) for v, is_needed in zip(job.variables, needed, strict=True) if is_needed}
    nonzero = {v: formula for v, formula in formulas.items() if formula.operation is not ZERO}
    own = {Category.I: 1, Category.J: 0}
    axes = [own[v.category] for v in nonzero if v.category in own] or [1]
    groups: dict[int, list[Variable]] = {}
    for v in nonzero:
        groups.setdefault(own.get(v.category, axes[0]), []).append(v)
    results: dict[Variable, Any] = {}
    for axis, variables in groups.items():
        joint = OPERATIONS["Concat"](*(nonzero[v] for v in variables)) if len(variables) > 1 else nonzero[variables[0]]
        (together,) = framework.run(job.derived("Sum", joint, more, axis), (*tensors, *others))
        results |= zip(variables, framework.split(together, [v.dim for v in variables]), strict=True)
    return [
        _fitted(framework, results[v], v, tensor) if v in results else None
        for v, tensor in zip(job.variables, tensors, strict=True)
    ]


def _total(terms: Sequence[Term], variable: Variable) -> Vector:
    """The sum of the terms' gradients by a variable, for one pair."""
    parts = [gradient(formula, variable, cotangent) for formula, cotangent in terms]
    total = parts[0]
    for part in parts[1:]:
        total = OPERATIONS["Add"](total, part)
    return total


def _fitted(framework: Framework, values: Any, variable: Variable, tensor: Any) -> Any:
    """Gradients per row, in every batch, as those of one variable's tensor."""
    if variable.category is Category.PARAMETER:
        values = values.sum(-2)
    return framework.fitted(values, tuple(tensor.shape))
