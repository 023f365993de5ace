"""Sums that watch how large their terms are: whether what each may be off by is small beside them, all together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import LARGEST_ANGLE
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Node, Record
from clmapreduce.reductions.base import Component
from clmapreduce.reductions.pairs.order import GREATER
from clmapreduce.reductions.pairs.sum import BoundPairSum, totals
from clmapreduce.reductions.sum import tree_sum


class WatchedSum(BoundPairSum):
    """A plain sum of terms, which are followed by as many floors, if there are any, and by some arguments of
    approximations: see lowering/approximations.

    margin{d} is the sum of magnitudes less the floors. Terms of neighbouring columns are added before their magnitude
    is taken: the margin is then too small, never too large. reach{k} is the largest magnitude of an argument.
    """

    def __init__(self, plain: BoundPairSum, floors: bool, arguments: int) -> None:
        components, result = plain.components, plain.outputs[0].dtype
        super().__init__(plain.value, plain.width, components[0].dtype, result, None, plain.mean)
        self._floors, self._arguments = plain.width if floors else 0, arguments
        self.weights, self.linear, self.together = self._floors + arguments, False, True
        self.components += (
            *(Component(f"margin{d}", FLOAT32, 0) for d in range(self._floors)),
            *(Component(f"reach{k}", FLOAT32, 0) for k in range(arguments)),
        )
        if isinstance(plain.block, BoundPairSum):
            self.block = WatchedSum(plain.block, floors, arguments)

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        new: dict[str, Node] = {}
        for d, total in totals(acc, self.width):
            terms = [value[d] for value in values]
            if self._floors:
                term, floor = tree_sum(terms), tree_sum([value[self.width + d] for value in values])
                new[f"total{d}"] = total + term
                new[f"margin{d}"] = acc[f"margin{d}"] + (apply("abs", term) - floor)
            else:
                new[f"total{d}"] = sum(terms, total)  # each addition one instruction with its product
        for k in range(self._arguments):
            magnitudes = [apply("abs", value[self.width + self._floors + k]) for value in values]
            new[f"reach{k}"] = reduce(_larger, magnitudes, acc[f"reach{k}"])
        return Record(new)

    def merge(self, a: Record, b: Record) -> Record:
        larger = {f"reach{k}" for k in range(self._arguments)}
        names = [c.name for c in self.components]
        return Record({n: _larger(a[n], b[n]) if n in larger else a[n] + b[n] for n in names})

    def sound(self, acc: Record) -> Node:
        """A bool: whether all sums are finite, and their terms large enough, and no argument is too large."""
        margins = [acc[f"margin{d}"] for d in range(self._floors)]
        near = [acc[f"reach{k}"] <= LARGEST_ANGLE for k in range(self._arguments)]
        finite = [apply("isfinite", number) for number in margins or self.sums(acc)]
        return reduce(and_, [*finite, *(margin >= 0 for margin in margins), *near])


def _larger(reach: Node, magnitude: Node) -> Node:
    """The larger of two numbers; a NaN is none."""
    return Apply(GREATER, (magnitude, reach), reach.dtype)
