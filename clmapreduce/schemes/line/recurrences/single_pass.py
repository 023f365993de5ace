"""Recurrences in one pass, as a scan: tiles pass on maps, and items walk their elements from the state before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast as typed

from clmapreduce.reductions.recurrences.base import Recurrent
from clmapreduce.reductions.recurrences.text import StateText
from clmapreduce.reductions.recurrences.walk import StateWalk
from clmapreduce.reductions.walks.walk import Walk
from clmapreduce.schemes.line.single_scan import SingleScanText


@dataclass(frozen=True, eq=False)
class SingleRecurrenceText(SingleScanText):
    """bound: not anchored."""

    @property
    def walk(self) -> Walk:
        state = StateText(typed(Recurrent, self.bound), self.narrow)
        return StateWalk(self.op, self.wide, state=state, formula=self.formula)
