"""Iterates of a function as the statements that a kernel template asks for: an iterate called `s` is one C variable per
number of it, `s_0`, ….
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from clmapreduce.dtypes import DType, Leaf, c_name
from clmapreduce.formula.content import HasContent
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.node import Node, components
from clmapreduce.formula.text.statements import Statements
from clmapreduce.halves.formulas import Halves, stored


@dataclass(frozen=True, eq=False)
class Iteration(HasContent):
    """So many iterates of a function in a dtype. step: the formula of an iterate from `before`, the nodes that stand
    for the numbers of the one before it; its index is the number of that one.
    """

    length: int
    dtype: DType
    step: Formula
    before: tuple[Node, ...]

    def in_float32(self) -> Iteration:
        """The same where float16 is not computed with: iterates are bits, as they are stored (`clmapreduce/halves`)."""
        halves = Halves()
        before = tuple(components(halves.opened(node))[""] for node in self.before)
        step = Formula((), tuple(map(halves.output, self.step.outputs)))
        return Iteration(self.length, stored(self.dtype), step, before)


@dataclass(frozen=True, eq=False)
class IterationText(HasContent):
    """The statements of an iteration, whatever its length. narrow: indices are ints."""

    step: Formula
    before: tuple[Node, ...]
    narrow: bool

    def begin(self, state: str, start: Formula, at: str, lanes: int) -> str:
        """Declares `state` as the start at an index, the value of a formula."""
        block = Statements(lanes, self.narrow, prefix=state)
        texts = block.texts(block.load(start, at)[0]).values()
        numbers = zip(self.before, texts, strict=True)
        declared = [f"{c_name(node.dtype, lanes)} {state}_{i} = {text};" for i, (node, text) in enumerate(numbers)]
        return "\n".join([str(block), *declared])

    def iterate(self, state: str, number: str, lanes: int) -> str:
        """Sets `state`, the iterate of a number, to the next one."""
        names = self._names(state)
        block = Statements(lanes, self.narrow, prefix="w", uniform=True)
        after = block.compute(self.step, number, dict(zip(self.before, names, strict=True)))[0]
        block.assign(dict(zip(names, components(after).values(), strict=True)))
        return "{\n" + str(block) + "\n}"

    def stored(self, state: str, at: str, lanes: int, store: Callable[[Mapping[Leaf, str], str, int], str]) -> str:
        """Hands `state` to `store`, for a place."""
        return store(dict(zip(components(self.step.outputs[0]), self._names(state), strict=True)), at, lanes)

    def _names(self, state: str) -> list[str]:
        return [f"{state}_{i}" for i in range(len(self.before))]
