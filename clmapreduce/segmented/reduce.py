"""segmented_reduce: one result per segment of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.arguments import held, home_of
from clmapreduce.array import DeviceArray, contiguous
from clmapreduce.context import Context
from clmapreduce.primitives.base import Options, Prepared, identity
from clmapreduce.reductions.base import Accumulate, ReductionOp
from clmapreduce.reductions.segment import segment_operator
from clmapreduce.segmented.call import Element, SegmentCall, prepare_segments


def segmented_reduce(
    values: Any, offsets: Any, op: str | ReductionOp = "sum", *, init: Any = None, empty: Any = None,
    accumulate: Accumulate = "auto", mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = (),
    out: Any = None,
) -> Any:  # fmt: skip
    """The reduction of every segment of `values`."""
    given = [held(values, context), held(offsets, context)]
    homes = {id(v.context): v.context for v in given if isinstance(v, DeviceArray)}
    home = home_of(list(homes.values()), context)
    values, offsets = (v if isinstance(v, DeviceArray) else contiguous(v) for v in given)
    name, operator = segment_operator(op)
    asked = SegmentCall(name, operator, identity, accumulate, init, empty)
    trailing = tuple(values.shape[1:])
    segments = max(0, offsets.shape[0] - 1)
    prepared = prepare_segments(
        asked, [Element(values, trailing=bool(trailing))], offsets, values.shape[0], trailing, segments, home,
        Options(mode, home, wait_for, out), bool(homes),
    )  # fmt: skip
    return (prepared.run() if isinstance(prepared, Prepared) else prepared)[0]
