"""A reduction operator under segments: how it accumulates in a tile and between tiles, and a segment's result.

Inside a tile chains are short, so accumulators are as narrow as the values; between tiles and chunks they are as wide
as for a whole line. Places count from the segment's begin; a mean divides by the segment's length.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from typing import cast as typed

import numpy as np

from clmapreduce.dtypes import DType, floating
from clmapreduce.errors import DTypeError
from clmapreduce.formula.functions import apply, as_node, cast
from clmapreduce.formula.node import Node, Record, Value
from clmapreduce.reductions import NAMED, alias, operator
from clmapreduce.reductions.argument import BoundArgument
from clmapreduce.reductions.base import Accumulate, Bound, ReductionOp
from clmapreduce.reductions.names import Op
from clmapreduce.reductions.sum import with_error

MEAN = "mean"
SPREADS = ("var", "std")


@dataclass(frozen=True, eq=False)
class SegmentOp:
    """An operator bound to a value dtype. tile, whole: the accumulators in a tile and between tiles, of which the first
    one's components are among the second one's. result: dtype of a segment's result.
    """

    name: str
    tile: Bound
    whole: Bound
    result: DType

    @property
    def commutative(self) -> bool:
        return self.whole.commutative

    @property
    def takes_init(self) -> bool:
        """Whether one more value can be folded into a segment."""
        return self.name != MEAN and self.whole.closed

    @property
    def empty(self) -> Any:
        """The result of an empty segment where it is not the identity's; else None."""
        return -1 if isinstance(self.whole, BoundArgument) else None

    @property
    def chained(self) -> SegmentOp:
        """The same where one item walks many elements of a tile: a running mean in float32 loses digits of the spread
        with every step, as many as the mean has before it.
        """
        return replace(self, tile=self.whole) if self.name in SPREADS else self

    def widened(self, acc: Record) -> Record:
        """A tile's accumulator as one between tiles."""
        return Record(
            {
                c.name: cast(acc[c.name], c.dtype) if c.name in acc else as_node(c.identity, c.dtype)
                for c in self.whole.components
            }
        )

    def narrowed(self, acc: Record) -> Record:
        """An accumulator between tiles as one of a tile."""
        return Record({c.name: cast(acc[c.name], c.dtype) for c in self.tile.components})

    def finish(self, acc: Record, begin: Node, count: Node, bound: Bound) -> Value:
        """A segment's result, of dtype `result`: of the elements from `begin` on, `count` of them. bound: whose
        accumulator it is, `tile` or `whole`.
        """
        value = bound.finish(acc)
        if isinstance(self.whole, BoundArgument):
            return typed(Node, value) - cast(begin, self.result)
        if self.name == MEAN:
            total = with_error(acc) if "error" in acc else acc["total"]
            wide = total if total.dtype.kind in "fc" else cast(total, self.result)
            return cast(apply("divide", wide, cast(count, np.dtype(wide.dtype.char.lower()))), self.result)
        return value


def segment_operator(op: Op) -> tuple[str, ReductionOp]:
    """(name, operator) for an operator or a name: for a mean its sum. Raises ModeError for an unknown name."""
    name = alias(op)
    if isinstance(name, str) and name == MEAN:
        return MEAN, NAMED["sum"]
    own = operator(op)
    return "" if own is op else own.name, own.representative


def bind_segment(name: str, op: ReductionOp, value: DType, accumulate: Accumulate, fp64: bool) -> SegmentOp:
    """The operator for values of a dtype. Raises DTypeError for values it cannot reduce."""
    if name == MEAN and value.names is not None:
        raise DTypeError(f"mean: values of dtype {value} are records; give cm.Operator a combine that names the fields")
    long = value.kind in "iu" and value.itemsize == 8
    if name == MEAN and long and fp64:  # a sum of them may not fit 64 bits, as their mean does
        value = np.dtype(np.float64)
    whole = op.bind(value, accumulate, fp64)
    tile = whole
    if accumulate == "auto" and op.name != "product":  # a tile's products would lose digits, each its own
        fast = op.bind(value, "fast", fp64)
        if {c.name for c in fast.components} <= {c.name for c in whole.components}:
            tile = fast
    result = whole.result
    if name == MEAN:
        result = floating(value) if value.kind in "fc" else np.dtype(np.float64 if fp64 else np.float32)
    return SegmentOp(name, tile, whole, result)
