"""How reductions over pairs are cut into tiles: where arrays have no room in device memory, and where several devices
share a call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from clmapreduce.calls.call import Output
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Planned
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.device.context import Context, context_of
from clmapreduce.device.tiles import may_stream, on_host, room_of
from clmapreduce.errors import DeviceMemoryError
from clmapreduce.pairwise.arrays import gather_pairs
from clmapreduce.pairwise.call import PairCall, plan_pairs
from clmapreduce.pairwise.tiles.partial import Parts, parts_of
from clmapreduce.plan import IN_FLIGHT
from clmapreduce.ranges import Ranges
from clmapreduce.vector.node import Category, Variable

TILE = 16 << 20
"""Bytes of a tile of rows, or of columns."""
LEAST_TILE = 1 << 16
IN_MEMORY = 8
"""A tile takes its bytes twice, because kernels may pack it, and two are in flight beside two of the other side."""

BLOCKS = 64
"""Blocks of rows at most that several devices share."""
LEAST_WORK = 2e11
"""Of a block: 3 ms on an H100. A block costs the host 0.3 to 0.7 ms, and a launch over few rows is slower by up to a
third.
"""
OF_A_PAIR = 20
"""The work of a pair is this plus its numbers: on an H100 a Gaussian sum takes 0.37 ps a pair with 7 numbers, 1.3 ps
with 101.
"""
OF_A_NUMBER = 1100
"""A block prepares all columns for itself where pairs are matrix products: the work for each of their numbers. On an
H200 that takes 12 ps.
"""
PREPARING = 0.03
"""How much of the work of all pairs this may be where a call has more than FEW blocks."""
FEW = 8
ALIGNED = 256
"""What the rows of a block are a multiple of."""

Arrays: TypeAlias = "Mapping[Variable, NumpyArray | DeviceArray]"


def tiles_of(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None
) -> PairTiles | None:
    """The tiles of a call that is streamed or shared; None for any other. Raises DeviceMemoryError where columns have
    no room and results of parts of them cannot be merged, or where no tile fits.
    """
    homes = [v.context for v in arrays.values() if isinstance(v, DeviceArray)]
    context = homes[0] if homes else context_of(options.context)
    if homes and not (context.members and options.out is None):
        return None
    plain = all(
        isinstance(v, (np.ndarray, DeviceArray)) and v.ndim == (1 if variable.category is Category.PARAMETER else 2)
        for variable, v in arrays.items()
    )
    if not arrays or not plain:
        return None
    if not may_stream(context, (), options.out) and not (context.members and on_host((), options.out)):
        return None
    operands = gather_pairs(arrays, (), context, dict(call.names))
    rows, columns = operands.extents if call.axis == 1 else operands.extents[::-1]
    if not rows or not columns:
        return None
    room, usable = room_of(context)
    total = sum(values.nbytes for values in arrays.values())
    whole = PairTiles(call, arrays, context, options, (rows, columns), (rows, columns), ranges)
    if total > (room if context.facts.lends_memory else usable // 2):
        return None if homes else _cut(whole, total)
    if not context.members:
        return None
    numbers = sum(v.shape[-1] for v in arrays.values())
    height = _height(rows, whole.pairs(0, rows) * (OF_A_PAIR + numbers), OF_A_NUMBER * columns * numbers)
    tiles = replace(whole, tile=(height, columns))
    return tiles if height < rows and not tiles.first_is_best_alone else None


def _cut(whole: PairTiles, total: int) -> PairTiles:
    """The tiles of a call that has no room. whole: all of it as one. total: bytes of its arrays. Raises
    DeviceMemoryError, see `tiles_of`.
    """
    room, usable = room_of(whole.context)
    name, (rows, columns) = whole.call.reduction.name, whole.extents
    outer, inner = (sum(values.nbytes for values in whole.of_side(side).values()) for side in (True, False))
    has_columns = inner <= usable // 4
    if not has_columns and whole.ranges is not None:
        raise DeviceMemoryError(
            f"{name}: the arrays of what is reduced take {inner} bytes of device memory, and {usable // 4} are left "
            "for them; results of parts of them are merged without ranges= only"
        )
    tile, left = TILE, usable - (2 * inner if has_columns else 0)
    while tile >= LEAST_TILE:
        height = max(1, tile * rows // max(1, outer))
        width = columns if has_columns else max(1, tile * columns // max(1, inner))
        tiles = replace(whole, tile=(min(rows, height), min(columns, width)), streamed=True)
        if IN_MEMORY * tile <= left and IN_MEMORY * tile + IN_FLIGHT * tiles.beside <= left:
            return tiles
        tile //= 2
    raise DeviceMemoryError(
        f"the arrays of this call take {total} bytes of device memory and {room} are left; streamed, two tiles of "
        f"{LEAST_TILE} bytes of rows, and of columns, at least must fit, with what their launches leave to each other; "
        "raise memory_limit or CLMR_MEMORY_LIMIT, or free arrays"
    )


def _height(rows: int, work: int, preparation: int) -> int:
    """Rows of a block that one of several devices takes: from the call's sizes alone, so that its results have the same
    bits on any number of devices. work: of all pairs. preparation: the work of a block before it meets the first pair.
    """
    most = max(FEW, int(PREPARING * work / max(1, preparation)))
    blocks = max(1, min(BLOCKS, most, int(work // LEAST_WORK)))
    height = -(-rows // (1 << (blocks.bit_length() - 1)))  # 2, 4 and 8 devices get equal shares
    return min(rows, -(-height // ALIGNED) * ALIGNED)


@dataclass(frozen=True)
class PairTiles:
    """A call in tiles. extents: rows and columns. tile: those of one. ranges: which pairs it meets, if not all.
    streamed: it has no room as a whole.
    """

    call: PairCall
    arrays: Arrays
    context: Context
    options: Options
    extents: tuple[int, int]
    tile: tuple[int, int]
    ranges: Ranges | None = None
    streamed: bool = False

    def of(self, context: Context) -> Options:
        """The options of a tile on a device."""
        return Options(self.options.mode, context)

    def part(self, first: int, end: int) -> Ranges | None:
        """The ranges of some rows."""
        rows, columns = self.extents
        M, N = (rows, columns) if self.call.axis == 1 else (columns, rows)
        return None if self.ranges is None else self.ranges.part(self.call.axis, M, N, first, end, not self.streamed)

    def pairs(self, first: int, end: int) -> int:
        """How many pairs some rows meet."""
        columns, part = self.extents[1], self.part(first, end)
        if part is None:
            return (end - first) * columns
        M, N = (end - first, columns) if self.call.axis == 1 else (columns, end - first)
        return part.half(self.call.axis, M, N).pairs

    @property
    def rates_key(self) -> tuple[PairCall, int]:
        """Of the rates that a context remembers: pairs a second of each device."""
        return self.call, self.extents[1]

    @property
    def first_is_best_alone(self) -> bool:
        """Whether each of the other devices, which are of other kinds, would take longer for one block than the first
        one for the whole call, by the rates that were measured. A device that fails cannot leave such a call to others.
        """
        rates = self.context.rates.get(self.rates_key) or {}
        first, *others = self.context.workers
        if self.context.is_of_one_kind or self.context.on_failure == "redo" or first not in rates:
            return False
        rows = self.extents[0]
        share = rates[first] * self.tile[0] / rows
        return bool(others) and all(rates.get(other, share) < share for other in others)

    @property
    def own(self) -> Options:
        """The options of the first tile."""
        return self.of(self.context.workers[0])

    @property
    def summary(self) -> str:
        """The tiles in words."""
        (rows, columns), (height, width) = self.extents, self.tile
        several = len(self.context.members)
        shared = f"on {several} devices, each of which has all columns" if several else "streamed"
        return (
            f"{shared}: {-(-rows // height):,} × {-(-columns // width):,} tiles of {height:,} rows and {width:,} "
            "columns, 2 in flight; copies overlap launches, on queues of their own; one tile:"
        )

    @property
    def on_device(self) -> bool:
        """Whether results stay on the device."""
        return any(isinstance(values, DeviceArray) for values in self.arrays.values())

    @property
    def first(self) -> Mapping[Variable, NumpyArray]:
        """Arrays like those of the first tile; in the place of device arrays some without values."""
        lengths = {variable: self.tile[not self.is_outer(variable)] for variable in self.arrays}
        shapes = {
            v: values.shape if v.category is Category.PARAMETER else (lengths[v], *values.shape[1:])
            for v, values in self.arrays.items()
        }
        return {
            variable: np.empty(shapes[variable], values.dtype) if isinstance(values, DeviceArray)
            else values[: shapes[variable][0]]
            for variable, values in self.arrays.items()
        }  # fmt: skip

    def is_outer(self, variable: Variable) -> bool:
        """Whether it belongs to rows."""
        return variable.category is (Category.I if self.call.axis == 1 else Category.J)

    def of_side(self, outer: bool) -> Arrays:
        """The arrays of rows, or of columns."""
        sides = {v: a for v, a in self.arrays.items() if v.category is not Category.PARAMETER}
        return {v: a for v, a in sides.items() if self.is_outer(v) is outer}

    @property
    def tile_call(self) -> PairCall:
        """What a tile computes: of parts of the columns, what can be merged."""
        if self.tile[1] == self.extents[1]:
            return self.call
        return replace(self.call, reduction=self.parts.reduction(self.call.reduction))

    @property
    def parts(self) -> Parts:
        """How results of parts of the columns are merged."""
        return parts_of(self.call, next(iter(self.arrays.values())).dtype, self.extents[1])

    def outputs(self, call: PairCall, rows: int) -> list[Output]:
        """Those of so many rows."""
        planned = plan_pairs(call, self.first, self.own)
        assert isinstance(planned, Planned)  # there are rows
        return [((rows, *shape[1:]), dtype) for shape, dtype in planned.outputs]

    @property
    def beside(self) -> int:
        """Those of a tile, as `bytes_beside`."""
        return bytes_beside(self.tile_call, self.first, self.own, self.part(0, self.tile[0]))


def bytes_beside(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None
) -> int:  # fmt: skip
    """Bytes that the launches of a call take beside its arrays: what they leave to each other, and tables."""
    planned = plan_pairs(call, arrays, options, ranges=ranges)
    assert isinstance(planned, Planned)  # there are rows
    plan = planned.executable.plan
    return sum(plan.scratch.values()) + sum(table.values.nbytes for table in plan.tables.values())
