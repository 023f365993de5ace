"""logsumexp: log Σ exp(x) from a running maximum and a sum rescaled when the maximum grows.

The maximum starts at the lowest finite number instead of -inf, so that no difference is inf − inf. NaN and +inf live in the maximum,
which propagates them; -inf is what remains of a sum whose maximum never moved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

import numpy as np

from clmapreduce.dtypes import FLOAT16, FLOAT32, FLOAT64, DType, floating, is_complex
from clmapreduce.formula.functions import apply, cast, exp_scaled
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, ReductionOp


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
            top = apply("maximum", top, number)
        terms = [exp_scaled(number - top) for number in numbers]
        while len(terms) > 1:  # a tree keeps the additions independent of each other
            terms = [terms[i] + terms[i + 1] if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)]
        scale = cast(exp_scaled(acc["top"] - top), acc["total"].dtype)
        return Record(top=top, total=acc["total"] * scale + cast(terms[0], acc["total"].dtype))

    def merge(self, a: Record, b: Record) -> Record:
        top = apply("maximum", a["top"], b["top"])
        parts = [p["total"] * cast(exp_scaled(p["top"] - top), p["total"].dtype) for p in (a, b)]
        return Record(top=top, total=parts[0] + parts[1])

    def finish(self, acc: Record) -> Value:
        top, total = acc["top"], acc["total"]
        settled = apply("isfinite", top) & (top > self._bottom)
        sum_ = cast(top, total.dtype) + apply("log", apply("where", settled, total, 1.0))
        rest = apply("where", apply("isfinite", top), -np.inf, top)
        return cast(apply("where", settled, sum_, cast(rest, total.dtype)), self.result)


class LogSumExp(ReductionOp):
    name = "logsumexp"

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if value.names is not None or is_complex(value):
            raise self.refuse(value, "cannot be summed this way; give real numbers")
        result = floating(value)
        computing = FLOAT32 if result == FLOAT16 else result
        acc = FLOAT64 if fp64 and accumulate in ("auto", "double") else computing
        return BoundLogSumExp(value, computing, acc, result)
