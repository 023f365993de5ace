"""Reductions whose gradients follow from other reductions: extrema by their places, softmax sums
from a reduction that gives their logarithms too, moments by sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

from clmapreduce.gradients.framework import Framework, Results, Tensors
from clmapreduce.gradients.job import Job
from clmapreduce.pairwise.inputs import renamed
from clmapreduce.reductions.pairs import LOG_BESIDE_SOFTMAX
from clmapreduce.vector import OPERATIONS
from clmapreduce.vector.node import Category, Constant, Variable

Compose: TypeAlias = "Callable[[Framework, Job, Tensors], Results]"


def reduce(framework: Framework, job: Job, tensors: Tensors, followed: bool) -> Results:
    """The results of a job. followed: with gradients, where tensors ask for them."""
    compose = COMPOSED.get(job.call.reduction.name) if followed else None
    return framework.run(job, tensors) if compose is None else compose(framework, job, tensors)


def _placed(both: str) -> Compose:
    """Of the reduction that gives extrema and their places, with the gradient of the value at each place."""

    def compose(framework: Framework, job: Job, tensors: Tensors) -> Results:
        best, places = framework.constants(job.named(both), tensors)
        columns = max((t.shape[-2] for v, t in _pairs(job, tensors) if v.category is job.column), default=1)
        if columns and math.prod(best.shape):
            inside = (places >= 0) & (places < columns)
            values = _values_at(framework, job, tensors, framework.clamped(places, columns - 1))
            best = framework.where(inside, values, best)
        return (best, places) if job.call.reduction.name == both else (best,)

    return compose


def _values_at(framework: Framework, job: Job, tensors: Tensors, places: Any) -> Any:
    """The formula's coordinates, each at a column of its own. places: (.., M, D), (.., M, K) or (.., M, K, D)."""
    dim = job.call.formula.dim
    by_place = places[..., None, :] if job.call.options.k is None else places if dim > 1 else places[..., None]
    values = [_coordinate_at(framework, job, tensors, by_place[..., d].mT, d) for d in range(dim)]
    return framework.stacked(values).reshape(places.shape)


def _coordinate_at(framework: Framework, job: Job, tensors: Tensors, places: Any, coordinate: int) -> Any:
    """One coordinate of the formula at these columns, (.., K, M): columns are gathered, and stand by the rows."""
    names, variables, gathered = [], [], []
    for place, (variable, tensor) in enumerate(_pairs(job, tensors)):
        category = variable.category
        if category is job.column:
            category, tensor = job.row, framework.gathered(tensor, places)
        else:
            tensor = tensor[..., None, :] if category is Category.PARAMETER else tensor[..., None, :, :]
        variables.append(Variable(place, variable.dim, category))
        names.append((variable, variables[-1]))
        gathered.append(tensor)
    formula = job.call.formula
    one = formula if formula.dim == 1 else OPERATIONS["Elem"](formula, coordinate)
    here = replace(job.derived("Sum", renamed(one, tuple(names))), variables=tuple(variables), ranges=None)
    (values,) = framework.run(here, gathered)
    return framework.spread(values[..., 0], tuple(places.shape))


def _mean(framework: Framework, job: Job, tensors: Tensors) -> Results:
    """The sum, divided by how many columns a row meets."""
    (total,) = framework.run(job.derived("Sum", job.call.formula), tensors)
    (count,) = framework.constants(job.derived("Sum", Constant((1.0,))), tensors)
    return (total / count,)


def _variance(framework: Framework, job: Job, tensors: Tensors) -> Results:
    """The mean of squared distances from the mean."""
    (mean,) = _mean(framework, job, tensors)
    (center,) = job.fresh(job.call.formula.dim)
    square = OPERATIONS["Square"](job.call.formula - center)
    return _mean(framework, job.derived("Mean", square, [center]), (*tensors, mean))


def _deviation(framework: Framework, job: Job, tensors: Tensors) -> Results:
    (variance,) = _variance(framework, job, tensors)
    return (framework.root(variance),)


def _softmax(framework: Framework, job: Job, tensors: Tensors) -> Results:
    """Means, and the logarithm of what they are divided by, which the gradient needs in any case."""
    both = replace(job, call=replace(job.call, reduction=LOG_BESIDE_SOFTMAX))
    (together,) = framework.run(both, tensors)
    logarithms, means = framework.split(together, [1, together.shape[-1] - 1])
    return (means,) if job.call.reduction.name == "SumSoftMaxWeight" else (means, logarithms)


COMPOSED: dict[str, Compose] = {
    "Min": _placed("Min_ArgMin"),
    "Max": _placed("Max_ArgMax"),
    "KMin": _placed("KMin_ArgKMin"),
    "Min_ArgMin": _placed("Min_ArgMin"),
    "Max_ArgMax": _placed("Max_ArgMax"),
    "KMin_ArgKMin": _placed("KMin_ArgKMin"),
    "SumSoftMaxWeight": _softmax,
    "SumSoftMaxWeight_LogSumExp": _softmax,
    "Mean": _mean,
    "Var": _variance,
    "Std": _deviation,
}
"""By the reduction's name."""


def _pairs(job: Job, tensors: Tensors) -> list[tuple[Variable, Any]]:
    return list(zip(job.variables, tensors, strict=True))
