"""Gradients as formulas: by which vector a pair's values are multiplied, summed over pairs.

A rule gives pairs (formula, cotangent), both of one pair (i, j), and the tensors that cotangents need beside the
reduction's own. What is summed for a variable v are the formulas' gradients by v, applied to their cotangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from clmapreduce.errors import FormulaError
from clmapreduce.gradients.job import Job
from clmapreduce.vector import OPERATIONS
from clmapreduce.vector.node import Variable, Vector

Run: TypeAlias = Callable[[Job, Sequence[Any]], "tuple[Any, ...]"]
Terms: TypeAlias = "tuple[list[tuple[Vector, Vector]], list[Variable], list[Any]]"
Rule: TypeAlias = "Callable[[Job, Sequence[Any], Any, Any, Run], Terms]"


def _exp(exponent: Vector) -> Vector:
    result: Vector = OPERATIONS["Exp"](exponent)
    return result


def _sum(job: Job, tensors: Sequence[Any], result: Any, g: Any, run: Run) -> Terms:
    """Every pair has the row's cotangent."""
    (cotangent,) = job.fresh(g.shape[-1])
    return [(job.call.formula, cotangent)], [cotangent], [g]


def _logsumexp(job: Job, tensors: Sequence[Any], result: Any, g: Any, run: Run) -> Terms:
    """A pair has its share of the sum, exp(F - result)."""
    formula, weight = job.call.formula, job.call.weight
    cotangent, logarithm = job.fresh(g.shape[-1], g.shape[-1])
    share = _exp(formula - logarithm) * cotangent
    terms = [(formula, share)] if weight is None else [(formula, share | weight), (weight, share)]
    return terms, [cotangent, logarithm], [g, result]


def _softmax(job: Job, tensors: Sequence[Any], result: Any, g: Any, run: Run) -> Terms:
    """A pair has its share of Σ exp(F), times how far its weight is from the mean."""
    formula, weight = job.call.formula, job.call.weight
    assert weight is not None
    (logarithms,) = run(job.derived("LogSumExp", formula), tensors)
    cotangent, mean, logarithm = job.fresh(g.shape[-1], g.shape[-1], 1)
    share = _exp(formula - logarithm) * cotangent
    terms = [(formula, share | (weight - mean)), (weight, share)]
    return terms, [cotangent, mean, logarithm], [g, result, logarithms]


RULES: dict[str, Rule] = {
    "Sum": _sum,
    "LogSumExp": _logsumexp,
    "LogSumExpWeight": _logsumexp,
    "SumSoftMaxWeight": _softmax,
}
"""By the reduction's name."""


def rule_of(job: Job) -> Rule:
    """The rule of a job's reduction. Raises FormulaError for one that has none."""
    rule = RULES.get(job.call.reduction.name)
    if rule is None:
        raise FormulaError(f"{job.call.reduction.name} has no gradient; those of {', '.join(RULES)} are known")
    return rule
