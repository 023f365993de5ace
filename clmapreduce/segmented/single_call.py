"""Single calls: checked while they run; made again on device arrays of the same shapes, they only bind and submit."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

from clmapreduce.calls.options import Options
from clmapreduce.calls.ready import ReadyCall, find, is_kept, keep
from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.schemes.segments.chunks import GATE
from clmapreduce.segmented.call import Reduction, SegmentCall, SegmentOperands, prepare_segments
from clmapreduce.segmented.check import Check, settled
from clmapreduce.segmented.chunk_starts import ChunkStarts
from clmapreduce.segmented.kept import array_places, told


class SingleCall(ReadyCall):
    """A reduction to be made again on other arrays. cutting: of its chunks, if they are cut beforehand. last: the cuts'
    place among what it is given.
    """

    def __init__(self, prepared: Reduction) -> None:
        super().__init__(prepared, array_places(prepared))
        self.cutting = prepared.cuts.cutting if prepared.cuts is not None else None
        self.last = len(prepared.call.given) - 1


class RepeatedCall:
    """One call of a SingleCall, ready to run like a Reduction."""

    def __init__(self, kept: SingleCall, arrays: Sequence[DeviceArray], context: Context, options: Options) -> None:
        self._kept, self._context, self._options = kept, context, options
        self._arrays = dict(enumerate(arrays))
        self._instead: dict[str, Any] = {}
        self.cuts: ChunkStarts | None = None
        if kept.cutting is not None:
            self.cuts = kept.cutting.of(arrays[0], options.wait_for)
            self._arrays[kept.last] = self.cuts.array

    @property
    def stays(self) -> bool:
        return True

    @property
    def sees_offsets(self) -> bool:
        return self.cuts is not None and self._options.out is None

    def ask(self, wrong: DeviceArray) -> None:
        self._instead[GATE] = wrong.buffer

    def run(self) -> list[Any]:
        if self.cuts is not None:
            self.cuts.fill()
        call, options = self._kept, self._options
        return list(call(self._context, self._arrays, options.wait_for, options.out, self._instead))


def reduce_once(asked: SegmentCall, operands: SegmentOperands, options: Options, check: Check | None) -> Any:
    """The one result of a single call. check: of the arrays, to be made or under way."""
    if check is not None and options.out is not None:  # no kernel may write there before it is known
        check.start()
    context, offsets = operands.context, operands.offsets
    arrays = [offsets, *(element.array for element in operands.elements)]
    key = None
    if operands.on_device and operands.segments and all(type(array) is DeviceArray for array in arrays):
        kinds = tuple((e.array.dtype, e.array.shape, e.through, e.trailing, e.given) for e in operands.elements)
        sizes = (offsets.dtype, offsets.shape, operands.length, operands.trailing, operands.segments)
        numbers = (told(asked.init), told(asked.empty))
        plain = replace(asked, init=None, empty=None)
        key = _hashable(("segments", plain, numbers, kinds, sizes, options.mode, operands.near))
    found = find(context, key) if key is not None else None
    if isinstance(found, SingleCall) and _takes(found, options.out, arrays, context):
        return _run(RepeatedCall(found, arrays, context, options), check)
    prepared = prepare_segments(asked, operands, options, looks=True)
    if not isinstance(prepared, Reduction):
        settled(check)
        return prepared[0]
    if key is not None and found is None and is_kept(prepared):
        keep(context, key, SingleCall(prepared))
    return _run(prepared, check)


def _hashable(key: Hashable) -> Hashable | None:
    """The key, or None where something in it has no hash: a record as init, say."""
    try:
        hash(key)
    except TypeError:
        return None
    return key


def _takes(call: SingleCall, out: Any, arrays: Sequence[DeviceArray], context: Context) -> bool:
    return out is None or (type(out) is DeviceArray and out.context is context and call.takes(out, arrays))


def _run(prepared: Reduction | RepeatedCall, check: Check | None) -> Any:
    """The one result. A reduction that sees the offsets itself is asked what it found. Else, where kernels write
    results in place on the device, the check is waited for last: they ask it themselves, and do nothing where something
    is wrong.
    """
    if check is None or not prepared.stays:
        settled(check)
        return prepared.run()[0]
    if check.offsets and prepared.sees_offsets and prepared.cuts is not None:
        results = prepared.run()
        check.settle(prepared.cuts.found_wrong)
        return results[0]
    prepared.ask(check.wrong)
    results = prepared.run()
    check.settle()
    return results[0]
