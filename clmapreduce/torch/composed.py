"""Reductions whose gradients follow from other reductions: extrema by their places, moments by sums."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch

from clmapreduce.pairwise.inputs import renamed
from clmapreduce.torch.autograd import run
from clmapreduce.torch.job import Job
from clmapreduce.vector import OPERATIONS
from clmapreduce.vector.node import Category, Constant, Variable

Tensors = Sequence[Any]
Results = tuple[Any, ...]


def reduce(job: Job, tensors: Tensors) -> Results:
    """The results of a job, with gradients where tensors ask for them."""
    compose = None
    if torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors):
        compose = COMPOSED.get(job.call.reduction.name)
    return run(job, tensors) if compose is None else compose(job, tensors)


def _placed(both: str) -> Callable[[Job, Tensors], Results]:
    """Of the reduction that gives extrema and their places, with the gradient of the value at each place."""

    def compose(job: Job, tensors: Tensors) -> Results:
        with torch.no_grad():
            best, places = run(job.named(both), tensors)
        columns = max((t.shape[-2] for v, t in _pairs(job, tensors) if v.category is job.column), default=1)
        if columns and best.numel():
            inside = (places >= 0) & (places < columns)
            best = torch.where(inside, _values_at(job, tensors, places.clamp(0, columns - 1)), best)
        return (best, places) if job.call.reduction.name == both else (best,)

    return compose


def _values_at(job: Job, tensors: Tensors, places: Any) -> Any:
    """The formula's coordinates, each at a column of its own. places: (.., M, D), (.., M, K) or (.., M, K, D)."""
    dim = job.call.formula.dim
    by_place = places.unsqueeze(-2) if job.call.options.k is None else places if dim > 1 else places.unsqueeze(-1)
    values = [_coordinate_at(job, tensors, by_place[..., d].transpose(-1, -2), d) for d in range(dim)]
    return torch.stack(values, -1).transpose(-2, -3).reshape(places.shape)


def _coordinate_at(job: Job, tensors: Tensors, places: Any, coordinate: int) -> Any:
    """One coordinate of the formula at these columns, (.., K, M): columns are gathered, and stand by the rows."""
    names, variables, gathered = [], [], []
    for place, (variable, tensor) in enumerate(_pairs(job, tensors)):
        category = variable.category
        if category is job.column:
            category, tensor = job.row, _gathered(tensor, places)
        else:
            tensor = tensor.unsqueeze(-2 if category is Category.PARAMETER else -3)
        variables.append(Variable(place, variable.dim, category))
        names.append((variable, variables[-1]))
        gathered.append(tensor)
    formula = job.call.formula
    one = formula if formula.dim == 1 else OPERATIONS["Elem"](formula, coordinate)
    here = replace(job.derived("Sum", renamed(one, tuple(names))), variables=tuple(variables), ranges=None)
    (values,) = run(here, gathered)
    return values.squeeze(-1).expand(places.shape)


def _gathered(tensor: Any, places: Any) -> Any:
    """A tensor's lines at these places: (.., N, d) at (.., K, M) gives (.., K, M, d)."""
    batch, dim = places.shape[:-2], tensor.shape[-1]
    index = places.flatten(-2).unsqueeze(-1).expand(*batch, -1, dim)
    return tensor.expand(*batch, *tensor.shape[-2:]).gather(-2, index).unflatten(-2, places.shape[-2:])


def _mean(job: Job, tensors: Tensors) -> Results:
    """The sum, divided by how many columns a row meets."""
    (total,) = run(job.derived("Sum", job.call.formula), tensors)
    with torch.no_grad():
        (count,) = run(job.derived("Sum", Constant((1.0,))), tensors)
    return (total / count,)


def _variance(job: Job, tensors: Tensors) -> Results:
    """The mean of squared distances from the mean."""
    (mean,) = _mean(job, tensors)
    (center,) = job.fresh(job.call.formula.dim)
    square = OPERATIONS["Square"](job.call.formula - center)
    return _mean(job.derived("Mean", square, [center]), (*tensors, mean))


def _deviation(job: Job, tensors: Tensors) -> Results:
    (variance,) = _variance(job, tensors)
    return (variance.sqrt(),)


COMPOSED: dict[str, Callable[[Job, Tensors], Results]] = {
    "Min": _placed("Min_ArgMin"),
    "Max": _placed("Max_ArgMax"),
    "KMin": _placed("KMin_ArgKMin"),
    "Min_ArgMin": _placed("Min_ArgMin"),
    "Max_ArgMax": _placed("Max_ArgMax"),
    "KMin_ArgKMin": _placed("KMin_ArgKMin"),
    "Mean": _mean,
    "Var": _variance,
    "Std": _deviation,
}
"""By the reduction's name."""


def _pairs(job: Job, tensors: Tensors) -> list[tuple[Variable, Any]]:
    return list(zip(job.variables, tensors, strict=True))
