"""Sum, product, minimum and maximum of numbers in several floats: one accumulator of that dtype."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from typing import cast as typed

from clmapreduce.dtypes import DType, is_float
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Extended, Node, Record, Value
from clmapreduce.reductions.base import Bound, Component


class BoundExtended(Bound):
    """The accumulator is a value; values may be plain numbers too. identity: of the first word, the others are 0."""

    def __init__(self, value: DType, function: str, identity: Any) -> None:
        self.value = self.result = value
        self._function = function
        names = value.names or ()
        self.components = tuple(
            Component(name, value[name], 0 if place else identity) for place, name in enumerate(names)
        )

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        total = Extended(acc)
        for value in values:
            total = self._combined(total, value)
        return Record(total)

    def single(self, value: Value, index: Node) -> Record:
        return Record(typed(Extended, cast(typed(Node, value), self.value)))

    def merge(self, a: Record, b: Record) -> Record:
        return Record(self._combined(Extended(a), Extended(b)))

    def finish(self, acc: Record) -> Value:
        return Extended(acc)

    @property
    def vectorisable(self) -> bool:
        return all(is_float(c.dtype) for c in self.components)

    def _combined(self, a: Extended, b: Any) -> Extended:
        return typed(Extended, apply(self._function, typed(Node, a), b))
