"""Recurrences in one pass, as a scan: tiles pass on maps, and items walk their elements from the state before them.
Items and tiles of a steady recurrence pass on states.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast as typed

from clmapreduce.domain.line import Line
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Layout, Plan
from clmapreduce.reductions.recurrences.base import Recurrent
from clmapreduce.reductions.recurrences.text import StateText
from clmapreduce.reductions.recurrences.walk import StateWalk
from clmapreduce.reductions.text import OperatorText
from clmapreduce.reductions.walks.walk import Walk
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.vectors import lanes_of
from clmapreduce.schemes.line.scans.single_scan import SingleScanText, plan_one_pass


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
    def passes(self) -> str:
        return "states" if self.state.bound.steady else super().passes

    @property
    def lane_bits(self) -> int:
        """The logarithm of the items of a warp to the base 2."""
        return self.target.subgroup.bit_length() - 1

    @property
    def warp_bits(self) -> int:
        """That of the warps of a group."""
        return self.warp_count.bit_length() - 1

    @property
    def squares(self) -> int:
        """Up to half a group; and up to half a block of windows of tiles, where there are several."""
        squares = self.lane_bits + self.warp_bits + (0 if self.alone else 2 * self.lane_bits)
        return squares if self.state.bound.steady else 0

    @property
    def sent(self) -> OperatorText | StateText:
        return self.state if self.state.bound.steady else super().sent


def plan_recurrence_in_one_pass(layout: Layout, bound: Recurrent, line: Line, facts: Facts, box: LaunchBox) -> Plan:
    """The plan of a recurrence in the parallel mode, where groups may wait for each other."""
    itemsize = bound.result.itemsize
    plain = lanes_of(layout, spreads=True) and bound.result.kind != "c"
    # what items pass on costs the more, the more numbers a state has: then fewer items have twice the elements
    rows = box.unroll * (2 if bound.steady and len(bound.states) > 1 else 1)
    spec = SingleRecurrenceText(
        Target.of(ComputeMode.PARALLEL, facts, line.narrow), layout.outputs, layout.tail, False, layout.formula, bound,
        bound, False, box.block, box.lanes(itemsize, plain), rows,
    )  # fmt: skip
    return plan_one_pass(spec, layout, line, facts)
