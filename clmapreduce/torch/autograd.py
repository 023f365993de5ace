"""The autograd function of reductions: its backward pass is a reduction again, so it can be differentiated as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from clmapreduce.errors import FormulaError
from clmapreduce.torch.job import Job
from clmapreduce.torch.rules import RULES
from clmapreduce.vector import OPERATIONS, ZERO
from clmapreduce.vector.derivative import gradient
from clmapreduce.vector.node import Category, Variable, Vector

Term = tuple[Vector, Vector]


class _Reduce(torch.autograd.Function):
    """The results of a job, for its tensors."""

    @staticmethod
    def forward(ctx: Any, job: Job, *tensors: Any) -> Any:
        results = job.compute(tensors)
        ctx.job = job
        ctx.save_for_backward(*tensors, *results)
        ctx.mark_non_differentiable(*(result for result in results if not result.is_floating_point()))
        ctx.set_materialize_grads(False)
        return results

    @staticmethod
    def backward(ctx: Any, *cotangents: Any) -> Any:
        job, count, saved = ctx.job, len(ctx.job.variables), ctx.saved_tensors
        tensors, needed = saved[:count], ctx.needs_input_grad[1:]
        rule = RULES.get(job.call.reduction.name)
        if rule is None:
            raise FormulaError(f"{job.call.reduction.name} has no gradient; those of {', '.join(RULES)} are known")
        if cotangents[0] is None:
            return (None, *(None for _ in tensors))
        terms, more, beside = rule(job, tensors, saved[count], cotangents[0], run)
        return (None, *summed_gradients(job, terms, (tensors, needed), (more, beside)))


def run(job: Job, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """The results of a job whose reduction has a rule, with gradients where tensors ask for them."""
    results: tuple[Any, ...] = _Reduce.apply(job, *tensors)
    return results


def summed_gradients(
    job: Job, terms: Sequence[Term], inputs: tuple[Sequence[Any], Sequence[bool]],
    beside: tuple[Sequence[Variable], Sequence[Any]],
) -> list[Any]:  # fmt: skip
    """Per variable of a job, the sum over pairs of all terms' gradients by it; None where it is 0 or not needed.

    terms: formulas and their cotangents. inputs: tensors, and which of them need one. beside: more variables of the
    cotangents, and their tensors.
    """
    (tensors, needed), (more, others) = inputs, beside
    formulas = {v: _total(terms, v) for v, is_needed in zip(job.variables, needed, strict=True) if is_needed}
    nonzero = {v: formula for v, formula in formulas.items() if formula.operation is not ZERO}
    own = {Category.I: 1, Category.J: 0}
    axes = [own[v.category] for v in nonzero if v.category in own] or [1]
    groups: dict[int, list[Variable]] = {}
    for v in nonzero:
        groups.setdefault(own.get(v.category, axes[0]), []).append(v)
    results: dict[Variable, Any] = {}
    for axis, variables in groups.items():
        joint = OPERATIONS["Concat"](*(nonzero[v] for v in variables)) if len(variables) > 1 else nonzero[variables[0]]
        (together,) = run(job.derived("Sum", joint, more, axis), (*tensors, *others))
        results |= zip(variables, together.split([v.dim for v in variables], -1), strict=True)
    return [
        _fitted(results[v], v, tensor) if v in results else None
        for v, tensor in zip(job.variables, tensors, strict=True)
    ]


def _total(terms: Sequence[Term], variable: Variable) -> Vector:
    """The sum of the terms' gradients by a variable, for one pair."""
    parts = [gradient(formula, variable, cotangent) for formula, cotangent in terms]
    total = parts[0]
    for part in parts[1:]:
        total = OPERATIONS["Add"](total, part)
    return total


def _fitted(gradients: Any, variable: Variable, tensor: Any) -> Any:
    """Gradients per row, in every batch, as those of one variable's tensor."""
    if variable.category is Category.PARAMETER:
        gradients = gradients.sum(-2)
    return gradients.sum_to_size(tensor.shape)
