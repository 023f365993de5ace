"""logsumexp: log Σ exp(x) from a sum relative to a `top`, which no number exceeds. A larger number raises the top: by
STEP, or to the number itself where that is more.

So each time the sum is rescaled, it shrinks to 1/e or less, and what was rounded before shrinks with it. If the top
were the largest number, numbers that grow slowly would lose digits: 10^6 float32 from 0 to 1, one after the other, were
off by 6e-4. One number alone is its own top, so that its result is exact.

The top ignores NaN, which costs one instruction instead of four; a NaN stays in the sum, because the exponential
propagates it. Differences are taken from the top, but from the largest finite number where that is less, so that
inf − inf never arises. The top starts at the lowest finite number for the same reason.
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

STEP = 1.0
LEAST = 0.25
"""A sum is at least this, because its largest term is 1/e or more; it is 0 where all numbers are -inf."""


class BoundLogSumExp(Bound):
    def __init__(self, value: DType, computing: DType, acc: DType, result: DType) -> None:
        self.value, self.result = value, result
        self._computing = computing
        self._bottom = float(np.finfo(computing).min)
        self.components = (Component("top", computing, self._bottom), Component("total", acc, 0))

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        numbers = [cast(typed(Node, value), self._computing) for value in values]
        largest = acc["top"]
        for number in numbers:
            largest = larger(number, largest)
        top = apply("where", largest > acc["top"], larger(largest, acc["top"] + STEP), acc["top"])
        base = self._base(top)
        terms = [exp_scaled(number - base) for number in numbers]
        total = acc["total"]
        scale = cast(exp_scaled(self._base(acc["top"]) - base), total.dtype)
        return Record(top=top, total=total * scale + cast(tree_sum(terms), total.dtype))

    def merge(self, a: Record, b: Record) -> Record:
        top = larger(a["top"], b["top"])
        base = self._base(top)
        # in the sum's dtype: if tops rise slowly, all merges scale by nearly the same number, and its errors add up
        parts = [p["total"] * exp_scaled(cast(self._base(p["top"]) - base, p["total"].dtype)) for p in (a, b)]
        return Record(top=top, total=parts[0] + parts[1])

    def finish(self, acc: Record) -> Value:
        top, total = cast(acc["top"], acc["total"].dtype), acc["total"]
        result = apply("where", total > LEAST, top + apply("log", total), -np.inf)
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
