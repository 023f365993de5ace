"""How a work-item walks along its elements in a scan: from the state before them, one after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from clmapreduce.formula.node import Value
from clmapreduce.formula.text.statements import Statements
from clmapreduce.reductions.text import OperatorText


@dataclass(frozen=True, eq=False)
class Walk:
    """The statements of a walk whose state is an accumulator. op, wide: the operators inside a vector and between
    vectors. exclusive: a result is without the index's own value.
    """

    op: OperatorText
    wide: OperatorText
    exclusive: bool = False

    def anchor(self, acc: str) -> str:
        """What becomes of the accumulator `acc` of a tile before other tiles merge it."""
        return ""

    def start(self, state: str, carry: str, before: str) -> str:
        """Declares `state`, the one before an item's elements. carry: the accumulator of earlier tiles and warps;
        before: that of earlier items of the warp.
        """
        return f"{self.wide.copy(state, carry)}\n{self.wide.merge(state, state, before)}"

    def move(self, state: str, values: Callable[[Statements], list[Value]], at: str) -> str:
        """Moves `state` behind the index `at`. values: as for `OperatorText.absorb_from`."""
        return self.op.absorb_from(state, values, at)

    def result(self, block: Statements, state: str) -> Value:
        """The result of a state, as nodes of a block."""
        return self.op.bound.finish(block.record(state, self.op.dtypes))

    def in_order(self, move: str, result: str) -> str:
        """A move and its result."""
        return f"{result}\n{move}" if self.exclusive else f"{move}\n{result}"
