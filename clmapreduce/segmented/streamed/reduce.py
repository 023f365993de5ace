"""Segments tile by tile: a tile has whole segments, and a segment that is longer than one is reduced as a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clmapreduce.calls.arguments import product
from clmapreduce.calls.call import check_out
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.device.convert import array
from clmapreduce.device.tile_calls import TileCalls
from clmapreduce.device.tiles import may_stream
from clmapreduce.segmented.call import SegmentCall, SegmentOperands, layout_of, prepare_segments
from clmapreduce.segmented.streamed.cuts import Tile, clean, tile_bytes, tiles
from clmapreduce.segmented.streamed.long import LongSegment


def streamed_tile(call: SegmentCall, operands: SegmentOperands, options: Options) -> int:
    """The bytes of a tile of a call that is streamed; 0 for any other. A function that sees the element's number is
    not: it counts through all segments.
    """
    if operands.on_device:
        return 0
    cut = [operands.offsets, *(e.array for e in operands.elements if not e.through)]
    if not may_stream(operands.context, cut, options.out):
        return 0
    layout = layout_of(call, operands.elements, operands.offsets.dtype, True, operands.context)
    if layout.formula.uses_index:
        return 0
    resident = sum(e.array.nbytes for e in operands.elements if e.through and isinstance(e.array, np.ndarray))
    results = operands.segments * product(operands.trailing) * layout.op.result.itemsize
    return tile_bytes(operands.context, sum(values.nbytes for values in cut) + results, resident)


def reduce_in_tiles(call: SegmentCall, operands: SegmentOperands, options: Options, tile: int) -> NumpyArray:
    """The reduction of every segment, (S, *trailing). tile: bytes of one. Offsets are checked before."""
    context, trailing = operands.context, operands.trailing
    layout = layout_of(call, operands.elements, operands.offsets.dtype, True, context)
    shape, dtype = (operands.segments, *trailing), layout.op.result
    target = check_out(options.out, [(shape, dtype)], context)[0]
    inputs = [operands.offsets, *(e.array for e in operands.elements if isinstance(e.array, np.ndarray))]
    direct = (
        target is not None and target.dtype == dtype and target.flags.c_contiguous
        and not any(np.may_share_memory(target, values) for values in inputs)
    )  # fmt: skip
    results: NumpyArray = target if direct else np.empty(shape, dtype)
    work = _Work(call, operands, Options(options.mode, context, options.wait_for), layout.op.whole.layout.itemsize)
    offsets = clean(operands.offsets, operands.segments, operands.length)
    columns = product(trailing)
    element = sum(e.array.itemsize * (columns if e.trailing else 1) for e in operands.elements if not e.through)
    segment = offsets.itemsize + (dtype.itemsize + work.accumulator) * columns
    with TileCalls(context) as calls:
        for cut in tiles(offsets, max(1, element), segment, tile):
            if cut.long:
                calls.land()  # a line's windows find the memory of tiles free
                work.long(cut, offsets, results)
            else:
                work.tile(cut, offsets, results, calls)
    if target is not None and not direct:
        np.copyto(target, results)
    return results if target is None else target


class _Work:
    """What the tiles of a call share. accumulator: bytes of one."""

    def __init__(self, call: SegmentCall, operands: SegmentOperands, options: Options, accumulator: int) -> None:
        self._call, self._operands, self._options, self.accumulator = call, operands, options, accumulator
        self._elements = [
            replace(e, array=array(e.array, operands.context)) if e.through else e for e in operands.elements
        ]

    def tile(self, tile: Tile, offsets: NumpyArray, results: NumpyArray, calls: TileCalls) -> None:
        """Submits one tile."""
        begin, end = int(offsets[tile.first]), int(offsets[tile.end])
        own = offsets[tile.first : tile.end + 1] - offsets[tile.first]
        cut = [e for e in self._elements if not e.through]
        sources = [("offsets", own), *(("values", e.array[begin:end]) for e in cut)]

        def call(arrays: Sequence[DeviceArray]) -> Sequence[DeviceArray]:
            parts = iter(arrays[1:])
            elements = [e if e.through else replace(e, array=next(parts)) for e in self._elements]
            operands = replace(
                self._operands, elements=elements, offsets=arrays[0], length=end - begin,
                segments=tile.end - tile.first, on_device=True,
            )  # fmt: skip
            prepared = prepare_segments(self._call, operands, self._options)
            return prepared.run() if isinstance(prepared, Prepared) else prepared

        calls.run(sources, [results[tile.first : tile.end]], call)

    def long(self, tile: Tile, offsets: NumpyArray, results: NumpyArray) -> None:
        """Reduces one segment as a line, for each of its numbers apart."""
        begin, end = int(offsets[tile.first]), int(offsets[tile.end])
        segment = LongSegment(self._call, self._operands, self._options)
        results[tile.first] = segment.reduced(begin, end)
