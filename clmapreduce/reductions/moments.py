"""var and std, NumPy's with ddof = 0: how many values, their mean, and the sum of squared deviations from it, merged by
their counts (Chan, Golub and LeVeque 1983). Floats also of integers; of no values NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

from clmapreduce.dtypes import FLOAT16, FLOAT32, FLOAT64, DType, floating, is_complex
from clmapreduce.errors import DTypeError
from clmapreduce.formula.functions import apply, as_node, cast
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, OneByOne, ReductionOp
from clmapreduce.reductions.sum import tree_sum


class BoundMoments(OneByOne):
    closed = False

    def __init__(self, value: DType, acc: DType, result: DType, root: bool) -> None:
        self.value, self.result, self._acc, self._root = value, result, acc, root
        self.components = tuple(Component(name, acc, 0) for name in ("count", "mean", "spread"))

    def single(self, value: Value, index: Node) -> Record:
        number = cast(typed(Node, value), self._acc)
        return Record(count=as_node(1, self._acc), mean=number, spread=number - number)  # NaN of what is infinite

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        """Several values are merged as one accumulator: a division for all of them. Their mean and their deviations are
        relative to the first one, so that equal values deviate by 0.
        """
        if len(values) == 1:
            return super().absorb(acc, values, indices)
        first, *others = (cast(typed(Node, value), self._acc) for value in values)
        away = [other - first for other in others]
        shift = tree_sum(away) * as_node(1 / len(values), self._acc)
        deviations = [shift, *(one - shift for one in away)]
        spread = tree_sum([one * one for one in deviations])
        return self.merge(acc, Record(count=as_node(len(values), self._acc), mean=first + shift, spread=spread))

    def merge(self, a: Record, b: Record) -> Record:
        count = a["count"] + b["count"]
        share = b["count"] / apply("where", count > 0, count, 1)
        away = apply("where", a["count"] > 0, b["mean"] - a["mean"], b["mean"])
        mean = apply("where", a["count"] > 0, a["mean"] + away * share, b["mean"])
        # the weight first: 0 of an empty side, whose distance may be too large to square
        spread = a["spread"] + b["spread"] + away * (a["count"] * share) * away
        return Record(count=count, mean=mean, spread=spread)

    def finish(self, acc: Record) -> Value:
        variance = acc["spread"] / acc["count"]
        return cast(apply("sqrt", variance) if self._root else variance, self.result)


class Moments(ReductionOp):
    def __init__(self, name: str, root: bool) -> None:
        self.name, self._root = name, root

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if value.names is not None or is_complex(value):
            raise self.refuse(value, "have no variance; reduce abs, .real or one field")
        if accumulate == "compensated":
            raise DTypeError(f"accumulate='compensated' is for sums; {self.name} takes 'fast', 'double' or 'auto'")
        result = floating(value) if fp64 or floating(value) != FLOAT64 else FLOAT32
        acc = FLOAT64 if fp64 and accumulate != "fast" else FLOAT32 if result == FLOAT16 else result
        return BoundMoments(value, acc, result, self._root)
