"""Where the segments of a call are cut into tiles, and whether they are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from clmapreduce.device.array import NumpyArray
from clmapreduce.device.context import Context
from clmapreduce.device.tiles import room_of
from clmapreduce.errors import DeviceMemoryError

TILE = 32 << 20
"""Bytes of a tile where two have room: each is a call of its own, which costs more than a launch."""
LEAST_TILE = 1 << 16
SMALL = 8 << 20
"""Bytes of a tile below which its arrays are so short that the arena may hand out twice as much."""
OF_KERNELS = 4
"""A fourth as much again is left for what kernels keep beside a tile's arrays."""


@dataclass(frozen=True)
class Tile:
    """Whole segments, `first` to below `end`; or one that is longer than a tile."""

    first: int
    end: int
    long: bool = False


def tile_bytes(context: Context, cut: int, resident: int) -> int:
    """The bytes of a tile of a call that may be streamed or shared; 0 where it fits and is too short for several
    devices. cut: bytes of the arrays that are cut and of the results. resident: of those that are not. Raises
    DeviceMemoryError where not even two tiles fit beside these.
    """
    total = cut + resident
    room, usable = room_of(context)
    if total <= (room if context.facts.lends_memory else usable) and not (context.members and cut >= 2 * TILE):
        return 0
    tile = TILE
    while 2 * (tile + tile // (1 if tile < SMALL else OF_KERNELS)) + resident > usable:
        tile //= 2
        if tile < LEAST_TILE:
            raise DeviceMemoryError(
                f"the arrays of this call take {total} bytes of device memory and {room} are left; streamed in tiles, "
                f"two of {LEAST_TILE} bytes at least must fit beside {resident} bytes that elements are gathered from; "
                "raise memory_limit or CLMR_MEMORY_LIMIT, or free arrays"
            )
    return tile


def tiles(offsets: NumpyArray, element: int, segment: int, tile: int) -> Iterator[Tile]:
    """The tiles of segments that lie between offsets. element, segment: bytes that each takes. tile: bytes at most."""
    cost = offsets.astype(np.int64) * element + np.arange(len(offsets)) * segment
    first, last = 0, len(offsets) - 1
    while first < last:
        end = int(np.searchsorted(cost, cost[first] + tile, "right")) - 1
        yield Tile(first, max(end, first + 1), long=end <= first)
        first = max(end, first + 1)


def clean(offsets: NumpyArray, segments: int, length: int) -> NumpyArray:
    """Offsets with an end for every segment. Those that nobody checked are moved inside the elements and never fall."""
    ends = offsets if len(offsets) > segments else np.append(offsets, np.array(length, offsets.dtype))
    inside: NumpyArray = np.maximum.accumulate(np.clip(ends, 0, length))
    return inside
