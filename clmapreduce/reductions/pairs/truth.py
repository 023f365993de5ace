"""Any and All for each of the formula's numbers: what is not 0 is true, so a NaN is; of no columns False and True."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.dtypes import BOOL, DType
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, Record
from clmapreduce.reductions.base import Component
from clmapreduce.reductions.pairs.base import PairBound, PairOptions, PairOutput, PairReduction, computing


class BoundPairTruth(PairBound):
    """`found` is an integer as wide as the values, so that the mask of a comparison chooses it as it is."""

    def __init__(self, value: DType, width: int, every: bool) -> None:
        self.value, self.width, self._every = value, width, every
        dtype = np.dtype(f"i{computing(value).itemsize}")
        self.components = tuple(Component(f"found{d}", dtype, int(every)) for d in range(width))
        self.outputs = (PairOutput(BOOL, (width,)),)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        new: dict[str, Node] = {}
        for d in range(self.width):
            holds = acc[f"found{d}"]
            for value in values:
                number = cast(value[d], computing(self.value))
                holds = apply("where", number == 0, 0, holds) if self._every else apply("where", number != 0, 1, holds)
            new[f"found{d}"] = holds
        return Record(new)

    def merge(self, a: Record, b: Record) -> Record:
        both = "bitwise_and" if self._every else "bitwise_or"
        return Record({c.name: apply(both, a[c.name], b[c.name]) for c in self.components})

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        return [[cast(acc[c.name], BOOL) for c in self.components]]


class PairTruth(PairReduction):
    """`Any` and `All`: one output (width,) of bools."""

    def __init__(self, name: str, every: bool) -> None:
        self.name, self._every = name, every

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        return BoundPairTruth(value, width, self._every)


TRUTHS: tuple[PairReduction, ...] = (PairTruth("Any", False), PairTruth("All", True))
