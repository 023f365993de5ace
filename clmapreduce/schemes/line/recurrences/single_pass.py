"""Recurrences in one pass, as a scan: tiles pass on maps, and every item walks its elements from the state before them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast as typed

from clmapreduce.formula.node import Value
from clmapreduce.formula.statements import Statements
from clmapreduce.reductions.recurrences.base import Recurrent
from clmapreduce.reductions.recurrences.text import StateText
from clmapreduce.schemes.line.single_scan import SingleScanText


@dataclass(frozen=True, eq=False)
class SingleRecurrenceText(SingleScanText):
    """bound: not anchored. Posts of the first tile, and of all that it is part of, are maps that give a state whatever
    came before.
    """

    @property
    def state(self) -> StateText:
        return StateText(typed(Recurrent, self.bound), self.narrow)

    def anchor(self, acc: str) -> str:
        first = [self.state.start("first", self.formula), self.state.act("first", acc), self.state.constant(acc, "first")]
        return "if (number == 0) {\n" + "\n".join(first) + "\n}"

    def start(self, state: str, carry: str, before: str) -> str:
        text = self.state
        return "\n".join([
            text.rest(state), "if (number == 0) {", text.start("first", self.formula), text.act("first", carry),
            text.assign(state, "first"), "} else", text.image(state, carry), text.act(state, before),
        ])  # fmt: skip

    def result(self, block: Statements, state: str) -> Value:
        return self.state.output(block, state)

    def move(self, state: str, values: Callable[[Statements], list[Value]], at: str) -> str:
        return self.state.advance_from(state, values)
