"""logsumexp: log Σ exp(x) from a running maximum and a sum rescaled when the maximum grows.

The maximum ignores NaN, which costs one instruction instead of four; a NaN lives on in the sum, because the exponential
propagates it. Differences are taken from the maximum brought down to the largest finite number, so that inf − inf never
arises, and the maximum starts at the lowest finite number for the same reason; of nothing but -inf a sum below 1 is
left.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

import numpy as np

from clmapreduce.dtypes import FLOAT16, FLOAT32, FLOAT64, DType, floating, is_complex
from clmapreduce.formula.functions import apply, cast, exp_scaled
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, ReductionOp
from clmapreduce.reductions.sum import tree_sum


class BoundLogSumExp(Bound):
    def __init__(self, value: DType, computing: DType, acc: DType, result: DType) -> None:
        self.value, self.result = value, result
        self._computing = computing
        self._bottom = float(np.finfo(computing).min)
        self.components = (Component("top", computing, self._bottom), Component("total", acc, 0))

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        numbers = [cast(typed(Node, value), self._computing) for value in values]
        top = acc["top"]
        for number in numbers:
            top = larger(number, top)
        base = self._base(top)
        terms = [exp_scaled(number - base) for number in numbers]
        total = acc["total"]
        scale = cast(exp_scaled(self._base(acc["top"]) - base), total.dtype)
        return Record(top=top, total=total * scale + cast(tree_sum(terms), total.dtype))

    def merge(self, a: Record, b: Record) -> Record:
        top = larger(a["top"], b["top"])
        base = self._base(top)
        parts = [p["total"] * cast(exp_scaled(self._base(p["top"]) - base), p["total"].dtype) for p in (a, b)]
        return Record(top=top, total=parts[0] + parts[1])

    def finish(self, acc: Record) -> Value:
        top, total = cast(acc["top"], acc["total"].dtype), acc["total"]
        # the largest term counts as 1, so less means that there was none: all values were -inf
        result = apply("where", total > 0.5, top + apply("log", total), -np.inf)
        result = apply("where", apply("isinf", top), top, result)
        return cast(apply("where", total == total, result, total), self.result)

    def unfolded(self, base: Node, count: Node) -> Node | None:
        acc = self.components[1].dtype
        return cast(cast(base, acc) + apply("log", cast(count, acc)), self.result)

    def _base(self, top: Node) -> Node:
        return apply("where", top > -self._bottom, -self._bottom, top)


def larger(a: Node, b: Node) -> Node:
    """The larger number; b when either is NaN."""
    return apply("where", a > b, a, b)


class LogSumExp(ReductionOp):
    name = "logsumexp"

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if value.names is not None or is_complex(value):
            raise self.refuse(value, "cannot be summed this way; give real numbers")
        result = floating(value)
        computing = FLOAT32 if result == FLOAT16 else result
        acc = FLOAT64 if fp64 and accumulate in ("auto", "double") else computing
        return BoundLogSumExp(value, computing, acc, result)
