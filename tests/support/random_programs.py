"""Random programs with NumPy's results, and parts of programs computed step by step in NumPy."""

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

NodeValues = dict[Node, Any]
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
class _Vector:
    """A traced value, its numbers, and how many reduces it waits for."""

    symbol: Any
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
    outputs: list[_Vector] = []

    def function(x: Any, y: Any, s: Any) -> Any:
        vectors, scalars = [_Vector(x, arrays["in0"]), _Vector(y, arrays["in1"])], [_Vector(s, arrays["in2"])]
        values: list[_Vector] = []
        for move in moves:
            with np.errstate(over="ignore"):
                new = _move(*move, vectors, scalars, length)
            (vectors if np.ndim(new.numbers) else scalars).insert(0, new)
            values.insert(0, new)
        outputs[:] = [values[k % len(values)] for k in ends]
        return tuple(value.symbol for value in outputs)

    program = program_of(function, "i8", "i8", ("i8", Access.ARGUMENT))
    return RandomProgram(program, length, arrays, tuple(k.numbers for k in outputs), max(k.depth for k in outputs))


def _move(kind: str, which: int, i: int, j: int, vectors: list[_Vector], scalars: list[_Vector], length: int) -> _Vector:
    v, w = vectors[i % len(vectors)], vectors[j % len(vectors)]
    s, t = scalars[j % len(scalars)], scalars[i % len(scalars)]
    match kind:
        case "r":
            primitive, ufunc = _REDUCES[which % len(_REDUCES)]
            return _Vector(primitive(v.symbol), ufunc(v.numbers), v.depth + 1)
        case "s":
            primitive, ufunc = _SCANS[which % len(_SCANS)]
            return _Vector(primitive(v.symbol), ufunc(v.numbers), v.depth)
        case "u":
            primitive, ufunc = _UNFOLDS[which % len(_UNFOLDS)]
            return _Vector(primitive(s.symbol), ufunc.accumulate(np.full(length, s.numbers)), s.depth)
        case "m":
            return _Vector(v.symbol * s.symbol + 1, v.numbers * s.numbers + 1, max(v.depth, s.depth))
        case "d":
            return _Vector(v.symbol - w.symbol * 2, v.numbers - w.numbers * 2, max(v.depth, w.depth))
        case "w":
            numbers = np.where(v.numbers < w.numbers, np.arange(length), v.numbers)
            return _Vector(cm.where(v.symbol < w.symbol, cm.index, v.symbol), numbers, max(v.depth, w.depth))
        case _:
            return _Vector(s.symbol * 2 - t.symbol + 1, s.numbers * 2 - t.numbers + 1, max(s.depth, t.depth))


# --------------------------------------------------------------------------------------------------- computed in NumPy
def values_of(values: Sequence[Value], node_values: Mapping[Node, Any], length: int) -> list[dict[Leaf, Any]]:
    """The parts of some values along the line (single numbers broadcast)."""
    node_values = {**node_values, **_indices(values, length)}
    memo: dict[int, Any] = {}
    return [
        {leaf: np.broadcast_to(evaluate(node, node_values, memo), length) for leaf, node in components(value).items()}
        for value in values
    ]


def _indices(values: Sequence[Value], length: int) -> NodeValues:
    nodes = postorder([node for value in values for node in components(value).values()])
    return {node: np.arange(length) for node in nodes if isinstance(node, Index)}


def accumulators(
    operator: Bound, values: Sequence[Value], node_values: Mapping[Node, Any], length: int
) -> Iterator[dict[str, Any]]:
    """The accumulator of nothing, then after each element; several values for operators together."""
    symbols = Record({c.name: Symbol(c.name, c.dtype) for c in operator.components})
    at = Index()
    value: Any = values[0] if len(values) == 1 else tuple(values)
    result = operator.absorb(symbols, [value], [at])
    acc = {c.name: np.asarray(c.identity).astype(c.dtype)[()] for c in operator.components}
    yield acc
    vectors = {**node_values, **_indices(values, length)}
    for i in range(length):
        here = {n: v[i] if np.ndim(v) else v for n, v in vectors.items()}
        here |= {at: np.int64(i), **{symbols[name]: part for name, part in acc.items()}}
        memo: dict[int, Any] = {}
        acc = {name: evaluate(node, here, memo) for name, node in result.items()}
        yield acc


def finish(operator: Bound, acc: Mapping[str, Any]) -> dict[Leaf, Any]:
    """The parts of an accumulator's result."""
    symbols = Record({c.name: Symbol(c.name, c.dtype) for c in operator.components})
    node_values: NodeValues = {symbols[name]: part for name, part in acc.items()}
    return {leaf: evaluate(node, node_values) for leaf, node in components(operator.finish(symbols)).items()}


def prefixes(operator: Bound, values: Sequence[Value], node_values: Mapping[Node, Any], length: int, exclusive: bool) -> Any:
    """The parts of every prefix's result."""
    each = [finish(operator, acc) for acc in accumulators(operator, values, node_values, length)]
    each = each[:-1] if exclusive else each[1:]
    return {leaf: np.array([parts[leaf] for parts in each]) for leaf in each[0]}


def results_of_step(step: Step, node_values: Mapping[Node, Any], length: int) -> NodeValues:
    """What a step's results stand for; an unfold is a scan of its base."""
    if step.kind is Kind.REDUCE:
        *_, last = accumulators(step.bound, [step.value], node_values, length)
        parts = finish(step.bound, last)
    else:
        parts = prefixes(step.bound, [step.value], node_values, length, step.exclusive)
    return {result: np.asarray(parts[leaf]).astype(result.dtype)[()] for leaf, result in step.results.items()}


def inputs_known(program: Program, arrays: Mapping[str, Any]) -> NodeValues:
    """What the symbols of a program's inputs stand for."""
    return {node: arrays[i.name] for i in program.inputs for node in components(i.value).values()}
