"""Random programs with what NumPy makes of them, and programs' parts computed step by step in NumPy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import clmapreduce as cm
from clmapreduce.dtypes import Leaf
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.formula import Access
from clmapreduce.formula.node import Index, Node, Record, Symbol, Value, components, postorder
from clmapreduce.program.program import Program
from clmapreduce.program.step import Kind, Step
from clmapreduce.reductions import Bound
from support.plans import program_of

Known = dict[Node, Any]
"""What nodes stand for: (n,) arrays, or single numbers."""


# ----------------------------------------------------------------------------------------------------- random programs
@dataclass(frozen=True)
class RandomProgram:
    """A program, its arrays (by name), NumPy's outputs for them, and the most reduces that wait for each
    other.
    """

    program: Program
    length: int
    arrays: dict[str, Any]
    expected: tuple[Any, ...]
    depth: int


LAST = cm.Operator(lambda a, b: cm.where(b == 0, a, b), 0, commutative=False, name="last")
"""The last value that is not 0, an operator that keeps an order."""


def _last_nonzero(values: Any) -> Any:
    """For each index the last value up to it that is not 0."""
    places = np.maximum.accumulate(np.where(values != 0, np.arange(len(values)), -1))
    return np.where(places < 0, 0, values[places])


_REDUCES: list[tuple[Any, Any]] = [
    (cm.Reduce("sum"), np.sum), (cm.Reduce("minimum"), np.min), (cm.Reduce("maximum"), np.max),
    (cm.Reduce("argmin"), np.argmin), (cm.Reduce(LAST), lambda v: _last_nonzero(v)[-1]),
]  # fmt: skip
_SCANS: list[tuple[Any, Any]] = [
    (cm.Scan("sum"), np.cumsum), (cm.Scan("maximum"), np.maximum.accumulate),
    (cm.Scan("sum", exclusive=True), lambda v: np.cumsum(v) - v), (cm.Scan(LAST), _last_nonzero),
]  # fmt: skip
_UNFOLDS: list[tuple[Any, Any]] = [(cm.Unfold("product"), np.multiply), (cm.Unfold("sum"), np.add)]


@dataclass(frozen=True)
class _Known:
    """A traced value, its numbers, and how many reduces it waits for."""

    traced: Any
    numbers: Any
    depth: int = 0


@st.composite
def random_programs(draw: st.DrawFn, steps: int = 16) -> RandomProgram:
    """Integers, which wrap as NumPy's do, so that every order of work gives the same bits."""
    length = draw(st.integers(1, 6))
    place = st.sampled_from([0, 1, 0, 2, 3])  # counted from the newest
    move = st.tuples(st.sampled_from("rrmmsudwo"), st.integers(0, 4), place, place)
    moves = draw(st.lists(move, min_size=steps - 4, max_size=steps))
    ends = draw(st.lists(place, min_size=1, max_size=3))
    numbers = np.random.default_rng(draw(st.integers(0, 999)))
    arrays = {f"in{k}": numbers.integers(-4, 5, length) for k in (0, 1)} | {"in2": np.int64(draw(st.integers(-3, 3)))}
    outputs: list[_Known] = []

    def function(x: Any, y: Any, s: Any) -> Any:
        vectors, scalars = [_Known(x, arrays["in0"]), _Known(y, arrays["in1"])], [_Known(s, arrays["in2"])]
        values: list[_Known] = []
        for move in moves:
            with np.errstate(over="ignore"):
                new = _move(*move, vectors, scalars, length)
            (vectors if np.ndim(new.numbers) else scalars).insert(0, new)
            values.insert(0, new)
        outputs[:] = [values[k % len(values)] for k in ends]
        return tuple(known.traced for known in outputs)

    program = program_of(function, "i8", "i8", ("i8", Access.ARGUMENT))
    return RandomProgram(program, length, arrays, tuple(k.numbers for k in outputs), max(k.depth for k in outputs))


