"""A traced function of vectors: inputs, outputs, and the steps between them, equal parts computed once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from clmapreduce.dtypes import DType
from clmapreduce.formula.formula import Input
from clmapreduce.formula.node import Apply, Index, Literal, Node, Value, components, postorder, rebuild
from clmapreduce.program.step import Result, Step


@dataclass(frozen=True, eq=False)
class Program:
    """Inputs and outputs as in a `Formula`; `steps` are those that the outputs need, each after what it needs.

    An output that varies has one value per index, others one for the line. `length`: of the line, where an unfold names
    it. `partials`: the partials that the program ends with, in place of outputs. `length_read`: the length of the line,
    where the function asked for it. `axis_read`: whether it took its vectors for arrays of one axis. `nodes`: all of
    them, those that steps work on included.
    """

    inputs: tuple[Input, ...]
    outputs: tuple[Value, ...]
    length: int | None = None
    partials: Step | None = None
    length_read: int | None = None
    axis_read: bool = False
    steps: tuple[Step, ...] = field(init=False)
    nodes: tuple[Node, ...] = field(init=False)

    def __post_init__(self) -> None:
        roots = [node for value in self.outputs for node in components(value).values()]
        last = [] if self.partials is None else [self.partials]
        below = [node for step in last for node in step.nodes]
        steps = (*steps_of([*roots, *below]), *last)
        object.__setattr__(self, "steps", steps)
        every = postorder([*roots, *(node for step in steps for node in step.nodes)])
        object.__setattr__(self, "nodes", tuple(every))

    @cached_property
    def dtypes(self) -> tuple[DType, ...]:
        """Every dtype computed with, each once, the index's int64 left out."""
        dtypes = [node.dtype for node in self.nodes if not isinstance(node, Index)]
        dtypes += [c.dtype for step in self.steps for c in step.bound.components]
        return tuple(dict.fromkeys(dtypes))


def needs(roots: Sequence[Node]) -> Iterator[Step]:
    """The steps whose results the nodes use directly."""
    steps = {id(n.step): n.step for n in postorder(roots) if isinstance(n, Result)}
    yield from steps.values()


def steps_of(roots: Sequence[Node], among: Callable[[Step], bool] = lambda step: True) -> list[Step]:
    """Every step `among` some that the nodes need, directly or through such steps, each after what it needs itself.

    A loop, because an iteration may be hundreds of steps deep.
    """
    order: dict[int, Step] = {}
    todo = [(step, False) for step in reversed(list(needs(roots))) if among(step)]
    while todo:
        step, ready = todo.pop()
        if ready:
            order[id(step)] = step
        elif id(step) not in order:
            todo.append((step, True))
            todo += [(below, False) for below in reversed(list(needs(step.nodes))) if among(below)]
    return list(order.values())


def varies(value: Value) -> bool:
    """Whether a value may differ from index to index."""
    return any(node.varies for node in components(value).values())


def shared(program: Program) -> Program:
    """The same program with equal nodes and equal steps made one."""
    return _Sharing().program(program)


class _Sharing:
    def __init__(self) -> None:
        self._nodes: dict[Hashable, Node] = {}
        self._steps: dict[Hashable, Step] = {}
        self._done: dict[int, Node] = {}
        self._alive: list[Any] = []

    def program(self, program: Program) -> Program:
        for step in program.steps:  # each after the steps that it needs, so that the recursion is not deep
            self._step(step)
        partials = None if program.partials is None else self._step(program.partials)
        return replace(program, outputs=tuple(self._value(value) for value in program.outputs), partials=partials)

    def _value(self, value: Value) -> Value:
        return rebuild({name: self._node(node) for name, node in components(value).items()})

    def _node(self, root: Node) -> Node:
        for node in postorder([root], self._done):
            key = self._key(node)
            self._alive.append(node)
            if key is None:
                self._done[id(node)] = node
            elif isinstance(node, Result):
                self._done[id(node)] = self._step(node.step).results[node.part]
            else:
                self._done[id(node)] = self._nodes.setdefault(key, self._rebuilt(node))
        return self._done[id(root)]

    def _key(self, node: Node) -> Hashable:
        if isinstance(node, Literal):
            return ("literal", node.dtype, type(node.value), repr(node.value))
        if isinstance(node, Index):
            return "index"
        if isinstance(node, Apply):
            return (node.function.name, id(node.function), node.dtype, *(id(self._done[id(arg)]) for arg in node.args))
        return "step" if isinstance(node, Result) else None

    def _rebuilt(self, node: Node) -> Node:
        if not isinstance(node, Apply):
            return node
        return Apply(node.function, tuple(self._done[id(arg)] for arg in node.args), node.dtype, node.weak)

    def _step(self, step: Step) -> Step:
        self._alive.append(step)
        value = self._value(step.value)
        parts = tuple((name, id(node)) for name, node in components(value).items())
        key = (step.kind, id(step.bound), step.dtype, step.exclusive, id(step.narrow), parts)
        if key not in self._steps:
            self._steps[key] = Step(step.kind, step.bound, value, step.label, step.dtype, step.exclusive, step.narrow)
        return self._steps[key]
