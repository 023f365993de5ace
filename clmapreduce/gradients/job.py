"""A reduction of tensors: which one, of which variables, and how it runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clmapreduce.calls.call import Output
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Planned
from clmapreduce.device.array import NumpyArray
from clmapreduce.device.context import context_of
from clmapreduce.dtypes import DType
from clmapreduce.errors import ModeError
from clmapreduce.pairwise.call import PairCall, plan_pairs
from clmapreduce.pairwise.reduction import call_options
from clmapreduce.pairwise.tiles.streamed import reduced
from clmapreduce.ranges import Ranges
from clmapreduce.reductions.pairs import pair_reduction
from clmapreduce.vector.node import Category, Variable, Vector


@dataclass(frozen=True)
class Job:
    """A reduction without its tensors, one per variable. ranges: which pairs count; None for all. Equal jobs, of the
    same ranges, compute the same.
    """

    call: PairCall
    variables: tuple[Variable, ...]
    options: Options
    ranges: Ranges | None
    progress: Any = None

    @property
    def row(self) -> Category:
        """The category of what has one value per result."""
        return Category.I if self.call.axis == 1 else Category.J

    @property
    def column(self) -> Category:
        """The category of what is reduced."""
        return Category.J if self.call.axis == 1 else Category.I

    def results(self, arrays: Sequence[NumpyArray], out: Any = None) -> tuple[NumpyArray, ...]:
        """The results for arrays, one per variable. out: as of every call. Raises what `reduce_pairs` raises."""
        by_variable = dict(zip(self.variables, arrays, strict=True))
        results = reduced(self.call, by_variable, replace(self.options, out=out), self.ranges, progress=self.progress)
        return results if isinstance(results, tuple) else (results,)

    def outputs(self, shapes: Sequence[tuple[int, ...]], dtype: DType) -> list[Output]:
        """The shape and the dtype of every result for arrays of such shapes. Raises what `reduce_pairs` raises."""
        examples = {v: np.zeros(shape, dtype) for v, shape in zip(self.variables, shapes, strict=True)}
        options = replace(self.options, context=context_of(self.options.context).workers[0])
        planned = plan_pairs(self.call, examples, options, ranges=self.ranges)
        return list(planned.outputs) if isinstance(planned, Planned) else [(x.shape, x.dtype) for x in planned]

    def derived(
        self, name: str, formula: Vector, more: Sequence[Variable] = (), axis: int | None = None, k: int | None = None
    ) -> Job:
        """Another reduction over the same pairs, without a weight. more: variables behind those that there are."""
        call = replace(
            self.call, formula=formula, reduction=pair_reduction(name), weight=None, names=(),
            axis=self.call.axis if axis is None else axis, options=replace(self.call.options, k=k),
        )  # fmt: skip
        return Job(call, (*self.variables, *more), self.options, self.ranges)

    def named(self, name: str) -> Job:
        """The same with another reduction."""
        return replace(self, call=replace(self.call, reduction=pair_reduction(name)))

    def fresh(self, *dims: int) -> list[Variable]:
        """New variables of these dimensions, one value per result."""
        first = 1 + max((variable.position for variable in self.variables), default=-1)
        return [Variable(first + k, dim, self.row) for k, dim in enumerate(dims)]


def job_of(call: PairCall, variables: Sequence[Variable], settings: Mapping[str, Any]) -> Job:
    """The job of a reduction's keywords, after the events that it waits for. Its context is that of the thread that
    asks: backward passes and callbacks may run in another one. Raises ModeError for `out`.
    """
    if settings["out"] is not None:
        raise ModeError("out= is not offered for tensors; take the tensor that the reduction gives")
    context = context_of(settings["context"])
    context.wait_for(settings["wait_for"])
    options = replace(call_options(settings), context=context, wait_for=())
    return Job(call, tuple(variables), options, settings["ranges"], settings["progress"])
