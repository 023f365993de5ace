"""The work of tasks of reductions over pairs on a worker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.dask.carried import Carried
from clmapreduce.dask.home import home
from clmapreduce.dtypes import INT64, DType, widened
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.functions import as_node
from clmapreduce.formula.node import Node, Record, Symbol
from clmapreduce.pairwise.call import PairCall, stored_dtype
from clmapreduce.pairwise.streamed import reduced
from clmapreduce.primitives.host import joined
from clmapreduce.reductions.pairs import PairBound, pair_reduction
from clmapreduce.reductions.pairs.unfinished import PartialReduction, stored
from clmapreduce.vector.node import Variable


class PairWork:
    """What all tasks of a call share. dtype: of the arrays."""

    def __init__(self, call: PairCall, variables: Sequence[Variable], dtype: DType, mode: str) -> None:
        self.call, self.variables, self.dtype, self.mode = call, tuple(variables), dtype, mode

    def __reduce__(self) -> Any:
        return PairWork, (self.call, self.variables, self.dtype, self.mode)

    @cached_property
    def bound(self) -> PairBound:
        """The operator that merges. Where every number of a formula is a plain sum, that of one number."""
        call = self.call
        weights = 0 if call.weight is None else call.weight.dim
        return call.reduction.bind(widened(self.dtype), call.formula.dim, weights, INT64, call.options)

    @cached_property
    def one(self) -> PairBound:
        """The operator of one number."""
        return self.call.reduction.bind(widened(self.dtype), 1, 0, INT64, self.call.options)

    @property
    def outputs(self) -> list[tuple[tuple[int, ...], DType]]:
        """Per result the shape of one row, and the dtype in memory."""
        return [(output.shape, stored_dtype(output.dtype, self.dtype)) for output in self.bound.outputs]

    @property
    def sums(self) -> bool:
        """Whether accumulators are what `Sum` gives, in the dtype in which they are stored."""
        return self.bound.linear and widened(self.dtype) == self.dtype

    @cached_property
    def partial(self) -> PairCall:
        """The call that leaves accumulators."""
        reduction = pair_reduction("Sum") if self.sums else PartialReduction(self.call.reduction)
        return replace(self.call, reduction=reduction)

    def run(self, call: PairCall, values: Sequence[Any]) -> list[Any]:
        """The results of a call on arrays of a chunk."""
        arrays = dict(zip(self.variables, values, strict=True))
        results = reduced(call, arrays, Options(self.mode, home()))
        return list(results) if isinstance(results, tuple) else [results]

    def accumulators(self, values: Sequence[Any], first: int) -> Any:
        """Those of a chunk's rows over its columns, of which `first` come before: (rows,) records; of plain sums (rows,
        dim).
        """
        results = self.run(self.partial, values)
        if self.sums:
            return results[0].view(self.one.layout)
        records = np.empty(len(results[0]), self.bound.layout)
        for names, result in zip(stored(self.bound).values(), results, strict=True):
            for k, name in enumerate(names):
                records[name] = result[:, k]
        for name in self.bound.places:
            records[name] += first
        return records

    def finished(self, accumulators: Any, columns: int) -> list[Any]:
        """The results of rows that have met all columns."""
        bound = self.one if self.sums else self.bound
        symbols = Record({c.name: Symbol(c.name, c.dtype) for c in bound.components})
        values: dict[Node, Any] = {symbols[c.name]: accumulators[c.name] for c in bound.components}
        memo: dict[int, Any] = {}
        results = []
        count = as_node(columns, INT64)
        for nodes, (shape, dtype) in zip(bound.finish_pairs(symbols, count), self.outputs, strict=True):
            parts = [np.broadcast_to(evaluate(node, values, memo), accumulators.shape) for node in nodes]
            result = parts[0] if self.sums else np.stack(parts, axis=-1)
            with np.errstate(over="ignore"):
                results.append(result.astype(dtype).reshape(len(accumulators), *shape))
        return results


def whole(task: Carried, values: Sequence[Any]) -> Any:
    """The call itself, for rows that meet all columns at once."""
    work: PairWork = task.value
    return _results(work.run(work.call, values))


def part(task: Carried, first: int, values: Sequence[Any]) -> Any:
    """A chunk's accumulators."""
    work: PairWork = task.value
    return work.accumulators(values, first)


def merge(task: Carried, parts: Sequence[Any]) -> Any:
    """Accumulators of neighbouring chunks of columns as one, in order."""
    work: PairWork = task.value
    bound = work.one if work.sums else work.bound
    whole = parts[0]
    for other in parts[1:]:
        whole = joined(bound, whole, other)
    return whole


def finish(task: Carried, columns: int, accumulators: Any) -> Any:
    """The results of rows."""
    return _results(task.value.finished(accumulators, columns))


def _results(results: list[Any]) -> Any:
    return tuple(results) if len(results) > 1 else results[0]

