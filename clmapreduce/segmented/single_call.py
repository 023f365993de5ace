"""Single calls: checked while they run; repeated on device arrays of the same shapes, they only bind and submit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from clmapreduce.calls.options import Options
from clmapreduce.calls.recording import recorder
from clmapreduce.calls.repeat.ready import ReadyCall, is_repeatable
from clmapreduce.calls.repeat.request import CallRequest, hashable
from clmapreduce.device.array import DeviceArray, is_plain
from clmapreduce.device.context import Context
from clmapreduce.device.plans.cache import Cache
from clmapreduce.schemes.segments.chunks import GATE
from clmapreduce.segmented.call import Reduction, SegmentCall, SegmentOperands, prepare_segments
from clmapreduce.segmented.check import Check, settled
from clmapreduce.segmented.chunk_starts import ChunkStarts
from clmapreduce.segmented.streamed.reduce import reduce_in_tiles, streamed_tile


class RepeatedCall:
    """A ready call on some arrays, to run like a Reduction."""

    def __init__(self, call: ReadyCall, arrays: Sequence[DeviceArray], context: Context, options: Options) -> None:
        self._call, self._arrays, self._context, self._options = call, arrays, context, options
        self._instead: dict[str, Any] | None = None
        self.cuts: ChunkStarts | None = None
        if call.derivation is not None:
            self.cuts = call.derivation.of(arrays[0], options.wait_for)
            self._arrays = [*arrays, self.cuts.array]

    @property
    def stays(self) -> bool:
        return True

    @property
    def sees_offsets(self) -> bool:
        return self.cuts is not None and self._options.out is None

    def stop_where(self, wrong: DeviceArray) -> None:
        self._instead = {GATE: wrong.buffer}

    def run(self) -> list[Any]:
        if self.cuts is not None:
            self.cuts.fill()
        options = self._options
        return list(self._call(self._context, self._arrays, options.wait_for, options.out, self._instead))


def reduce_once(reduction: SegmentCall, operands: SegmentOperands, options: Options, check: Check | None) -> Any:
    """The one result of a single call. check: of the arrays, to be made or under way."""
    tile = streamed_tile(reduction, operands, options)
    if tile:
        settled(check)
        return reduce_in_tiles(reduction, operands, options, tile)
    if check is not None and options.out is not None:  # no kernel may write there before it is known
        check.start()
    context, offsets = operands.context, operands.offsets
    arrays = [offsets, *(element.array for element in operands.elements)]
    request = None
    if operands.on_device and operands.segments and all(map(is_plain, arrays)):
        kinds = tuple((e.array.dtype, e.array.shape, e.through, e.trailing, e.is_value) for e in operands.elements)
        sizes = (offsets.dtype, offsets.shape, operands.length, operands.trailing, operands.segments)
        request = hashable(CallRequest((*reduction.key, options.mode, operands.near), (sizes, *kinds)))
    calls: Cache[ReadyCall] = context.caches().calls
    ready = calls.get(request) if request is not None else None
    if ready is not None and _takes(ready, options.out, arrays, context):
        return _run(RepeatedCall(ready, arrays, context, options), check)
    prepared = prepare_segments(reduction, operands, options, looks=True)
    if not isinstance(prepared, Reduction):
        settled(check)
        return prepared[0]
    if request is not None and ready is None and is_repeatable(prepared):
        calls.put(request, ReadyCall(prepared, derivation=None if prepared.cuts is None else prepared.cuts.cutting))
    return _run(prepared, check)


def _takes(call: ReadyCall, out: Any, arrays: Sequence[DeviceArray], context: Context) -> bool:
    return out is None or (is_plain(out) and out.context is context and call.takes(out, arrays))


def _run(prepared: Reduction | RepeatedCall, check: Check | None) -> Any:
    """The one result. A reduction that sees the offsets itself tells whether they are wrong. Else, where kernels
    write results in place on the device, the check is waited for last: they look at it themselves, and do nothing where
    something is wrong. A recorder, which repeats the call, comes behind the check.
    """
    if check is None or not prepared.stays or recorder() is not None:
        settled(check)
        return prepared.run()[0]
    if check.offsets and prepared.sees_offsets and prepared.cuts is not None:
        results = prepared.run()
        check.settle(prepared.cuts.saw_wrong)
        return results[0]
    prepared.stop_where(check.wrong)
    results = prepared.run()
    check.settle()
    return results[0]
