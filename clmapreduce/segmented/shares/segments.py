"""Segments of values that lie on several devices. A segment that reaches over a border is reduced by itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from clmapreduce.calls.options import Options
from clmapreduce.device.array import DeviceArray, NumpyArray, write
from clmapreduce.device.several.copies import Lent
from clmapreduce.device.several.split import SplitArray, cuts_of, split
from clmapreduce.segmented.geometry import Geometry
from clmapreduce.segmented.shares.results import LEAST, Share, devices_of, joined, may_share


class SegmentShares:
    """The segments of a plan on the devices of its context. A share has those that end in one piece of the values. The
    piece may begin inside the first of them, and end inside one of the next share.
    """

    def __init__(self, shape: Geometry, plan: Any) -> None:
        self._context = context = shape.context
        offsets = np.asarray(shape.offsets)
        starts, ends = offsets[: shape.segments], np.append(offsets[1:], offsets.dtype.type(shape.count))
        ends = ends[: shape.segments]
        self._cuts = cuts_of(shape.count)
        last = np.searchsorted(ends, self._cuts[1:-1], "right").tolist()
        firsts = [0, *last, shape.segments]
        self._shares, self._borders = [], []
        for number, worker in enumerate(devices_of(context)):
            (first, end), (begin, stop) = firsts[number : number + 2], self._cuts[number : number + 2]
            inside = np.clip(np.append(starts[first:end], offsets.dtype.type(0)), begin, stop)
            inside[-1] = np.clip(ends[end - 1], begin, stop) if end > first else begin
            own = np.append(inside, offsets.dtype.type(stop)) - offsets.dtype.type(begin)
            self._shares.append(Share(worker, plan(own, stop - begin, validate=False, context=worker), first, end))
            if end > first and starts[first] < begin:
                self._borders.append((number, int(starts[first]), int(ends[first])))

    def takes(self, arrays: Sequence[Any]) -> bool:
        """Whether arrays lie as the segments do, or can be brought there."""
        return all(isinstance(x, np.ndarray) or self._lies_so(x) for x in arrays)

    def _lies_so(self, x: DeviceArray) -> bool:
        """Whether a device array has the same cuts."""
        return isinstance(x, SplitArray) and [piece.first for piece in x.pieces] == self._cuts[:-1]

    def reduce(
        self, arrays: Sequence[Any], is_tuple: bool, whole: Any, keywords: Mapping[str, Any], options: Options
    ) -> Any:  # fmt: skip
        """The reduction of every segment. is_tuple: the arrays come as one. whole: `segmented_reduce`, for segments
        over borders. keywords: of `SegmentPlan.reduce`.
        """
        self._context.wait_for(options.wait_for)
        on_device = any(isinstance(x, DeviceArray) for x in arrays)
        splits = [x if isinstance(x, SplitArray) else split(x, self._context) for x in arrays]
        packed = (lambda each: tuple(each)) if is_tuple else (lambda each: each[0])
        over = self._over_borders(splits, packed, whole, keywords)
        parts: list[DeviceArray] = []
        for number, share in enumerate(self._shares):
            values = packed([_on(x.pieces[number].array, share) for x in splits])
            parts.append(share.plan.reduce(values, **keywords)[: share.end - share.first])
        for (number, *_), value in zip(self._borders, over, strict=True):
            write(parts[number][:1], value[None])
        return joined(self._context, self._shares, parts, on_device, options.out)

    def _over_borders(self, splits: Sequence[SplitArray], packed: Any, whole: Any, keywords: Mapping[str, Any]) -> Any:
        """The results of segments that reach over borders."""
        if not self._borders:
            return ()
        stretches = [(begin, end) for _, begin, end in self._borders]
        values = [np.concatenate([_between(x, *stretch) for stretch in stretches]) for x in splits]
        offsets = np.cumsum([0, *(end - begin for begin, end in stretches)])
        return whole(packed(values), offsets, context=self._context.members[0], **keywords)


def _on(x: DeviceArray, share: Share) -> DeviceArray:
    """The piece of an array as one of the share's context."""
    return x if x.context is share.context else Lent(x, share.context)


def _between(x: SplitArray, begin: int, end: int) -> NumpyArray:
    """Some rows of an array, in host memory."""
    rows = [
        piece.array[max(begin, piece.first) - piece.first : min(end, piece.end) - piece.first].to_numpy()
        for piece in x.pieces if piece.first < end and begin < piece.end
    ]  # fmt: skip
    return np.concatenate(rows)


def segment_shares(shape: Geometry, plan: Any) -> SegmentShares | None:
    """The shares of long segments in host memory, without `sources`, on a context of several devices of one kind; None
    for any other. plan: makes the plan of a share.
    """
    if not isinstance(shape.offsets, np.ndarray) or shape.places is not None or shape.segments < LEAST:
        return None
    return SegmentShares(shape, plan) if may_share(shape.context, 4 * shape.count) else None
