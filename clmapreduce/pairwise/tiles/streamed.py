"""Reductions over pairs whose arrays have no room in device memory, or that several devices share: tile by tile of
rows, and of columns where these have no room either.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

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
from clmapreduce.pairwise.call import PairCall, explain_pairs, plan_pairs, reduce_pairs
from clmapreduce.pairwise.tiles.batches import BatchTiles, batch_of
from clmapreduce.pairwise.tiles.pair_tiles import Arrays, PairTiles, tiles_of
from clmapreduce.pairwise.tiles.results import HostResults
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
    """As `reduce_pairs`; host arrays that have no room are streamed. Several devices share calls without a batch."""
    tiles = tiles_of(call, arrays, options, ranges)
    if tiles is not None:
        results = _Run(tiles).results()
    else:
        batch = batch_of(call, arrays, options, ranges)
        if batch is None:
            return reduce_pairs(call, arrays, options, ranges)
        results = _of_batch(batch)
    return results[0] if len(results) == 1 else tuple(results)


def explained_tiles(
    call: PairCall, arrays: Mapping[Variable, Any], options: Options, ranges: Ranges | None = None
) -> Explanation:
    """As `explain_pairs`; of a call in tiles, how the first one runs."""
    tiles = tiles_of(call, arrays, options, ranges)
    if tiles is not None:
        return explain_pairs(call, tiles.first, tiles.own, tiles.part(0, tiles.tile[0])).headed(tiles.summary)
    batch = batch_of(call, arrays, options, ranges)
    if batch is None:
        return explain_pairs(call, arrays, options, ranges)
    if batch.step:
        return explain_pairs(call, batch.part(0, batch.step), batch.own, ranges).headed(batch.summary)
    return explained_tiles(call, batch.element(0), batch.own, ranges).headed(batch.summary)


def _of_batch(batch: BatchTiles) -> list[NumpyArray]:
    """One result per output of a call with a batch: some elements at a time, or each as a call in tiles."""
    results = HostResults(batch.outputs, batch.options, batch.context, batch.arrays.values())
    batch.context.wait_for(batch.options.wait_for)
    if not batch.step:
        for k in range(batch.length):
            element = reduced(batch.call, batch.element(k), batch.own, batch.ranges)
            for result, own in zip(results.arrays, element if isinstance(element, tuple) else (element,), strict=True):
                result[k] = own
        return results.delivered()
    context = batch.context.workers[0]
    fixed = {v: array(a, context) for v, a in batch.of_all.items()}
    order = list(batch.cut)

    def call(parts: list[DeviceArray]) -> list[DeviceArray]:
        whole = {**fixed, **dict(zip(order, parts, strict=True))}
        result = reduce_pairs(batch.call, {v: whole[v] for v in batch.arrays}, batch.own, batch.ranges)
        return list(result) if isinstance(result, tuple) else [result]

    with TileCalls(context) as calls:
        for begin, end in _stretches(batch.length, batch.step):
            sources = [(f"variable {v.position}", np.ascontiguousarray(batch.cut[v][begin:end])) for v in order]
            calls.run(sources, [result[begin:end] for result in results.arrays], call)
    return results.delivered()


@dataclass(frozen=True)
class _Run:
    """A call in tiles, as it runs."""

    tiles: PairTiles

    def results(self) -> list[Any]:
        """One result per output of the call."""
        tiles = self.tiles
        outputs = tiles.outputs(tiles.call, tiles.extents[0])
        on_host = [values for values in tiles.arrays.values() if isinstance(values, np.ndarray)]
        results = HostResults(outputs, tiles.options, tiles.context, on_host)
        tiles.context.wait_for(tiles.options.wait_for)
        if tiles.tile[1] == tiles.extents[1]:
            self._over_rows(results.arrays)
        else:
            self._over_pairs(results.arrays)
        if tiles.on_device:
            return [upload(result, tiles.context) for result in results.arrays]
        return results.delivered()

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
