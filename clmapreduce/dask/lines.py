"""Maps, reductions, scans and pipelines of Dask arrays: a task per chunk and pass, and a tree that merges."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import dask.array as da
import numpy as np

from clmapreduce.calls.arguments import Arguments, Described, gather, gather_rows
from clmapreduce.calls.tables import Table
from clmapreduce.checks import choice, switch
from clmapreduce.dask.carried import Carried, carried
from clmapreduce.dask.graph import BlockInfos, Graph, as_chunked, block, places_of, without_empty_chunks, word
from clmapreduce.dask.home import home
from clmapreduce.dask.passes import Passes
from clmapreduce.dask.work import lines as line_work
from clmapreduce.dask.work.lines import LineWork
from clmapreduce.device.convert import host_array
from clmapreduce.errors import ModeError, ShapeError
from clmapreduce.formula.formula import value_dtype
from clmapreduce.primitives.operand import ACCUMULATE
from clmapreduce.primitives.parts import Parts
from clmapreduce.primitives.pipeline import Pipeline
from clmapreduce.program.program import Program, varies


def lines(pipeline: Pipeline, values: Sequence[Any], mode: str, batch: bool | None, accumulate: Any) -> list[Any]:
    """The outputs for these arguments, Dask arrays. Raises what a call of the pipeline raises, and ShapeError for a
    batch whose lines lie in several chunks.
    """
    choice(accumulate, "accumulate", ACCUMULATE)
    over = pipeline.batch if batch is None else switch(batch, "batch")
    context = home()
    arrays = [_argument(value, f"argument {k + 1}") for k, value in enumerate(values)]
    described = [Described(a.shape, a.dtype) if isinstance(a, da.Array) else a for a in arrays]
    arguments = (gather_rows if over else gather)(described, context)
    if over:
        program = pipeline.program(arguments.signature, accumulate, context.facts.fp64, arguments.line == 1)
        inputs = Blocks(arrays, arguments)
    else:
        work = LineWork(pipeline, described, accumulate, mode)
        passes = work.passes(context)
        program, inputs = passes.program, Blocks(arrays, arguments, passes.ordered)
    pipeline.check(program, arguments, over, accumulate)
    task = carried(LineWork(pipeline, described, accumulate, mode), repr(pipeline))
    graph = Graph(_label(pipeline), (task.__dask_tokenize__(), over), inputs.dependencies)
    if over or math.prod(map(len, inputs.chunks)) == 1:
        return _whole(graph, task, inputs, program, over)
    return _in_passes(graph, task, inputs, passes)


def _argument(value: Any, what: str) -> Any:
    """An argument as a Dask array, a table, or a number."""
    if isinstance(value, Table):
        return _table(value, what)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return value
    if isinstance(value, np.ndarray) and not value.ndim:
        return value[()]
    return without_empty_chunks(as_chunked(value, what))


def _table(table: Table, what: str) -> Table:
    """A table that every task carries. Raises ModeError for a checked one, and what arrays on a device raise."""
    if table.checked:
        raise ModeError(f"{what} is {table!r}; mode='check' is not offered for Dask arrays, which hold no numbers yet")
    if table.on_device:
        as_chunked(table.values, what)
    return table.with_values(host_array(table.values))


def _label(pipeline: Pipeline) -> str:
    function: Any = pipeline.function
    return " ".join(type(part).__name__ for part in function.parts) if isinstance(function, Parts) else repr(pipeline)


class Blocks:
    """The blocks of a call's arguments. values: Dask arrays, numbers and tables. typed: the same, numbers of the dtype
    that they have in the call. ordered: blocks come in the order of their elements: all axes but the first one lie in
    one chunk. Numbers, tables, and arrays of one element, are the same at every place.
    """

    def __init__(self, arrays: Sequence[Any], arguments: Arguments, ordered: bool = False) -> None:
        axes = len(arguments.shape)
        cut = {k: x for k, x in enumerate(arrays) if isinstance(x, da.Array) and x.size != 1}
        if ordered:
            cut = {k: x.rechunk({d: -1 for d in range(x.ndim) if axes - x.ndim + d}) for k, x in cut.items()}
        pairs = [part for x in cut.values() for part in (x, tuple(range(axes - x.ndim, axes)))]
        chunks, blocks = da.core.unify_chunks(*pairs) if pairs else ({}, [])
        self.values = [*arrays]
        for k, x in zip(cut, blocks, strict=True):
            self.values[k] = x
        shared = (x if isinstance(x, Table) else one.value for x, one in zip(arrays, arguments.inputs, strict=True))
        self._numbers = [None if k in cut else value for k, value in enumerate(shared)]
        own = zip(self.values, self._numbers, strict=True)
        self.typed = [x if isinstance(x, da.Array) else number for x, number in own]
        self.chunks = tuple(chunks.get(axis, (extent,)) for axis, extent in enumerate(arguments.shape))
        self.infos = BlockInfos(self.chunks, [x.chunks if isinstance(x, da.Array) else None for x in self.values])

    @property
    def dependencies(self) -> list[Any]:
        """The Dask arrays."""
        return [x for x in self.values if isinstance(x, da.Array)]

    def constants(self) -> list[Any]:
        """The values that every place shares; None for the others."""
        pairs = zip(self.values, self._numbers, strict=True)
        return [None if n is None else block(x, (0,) * x.ndim) if isinstance(x, da.Array) else n for x, n in pairs]


def _whole(graph: Graph, task: Carried, inputs: Blocks, program: Program, batch: bool) -> list[Any]:
    """A call whose lines lie in one chunk each: the call itself, per place."""
    if batch and len(inputs.chunks[-1]) > 1:
        raise ShapeError(
            f"the last axis, the line, lies in chunks of {inputs.chunks[-1]}; a batch takes lines whole: "
            "call x.rechunk({-1: -1})"
        )
    shorter = inputs.chunks[:-1] if batch else ()
    outputs = [(inputs.chunks if varies(v) else shorter, value_dtype(v)) for v in program.outputs]
    return graph.layers("chunk", line_work.whole, (task, batch), inputs.infos, inputs.values, outputs)


def _in_passes(graph: Graph, task: Carried, inputs: Blocks, passes: Passes) -> list[Any]:
    """A call whose lines lie in several chunks."""
    known: Any = None
    several = [(inputs.chunks, np.dtype(object))]
    for p in range(len(passes.totals)):
        shared = task, p, known
        (left,) = graph.layers(f"pass-{word(p)}", line_work.totals, shared, inputs.infos, inputs.typed, several)
        keys = [(left.name, *place) for place in places_of(inputs.chunks)]
        last = graph.tree(f"merge-{word(p)}", keys, line_work.merge, task, p)
        before = known.key if p else None
        known = graph.value(f"known-{word(p)}", (line_work.known_of, task, p, last, before))
    outputs = passes.program.outputs
    arrays: dict[int, Any] = {}
    for k in range(len(outputs)):
        if k not in passes.stored:
            name = f"number-{word(k)}"
            graph.add(name, (), (line_work.number, task, k, inputs.constants(), known.key))
            arrays[k] = graph.array(name, (), value_dtype(outputs[k]))
    if passes.stored:
        stored = [(inputs.chunks, value_dtype(outputs[k])) for k in passes.stored]
        shared = task, len(passes.totals), known
        layers = graph.layers("chunk", line_work.outputs, shared, inputs.infos, inputs.typed, stored)
        arrays |= zip(passes.stored, layers, strict=True)
    return [arrays[k] for k in range(len(outputs))]
