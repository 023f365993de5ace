"""Power series in numbers of several words, with an estimate of their errors: an item takes a point and loops over
the terms.
"""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import KernelText, Target


@dataclass(frozen=True)
class PowerSum:
    """T, words: the C type of a word, and how many numbers have. words_in, words_out: those of arguments, of results.
    stored: the C type of results. unit, result_unit: what an operation may be off by, and the result, as C texts.
    centred, derived: whether there are centers and derivatives.
    """

    T: str
    words: int
    words_in: int
    words_out: int
    stored: str
    unit: str
    result_unit: str
    centred: bool
    derived: bool


@dataclass(frozen=True, eq=False)
class PowerSumText(KernelText):
    """block: items of a group. Others are as in `PowerSum`."""

    template = "kernel/line/series/power_sum"
    block: int
    T: str
    words: int
    words_in: int
    words_out: int
    stored: str
    unit: str
    result_unit: str
    centred: bool
    derived: bool


def plan_power_sum(
    content: PowerSum, terms: int, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox
) -> Plan:
    """The plan of the sums at in0 into "out0", their errors into "out1", relative losses into "out2". Other inputs are
    centers, weights and derivatives, in this order.
    """
    spec = PowerSumText(Target.of(mode, facts, line.narrow), box.block, **vars(content))
    groups, share = line.shares(max(1, facts.compute_units * box.groups), box.block)
    names = tuple(f"in{k}" for k in range(2 + content.centred + content.derived))
    targets = ("out0", "out1", "out2")
    numbers = (("int", terms), ("idx", line.length), ("idx", share))
    stage = Stage(spec, groups, box.block, (*names, *targets, *numbers), names, targets)
    return Plan((stage,), {}, mode, Scope.DEVICE, line.narrow, "each item walks the terms of its own points")
