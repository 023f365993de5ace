"""Reductions over pairs whose arrays have no room in device memory, or that several devices share: tile by tile of
rows, and of columns where these have no room either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from clmapreduce.calls.call import check_out
from clmapreduce.calls.explain import Explanation
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Planned
from clmapreduce.calls.progress import followed
from clmapreduce.device.array import DeviceArray, NumpyArray, upload
from clmapreduce.device.context import Context
from clmapreduce.device.convert import array
from clmapreduce.device.several.copies import copy_on
from clmapreduce.device.several.spread import Block, spread
from clmapreduce.device.tile_calls import TileCalls
from clmapreduce.device.tuned import text_of
from clmapreduce.dtypes import DType
from clmapreduce.pairwise.call import PairCall, explain_pairs, plan_pairs, reduce_pairs
from clmapreduce.pairwise.pair_tiles import Arrays, PairTiles, tiles_of
from clmapreduce.ranges import Ranges
from clmapreduce.tuning.rates import known_rate, note_rate
from clmapreduce.vector.node import Category, Variable

PROBE = (1024, 8192)
"""Rows and columns of the call that measures a device."""


@followed
def reduced(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None = None, *,
    progress: Any = None,
) -> Any:  # fmt: skip
    """As `reduce_pairs`; host arrays without a batch that have no room are streamed, and several devices share them."""
    tiles = tiles_of(call, arrays, options, ranges)
    if tiles is None:
        return reduce_pairs(call, arrays, options, ranges)
    results = _Run(tiles).results()
    return results[0] if len(results) == 1 else tuple(results)


def explained_tiles(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None = None
) -> Explanation:
    """As `explain_pairs`; of a call in tiles, how the first one runs."""
    tiles = tiles_of(call, arrays, options, ranges)
    if tiles is None:
        return explain_pairs(call, arrays, options, ranges)
    return explain_pairs(call, tiles.first, tiles.own, tiles.part(0, tiles.tile[0])).headed(tiles.summary)


@dataclass(frozen=True)
class _Run:
    """A call in tiles, as it runs."""

    tiles: PairTiles

    def results(self) -> list[Any]:
        """One result per output of the call."""
        outputs = self.tiles.outputs(self.tiles.call, self.tiles.extents[0])
        targets = check_out(self.tiles.options.out, outputs, self.tiles.context)
        results = [
            target if self._is_direct(target, dtype) else np.empty(shape, dtype)
            for target, (shape, dtype) in zip(targets, outputs, strict=True)
        ]
        self.tiles.context.wait_for(self.tiles.options.wait_for)
        if self.tiles.tile[1] == self.tiles.extents[1]:
            self._over_rows(results)
        else:
            self._over_pairs(results)
        if self.tiles.on_device:
            return [upload(result, self.tiles.context) for result in results]
        for target, result in zip(targets, results, strict=True):
            if target is not None and target is not result:
                np.copyto(target, result)
        return [result if target is None else target for target, result in zip(targets, results, strict=True)]

    def _is_direct(self, target: NumpyArray | None, dtype: DType) -> bool:
        """Whether results may be copied from the device to a target while others are still computed."""
        if target is None or target.dtype != dtype or not target.flags.c_contiguous:
            return False
        return not any(np.may_share_memory(target, values) for values in self.tiles.arrays.values())

    def _fixed(self, context: Context, *, columns: bool) -> dict[Variable, DeviceArray]:
        """Copies of parameters, and of all columns, on a device."""
        parameters = {v: a for v, a in self.tiles.arrays.items() if v.category is Category.PARAMETER}
        arrays = {**parameters, **self.tiles.of_side(False)} if columns else parameters
        return {v: _on(a, context) for v, a in arrays.items()}

    def _over_rows(self, results: Sequence[NumpyArray]) -> None:
        """Tiles of rows, which all meet the same columns, on one device or several."""
        copies: dict[Context, dict[Variable, DeviceArray]] = {}

        def block(begin: int, end: int) -> Block:
            def submit(calls: TileCalls, context: Context) -> None:
                if context not in copies:
                    copies[context] = self._fixed(context, columns=True)
                rows, pairs = self.tiles.of_side(True), self.tiles.call
                there = {v: _on(a, context)[begin:end] for v, a in rows.items() if isinstance(a, DeviceArray)}
                cut = {v: a for v, a in rows.items() if isinstance(a, np.ndarray)}
                others = {**copies[context], **there}
                sources, call = self._submitted(cut, begin, end, others, pairs, context)
                calls.run(sources, [result[begin:end] for result in results], call)

            return Block(max(1, self.tiles.pairs(begin, end)), submit)

        blocks = [block(*stretch) for stretch in _stretches(self.tiles.extents[0], self.tiles.tile[0])]
        context, key = self.tiles.context, self.tiles.rates_key
        is_first = context.rates.get(key) is None
        spread(context, blocks, key, self._rate)
        if is_first and context.members and not context.is_of_one_kind:
            for worker, rate in (context.rates.get(key) or {}).items():
                note_rate(rate, worker, *self._kind)

    @property
    def _kind(self) -> tuple[str, str]:
        """What is alike in calls that devices do at the same rate: the kernel's text, and about how many columns."""
        part = self.tiles.part(0, self.tiles.tile[0])
        planned = plan_pairs(self.tiles.call, self.tiles.first, self.tiles.own, ranges=part)
        assert isinstance(planned, Planned)  # there are rows
        return text_of(planned.executable.plan.stages[0].spec), str(self.tiles.extents[1].bit_length())

    def _rate(self, context: Context) -> float:
        """Pairs a second of a device, as an earlier process noted it, or by a short call."""
        noted = known_rate(context, *self._kind)
        return self._measured(context) if noted is None else noted

    def _measured(self, context: Context) -> float:
        """Pairs a second of a device, by a short call."""
        rows, columns = (min(most, extent) for most, extent in zip(PROBE, self.tiles.extents, strict=True))
        lengths = {True: rows, False: columns}
        arrays = {
            v: _on(a, context, None if v.category is Category.PARAMETER else lengths[self.tiles.is_outer(v)])
            for v, a in self.tiles.arrays.items()
        }
        for _ in range(2):  # the first one builds kernels
            begin = time.perf_counter()
            reduce_pairs(self.tiles.call, arrays, self.tiles.of(context))
            context.wait()
        return rows * columns / (time.perf_counter() - begin)

    def _over_pairs(self, results: Sequence[NumpyArray]) -> None:
        """Tiles of columns for every tile of rows; the host merges what they give. The first device does it all."""
        parts, partial = self.tiles.parts, self.tiles.tile_call
        context = self.tiles.context.workers[0]
        fixed = self._fixed(context, columns=False)
        for begin, end in _stretches(self.tiles.extents[0], self.tiles.tile[0]):
            rows = {v: array(a[begin:end], context) for v, a in self.tiles.of_side(True).items()}
            outputs = self.tiles.outputs(partial, end - begin)
            merger = parts.merger(outputs)
            with TileCalls(context) as calls:
                for first, last in _stretches(self.tiles.extents[1], self.tiles.tile[1]):
                    own = [np.empty(shape, dtype) for shape, dtype in outputs]
                    others = {**fixed, **rows}
                    sources, call = self._submitted(self.tiles.of_side(False), first, last, others, partial, context)
                    calls.run(sources, own, call, _merging(merger, own, first))
            for result, merged in zip(results, merger.results(self.tiles.call.reduction.name), strict=True):
                result[begin:end] = merged

    def _submitted(
        self, cut: Arrays, begin: int, end: int, others: Mapping[Variable, DeviceArray], pairs: PairCall,
        context: Context,
    ) -> tuple[list[tuple[str, NumpyArray]], Callable[[list[DeviceArray]], list[DeviceArray]]]:
        """The arrays of a tile, and the call on them."""
        order = list(cut)
        ranges = self.tiles.part(begin, end)

        def call(parts: list[DeviceArray]) -> list[DeviceArray]:
            whole = {**others, **dict(zip(order, parts, strict=True))}
            operands = {variable: whole[variable] for variable in self.tiles.arrays}
            result = reduce_pairs(pairs, operands, self.tiles.of(context), ranges)
            return list(result) if isinstance(result, tuple) else [result]

        return [(f"variable {v.position}", np.ascontiguousarray(cut[v][begin:end])) for v in order], call


def _on(x: NumpyArray | DeviceArray, context: Context, length: int | None = None) -> DeviceArray:
    """An array on one of several devices, or its first rows."""
    return copy_on(x, context)[:length] if isinstance(x, DeviceArray) else array(x[:length], context)


def _stretches(length: int, step: int) -> Iterator[tuple[int, int]]:
    return ((begin, min(begin + step, length)) for begin in range(0, length, step))


def _merging(merger: Any, own: list[NumpyArray], first: int) -> Callable[[], None]:
    return lambda: merger.add(own, first)
