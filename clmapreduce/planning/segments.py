"""Requests of calls over segments: reductions, where chunks begin, places of elements, runs of equal keys."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clmapreduce.domain.marked import Marked, marked
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import DType
from clmapreduce.formula.formula import Formula
from clmapreduce.halves.formulas import in_float32
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.request import PlanRequest
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.segments.boxes import SegmentBox, TeamBox
from clmapreduce.schemes.segments.by_key import plan_keyed
from clmapreduce.schemes.segments.chunks import plan_cuts
from clmapreduce.schemes.segments.places import plan_expand
from clmapreduce.schemes.segments.registry import choose
from clmapreduce.schemes.segments.run_ends import plan_marks
from clmapreduce.schemes.segments.runs import RunsProblem
from clmapreduce.schemes.segments.segment_kernel import SegmentLayout

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class SegmentsRequest(PlanRequest):
    """A reduction over segments, in a box. looks: offsets may be wrong; kernels that can tell do."""

    layout: SegmentLayout
    domain: Segments
    mode: ComputeMode
    box: SegmentBox | TeamBox
    looks: bool

    @property
    def work(self) -> float:
        return float(self.domain.weight * self.domain.columns * self.layout.formula.operations)

    def in_float32(self) -> Self:
        return replace(self, layout=self.layout.in_float32())

    def boxes(self, facts: Facts) -> Mapping[str, SegmentBox | TeamBox]:
        return {"box": self.box}

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.domain.length, self.domain.segments, self.domain.columns

    def plan(self, facts: Facts) -> Plan:
        scheme, box = choose(self.layout, self.domain, self.mode, facts, box=self.box)
        return scheme.plan(box, self.looks)


@dataclass(frozen=True)
class CutsRequest(PlanRequest):
    """Where chunks that weigh `share` begin, in tiles of `tile` elements. offsets: their dtype. closed: as in a
    SegmentLayout.
    """

    offsets: DType
    closed: bool
    domain: Segments
    share: int
    tile: int
    mode: ComputeMode

    def plan(self, facts: Facts) -> Plan:
        return plan_cuts(self.offsets, self.closed, self.domain, self.share, self.tile, self.mode, facts)


@dataclass(frozen=True)
class PlacesRequest(PlanRequest):
    """The place of every element of segments that begin at `sources`. offsets, sources, places: dtypes."""

    domain: Segments
    offsets: DType
    sources: DType
    places: DType
    mode: ComputeMode
    box: LaunchBox

    def plan(self, facts: Facts) -> Plan:
        return plan_expand(self.domain, self.offsets, self.sources, self.places, self.mode, facts, self.box)


@dataclass(frozen=True)
class RunCountsRequest(PlanRequest):
    """How many runs of equal keys begin in each group's stretch."""

    problem: RunsProblem

    @property
    def work(self) -> float:
        return self.problem.work

    def in_float32(self) -> Self:
        return replace(self, problem=replace(self.problem, changes=in_float32(self.problem.changes)))

    def plan(self, facts: Facts) -> Plan:
        return self.problem.plan_counts(facts)


@dataclass(frozen=True)
class RunsRequest(RunCountsRequest):
    """Where they begin, and their keys. last: each run's last key, not its first. padded: arrays have room for as many
    runs as keys.
    """

    last: bool
    padded: bool

    @property
    def mode(self) -> ComputeMode:  # type: ignore[override]
        return self.problem.mode

    def boxes(self, facts: Facts) -> Mapping[str, LaunchBox]:
        return {} if self.padded else {"box": self.problem.box}  # what lies behind the runs compares with nothing

    def in_box(self, name: str, box: LaunchBox) -> RunsRequest:
        assert name == "box"
        return replace(self, problem=replace(self.problem, box=box))

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.problem.pairs,)

    def plan(self, facts: Facts) -> Plan:
        return self.problem.plan_runs(self.last, self.padded, facts)


@dataclass(frozen=True)
class RunEndsRequest(PlanRequest):
    """A mark at the end of every run. changes: of keys and keys one ahead, an int32. last, with_keys: as in
    `plan_marks`."""

    changes: Formula
    line: Marked
    last: bool
    with_keys: bool
    box: LaunchBox

    @property
    def work(self) -> float:
        return self.line.length * self.changes.operations

    def in_float32(self) -> Self:
        return replace(self, changes=in_float32(self.changes))

    def plan(self, facts: Facts) -> Plan:
        return plan_marks(self.changes, self.line, self.last, self.with_keys, ComputeMode.PARALLEL, facts, self.box)


@dataclass(frozen=True)
class ByKeyRequest(PlanRequest):
    """The reductions of marked runs. keys: the dtype of those that are brought along, if any. last: as above. fixed:
    the chunks of the marks stay as they are.
    """

    layout: SegmentLayout
    line: Marked
    keys: DType | None
    last: bool
    box: TeamBox
    fixed: bool

    @property
    def mode(self) -> ComputeMode:  # type: ignore[override]
        return ComputeMode.PARALLEL

    @property
    def sizes(self) -> tuple[int, ...]:
        return (self.line.length,)

    def boxes(self, facts: Facts) -> Mapping[str, TeamBox]:
        return {} if self.fixed else {"box": self.box}

    def in_box(self, name: str, box: TeamBox) -> ByKeyRequest:
        return replace(self, box=box, line=marked(self.line.length, box.share(self.line.length)))

    @property
    def work(self) -> float:
        return self.line.length * self.layout.formula.operations

    def in_float32(self) -> Self:
        return replace(self, layout=self.layout.in_float32())

    def plan(self, facts: Facts) -> Plan:
        return plan_keyed(self.layout, self.line, self.keys, self.last, self.mode, facts, self.box)