def _move(kind: str, which: int, i: int, j: int, vectors: list[_Known], scalars: list[_Known], length: int) -> _Known:
    v, w = vectors[i % len(vectors)], vectors[j % len(vectors)]
    s, t = scalars[j % len(scalars)], scalars[i % len(scalars)]
    match kind:
        case "r":
            traced, ufunc = _REDUCES[which % len(_REDUCES)]
            return _Known(traced(v.traced), ufunc(v.numbers), v.depth + 1)
        case "s":
            traced, ufunc = _SCANS[which % len(_SCANS)]
            return _Known(traced(v.traced), ufunc(v.numbers), v.depth)
        case "u":
            traced, ufunc = _UNFOLDS[which % len(_UNFOLDS)]
            return _Known(traced(s.traced), ufunc.accumulate(np.full(length, s.numbers)), s.depth)
        case "m":
            return _Known(v.traced * s.traced + 1, v.numbers * s.numbers + 1, max(v.depth, s.depth))
        case "d":
            return _Known(v.traced - w.traced * 2, v.numbers - w.numbers * 2, max(v.depth, w.depth))
        case "w":
            numbers = np.where(v.numbers < w.numbers, np.arange(length), v.numbers)
            return _Known(cm.where(v.traced < w.traced, cm.index, v.traced), numbers, max(v.depth, w.depth))
        case _:
            return _Known(s.traced * 2 - t.traced + 1, s.numbers * 2 - t.numbers + 1, max(s.depth, t.depth))


# --------------------------------------------------------------------------------------------------- computed in NumPy
def values_of(values: Sequence[Value], known: Mapping[Node, Any], length: int) -> list[dict[Leaf, Any]]:
    """The parts of some values along the line (single numbers broadcast)."""
    known = {**known, **_indices(values, length)}
    memo: dict[int, Any] = {}
    return [
        {leaf: np.broadcast_to(evaluate(node, known, memo), length) for leaf, node in components(value).items()}
        for value in values
    ]


def _indices(values: Sequence[Value], length: int) -> Known:
    nodes = postorder([node for value in values for node in components(value).values()])
    return {node: np.arange(length) for node in nodes if isinstance(node, Index)}


def accumulators(
    bound: Bound, values: Sequence[Value], known: Mapping[Node, Any], length: int
) -> Iterator[dict[str, Any]]:
    """The accumulator of nothing, then after each element; several values for operators together."""
    symbols = Record({c.name: Symbol(c.name, c.dtype) for c in bound.components})
    at = Index()
    joined: Any = values[0] if len(values) == 1 else tuple(values)
    result = bound.absorb(symbols, [joined], [at])
    acc = {c.name: np.asarray(c.identity).astype(c.dtype)[()] for c in bound.components}
    yield acc
    vectors = {**known, **_indices(values, length)}
    for i in range(length):
        here = {n: v[i] if np.ndim(v) else v for n, v in vectors.items()}
        here |= {at: np.int64(i), **{symbols[name]: part for name, part in acc.items()}}
        memo: dict[int, Any] = {}
        acc = {name: evaluate(node, here, memo) for name, node in result.items()}
        yield acc


def finished(bound: Bound, acc: Mapping[str, Any]) -> dict[Leaf, Any]:
    """The parts of an accumulator's result."""
    symbols = Record({c.name: Symbol(c.name, c.dtype) for c in bound.components})
    known: Known = {symbols[name]: part for name, part in acc.items()}
    return {leaf: evaluate(node, known) for leaf, node in components(bound.finish(symbols)).items()}


def prefixes(bound: Bound, values: Sequence[Value], known: Mapping[Node, Any], length: int, exclusive: bool) -> Any:
    """The parts of every prefix's result."""
    each = [finished(bound, acc) for acc in accumulators(bound, values, known, length)]
    each = each[:-1] if exclusive else each[1:]
    return {leaf: np.array([parts[leaf] for parts in each]) for leaf in each[0]}


def computed(step: Step, known: Mapping[Node, Any], length: int) -> Known:
    """What a step's results stand for; an unfold is a scan of its base."""
    if step.kind is Kind.REDUCE:
        *_, last = accumulators(step.bound, [step.value], known, length)
        parts = finished(step.bound, last)
    else:
        parts = prefixes(step.bound, [step.value], known, length, step.exclusive)
    return {result: np.asarray(parts[leaf]).astype(result.dtype)[()] for leaf, result in step.results.items()}


def inputs_known(program: Program, arrays: Mapping[str, Any]) -> Known:
    """What the symbols of a program's inputs stand for."""
    return {node: arrays[i.name] for i in program.inputs for node in components(i.value).values()}
