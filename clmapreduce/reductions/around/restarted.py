"""An operator that begins again: values come with their place in a segment, and place 0 forgets what was before."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from clmapreduce.dtypes import INT64, DType, record
from clmapreduce.errors import DTypeError
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, Record, Value, components
from clmapreduce.reductions.base import Accumulate, Bound, Component, OneByOne, ReductionOp

VALUE, PLACE, BEGINS = "value", "place", "begins"
FLAG = np.dtype(np.uint8)


class BoundRestarted(OneByOne):
    """A bound operator of values beside their places in a record. An accumulator also tells whether a segment begins in
    it: then what comes before is dropped (Blelloch 1990, segmented scans). place: the dtype of places.
    """

    commutative = False

    def __init__(self, bound: Bound, place: DType) -> None:
        self._bound = bound
        self.value, self.result = record({VALUE: bound.value, PLACE: place}), bound.result
        self.components = (*bound.components, Component(BEGINS, FLAG, 0))
        self.has_identity, self.chain = bound.has_identity, bound.chain

    def single(self, value: Value, index: Node) -> Record:
        parts = components(value)
        own = self._bound.single(cast(parts[VALUE], self._bound.value), parts[PLACE])
        return Record({**own, BEGINS: cast(parts[PLACE] == 0, FLAG)})

    def merge(self, a: Record, b: Record) -> Record:
        both, begins = self._bound.merge(self._own(a), self._own(b)), b[BEGINS] != 0
        merged = {name: apply("where", begins, b[name], node) for name, node in both.items()}
        return Record({**merged, BEGINS: a[BEGINS] | b[BEGINS]})

    def finish(self, acc: Record) -> Value:
        return self._bound.finish(self._own(acc))

    def _own(self, acc: Record) -> Record:
        return Record({c.name: acc[c.name] for c in self._bound.components})


class Restarted(ReductionOp):
    """An operator that begins again at every place 0. `bind` raises DTypeError for records."""

    def __init__(self, op: ReductionOp) -> None:
        self.name, self._op = op.name, op

    def bind(self, value: DType, accumulate: Accumulate, fp64: bool) -> Bound:
        return BoundRestarted(self._op.bind(value[VALUE], accumulate, fp64), value[PLACE])


def placed_value(value: Value, place: Node) -> Record:
    """A value beside its place in its segment, as the operator takes it; or beside a number that is 0 where a segment
    begins, if the operator reads no places. Raises DTypeError for records.
    """
    if isinstance(value, Record):
        raise DTypeError("segments of records are not scanned; scan their fields one by one")
    return Record({VALUE: value, PLACE: place if place.dtype == FLAG else cast(place, INT64)})


@lru_cache(maxsize=256)
def restarted(op: ReductionOp) -> Restarted:
    """The operator that begins again; the same object every time, so that its steps compare equal."""
    return Restarted(op)
