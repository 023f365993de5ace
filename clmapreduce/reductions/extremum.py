"""Minimum and maximum: NaN if there is one, as in NumPy; the identity is the dtype's far end."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

import numpy as np

from clmapreduce.dtypes import BOOL, DType, highest, is_complex, is_extended, lowest, word_of
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, ReductionOp
from clmapreduce.reductions.extended import BoundExtended


class BoundExtremum(Bound):
    def __init__(self, value: DType, function: str) -> None:
        self.value = self.result = value
        acc = np.dtype(np.uint8) if value == BOOL else value  # accumulators hold numbers
        self._function = function
        identity = lowest(value) if function == "maximum" else highest(value)
        self.components = (Component("best", acc, int(identity) if value == BOOL else identity),)

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        best = acc["best"]
        for value in values:
            best = apply(self._function, best, cast(typed(Node, value), best.dtype))
        return Record(best=best)

    def single(self, value: Value, index: Node) -> Record:
        return Record(best=cast(typed(Node, value), self.components[0].dtype))

    def merge(self, a: Record, b: Record) -> Record:
        return Record(best=apply(self._function, a["best"], b["best"]))

    def finish(self, acc: Record) -> Value:
        return cast(acc["best"], self.result)

    def unfolded(self, base: Node, count: Node) -> Node | None:
        return base


class Extremum(ReductionOp):
    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if is_extended(value):
            word = word_of(value)
            return BoundExtended(value, self.name, lowest(word) if self.name == "maximum" else highest(word))
        if value.names is not None or is_complex(value):
            raise self.refuse(value, "have no order; reduce abs, .real or one field")
        return BoundExtremum(value, self.name)
