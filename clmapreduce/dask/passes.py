"""A program over chunks, in passes: what each chunk leaves to be merged, and what it gives once that is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from clmapreduce.dtypes import leaf_view
from clmapreduce.errors import FormulaError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.formula import value_dtype
from clmapreduce.formula.node import Apply, Index, Node, Record, Value, components, postorder, rebuild
from clmapreduce.program.program import Program, needs, steps_of, varies
from clmapreduce.program.step import Kind, Step
from clmapreduce.reductions import Bound
from clmapreduce.reductions.around.unfinished import UnfinishedBound


@dataclass(frozen=True, eq=False)
class Passes:
    """The passes of a program. totals: per pass, the steps whose accumulators chunks leave; then comes one more, which
    gives the outputs that vary.
    """

    program: Program
    totals: tuple[tuple[Step, ...], ...]

    @cached_property
    def place(self) -> dict[int, tuple[int, int]]:
        """Of every step, by its id: its pass, and its place there."""
        return {id(step): (p, k) for p, steps in enumerate(self.totals) for k, step in enumerate(steps)}

    @cached_property
    def counts(self) -> bool:
        """Whether a chunk's kernels must know the number of its first element."""
        scans = (step for step in self.program.steps if step.kind is Kind.SCAN)
        return any(isinstance(node, Index) for node in self.program.nodes) or any(s.bound.places for s in scans)

    @property
    def ordered(self) -> bool:
        """Whether elements must come in their order."""
        steps = self.program.steps
        return self.counts or any(not step.bound.commutative or step.bound.places for step in steps)

    @cached_property
    def stored(self) -> tuple[int, ...]:
        """Which outputs have one value per index."""
        return tuple(k for k, value in enumerate(self.program.outputs) if varies(value))

    def roots(self, p: int) -> list[Value]:
        """What a chunk computes in a pass, from which steps are left out."""
        if p < len(self.totals):
            return [step.value for step in self.totals[p]]
        return [self.program.outputs[k] for k in self.stored]


def passes_of(program: Program, what: str) -> Passes:
    """The fewest passes. Raises FormulaError for steps that chunks cannot share."""
    levels: dict[int, int] = {}
    by_level: dict[int, list[Step]] = {}
    for step in program.steps:
        if step.kind not in (Kind.REDUCE, Kind.SCAN):
            raise FormulaError(f"{what}: {step.label} is not offered for Dask arrays; compute it from da.arange")
        level = max((levels[id(below)] + 1 for below in needs(step.nodes)), default=0)
        levels[id(step)] = level
        by_level.setdefault(level, []).append(step)
    return Passes(program, tuple(tuple(by_level[level]) for level in sorted(by_level)))


class ChunkFunction:
    """One pass over one chunk, as a function of vectors: of the program's inputs, the number of the chunk's first
    element where elements' numbers count, and the `needed` steps' values: what reduces give, and what scans begin with.
    """

    def __init__(self, passes: Passes, p: int) -> None:
        self._passes, self._pass = passes, p
        self._roots = passes.roots(p)
        nodes = [node for value in self._roots for node in components(value).values()]
        self._running = steps_of(nodes, lambda step: step.kind is Kind.SCAN)
        below = [*nodes, *(node for step in self._running for node in step.nodes)]
        self.needed = list(needs(below))
        self.__name__ = f"pass {p + 1} of a chunk"

    def __call__(self, *values: Any) -> Any:
        inputs, rest = self._passes.program.inputs, list(values)
        known: dict[int, Node] = {}
        for one, value in zip(inputs, rest, strict=False):
            known |= _same(one.value, value)
        del rest[: len(inputs)]
        begin: Any = rest.pop(0) if self._passes.counts else None
        carries: dict[int, Record] = {}
        for step, value in zip(self.needed, rest, strict=True):
            if step.kind is Kind.SCAN:
                carries[id(step)] = value
            else:
                known |= {id(step.results[leaf]): node for leaf, node in components(value).items()}
        for step in self._running:
            prefix = Step(
                Kind.SCAN, UnfinishedBound(step.bound), self._moved(step.value, known, begin), step.label,
                step.bound.layout, step.exclusive, UnfinishedBound(step.narrow or step.bound),
            ).result  # fmt: skip
            assert isinstance(prefix, Record)
            own = Record({**prefix, **{name: prefix[name] + begin for name in step.bound.places}})
            whole = step.bound.finish(step.bound.merge(carries[id(step)], own))
            known |= {id(step.results[leaf]): node for leaf, node in components(whole).items()}
        results = [self._moved(value, known, begin) for value in self._roots]
        if self._pass < len(self._passes.totals):
            results = [
                Step(Kind.REDUCE, UnfinishedBound(step.bound), value, step.label, step.bound.layout).result
                for step, value in zip(self._passes.totals[self._pass], results, strict=True)
            ]
        return tuple(results) if len(results) > 1 else results[0]

    def _moved(self, value: Value, known: dict[int, Node], begin: Any) -> Value:
        """A value in terms of this chunk."""
        nodes = components(value)
        for node in postorder(list(nodes.values()), known):
            if isinstance(node, Index):
                known[id(node)] = node + begin
            elif isinstance(node, Apply):
                args = tuple(known[id(arg)] for arg in node.args)
                known[id(node)] = Apply(node.function, args, node.dtype, node.weak)
            else:
                known[id(node)] = node
        return rebuild({leaf: known[id(node)] for leaf, node in nodes.items()})


def _same(symbol: Value, value: Value) -> dict[int, Node]:
    """The nodes that stand for a symbol's."""
    nodes = components(value)
    return {id(node): nodes[leaf] for leaf, node in components(symbol).items()}


def number_of(value: Value, inputs: Sequence[tuple[Value, Any]], results: Sequence[tuple[Step, Any]]) -> Any:
    """A value that does not vary, computed by the host: a 0-d array. inputs: symbols with what they are. results: steps
    with their values.
    """
    known: dict[Node, Any] = {}
    for symbol, number in inputs:
        known |= {node: leaf_view(np.asarray(number), leaf)[()] for leaf, node in components(symbol).items()}
    for step, number in results:
        known |= {node: leaf_view(np.asarray(number), leaf)[()] for leaf, node in step.results.items()}
    out = np.empty((), value_dtype(value))
    memo: dict[int, Any] = {}
    for leaf, node in components(value).items():
        leaf_view(out, leaf)[...] = evaluate(node, known, memo)
    return out


def result_steps(value: Value) -> list[Step]:
    """The steps whose results a value uses directly."""
    return list(needs(list(components(value).values())))


def shifted(bound: Bound, accumulators: Any, first: int) -> Any:
    """Accumulators of values that lie behind `first` others."""
    for name in bound.places:
        accumulators[name] += first
    return accumulators
