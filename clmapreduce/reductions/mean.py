"""mean and norm: a sum, as exact as `Sum` makes it, of the values beside their number, and of their squares.

Integers and bools become floats first, float64 where the device has it. Of no values the mean is NaN, the norm 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

import numpy as np

from clmapreduce.dtypes import FLOAT32, FLOAT64, INT64, DType, is_complex, is_extended
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, ReductionOp
from clmapreduce.reductions.sum import Sum, widened, with_error

COUNT = "count"


class BoundMean(Bound):
    """The accumulator of a sum, and how many values it holds."""

    closed = False

    def __init__(self, total: Bound) -> None:
        self._total = total
        self.value = self.result = total.value
        self.chain = total.chain
        self.components = (*total.components, Component(COUNT, INT64, 0))

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        return self._with(self._total.absorb(self._sum(acc), values, indices), acc[COUNT] + len(values))

    def merge(self, a: Record, b: Record) -> Record:
        return self._with(self._total.merge(self._sum(a), self._sum(b)), a[COUNT] + b[COUNT])

    def finish(self, acc: Record) -> Value:
        if is_extended(self.result):
            return self._total.finish(self._sum(acc)) / cast(acc[COUNT], FLOAT64)  # type: ignore[operator]  # has arithmetic
        total = wide_total(self._sum(acc))
        return cast(total / cast(acc[COUNT], part_of(total.dtype)), self.result)

    def _sum(self, acc: Record) -> Record:
        return Record({c.name: acc[c.name] for c in self._total.components})

    @staticmethod
    def _with(total: Record, count: Node) -> Record:
        return Record({**total, COUNT: count})


class BoundNorm(Bound):
    """The accumulator of a sum of squares."""

    closed = False

    def __init__(self, value: DType, squares: Bound) -> None:
        self.value, self.result = value, squares.result
        self._squares, self.components, self.chain = squares, squares.components, squares.chain

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        wide = self.components[0].dtype
        return self._squares.absorb(acc, [_square(typed(Node, value), wide) for value in values], indices)

    def merge(self, a: Record, b: Record) -> Record:
        return self._squares.merge(a, b)

    def finish(self, acc: Record) -> Value:
        return cast(apply("sqrt", wide_total(acc)), self.result)


def wide_total(acc: Record) -> Node:
    """The sum of an accumulator, in its own dtype."""
    return with_error(acc) if "error" in acc else acc["total"]


def part_of(dtype: DType) -> DType:
    """The dtype of a complex dtype's parts; of a real one itself."""
    return np.dtype(dtype.char.lower())


def _square(value: Node, wide: DType) -> Node:
    """|value|², formed in the accumulator's dtype."""
    if is_complex(value.dtype):
        return _square(value.real, wide) + _square(value.imag, wide)
    return widened(value * value, wide)


class Mean(ReductionOp):
    name = "mean"

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if value.names is not None and not is_extended(value):
            raise self.refuse(value, "are records; give cm.Operator a combine that names the fields")
        return BoundMean(Sum().bind(_float(value, fp64), accumulate, fp64))


class Norm(ReductionOp):
    """The root of the sum of squares: NumPy's `linalg.norm` of a vector. Squares of float64 beyond 1e154 overflow."""

    name = "norm"

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if value.names is not None:
            raise self.refuse(value, "are records; reduce one field")
        number = _float(value, fp64)
        return BoundNorm(number, Sum().bind(part_of(number), accumulate, fp64))


def _float(value: DType, fp64: bool) -> DType:
    """The dtype in which values are added up: of integers and bools a float."""
    return value if value.kind not in "biu" else FLOAT64 if fp64 else FLOAT32
