"""The work of tasks of maps, reductions, scans and pipelines on a worker."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from clmapreduce.calls.arguments import Arguments, gather
from clmapreduce.dask.carried import Carried
from clmapreduce.dask.graph import BlockInfo
from clmapreduce.dask.home import home
from clmapreduce.dask.passes import ChunkFunction, Passes, number_of, passes_of, result_steps, shifted
from clmapreduce.device.context import Context
from clmapreduce.errors import DeviceError
from clmapreduce.primitives.host import finished, joined, merged
from clmapreduce.primitives.pipeline import Pipeline
from clmapreduce.program.step import Kind, Step
from clmapreduce.reductions import Bound

Known: TypeAlias = "list[list[Any]] | None"
"""What passes left, by pass and step; None before the first one."""


class LineWork:
    """What all tasks of a call share. described: per argument its shape and dtype as a whole, or the number."""

    def __init__(self, pipeline: Pipeline, described: Sequence[Any], accumulate: Any, mode: str) -> None:
        self.pipeline, self.described, self.accumulate, self.mode = pipeline, tuple(described), accumulate, mode
        self._lock = threading.RLock()
        self._passes: dict[bool, Passes] = {}
        self._stages: dict[tuple[bool, int], tuple[Pipeline, ChunkFunction]] = {}

    def __reduce__(self) -> Any:
        return LineWork, (self.pipeline, self.described, self.accumulate, self.mode)

    def arguments(self, context: Context) -> Arguments:
        """The call's arguments as a whole, arrays without their values."""
        return gather(self.described, context)

    def passes(self, context: Context) -> Passes:
        """The passes, as the device computes them."""
        fp64 = context.facts.fp64
        with self._lock:
            if fp64 not in self._passes:
                program = self.pipeline.program(self.arguments(context).signature, self.accumulate, fp64)
                self._passes[fp64] = passes_of(program, repr(self.pipeline))
            return self._passes[fp64]

    def stage(self, p: int, context: Context) -> tuple[Pipeline, ChunkFunction]:
        """One pass over a chunk."""
        key = context.facts.fp64, p
        with self._lock:
            if key not in self._stages:
                function = ChunkFunction(self.passes(context), p)
                self._stages[key] = Pipeline(function), function
            return self._stages[key]

    def run(self, p: int, info: BlockInfo, values: Sequence[Any], known: Known) -> list[Any]:
        """What one pass over a chunk computes. known: what `known_of` gives of the passes before."""
        context = home()
        pipeline, function = self.stage(p, context)
        passes = self.passes(context)
        begin = [np.int64(info.first)] if passes.counts else []
        needed = [_value(step, passes, known, info.number) for step in function.needed]
        results = pipeline(*info.blocks(values), *begin, *needed, mode=self.mode, context=context)
        return list(results) if isinstance(results, tuple) else [results]


def _value(step: Step, passes: Passes, known: Known, chunk: int) -> Any:
    """What a chunk needs of a step: the result of a reduce, the accumulator of all before it of a scan."""
    p, k = passes.place[id(step)]
    value = (known or [])[p][k]
    return value[chunk] if step.kind is Kind.SCAN else value


def whole(task: Carried, batch: bool, info: BlockInfo, *values: Any) -> Any:
    """The call itself, for lines that lie in one chunk."""
    work: LineWork = task.value
    blocks = info.blocks(values)
    return work.pipeline(*blocks, batch=batch, accumulate=work.accumulate, mode=work.mode, context=home())


def outputs(task: Carried, p: int, known: Known, info: BlockInfo, *values: Any) -> Any:
    """The last pass: the chunk's outputs that vary."""
    work: LineWork = task.value
    results = work.run(p, info, values, known)
    return tuple(results) if len(results) > 1 else results[0]


def totals(task: Carried, p: int, known: Known, info: BlockInfo, *values: Any) -> list[Any]:
    """Per step of a pass the accumulator of a chunk, (1,)."""
    work: LineWork = task.value
    results = work.run(p, info, values, known)
    steps = work.passes(home()).totals[p]
    return [
        shifted(step.bound, np.array(result, step.bound.layout).reshape(1), info.first)
        for step, result in zip(steps, results, strict=True)
    ]


def merge(task: Carried, p: int, parts: Sequence[list[Any]]) -> list[Any]:
    """Per step the accumulators of chunks side by side: merged, (1,), where all of them are one value; of scans one per
    chunk. Raises as `side_by_side`.
    """
    results = []
    for step, each in zip(task.value.passes(home()).totals[p], zip(*parts, strict=True), strict=True):
        together = side_by_side(step.bound, each)
        results.append(merged(step.bound, together) if step.kind is Kind.REDUCE else together)
    return results


def side_by_side(bound: Bound, parts: Sequence[Any]) -> Any:
    """Accumulators of several tasks in one array. Raises DeviceError where devices of unlike precision left them."""
    for part in parts:
        if any(part.dtype[c.name] != c.dtype for c in bound.components):
            raise DeviceError(
                "the workers' devices do not compute alike: some have float64, others do not; choose them by "
                "cm.dask.to_devices, or by CLMR_DEVICE"
            )
    return np.concatenate(parts)


def known_of(task: Carried, p: int, parts: list[Any], known: Known) -> Known:
    """Per pass up to this one, per step, what later ones need: of a reduce its result, 0-d; of a scan what every chunk
    begins with, (chunks,) accumulators. known: of the passes before.
    """
    steps = task.value.passes(home()).totals[p]
    own = [
        finished(step.bound, part) if step.kind is Kind.REDUCE else _before(step, part)
        for step, part in zip(steps, parts, strict=True)
    ]
    return [*(known or []), own]


def _before(step: Step, accumulators: Any) -> Any:
    """The accumulator of all before each of some."""
    bound = step.bound
    results = np.empty(len(accumulators), bound.layout)
    for component in bound.components:
        results[component.name][0] = component.identity
    for k in range(1, len(accumulators)):
        left, right = results[k - 1 : k], accumulators[k - 1 : k]
        results[k : k + 1] = joined(bound, left, right) if k > 1 else right
    return results


def number(task: Carried, output: int, values: Sequence[Any], known: Known) -> Any:
    """An output that is one value for the line. values: the arguments that do not vary, None for others."""
    passes = task.value.passes(home())
    value = passes.program.outputs[output]
    pairs = zip(passes.program.inputs, values, strict=True)
    inputs = [(one.value, np.asarray(v).reshape(())) for one, v in pairs if v is not None]
    places = [(step, *passes.place[id(step)]) for step in result_steps(value)]
    return number_of(value, inputs, [(step, (known or [])[p][k]) for step, p, k in places])[()]
