"""What a reduction over pairs leaves of some of the columns, merged with what it leaves of others: on the host, in
order, by the reduction's own operator.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from clmapreduce.device.array import NumpyArray
from clmapreduce.dtypes import INT64, DType, widened
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.functions import as_node
from clmapreduce.formula.node import Node, Record, Symbol
from clmapreduce.pairwise.call import PairCall, stored_dtype
from clmapreduce.primitives.host import joined
from clmapreduce.reductions.pairs import PairBound, pair_reduction
from clmapreduce.reductions.pairs.unfinished import PartialReduction, stored


class Accumulators:
    """Those of a call. dtype: of its arrays."""

    def __init__(self, call: PairCall, dtype: DType) -> None:
        self.call, self.dtype = call, dtype

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

    def of_part(self, results: Sequence[NumpyArray], first: int) -> Any:
        """Those of rows over a part of the columns, of which `first` come before. results: of `partial`. (rows,)
        records; of plain sums (rows, dim).
        """
        if self.sums:
            return results[0].view(self.one.layout)
        records = np.empty(len(results[0]), self.bound.layout)
        for names, result in zip(stored(self.bound).values(), results, strict=True):
            for k, name in enumerate(names):
                records[name] = result[:, k]
        for name in self.bound.places:
            records[name] += first
        return records

    def merged(self, parts: Sequence[Any]) -> Any:
        """Those of neighbouring parts of the columns as one, in order."""
        bound = self.one if self.sums else self.bound
        return reduce(lambda before, behind: joined(bound, before, behind), parts)

    def finished(self, accumulators: Any, columns: int) -> list[NumpyArray]:
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
