"""Segments tile by tile, on one device or several: a tile has whole segments, and a segment that is longer than one is
reduced as a line.
"""
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clmapreduce.calls.arguments import product
from clmapreduce.calls.call import check_out
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.device.several.spread import Block, spread
from clmapreduce.device.tile_calls import TileCalls
from clmapreduce.device.tiles import may_stream
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, layout_of, prepare_segments
from clmapreduce.segmented.streamed.cuts import Tile, clean, tile_bytes, tiles
from clmapreduce.segmented.streamed.long import LongSegment


def streamed_tile(call: SegmentCall, operands: SegmentOperands, options: Options) -> int:
    """The bytes of a tile of a call that is streamed or shared; 0 for any other. A function that sees the element's
    number is not: it counts through all segments.
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
    context.wait_for(options.wait_for)
    work = _Work(call, operands, options.mode, layout.op.whole.layout.itemsize)
    offsets = clean(operands.offsets, operands.segments, operands.length)
    columns = product(trailing)
    element = sum(e.array.itemsize * (columns if e.trailing else 1) for e in operands.elements if not e.through)
    segment = offsets.itemsize + (dtype.itemsize + work.accumulator) * columns
    cuts = list(tiles(offsets, max(1, element), segment, tile))
    alike = ("segments", call.name, *(e.array.dtype for e in operands.elements), columns)
    spread(context, [work.block(cut, offsets, results) for cut in cuts if not cut.long], alike)
    for cut in cuts:
        if cut.long:  # a line's windows find the memory of tiles free
            work.long(cut, offsets, results)
    if target is not None and not direct:
        np.copyto(target, results)
    return results if target is None else target


class _Work:
    """What the tiles of a call share. accumulator: bytes of one."""

    def __init__(self, call: SegmentCall, operands: SegmentOperands, mode: str, accumulator: int) -> None:
        self._call, self._operands, self._mode, self.accumulator = call, operands, mode, accumulator
        self._copies: dict[Context, list[Element]] = {}

    def _elements(self, context: Context) -> list[Element]:
        """The elements, those that are gathered from as copies on a device."""
        if context not in self._copies:
            each = self._operands.elements
            self._copies[context] = [replace(e, array=array(e.array, context)) if e.through else e for e in each]
        return self._copies[context]

    def block(self, tile: Tile, offsets: NumpyArray, results: NumpyArray) -> Block:
        """One tile."""
        begin, end = int(offsets[tile.first]), int(offsets[tile.end])
        own = offsets[tile.first : tile.end + 1] - offsets[tile.first]

        def submit(calls: TileCalls, context: Context) -> None:
            whole = self._elements(context)
            sources = [("offsets", own), *(("values", e.array[begin:end]) for e in whole if not e.through)]

            def call(arrays: Sequence[DeviceArray]) -> Sequence[DeviceArray]:
                parts = iter(arrays[1:])
                operands = replace(
                    self._operands, context=context, offsets=arrays[0], length=end - begin,
                    elements=[e if e.through else replace(e, array=next(parts)) for e in whole],
                    segments=tile.end - tile.first, on_device=True,
                )  # fmt: skip
                prepared = prepare_segments(self._call, operands, Options(self._mode, context))
                return prepared.run() if isinstance(prepared, Prepared) else prepared

            calls.run(sources, [results[tile.first : tile.end]], call)

        return Block(end - begin + tile.end - tile.first, submit)

    def long(self, tile: Tile, offsets: NumpyArray, results: NumpyArray) -> None:
        """Reduces one segment as a line, for each of its numbers apart."""
        begin, end = int(offsets[tile.first]), int(offsets[tile.end])
        segment = LongSegment(self._call, self._operands, Options(self._mode, self._operands.context))
        results[tile.first] = segment.reduced(begin, end)
