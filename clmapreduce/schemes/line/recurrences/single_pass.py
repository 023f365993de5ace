"""Recurrences in one pass, as a scan: tiles pass on maps, and items walk their elements from the state before them.
Tiles of a steady recurrence pass on responses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast as typed

from clmapreduce.reductions.recurrences.base import Recurrent
from clmapreduce.reductions.recurrences.text import StateText
from clmapreduce.reductions.recurrences.walk import StateWalk
from clmapreduce.reductions.text import OperatorText
from clmapreduce.reductions.walks.walk import Walk
from clmapreduce.schemes.line.single_scan import SingleScanText


@dataclass(frozen=True, eq=False)
class SingleRecurrenceText(SingleScanText):
    """bound: not anchored."""

    @property
    def state(self) -> StateText:
        return StateText(typed(Recurrent, self.bound), self.narrow)

    @property
    def walk(self) -> Walk:
        return StateWalk(self.op, self.wide, state=self.state, formula=self.formula)

    @property
    def steady(self) -> bool:
        return self.state.bound.steady

    @property
    def sent(self) -> OperatorText | StateText:
        return self.state if self.steady else super().sent
