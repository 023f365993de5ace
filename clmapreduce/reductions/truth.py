"""any and all: whether one value, or every value, is true (not zero; NaN is true)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

import numpy as np

from clmapreduce.dtypes import BOOL, DType, is_complex
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, ReductionOp


class BoundTruth(Bound):
    """The accumulator is an integer as wide as the values, so that masks become it without a change of width."""

    result = BOOL

    def __init__(self, value: DType, function: str) -> None:
        self.value = value
        size = 1 if is_complex(value) else value.itemsize
        self._function = function
        self.components = (Component("found", np.dtype(f"i{size}"), 1 if function == "bitwise_and" else 0),)

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        holds = acc["found"]
        for value in values:
            holds = apply(self._function, holds, cast(cast(typed(Node, value), BOOL), holds.dtype))
        return Record(found=holds)

    def single(self, value: Value, index: Node) -> Record:
        return Record(found=cast(cast(typed(Node, value), BOOL), self.components[0].dtype))

    def merge(self, a: Record, b: Record) -> Record:
        return Record(found=apply(self._function, a["found"], b["found"]))

    def finish(self, acc: Record) -> Value:
        return cast(acc["found"], BOOL)

    def unfolded(self, base: Node, count: Node) -> Node | None:
        return cast(base, BOOL) if base.dtype != BOOL else base


class Truth(ReductionOp):
    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if value.names is not None:
            raise self.refuse(value, "are records; map one field to a bool first")
        return BoundTruth(value, "bitwise_or" if self.name == "any" else "bitwise_and")
