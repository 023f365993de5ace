"""Reductions over pairs whose arrays have no room in device memory, or that several devices share: tile by tile of
rows, and of columns where these have no room either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from clmapreduce.calls.call import Output, check_out
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.calls.progress import followed
from clmapreduce.device.array import DeviceArray, NumpyArray
from clmapreduce.device.context import Context, context_of
from clmapreduce.device.convert import array
from clmapreduce.device.spread import Block, spread
from clmapreduce.device.tile_calls import TileCalls
from clmapreduce.device.tiles import may_stream, on_host, room_of
from clmapreduce.dtypes import DType
from clmapreduce.errors import DeviceMemoryError
from clmapreduce.pairwise.arrays import gather_pairs
from clmapreduce.pairwise.call import PairCall, explain_pairs, prepare_pairs, reduce_pairs
from clmapreduce.pairwise.partial import PARTS
from clmapreduce.ranges import Ranges
from clmapreduce.vector.node import Category, Variable

TILE = 16 << 20
"""Bytes of a tile of rows, or of columns."""
LEAST_TILE = 1 << 16
IN_MEMORY = 8
"""A tile takes its bytes twice, because kernels may pack it, and two are in flight beside two of the other side."""

BLOCKS = 64
"""Blocks of rows at most that several devices share."""
LEAST_WORK = 6e10
"""Pairs of a block, times the numbers of a pair: a GPU takes some milliseconds for them, a call costs 0.1 ms."""
ALIGNED = 256
"""What the rows of a block are a multiple of."""
PROBE = (1024, 8192)
"""Rows and columns of the call that measures a device."""

Arrays = Mapping[Variable, NumpyArray]


@followed
def reduced(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None = None, *,
    progress: Any = None,
) -> Any:  # fmt: skip
    """As `reduce_pairs`; host arrays without a batch that have no room are streamed, and several devices share them."""
    tiles = _tiles(call, arrays, options, ranges)
    if tiles is None:
        return reduce_pairs(call, arrays, options, ranges)
    results = tiles.run()
    return results[0] if len(results) == 1 else tuple(results)


def explained_tiles(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None = None
) -> str:
    """As `explain_pairs`; of a call in tiles, how the first one runs."""
    tiles = _tiles(call, arrays, options, ranges)
    if tiles is None:
        return explain_pairs(call, arrays, options, ranges)
    return f"{tiles.summary}\n{explain_pairs(call, tiles.first, tiles.own)}"


def _tiles(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None
) -> PairTiles | None:
    """The tiles of a call that is streamed or shared; None for any other. Raises DeviceMemoryError where columns have
    no room and results of parts of them cannot be merged, or where no tile fits.
    """
    plain = all(
        isinstance(v, np.ndarray) and v.ndim == (1 if variable.category is Category.PARAMETER else 2)
        for variable, v in arrays.items()
    )
    if not arrays or not plain or ranges is not None:
        return None
    context = context_of(options.context)
    if not may_stream(context, (), options.out) and not (context.members and on_host((), options.out)):
        return None
    operands = gather_pairs(arrays, (), context, dict(call.names))
    rows, columns = operands.extents if call.axis == 1 else operands.extents[::-1]
    if not rows or not columns:
        return None
    room, usable = room_of(context)
    total = sum(values.nbytes for values in arrays.values())
    if total <= (room if context.facts.lends_memory else usable // 2):
        height = _height(rows, columns, sum(v.shape[-1] for v in arrays.values())) if context.members else rows
        if height == rows:
            return None
        return PairTiles(call, arrays, context, options, (rows, columns), (height, columns))
    side = {variable: Category(variable.category) for variable in arrays}
    reduced = Category.J if call.axis == 1 else Category.I
    inner = sum(v.nbytes for variable, v in arrays.items() if side[variable] is reduced)
    outer = sum(v.nbytes for variable, v in arrays.items() if side[variable] not in (reduced, Category.PARAMETER))
    whole = inner <= usable // 4
    if not whole and call.reduction.name not in PARTS:
        raise DeviceMemoryError(
            f"{call.reduction.name}: the arrays of what is reduced take {inner} bytes of device memory, and "
            f"{usable // 4} are left for them; results of parts of them are merged for {', '.join(PARTS)}"
        )
    tile = TILE
    while IN_MEMORY * tile > usable - (2 * inner if whole else 0):
        tile //= 2
        if tile < LEAST_TILE:
            raise DeviceMemoryError(
                f"the arrays of this call take {total} bytes of device memory and {room} are left; streamed, two tiles "
                f"of {LEAST_TILE} bytes of rows, and of columns, at least must fit; raise memory_limit or "
                "CLMR_MEMORY_LIMIT, or free arrays"
            )
    height = max(1, tile * rows // max(1, outer))
    width = columns if whole else max(1, tile * columns // max(1, inner))
    return PairTiles(call, arrays, context, options, (rows, columns), (min(rows, height), min(columns, width)))


def _height(rows: int, columns: int, numbers: int) -> int:
    """Rows of a block that one of several devices takes: from the call's sizes alone, so that its results have the same
    bits on any number of devices.
    """
    blocks = int(max(1, min(BLOCKS, rows * columns * numbers // LEAST_WORK)))
    height = -(-rows // blocks)
    return min(rows, -(-height // ALIGNED) * ALIGNED)


@dataclass(frozen=True)
class PairTiles:
    """A call in tiles. extents: rows and columns. tile: those of one."""

    call: PairCall
    arrays: Arrays
    context: Context
    options: Options
    extents: tuple[int, int]
    tile: tuple[int, int]

    def of(self, context: Context) -> Options:
        """The options of a tile on a device."""
        return Options(self.options.mode, context)

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
    def first(self) -> Arrays:
        """The arrays of the first tile."""
        lengths = {variable: self.tile[not self._outer(variable)] for variable in self.arrays}
        return {
            variable: values if variable.category is Category.PARAMETER else values[: lengths[variable]]
            for variable, values in self.arrays.items()
        }

    def run(self) -> list[Any]:
        """One result per output of the call."""
        outputs = self._outputs()
        targets = check_out(self.options.out, outputs, self.context)
        results = [
            target if self._is_direct(target, dtype) else np.empty(shape, dtype)
            for target, (shape, dtype) in zip(targets, outputs, strict=True)
        ]
        self.context.wait_for(self.options.wait_for)
        if self.tile[1] == self.extents[1]:
            self._over_rows(results)
        else:
            self._over_pairs(results)
        for target, result in zip(targets, results, strict=True):
            if target is not None and target is not result:
                np.copyto(target, result)
        return [result if target is None else target for target, result in zip(targets, results, strict=True)]

    def _outer(self, variable: Variable) -> bool:
        """Whether it belongs to rows."""
        return variable.category is (Category.I if self.call.axis == 1 else Category.J)

    def _is_direct(self, target: NumpyArray | None, dtype: DType) -> bool:
        """Whether results may be copied from the device to a target while others are still computed."""
        if target is None or target.dtype != dtype or not target.flags.c_contiguous:
            return False
        return not any(np.may_share_memory(target, values) for values in self.arrays.values())

    def _outputs(self) -> list[Output]:
        prepared = prepare_pairs(self.call, self.first, self.own)
        assert isinstance(prepared, Prepared)  # there are rows
        return [((self.extents[0], *shape[1:]), dtype) for shape, dtype in prepared.outputs]

    def _of(self, outer: bool) -> Arrays:
        """The arrays of rows, or of columns."""
        sides = {v: a for v, a in self.arrays.items() if v.category is not Category.PARAMETER}
        return {v: a for v, a in sides.items() if self._outer(v) is outer}

    def _fixed(self, context: Context, *, columns: bool) -> dict[Variable, DeviceArray]:
        """Copies of parameters, and of all columns, on a device."""
        parameters = {v: a for v, a in self.arrays.items() if v.category is Category.PARAMETER}
        arrays = {**parameters, **self._of(False)} if columns else parameters
        return {v: array(a, context) for v, a in arrays.items()}

    def _over_rows(self, results: Sequence[NumpyArray]) -> None:
        """Tiles of rows, which all meet the same columns, on one device or several."""
        copies: dict[Context, dict[Variable, DeviceArray]] = {}

        def block(begin: int, end: int) -> Block:
            def submit(calls: TileCalls, context: Context) -> None:
                if context not in copies:
                    copies[context] = self._fixed(context, columns=True)
                sources, call = self._submitted(self._of(True), begin, end, copies[context], self.call, context)
                calls.run(sources, [result[begin:end] for result in results], call)

            return Block(end - begin, submit)

        blocks = [block(*stretch) for stretch in _stretches(self.extents[0], self.tile[0])]
        spread(self.context, blocks, (self.call, self.extents[1]), self._rate)

    def _rate(self, context: Context) -> float:
        """Rows a second of a device, by a short call."""
        rows, columns = (min(most, extent) for most, extent in zip(PROBE, self.extents, strict=True))
        lengths = {True: rows, False: columns}
        arrays = {
            v: array(a if v.category is Category.PARAMETER else a[: lengths[self._outer(v)]], context)
            for v, a in self.arrays.items()
        }
        for _ in range(2):  # the first one builds kernels
            begin = time.perf_counter()
            reduce_pairs(self.call, arrays, self.of(context))
            context.wait()
        return rows * columns / (time.perf_counter() - begin) / self.extents[1]

    def _over_pairs(self, results: Sequence[NumpyArray]) -> None:
        """Tiles of columns for every tile of rows; the host merges what they give. The first device does it all."""
        parts = PARTS[self.call.reduction.name]
        partial = replace(self.call, reduction=parts.reduction(self.call.reduction))
        context = self.context.workers[0]
        fixed = self._fixed(context, columns=False)
        for begin, end in _stretches(self.extents[0], self.tile[0]):
            rows = {v: array(a[begin:end], context) for v, a in self._of(True).items()}
            outputs = self._partial_outputs(partial, end - begin)
            merger = parts.merger(outputs)
            with TileCalls(context) as calls:
                for first, last in _stretches(self.extents[1], self.tile[1]):
                    own = [np.empty(shape, dtype) for shape, dtype in outputs]
                    sources, call = self._submitted(self._of(False), first, last, {**fixed, **rows}, partial, context)
                    calls.run(sources, own, call, _merging(merger, own, first))
            for result, merged in zip(results, merger.results(self.call.reduction.name), strict=True):
                result[begin:end] = merged

    def _partial_outputs(self, partial: PairCall, rows: int) -> list[Output]:
        prepared = prepare_pairs(partial, self.first, self.own)
        assert isinstance(prepared, Prepared)  # there are rows
        return [((rows, *shape[1:]), dtype) for shape, dtype in prepared.outputs]

    def _submitted(
        self, cut: Arrays, begin: int, end: int, others: Mapping[Variable, DeviceArray], pairs: PairCall,
        context: Context,
    ) -> tuple[list[tuple[str, NumpyArray]], Callable[[list[DeviceArray]], list[DeviceArray]]]:
        """The arrays of a tile, and the call on them."""
        order = list(cut)

        def call(parts: list[DeviceArray]) -> list[DeviceArray]:
            whole = {**others, **dict(zip(order, parts, strict=True))}
            operands = {variable: whole[variable] for variable in self.arrays}
            result = reduce_pairs(pairs, operands, self.of(context))
            return list(result) if isinstance(result, tuple) else [result]

        return [(f"variable {v.position}", np.ascontiguousarray(cut[v][begin:end])) for v in order], call


def _stretches(length: int, step: int) -> Iterator[tuple[int, int]]:
    return ((begin, min(begin + step, length)) for begin in range(0, length, step))


def _merging(merger: Any, own: list[NumpyArray], first: int) -> Callable[[], None]:
    return lambda: merger.add(own, first)
