"""The places of all elements of segments that lie anywhere: one launch, every item a stretch of elements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.domain.line import Line
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import DType, c_name
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import KernelText, Target

STRETCH = 8
"""Elements per item and step: the search for their segment is paid once for all."""


@dataclass(frozen=True, eq=False)
class PlacesText(KernelText):
    """offset, source, place: C types."""

    template = "kernel/segments/segmented_expand"
    stretch: ClassVar[int] = STRETCH
    block: int
    offset: str
    source: str
    place: str


def plan_expand(
    domain: Segments, offsets: DType, sources: DType, places: DType, mode: ComputeMode, facts: Facts, box: LaunchBox
) -> Plan:
    """The plan of out[i] = sources[s] + i - offsets[s] for every element i, which lies in segment s."""
    target = Target.of(mode, facts, domain.narrow)
    spec = PlacesText(target, box.block, c_name(offsets), c_name(sources), c_name(places))
    groups, share = Line(domain.length).shares(facts.compute_units * box.groups, box.block * STRETCH)
    sizes = [("idx", domain.length), ("idx", domain.segments), ("idx", share)]
    stage = Stage(spec, groups, box.block, ("in0", "in1", "out0", *sizes), ("in0", "in1"), ("out0",))
    return Plan((stage,), {}, mode, Scope.DEVICE, domain.narrow, "one search per stretch of elements")
