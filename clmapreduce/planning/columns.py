"""Requests of reductions of many lines: side by side, and of places in rows one behind the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clmapreduce.domain.line import Columns, Lines
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Layout, Plan
from clmapreduce.planning.request import PlanRequest
from clmapreduce.reductions.base import Bound
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.line.columns import plan_columns
from clmapreduce.schemes.line.rows import plan_located_rows


@dataclass(frozen=True)
class ColumnsRequest(PlanRequest):
    """Values of every number of some columns, reduced column by column."""

    layout: Layout
    columns: Columns
    mode: ComputeMode
    box: LaunchBox
    bound: Bound

    @property
    def work(self) -> float:
        return float(self.columns.size * self.layout.formula.operations)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.columns.length, self.columns.width

    def boxes(self, facts: Facts) -> Mapping[str, LaunchBox]:
        return {"box": self.box}

    def plan(self, facts: Facts) -> Plan:
        return plan_columns(self.layout, self.bound, self.columns, self.mode, facts, self.box)


@dataclass(frozen=True)
class LocatedRowsRequest(PlanRequest):
    """The places of the extrema of values in each of some rows, for the sequential mode."""

    layout: Layout
    lines: Lines
    mode: ComputeMode
    box: LaunchBox
    bound: Bound

    @property
    def work(self) -> float:
        return float(self.lines.count * self.lines.length * self.layout.formula.operations)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.lines.length, self.lines.count

    def boxes(self, facts: Facts) -> Mapping[str, LaunchBox]:
        return {"box": self.box}

    def plan(self, facts: Facts) -> Plan:
        return plan_located_rows(self.layout, self.bound, self.lines, facts, self.box)
