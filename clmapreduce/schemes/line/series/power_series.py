"""Power series at many points: unfold → map → reduce inlined for each point, all points in one launch."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line
from clmapreduce.dtypes import DType, c_name
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import KernelText, Target


@dataclass(frozen=True, eq=False)
class PowerSeriesText(KernelText):
    """lanes: points of a vector. T: the C type of numbers."""

    template = "kernel/line/series/power_series"
    block: int
    lanes: int
    T: str


def plan_power_series(dtype: DType, terms: int, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Plan:
    """The plan of Σ in1[k] · in0[i]^k for k < terms into "out0"."""
    lanes = box.lanes(dtype.itemsize, True)
    spec = PowerSeriesText(Target.of(mode, facts, line.narrow), box.block, lanes, c_name(dtype))
    groups, share = line.shares(max(1, facts.compute_units * box.groups), box.block * lanes)
    arguments = ("in0", "in1", "out0", ("int", terms), ("idx", line.length), ("idx", share))
    stage = Stage(spec, groups, box.block, arguments, ("in0", "in1"), ("out0",))
    return Plan((stage,), {}, mode, Scope.DEVICE, line.narrow, "each item walks the terms of its own points")
