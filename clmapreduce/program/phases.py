"""A program in phases: walks over the line, each ending where values are needed that only the whole line gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clmapreduce.formula.node import Apply, Literal, Node, components, postorder
from clmapreduce.program.program import Program, steps_of
from clmapreduce.program.step import Kind, Result, Step


@dataclass(frozen=True)
class Phase:
    """One walk: the scans and unfolds it carries along, each after what it needs, and the reduces it completes; or, in
    the last walk, the outputs it stores (their numbers).
    """

    running: tuple[Step, ...]
    reduces: tuple[Step, ...]
    outputs: tuple[int, ...] = ()

    @property
    def steps(self) -> tuple[Step, ...]:
        return (*self.running, *self.reduces)

    def roots(self, program: Program) -> list[Node]:
        """What the walk computes of each element: what its steps take, and what it stores."""
        outputs = [program.outputs[i] for i in self.outputs]
        stored = [node for value in outputs for node in components(value).values()]
        return [*(node for step in self.steps for node in step.nodes), *stored]


def phases(program: Program) -> list[Phase]:
    """The fewest walks that compute the program: a reduce comes in the first walk in which its values are known."""
    depth = _Depth()
    result: list[Phase] = []
    by_depth: dict[int, list[Step]] = {}
    for step in program.steps:  # each after what it needs, so that no depth is looked for deep inside another's
        d = max(depth.of(node) for node in step.nodes)
        if step.kind is Kind.REDUCE:
            by_depth.setdefault(d, []).append(step)
    for d in sorted(by_depth):
        roots = [node for step in by_depth[d] for node in step.nodes]
        result.append(Phase(running(roots), tuple(by_depth[d])))
    stored = tuple(i for i, value in enumerate(program.outputs) if any(n.varies for n in components(value).values()))
    if stored:
        roots = [node for i in stored for node in components(program.outputs[i]).values()]
        result.append(Phase(running(roots), (), stored))
    return result


def running(roots: Sequence[Node]) -> tuple[Step, ...]:
    """The scans and unfolds that nodes need without a reduce between, each after what it needs."""
    return tuple(steps_of(roots, lambda step: step.kind is not Kind.REDUCE))


def constants(roots: Sequence[Node]) -> list[Node]:
    """The largest parts of some nodes that are one value for the line, numbers written in the formula left out."""
    nodes = {id(n): n for n in roots if not n.varies and not isinstance(n, Literal)}
    for node in postorder(roots):
        if isinstance(node, Apply) and node.varies:
            nodes |= {id(arg): arg for arg in node.args if not arg.varies and not isinstance(arg, Literal)}
    return list(nodes.values())


class _Depth:
    """How many walks must be over before a node can be computed."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def of(self, root: Node) -> int:
        for node in postorder([root], self._known):
            depth = 0
            if isinstance(node, Result):
                below = max(self.of(part) for part in node.step.nodes)
                depth = below + (node.step.kind is Kind.REDUCE)
            elif isinstance(node, Apply):
                depth = max((self._known[id(arg)] for arg in node.args), default=0)
            self._known[id(node)] = depth
        return self._known[id(root)]
