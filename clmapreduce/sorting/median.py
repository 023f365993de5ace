"""segmented_median: the middle of every segment's values, which are sorted by value first, then stably by segment."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.dtypes import FLOAT32, FLOAT64, INT32, INT64, DType, widened
from clmapreduce.errors import ShapeError
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Node, index
from clmapreduce.host_room import needs_host_room
from clmapreduce.primitives.map import Map
from clmapreduce.segmented.check import settled
from clmapreduce.segmented.geometry import expanded, geometry
from clmapreduce.segmented.inputs import gathered
from clmapreduce.sorting.line import check_keys, sort_pairs

_BEGIN = Map(lambda place: (index - cast(place, INT64)).astype(np.uint32))
_WIDE_BEGIN = Map(lambda place: (index - cast(place, INT64)).astype(np.uint64))
"""Where the segment of each element begins, which tells the segments apart."""


@needs_host_room
def segmented_median(
    values: Any, offsets: Any, *, mode: str = "auto", context: Context | None = None, wait_for: Sequence[Any] = ()
) -> Any:
    """The median of every segment, (S,), as NumPy's: the middle value, or the mean of the two in the middle; NaN for a
    segment that is empty or contains a NaN.

    values: (n,) bools, integers or floats. offsets: (S + 1,) as for `cm.segmented_reduce`. Floats have
    their own dtype, others float64 where the device has it. A DeviceArray among the arrays gives a DeviceArray; the
    check of offsets is waited for. Raises ShapeError naming the first wrong offset, DTypeError.
    """
    inputs = gathered([offsets, values], context, ("offsets", "values"))
    own, data = inputs.arrays
    if data.ndim != 1:
        raise ShapeError(f"values has shape {data.shape}; medians of segments have one dimension")
    check_keys(data.dtype, "values")
    options = Options(mode, inputs.context, wait_for)
    shape = geometry(own, len(data), None, False, True, options)
    settled(shape.check)
    begins = array(shape.offsets, inputs.context)
    result = _medians(array(data, inputs.context), begins, shape.segments, options)
    return result if inputs.on_device else result.to_numpy()


def _medians(values: DeviceArray, offsets: DeviceArray, segments: int, options: Options) -> DeviceArray:
    context = values.context
    dtype = values.dtype if values.dtype.kind == "f" else FLOAT64 if context.facts.fp64 else FLOAT32
    if not segments or not values.size:
        nothing: DeviceArray = values.operations.call("full", segments, np.nan, dtype, context=context)
        return nothing
    ordered = values
    if values.size > 1:
        ordered = _by_segment(values, offsets, segments, options)
    first, end = (offsets[k : segments + k].astype(INT64) for k in (0, 1))
    length, last = end - first, values.size - 1
    low, high = first + (length - 1) // 2, first + length // 2
    low, high, end = (place.clip(0, last) for place in (low, high, end - 1))
    result: DeviceArray = _middle(dtype)(ordered[low], ordered[high], ordered[end], length, mode=options.mode)
    return result


def _by_segment(values: DeviceArray, offsets: DeviceArray, segments: int, options: Options) -> DeviceArray:
    """The values, sorted within each segment."""
    context, length = values.context, values.size
    nowhere = array(np.zeros(segments, INT32), context)
    places = expanded(offsets, nowhere, length, length, options)
    begins = (_BEGIN if length < 1 << 32 else _WIDE_BEGIN)(places, mode=options.mode)
    ordered, begins = sort_pairs(values, begins, False, options).run()
    words = ordered.view(np.dtype(f"u{values.dtype.itemsize}"))
    by_segment: DeviceArray = sort_pairs(begins, words, False, options, length.bit_length()).run()[1]
    return by_segment.view(values.dtype)


@lru_cache(maxsize=16)
def _middle(dtype: DType) -> Map:
    """The mean of two values, in a dtype (of float16 it is computed in float32); NaN where the last value is, or there
    is none.
    """

    def median(low: Node, high: Node, last: Node, length: Node) -> Any:
        a, b, c = (cast(value, widened(dtype)) for value in (low, high, last))
        mean = apply("where", a == b, a, (a + b) / 2)
        return cast(apply("where", (length > 0) & (c == c), mean, np.nan), dtype)

    return Map(median)
