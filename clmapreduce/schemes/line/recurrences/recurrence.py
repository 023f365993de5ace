"""Recurrences walked in order: every stretch's map, then each stretch step by step from the state before it. Of a
steady recurrence a stretch's response to no state before says its map, and is walked as well.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, Facts, Layout, Plan, Stage
from clmapreduce.reductions.recurrences.base import Recurrent
from clmapreduce.reductions.recurrences.text import StateText
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.line.line_kernel import LineText, inputs_of
from clmapreduce.schemes.line.reduce import reduce_stage, with_shares

APART = 64
"""Bytes of a cache line: stretches that are walked together begin an odd number of lines apart, so that they do not
meet in the same places of a cache.
"""


@dataclass(frozen=True, eq=False)
class RecurrenceText(LineText):
    """streams: stretches that an item walks side by side. parts: other stretches lie before them. responses: states
    behind stretches are left, from none before them, and no results.
    """

    template = "kernel/line/recurrences/recurrence"
    formula: Formula
    bound: Recurrent
    streams: int
    parts: bool
    responses: bool = False

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def state(self) -> StateText:
        return StateText(self.bound, self.narrow)

    @property
    def read(self) -> tuple[Input, ...]:
        return inputs_of(self.formula.inputs, self.tail)


def plan_recurrence(
    layout: Layout, bound: Recurrent, line: Line, facts: Facts, box: LaunchBox, reduce_box: LaunchBox
) -> Plan:
    """The plan of a recurrence in the sequential mode. reduce_box: of the launch that finds the stretches' maps."""
    mode, streams = ComputeMode.SEQUENTIAL, box.streams
    unit = max(1, APART // bound.result.itemsize)
    most = max(1, facts.compute_units * box.groups) * streams
    share = unit * (-(-line.length // (most * unit)) | 1)
    if line.length <= streams * share:
        share, streams = line.length, 1
    groups = max(1, -(-line.length // (streams * share)))
    stretches = max(1, -(-line.length // share))
    narrow = Line(line.length + streams * share).narrow
    spec = RecurrenceText(
        Target.of(mode, facts, narrow), layout.outputs, layout.tail, False, layout.formula, bound, streams, groups > 1
    )
    arguments: Arguments = (*layout.sources, *layout.targets, ("idx", line.length), ("idx", share))
    if groups == 1:
        stage = Stage(spec, 1, 1, arguments, layout.sources, layout.targets)
        return Plan((stage,), {}, mode, Scope.ITEM, narrow, "one item walks the line in order")
    if bound.steady:
        responses = replace(spec, outputs=(), tail=None, parts=False, responses=True)
        sizes = (("idx", line.length), ("idx", share))
        names = tuple(operand.name for operand in layout.formula.inputs)
        first = Stage(responses, groups, 1, (*names, "scratch0", *sizes), names, ("scratch0",))
    else:
        first = with_shares(reduce_stage(layout, bound, line, mode, facts, reduce_box, "scratch0"), stretches, share)
    second = Stage(spec, groups, 1, ("scratch0", *arguments), ("scratch0", *layout.sources), layout.targets)
    what = "responses" if bound.steady else "maps"
    why = f"{stretches} stretches: their {what} first, then each from the state before it, {streams} side by side"
    part = bound.state_layout if bound.steady else bound.layout
    scratch = {"scratch0": part.itemsize * stretches}
    return Plan((first, second), scratch, mode, Scope.DEVICE, narrow, why)
