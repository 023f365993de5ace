"""A user's `cm.Operator` over pairs, applied to each of the formula's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import cast as typed

from clmapreduce.dtypes import DType
from clmapreduce.formula.node import Node, Record
from clmapreduce.reductions.base import Bound, Component
from clmapreduce.reductions.pairs.base import PairBound, PairOptions, PairOutput, PairReduction
from clmapreduce.reductions.user import Operator


class BoundPairUser(PairBound):
    """One accumulator of the operator per number. Not commutative, tiles and splits merge in the order of columns."""

    def __init__(self, bound: Bound, width: int) -> None:
        self._bound = bound
        self.value, self.width, self.commutative = bound.value, width, bound.commutative
        (part,) = bound.components
        self.components = tuple(Component(f"value{d}", part.dtype, part.identity) for d in range(width))
        self.outputs = (PairOutput(bound.result, (width,)),)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        parts = [self._bound.absorb(own, [v[d] for v in values], indices) for d, own in enumerate(self._parts(acc))]
        return self._joined(parts)

    def merge(self, a: Record, b: Record) -> Record:
        pairs = zip(self._parts(a), self._parts(b), strict=True)
        return self._joined([self._bound.merge(left, right) for left, right in pairs])

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        return [[typed(Node, self._bound.finish(part)) for part in self._parts(acc)]]

    def _parts(self, acc: Record) -> list[Record]:
        return [Record(value=acc[f"value{d}"]) for d in range(self.width)]

    def _joined(self, parts: list[Record]) -> Record:
        return Record({f"value{d}": part["value"] for d, part in enumerate(parts)})


class PairOperator(PairReduction):
    """A `cm.Operator` on plain numbers: one output (width,). Raises DTypeError as the operator does."""

    def __init__(self, operator: Operator) -> None:
        self.name, self.operator = operator.name, operator

    def _bound(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        return BoundPairUser(self.operator.bind(value, "auto", fp64=True), width)
