"""An operator of the values that a mask keeps: accumulators of the others are never merged."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from clmapreduce.dtypes import BOOL, DType, record
from clmapreduce.errors import DTypeError
from clmapreduce.formula.functions import apply, as_node, cast
from clmapreduce.formula.node import Node, Record, Value, components
from clmapreduce.reductions.base import Accumulate, Bound, ReductionOp

VALUE, KEEP = "value", "keep"


class BoundMasked(Bound):
    """A bound operator of values beside a bool, in a record. A value that is not kept leaves accumulators as they are.

    It does not locate: every value's place is kept, as in `BoundTogether`.
    """

    def __init__(self, bound: Bound) -> None:
        self._bound = bound
        self.value, self.result, self.components = record_of(bound.value), bound.result, bound.components
        self.commutative, self.closed, self.has_identity = bound.commutative, bound.closed, bound.has_identity
        self.chain, self.places = bound.chain, bound.places

    @property
    def vectorisable(self) -> bool:
        return self._bound.vectorisable

    def absorb(self, acc: Record, values: Sequence[Value], indices: Sequence[Node]) -> Record:
        for value, index in zip(values, indices, strict=True):
            acc = self._where(value, self._bound.absorb(acc, [self._number(value)], [index]), acc)
        return acc

    def single(self, value: Value, index: Node) -> Record:
        identity = Record({c.name: as_node(c.identity, c.dtype) for c in self.components})
        return self._where(value, self._bound.single(self._number(value), index), identity)

    def _number(self, value: Value) -> Node:
        return cast(components(value)[VALUE], self._bound.value)

    def _where(self, value: Value, acc: Record, other: Record) -> Record:
        keep = components(value)[KEEP]
        return Record({c.name: apply("where", keep, acc[c.name], other[c.name]) for c in self.components})

    def merge(self, a: Record, b: Record) -> Record:
        return self._bound.merge(a, b)

    def finish(self, acc: Record) -> Value:
        return self._bound.finish(acc)


def record_of(value: DType) -> DType:
    """The dtype of a value beside a bool."""
    return record({VALUE: value, KEEP: BOOL})


def masked_value(value: Value, keep: Value) -> Record:
    """A value beside whether it counts, as the operator takes it. Raises DTypeError for records."""
    if isinstance(value, Record) or isinstance(keep, Record):
        raise DTypeError("where= chooses among numbers; records are no numbers")
    return Record({VALUE: value, KEEP: cast(keep, BOOL)})


class Masked(ReductionOp):
    """An operator of the values that a mask keeps. `bind` raises DTypeError for operators without an identity."""

    def __init__(self, op: ReductionOp) -> None:
        self.name, self._op = op.name, op

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        bound = self._op.bind(value[VALUE], accumulate, fp64)
        if not bound.has_identity:
            raise DTypeError(f"{self.name} has no value where a mask keeps nothing; leave where= out")
        return BoundMasked(bound)


@lru_cache(maxsize=256)
def masked(op: ReductionOp) -> Masked:
    """The operator under a mask; the same object every time, so that its steps compare equal."""
    return Masked(op)
