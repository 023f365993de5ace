"""Gradients as formulas: by which vector a pair's values are multiplied, summed over pairs.

A rule gives pairs (formula, cotangent), both of one pair (i, j). What is summed for a variable v are the formulas'
gradients by v, applied to their cotangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from clmapreduce.errors import FormulaError
from clmapreduce.gradients.framework import Framework
from clmapreduce.gradients.job import Job
from clmapreduce.reductions.pairs import LOG_BESIDE_SOFTMAX
from clmapreduce.vector import OPERATIONS
from clmapreduce.vector.node import Variable, Vector

Term: TypeAlias = "tuple[Vector, Vector]"
Values: TypeAlias = "Sequence[tuple[Variable, Any]]"


@dataclass(frozen=True)
class Terms:
    """pairs: formulas and their cotangents, each a linear function of the variables of `cotangents`. cotangents: of the
    result, one after the other, each with its tensor. others: more variables, with their tensors.
    """

    pairs: Sequence[Term]
    cotangents: Values
    others: Values


Rule: TypeAlias = "Callable[[Framework, Job, Any, Any], Terms]"
"""(framework, job, result, the result's cotangent) -> terms."""


def _exp(exponent: Vector) -> Vector:
    result: Vector = OPERATIONS["Exp"](exponent)
    return result


def _sum(framework: Framework, job: Job, result: Any, g: Any) -> Terms:
    """Every pair has the row's cotangent."""
    (cotangent,) = job.fresh(g.shape[-1])
    return Terms([(job.call.formula, cotangent)], [(cotangent, g)], [])


def _logsumexp(framework: Framework, job: Job, result: Any, g: Any) -> Terms:
    """A pair has its share of the sum, exp(F - result)."""
    formula, weight = job.call.formula, job.call.weight
    cotangent, logarithm = job.fresh(g.shape[-1], g.shape[-1])
    share = _exp(formula - logarithm) * cotangent
    pairs = [(formula, share)] if weight is None else [(formula, share | weight), (weight, share)]
    return Terms(pairs, [(cotangent, g)], [(logarithm, result)])


def _softmax(framework: Framework, job: Job, result: Any, g: Any) -> Terms:
    """A pair has its share of Σ exp(F), times how far its weight is from the mean. The result is the logarithm of this
    sum, and behind it the means.
    """
    formula, weight = job.call.formula, job.call.weight
    assert weight is not None
    dims = [1, weight.dim]
    of_logarithm, of_means, logarithm, means = job.fresh(*dims, *dims)
    share = _exp(formula - logarithm)
    pairs = [(formula, share * (of_logarithm + (of_means | (weight - means)))), (weight, share * of_means)]
    cotangents = zip((of_logarithm, of_means), framework.split(g, dims), strict=True)
    results = zip((logarithm, means), framework.split(result, dims), strict=True)
    return Terms(pairs, list(cotangents), list(results))


RULES: dict[str, Rule] = {
    "Sum": _sum,
    "LogSumExp": _logsumexp,
    "LogSumExpWeight": _logsumexp,
    LOG_BESIDE_SOFTMAX.name: _softmax,
}
"""By the reduction's name."""


def rule_of(job: Job) -> Rule:
    """The rule of a job's reduction. Raises FormulaError for one that has none."""
    rule = RULES.get(job.call.reduction.name)
    if rule is None:
        name = job.call.reduction.name
        raise FormulaError(f"{name} has no gradient; all reductions but products, places and operators have one")
    return rule
