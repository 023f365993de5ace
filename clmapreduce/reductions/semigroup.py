"""A user's associative function without an identity: an accumulator also holds whether it has a value yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from clmapreduce.dtypes import DType, aligned
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions.base import Accumulate, Bound, Component, OneByOne, ReductionOp
from clmapreduce.reductions.laws.check import check_grouping, wide
from clmapreduce.reductions.user import BoundUser

_SOME = Component("some", np.dtype(np.uint8), 0)


class BoundSemigroup(OneByOne):
    """The accumulator of a user's operator, and whether it has a value."""

    commutative = False
    has_identity = False

    def __init__(self, own: BoundUser) -> None:
        self.own = own
        self.value = self.result = own.value
        self.components = (*own.components, _SOME)

    def single(self, value: Value, index: Node) -> Record:
        some = apply("where", index == index, 1, 0).astype(_SOME.dtype)
        return Record({**self.own.single(value, index), "some": some})

    def merge(self, a: Record, b: Record) -> Record:
        both = self.own.merge(self._of_own(a), self._of_own(b))
        parts = {}
        for name in both:
            with_a = apply("where", b["some"] == 0, a[name], both[name])
            parts[name] = apply("where", a["some"] == 0, b[name], with_a)
        return Record({**parts, "some": a["some"] | b["some"]})

    def finish(self, acc: Record) -> Value:
        return self.own.finish(self._of_own(acc))

    def _of_own(self, acc: Record) -> Record:
        return Record({c.name: acc[c.name] for c in self.own.components})


class Semigroup(ReductionOp):
    """An associative function of two values of one dtype. The first call for each dtype tries it on small values, and
    raises FormulaError where it is not associative.
    """

    def __init__(self, combine: Callable[..., Any]) -> None:
        self.combine = combine
        self.name = getattr(combine, "__name__", "function").replace("<lambda>", "function")
        self._checked: set[DType] = set()

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        dtype = aligned(value)
        if dtype not in self._checked:
            own = self._bound(wide(dtype))
            check_grouping(self.name, own, own.parts, dtype)
            self._checked.add(dtype)
        return BoundSemigroup(self._bound(dtype))

    def _bound(self, dtype: DType) -> BoundUser:
        nothing = np.zeros((), dtype)[()]
        return BoundUser(self.name, self.combine, nothing, dtype, commutative=False)
