"""How a work-item walks along its elements in a recurrence: its state holds the numbers that the next index needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from clmapreduce.formula.formula import Formula
from clmapreduce.formula.node import Value
from clmapreduce.formula.text.statements import Statements
from clmapreduce.reductions.recurrences.text import StateText
from clmapreduce.reductions.walks.walk import Walk


@dataclass(frozen=True, eq=False)
class StateWalk(Walk):
    """The statements of a recurrence's walk. The tile called `number` may be 0: its accumulator becomes the map that
    gives the state behind it whatever came before.
    """

    state: StateText = field(kw_only=True)
    formula: Formula = field(kw_only=True)

    def first(self, state: str) -> str:
        """Declares `state` as the one before the line."""
        return self.state.start(state, self.formula)

    def anchor(self, acc: str) -> str:
        text = self.state
        first = [text.start("first", self.formula), text.act("first", acc), text.constant(acc, "first")]
        return "if (number == 0) {\n" + "\n".join(first) + "\n}"

    def start(self, state: str, carry: str, before: str) -> str:
        text = self.state
        first = [text.start("first", self.formula), text.act("first", carry), text.assign(state, "first")]
        ends = [text.image(state, carry), text.act(state, before)]
        return "\n".join([text.declare(state), "if (number == 0) {", *first, "} else", *ends])

    def move(self, state: str, values: Callable[[Statements], list[Value]], at: str) -> str:
        return self.state.advance_from(state, values)

    def result(self, block: Statements, state: str) -> Value:
        return self.state.output(block, state)
