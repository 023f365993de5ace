"""Sum: float64 lanes where the device has them, a float32 double-word (TwoSum) per lane where not or on request, 64-bit
integers for integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

import numpy as np

from clmapreduce.dtypes import (
    COMPLEX64,
    COMPLEX128,
    FLOAT16,
    FLOAT32,
    FLOAT64,
    DType,
    is_complex,
    is_extended,
    is_float,
    is_pair,
)
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Apply, Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, ReductionOp, wide_integer
from clmapreduce.reductions.extended import BoundExtended, BoundPairSum


def sum_types(value: DType, accumulate: Accumulate, fp64: bool) -> tuple[DType, DType]:
    """Accumulator and result dtype of a sum or product of `value`s."""
    if is_complex(value):
        wide = COMPLEX128 if accumulate in ("auto", "double") and fp64 else value
        return wide, value
    if is_float(value):
        narrow = FLOAT32 if value == FLOAT16 else value
        return (FLOAT64 if accumulate in ("auto", "double") and fp64 else narrow), value
    return wide_integer(value), wide_integer(value)


class BoundSum(Bound):
    """One plain accumulator."""

    def __init__(self, value: DType, acc: DType, result: DType) -> None:
        self.value, self.result = value, result
        self.components = (Component("total", acc, 0),)

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        total = acc["total"]
        return Record(total=total + tree_sum([widened(typed(Node, value), total.dtype) for value in values]))

    def single(self, value: Value, index: Node) -> Record:
        return Record(total=widened(typed(Node, value), self.components[0].dtype))

    def merge(self, a: Record, b: Record) -> Record:
        return Record(total=a["total"] + b["total"])

    def finish(self, acc: Record) -> Value:
        return cast(acc["total"], self.result)

    def unfolded(self, base: Node, count: Node) -> Node | None:
        return cast(cast(base, self.components[0].dtype) * cast(count, self.components[0].dtype), self.result)


def tree_sum(terms: list[Node]) -> Node:
    """The sum of some nodes, neighbours first: additions that do not wait for each other."""
    while len(terms) > 1:
        terms = [terms[i] + terms[i + 1] if i + 1 < len(terms) else terms[i] for i in range(0, len(terms), 2)]
    return terms[0]


class BoundCompensatedSum(Bound):
    """A sum and the exact errors of its additions (Knuth's TwoSum), merged as double-words."""

    chain = 4096

    def __init__(self, value: DType, acc: DType, result: DType) -> None:
        self.value, self.result = value, result
        self.components = (Component("total", acc, 0), Component("error", acc, 0))

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        total, error = acc["total"], acc["error"]
        for value in values:
            total, rounding = two_sum(total, cast(typed(Node, value), total.dtype))
            error = error + rounding
        return Record(total=total, error=error)

    def merge(self, a: Record, b: Record) -> Record:
        total, rounding = two_sum(a["total"], b["total"])
        return Record(total=total, error=a["error"] + b["error"] + rounding)

    def finish(self, acc: Record) -> Value:
        return cast(with_error(acc), self.result)


def with_error(acc: Record) -> Node:
    """A sum and the errors of its additions as one number; of an infinite sum they are NaN, and it counts alone."""
    exact = acc["total"] + acc["error"]
    return apply("where", exact == exact, exact, acc["total"])


def two_sum(a: Node, b: Node) -> tuple[Node, Node]:
    """a + b rounded, and exactly what rounding lost."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def widened(value: Node, dtype: DType) -> Node:
    """`value` in a wider dtype; a product of two float32 is formed there, where it is exact, instead of being rounded
    first.
    """
    if (
        isinstance(value, Apply)
        and value.function.name == "multiply"
        and (value.dtype, dtype) in ((FLOAT32, FLOAT64), (COMPLEX64, COMPLEX128))
    ):
        left, right = value.args
        return cast(left, dtype) * cast(right, dtype)
    return cast(value, dtype)


class Sum(ReductionOp):
    name = "sum"

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if is_extended(value):
            return BoundPairSum(value) if is_pair(value) else BoundExtended(value, "add", 0)
        if value.names is not None:
            raise self.refuse(value, "are records; give cm.Operator a combine that names the fields")
        acc, result = sum_types(value, accumulate, fp64)
        compensated = accumulate == "compensated" or (accumulate == "auto" and not fp64)
        if compensated and is_float(np.dtype(acc)):
            return BoundCompensatedSum(value, acc, result)
        return BoundSum(value, acc, result)
