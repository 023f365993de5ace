"""Runs of equal keys tile by tile: the device says where keys change, the host lists the runs: segments from then on.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from clmapreduce.calls.arguments import product
from clmapreduce.calls.options import Options
from clmapreduce.device.array import NumpyArray
from clmapreduce.device.tiles import may_stream
from clmapreduce.dtypes import INT64
from clmapreduce.formula.trace import own
from clmapreduce.primitives.map import Map
from clmapreduce.segmented.call import Element, SegmentCall, SegmentOperands, layout_of
from clmapreduce.segmented.inputs import Columns, Gathered
from clmapreduce.segmented.runs import Equal, changes_between, difference
from clmapreduce.segmented.streamed.cuts import tile_bytes
from clmapreduce.segmented.streamed.reduce import reduce_in_tiles


class StreamedKeys:
    """A reduction by key whose arrays have no room. tile: bytes of a tile. begins: (R + 1,) where runs begin and the
    number of keys.
    """

    def __init__(self, inputs: Gathered, data: Columns, call: SegmentCall, tile: int) -> None:
        self._inputs, self._data, self._call, self._tile = inputs, data, call, tile
        self.context = inputs.context
        self._keys: NumpyArray = inputs.arrays[0]
        self.begins = np.zeros(1, INT64)

    def find(self, equal: Equal | None, key: str, options: Options) -> NumpyArray:
        """The key of every run, (R,). Raises as `changes_between`."""
        keys = self._keys
        changes_between(keys, self._inputs.context, equal, key)
        change = _change(None if equal is None else own(equal))
        within = change(
            keys[:-1], keys[1:], mode=options.mode, context=self._inputs.context, wait_for=options.wait_for
        )  # fmt: skip
        self.begins = np.concatenate([[0], np.flatnonzero(within) + 1, [len(keys)]]).astype(INT64)
        bounds: NumpyArray = keys[self.begins[:-1]] if key == "first" else keys[self.begins[1:] - 1]
        return bounds

    def reduced(self, options: Options) -> NumpyArray:
        """The reduction of every run, (R, *trailing)."""
        runs, data = len(self.begins) - 1, self._data
        operands = SegmentOperands(
            self._inputs.context, _elements(data), self.begins, data.length, data.trailing, runs, False
        )
        return reduce_in_tiles(self._call, operands, options, self._tile)


def streamed_keys(inputs: Gathered, data: Columns, call: SegmentCall, options: Options) -> StreamedKeys | None:
    """The reduction by key in tiles; None where it fits, and for a function that sees the element's number."""
    if data.length < 2 or not may_stream(inputs.context, inputs.arrays, options.out):
        return None
    layout = layout_of(call, _elements(data), INT64, True, inputs.context)
    if layout.formula.uses_index:
        return None
    cut = sum(values.nbytes for values in inputs.arrays)
    rows = inputs.arrays[0].nbytes + data.length * product(data.trailing) * layout.op.result.itemsize
    tile = tile_bytes(inputs.context, cut + rows, 0)
    return StreamedKeys(inputs, data, call, tile) if tile else None


def _elements(data: Columns) -> list[Element]:
    return [Element(values, (), bool(values.shape[1:])) for values in data.arrays]


@lru_cache(maxsize=64)
def _change(equal: Equal | None) -> Map:
    return Map(difference(equal))
