"""Sums that watch how large their terms are: whether what each may be off by is small beside them, all together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import reduce
from operator import and_
from typing import Any, NamedTuple

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, Record
from clmapreduce.reductions.base import Component
from clmapreduce.reductions.pairs.order import GREATER
from clmapreduce.reductions.pairs.sum import BoundPairSum, totals
from clmapreduce.reductions.sum import tree_sum


class Watch(NamedTuple):
    """What numbers behind a single term tell about it. behind: how many.

    0: nothing is watched but whether sums are finite. 1: a floor that magnitudes of terms should not be below on
    average; or, where there is a reach, a number whose magnitude should not exceed it. 2: a weight, and the weight
    times what a magnitude exceeds a part of its error by; on average the second should be `allowance` times the first.
    """

    behind: int = 0
    allowance: float = 0.0
    reach: float = math.inf


class WatchedSum(BoundPairSum):
    """A plain sum of terms under a watch. margins: whether accumulators have a margin, which several watches of one
    kernel share.

    margin is the sum of magnitudes less what they should be at least, or the largest magnitude of what has a reach.
    Where there is a floor, terms of neighbouring columns are added before their magnitude is taken: the margin is then
    too small, never too large.
    """

    def __init__(self, plain: BoundPairSum, watch: Watch, margins: bool) -> None:
        components, result = plain.components, plain.outputs[0].dtype
        super().__init__(plain.value, plain.width, components[0].dtype, result, None, plain.mean)
        self.weights, self.linear, self.together = watch.behind, False, True
        self.watch, self._margins = watch, margins
        self.components += (Component("margin", FLOAT32, 0),) * margins
        if isinstance(plain.block, BoundPairSum):
            self.block = WatchedSum(plain.block, watch, margins)

    @property
    def reaches(self) -> bool:
        """Whether the margin is a largest magnitude."""
        return self.watch.reach < math.inf

    def absorb(self, acc: Record, values: Sequence[Any], indices: Sequence[Node]) -> Record:
        if self.watch.behind == 1 and not self.reaches:
            term, floor = (tree_sum([value[k] for value in values]) for k in range(2))
            return Record(total0=acc["total0"] + term, margin=acc["margin"] + (apply("abs", term) - floor))
        # each addition is one instruction with its product
        new = {f"total{d}": sum((value[d] for value in values), total) for d, total in totals(acc, self.width)}
        if self.reaches:
            new["margin"] = reduce(_larger, (apply("abs", value[1]) for value in values), acc["margin"])
        elif self.watch.behind:
            margin = sum((value[2] for value in values), acc["margin"])
            new["margin"] = margin - tree_sum([value[1] for value in values]) * Literal(self.watch.allowance, FLOAT32)
        elif self._margins:
            new["margin"] = acc["margin"]
        return Record(new)

    def merge(self, a: Record, b: Record) -> Record:
        sums = {c.name: a[c.name] + b[c.name] for c in self.components}
        return Record(sums | {"margin": _larger(a["margin"], b["margin"])} if self.reaches else sums)

    def sound(self, acc: Record) -> Node:
        """A bool: whether the terms were good enough, or all sums are finite where nothing else is watched."""
        if not self.watch.behind:
            return reduce(and_, [apply("isfinite", number) for number in self.sums(acc)])
        margin = acc["margin"]
        return margin <= self.watch.reach if self.reaches else margin >= 0


def _larger(reach: Node, magnitude: Node) -> Node:
    """The larger of two numbers; a NaN is none."""
    return Apply(GREATER, (magnitude, reach), reach.dtype)
