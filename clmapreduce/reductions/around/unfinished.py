"""Operators that give their accumulators, for whoever merges those of several calls and finishes them."""

from __future__ import annotations

from collections.abc import Sequence

from clmapreduce.dtypes import DType
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, ReductionOp


class UnfinishedBound(Bound):
    """A bound operator whose result is the accumulator, a record of its components.

    It does not locate: every value's place is kept, as in `BoundTogether`.
    """

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self.value, self.result, self.components = bound.value, bound.layout, bound.components
        self.commutative, self.has_identity = bound.commutative, bound.has_identity
        self.chain, self.places = bound.chain, bound.places

    @property
    def vectorisable(self) -> bool:
        return self._bound.vectorisable

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        return self._bound.absorb(acc, values, indices)

    def single(self, value: Value, index: Node) -> Record:
        return self._bound.single(value, index)

    def merge(self, a: Record, b: Record) -> Record:
        return self._bound.merge(a, b)

    def finish(self, acc: Record) -> Value:
        return Record(acc)


class Unfinished(ReductionOp):
    """A bound operator by its accumulators, for values of any dtype: they are converted to its own."""

    def __init__(self, name: str, bound: Bound) -> None:
        self.name, self._bound = name, UnfinishedBound(bound)

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        return self._bound
