"""The work of tasks of reductions over segments and runs on a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from clmapreduce.dask.carried import Carried
from clmapreduce.dask.home import home
from clmapreduce.dask.work.lines import side_by_side
from clmapreduce.dtypes import INT32, DType
from clmapreduce.errors import FormulaError
from clmapreduce.primitives.host import joined
from clmapreduce.reductions.around.unfinished import Unfinished
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout
from clmapreduce.segmented.call import Element, SegmentCall, check_numbers, layout_of
from clmapreduce.segmented.reduce import front_of, segment_call, segmented_reduce
from clmapreduce.segmented.streamed.finish import finished, init_of


class SegmentWork:
    """What all tasks of a call share. count: how many arrays make an element. how: keywords of `cm.segmented_reduce`
    that say what is computed.
    """

    def __init__(self, count: int, op: Any, mode: str, how: Mapping[str, Any]) -> None:
        self.count, self.op, self.mode, self.how = count, op, mode, dict(how)
        self._partial: dict[tuple[Any, ...], Unfinished] = {}

    def __reduce__(self) -> Any:
        return SegmentWork, (self.count, self.op, self.mode, self.how)

    @cached_property
    def call(self) -> SegmentCall:
        """The call, without its arrays."""
        _, front = front_of(tuple(range(self.count)), self.how.get("map"))
        accumulate, init, empty = (self.how.get(name) for name in ("accumulate", "init", "empty"))
        return segment_call(self.op, front, accumulate or "auto", init, empty)

    def layout(self, arrays: Sequence[Any]) -> SegmentLayout:
        """What is reduced of such arrays. Raises as `layout_of`."""
        elements = [Element(np.empty((0, *x.shape[1:]), x.dtype), (), x.ndim > 1) for x in arrays]
        layout = layout_of(self.call, elements, INT32, True, home())
        check_numbers(layout, self.call)
        return layout

    def checked(self, arrays: Sequence[Any]) -> DType:
        """The dtype of results. Raises FormulaError for a function that sees the element's number."""
        layout = self.layout(arrays)
        if layout.formula.uses_index:
            raise FormulaError("cm.index in map= is not offered for Dask arrays; pass da.arange(len(values)) too")
        return layout.op.result

    def reduced(self, values: Sequence[Any], ends: Any) -> Any:
        """The results of segments, of elements from ends[0] on."""
        part = tuple(x[ends[0] : ends[-1]] for x in values)
        return segmented_reduce(part, ends - ends[0], self.op, mode=self.mode, context=home(), **self.how)

    def accumulators(self, values: Sequence[Any], ends: Any, first: int) -> Any:
        """What segments leave, (segments, *trailing) records. first: how many elements come before the chunk."""
        op = self.layout(values).op
        key = home().facts.fp64, *(x.dtype for x in values)  # calls on values of other dtypes share this object
        partial = self._partial.setdefault(key, Unfinished("parts", op.whole))
        part = tuple(x[ends[0] : ends[-1]] for x in values)
        records = segmented_reduce(
            part, ends - ends[0], partial, map=self.how.get("map"), mode=self.mode, context=home()
        )
        for name in op.whole.places:
            records[name] += first + ends[0]
        return records

    def finished(self, values: Sequence[Any], pieces: Sequence[Any], begin: int, count: int) -> Any:
        """The result of one segment's accumulators, each (*trailing,), in order. values: any of the call's arrays."""
        op = self.layout(values).op
        whole = side_by_side(op.whole, [piece[None] for piece in pieces])
        merged = whole[0]
        for piece in whole[1:]:
            merged = joined(op.whole, merged, piece)
        return finished(op, init_of(self.call.init, op), merged, begin, count)


def inner(task: Carried, ends: Any, values: Sequence[Any]) -> Any:
    """The results of segments inside a chunk."""
    return task.value.reduced(values, ends)


def piece(task: Carried, begin: int, end: int, first: int, values: Sequence[Any]) -> Any:
    """The accumulators of a segment's part in a chunk, (*trailing,)."""
    return task.value.accumulators(values, np.array([begin, end]), first)[0]


def with_last(
    task: Carried, results: Any, bounds: Any, pieces: Sequence[Any], examples: Sequence[Any]
) -> Any:
    """The results of a chunk, and that of the segment that goes on in others. bounds: of the segment. examples: an
    empty array for each of the values.
    """
    begin, end = map(int, bounds)
    last = task.value.finished(examples, pieces, begin, end - begin)
    return np.concatenate([results, np.asarray(last, results.dtype)[None]])
