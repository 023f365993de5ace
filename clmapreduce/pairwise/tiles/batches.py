"""How reductions over a batch of pairs are cut where arrays have no room in device memory: by the first axis of the
batch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from clmapreduce.calls.arguments import Shape
from clmapreduce.calls.call import Output
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Planned
from clmapreduce.device.array import NumpyArray
from clmapreduce.device.context import Context, context_of
from clmapreduce.device.tiles import may_stream, room_of
from clmapreduce.pairwise.arrays import gather_pairs
from clmapreduce.pairwise.call import PairCall, plan_pairs
from clmapreduce.pairwise.tiles.pair_tiles import TILE, bytes_beside
from clmapreduce.plan import IN_FLIGHT
from clmapreduce.ranges import Ranges
from clmapreduce.vector.node import Category, Variable

TWICE = 2
"""Kernels may pack what they read, so that an array takes its bytes twice."""


def batch_of(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None
) -> BatchTiles | None:
    """The tiles of a call with a batch that is streamed; None for any other call."""
    if not any(isinstance(v, np.ndarray) and len(_axes(variable, v)) for variable, v in arrays.items()):
        return None
    context = context_of(options.context)
    on_host = all(isinstance(v, np.ndarray) for v in arrays.values())
    if not on_host or not may_stream(context, (), options.out):
        return None
    operands = gather_pairs(arrays, (), context, dict(call.names))
    if not operands.batch or 0 in (*operands.batch, *operands.extents):
        return None
    room, usable = room_of(context)
    if sum(v.nbytes for v in arrays.values()) <= (room if context.facts.lends_memory else usable // 2):
        return None
    whole = BatchTiles(call, arrays, context, options, operands.batch, 0, ranges)
    return replace(whole, step=whole.fitting(usable))


def _axes(variable: Variable, values: NumpyArray) -> Shape:
    """The batch axes of an array."""
    axes: Shape = values.shape[: -1 if variable.category is Category.PARAMETER else -2]
    return axes


@dataclass(frozen=True)
class BatchTiles:
    """A call with a batch, cut along the batch's first axis. batch: the batch's shape. step: how many elements of that
    axis a tile has; 0 where one alone has no room: each is then a call that is streamed for itself.
    """

    call: PairCall
    arrays: Mapping[Variable, NumpyArray]
    context: Context
    options: Options
    batch: Shape
    step: int
    ranges: Ranges | None = None

    @property
    def length(self) -> int:
        """Elements along the first axis."""
        return self.batch[0]

    @property
    def own(self) -> Options:
        """The options of a tile."""
        return Options(self.options.mode, self.context.workers[0])

    @cached_property
    def cut(self) -> dict[Variable, NumpyArray]:
        """The arrays that differ along the first axis."""
        return {v: a for v, a in self.arrays.items() if self._is_leading(v) and len(a) == self.length > 1}

    @cached_property
    def of_all(self) -> dict[Variable, NumpyArray]:
        """The arrays that all elements share."""
        return {v: a for v, a in self.arrays.items() if v not in self.cut}

    def _is_leading(self, variable: Variable) -> bool:
        """Whether an array has the batch's first axis."""
        return len(_axes(variable, self.arrays[variable])) == len(self.batch)

    def part(self, begin: int, end: int) -> dict[Variable, NumpyArray]:
        """The arrays of some elements."""
        return {v: a[begin:end] if v in self.cut else a for v, a in self.arrays.items()}

    def element(self, k: int) -> dict[Variable, NumpyArray]:
        """The arrays of one element, without the first axis."""
        return {
            v: a[k if v in self.cut else 0] if self._is_leading(v) else a for v, a in self.arrays.items()
        }  # fmt: skip

    @cached_property
    def outputs(self) -> list[Output]:
        """Those of the whole batch."""
        planned = plan_pairs(self.call, self.part(0, 1), self.own)
        assert isinstance(planned, Planned)  # there are rows
        return [((self.length, *shape[1:]), dtype) for shape, dtype in planned.outputs]

    def fitting(self, usable: int) -> int:
        """How many elements fit into some bytes, two tiles at a time; 0 where one does not."""
        results = sum(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize for shape, dtype in self.outputs)
        each = -(-(sum(a.nbytes for a in self.cut.values()) + results) // self.length)
        left = usable - TWICE * sum(a.nbytes for a in self.of_all.values())
        step = min(self.length, max(1, TILE // each))
        while step:
            beside = bytes_beside(self.call, self.part(0, step), self.own, self.ranges)
            if IN_FLIGHT * (TWICE * step * each + beside) <= left:
                break
            step //= 2
        return step

    @property
    def summary(self) -> str:
        """The tiles in words."""
        if not self.step:
            return f"streamed: the batch's first axis of {self.length:,}, one element after the other; one of them:"
        count = -(-self.length // self.step)
        return (
            f"streamed: {count:,} tiles of {self.step:,} elements of the batch's first axis, 2 in flight; copies "
            "overlap launches, on queues of their own; one tile:"
        )
