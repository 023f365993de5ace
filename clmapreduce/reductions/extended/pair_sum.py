"""The sum of numbers in two floats, several values at a time."""

from __future__ import annotations

from collections.abc import Sequence

from clmapreduce.dtypes import DType
from clmapreduce.extended.pairs import accumulated, finished
from clmapreduce.formula.node import Extended, Node, Record, Value
from clmapreduce.reductions.extended.bound import BoundExtended


class BoundPairSum(BoundExtended):
    """Several values that are absorbed together take a third of the operations."""

    def __init__(self, value: DType) -> None:
        super().__init__(value, "add", 0)

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        if len(values) == 1:
            return super().absorb(acc, values, indices)
        return Record(accumulated(Extended(acc), values))

    def finish(self, acc: Record) -> Value:
        return finished(Extended(acc))
