"""Product: float64 accumulators for floats where the device has them, 64-bit integers for integers, as NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

from clmapreduce.dtypes import DType, is_extended
from clmapreduce.formula.functions import cast
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, ReductionOp
from clmapreduce.reductions.extended import BoundExtended
from clmapreduce.reductions.sum import sum_types


class BoundProduct(Bound):
    def __init__(self, value: DType, acc: DType, result: DType) -> None:
        self.value, self.result = value, result
        self.components = (Component("total", acc, 1),)

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        total = acc["total"]
        for value in values:
            total = total * cast(typed(Node, value), total.dtype)
        return Record(total=total)

    def single(self, value: Value, index: Node) -> Record:
        return Record(total=cast(typed(Node, value), self.components[0].dtype))

    def merge(self, a: Record, b: Record) -> Record:
        return Record(total=a["total"] * b["total"])

    def finish(self, acc: Record) -> Value:
        return cast(acc["total"], self.result)


class Product(ReductionOp):
    name = "product"

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if is_extended(value):
            return BoundExtended(value, "multiply", 1)
        if value.names is not None:
            raise self.refuse(value, "are records; give cm.Operator a combine that names the fields")
        acc, result = sum_types(value, accumulate, fp64)
        return BoundProduct(value, acc, result)
