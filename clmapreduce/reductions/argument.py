"""argmin and argmax: the lowest index of the best value; the first NaN wins, as in NumPy.

No identity: an empty input has no place.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast as typed

import numpy as np

from clmapreduce.dtypes import BOOL, INT64, DType, highest, is_complex, is_float, lowest, widened
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, OneByOne, ReductionOp

FAR = np.iinfo(np.int64).max


class BoundArgument(OneByOne):
    result = INT64
    closed = False
    locates = True
    has_identity = False
    places = ("place",)

    def __init__(self, value: DType, largest: bool) -> None:
        self.value = value
        self.acc = np.dtype(np.uint8) if value == BOOL else value
        self._largest = largest
        limit = lowest(value) if largest else highest(value)
        self.worst = int(limit) if value == BOOL else limit
        self.components = (Component("best", self.acc, self.worst), Component("place", INT64, FAR))

    def of_float32(self) -> Bound:
        return BoundArgument(widened(self.value), self._largest)

    def single(self, value: Value, index: Node) -> Record:
        return Record(best=cast(typed(Node, value), self.acc), place=cast(index, INT64))

    def merge(self, a: Record, b: Record) -> Record:
        same = self.same(a["best"], b["best"])
        take = self.beats(b["best"], a["best"]) | (same & (b["place"] < a["place"]))
        return Record({name: apply("where", take, b[name], a[name]) for name in ("best", "place")})

    def finish(self, acc: Record) -> Value:
        return acc["place"]

    def best_of(self, values: Sequence[Node]) -> Node:
        """The best of some values, NaN first."""
        best = cast(values[0], self.acc)
        for value in values[1:]:
            best = apply("maximum" if self._largest else "minimum", best, cast(value, self.acc))
        return best

    def beats(self, new: Node, old: Node) -> Node:
        """Whether `new` is strictly better, a NaN better than any number."""
        better = new > old if self._largest else new < old
        return better | ((new != new) & (old == old)) if is_float(self.acc) else better

    def same(self, a: Node, b: Node) -> Node:
        """Whether two values are equally good; two NaNs are."""
        return (a == b) | ((a != a) & (b != b)) if is_float(self.acc) else a == b


class Argument(ReductionOp):
    def __init__(self, name: str) -> None:
        self.name = name

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        if value.names is not None or is_complex(value):
            raise self.refuse(value, "have no order; reduce abs, .real or one field")
        return BoundArgument(value, self.name == "argmax")
