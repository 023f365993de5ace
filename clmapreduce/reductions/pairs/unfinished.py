"""Reductions over pairs that give their accumulators, for whoever merges those of several parts of the columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.dtypes import DType
from clmapreduce.formula.node import Node, Record
from clmapreduce.reductions.pairs.base import PairBound, PairOptions, PairOutput, PairReduction, Values

TRAITS = (
    "value", "components", "commutative", "has_identity", "chain", "places", "width", "weights", "scale", "block",
    "rare", "one_by_one", "reuses",
)  # fmt: skip
"""What is as of the operator itself. It is not `linear`: its results are no sums. It has no `side` and is not `smooth`,
so that schemes with matrix units, which know how results are stored, leave it alone.
"""


class UnfinishedPairs(PairBound):
    """A bound operator whose results are a row's components: one output per dtype, in the order of the components."""

    def __init__(self, bound: PairBound) -> None:
        self._bound = bound
        for name in TRAITS:
            setattr(self, name, getattr(bound, name))
        self.outputs = tuple(PairOutput(dtype, (len(names),)) for dtype, names in stored(bound).items())

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        return self._bound.absorb(acc, values, indices)

    def rarely(self, acc: Record, values: Sequence[Values]) -> Node:
        return self._bound.rarely(acc, values)

    def adjust(self, acc: Record, values: Sequence[Values], indices: Sequence[Node]) -> Record:
        return self._bound.adjust(acc, values, indices)

    def merge(self, a: Record, b: Record) -> Record:
        return self._bound.merge(a, b)

    def bar(self, acc: Record) -> Node:
        return self._bound.bar(acc)

    def seed(self, acc: Record) -> Record:
        return self._bound.seed(acc)

    def widened(self, block: Record) -> Record:
        return self._bound.widened(block)

    def finish_pairs(self, acc: Record, count: Node) -> list[list[Node]]:
        return [[acc[name] for name in names] for names in stored(self._bound).values()]


def stored(bound: PairBound) -> dict[DType, list[str]]:
    """The names of an operator's components by dtype."""
    names: dict[DType, list[str]] = {}
    for component in bound.components:
        names.setdefault(component.dtype, []).append(component.name)
    return names


class PartialReduction(PairReduction):
    """A reduction by what it leaves of some of the columns."""

    partial = True

    def __init__(self, reduction: PairReduction) -> None:
        self.name, self.weighted, self._reduction = f"parts of {reduction.name}", reduction.weighted, reduction

    def bind(self, value: DType, width: int, weights: int, index: DType, options: PairOptions) -> PairBound:
        return UnfinishedPairs(self._reduction.bind(value, width, weights, index, options))
