"""Requests of reductions of many lines: side by side, and of places in rows one behind the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clmapreduce.domain.line import Columns, Lines
from clmapreduce.formula.formula import Formula
from clmapreduce.halves.formulas import in_float32
from clmapreduce.halves.operators import in_float32 as around_halves
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Layout, Plan
from clmapreduce.planning.request import PlanRequest
from clmapreduce.reductions.base import Bound
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.line.columns import plan_columns
from clmapreduce.schemes.line.rows import plan_located_rows

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True)
class ColumnsRequest(PlanRequest):
    """A formula of every number of some columns, reduced column by column."""

    formula: Formula
    columns: Columns
    mode: ComputeMode
    box: LaunchBox
    bound: Bound

    @property
    def work(self) -> float:
        return float(self.columns.size * self.formula.operations)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.columns.length, self.columns.width

    def boxes(self, facts: Facts) -> Mapping[str, LaunchBox]:
        return {"box": self.box} if self.box.groups else {}

    def in_float32(self) -> Self:
        formula, bound = in_float32(self.formula, stores=False), around_halves(self.bound, stores=True)
        return replace(self, formula=formula, bound=bound)

    def plan(self, facts: Facts) -> Plan:
        layout = Layout(self.formula, (self.bound.result,))
        return plan_columns(layout, self.bound, self.columns, self.mode, facts, self.box)


@dataclass(frozen=True)
class LocatedRowsRequest(PlanRequest):
    """The places of the extrema of a formula's values in each of some rows, for the sequential mode."""

    formula: Formula
    lines: Lines
    mode: ComputeMode
    box: LaunchBox
    bound: Bound

    @property
    def work(self) -> float:
        return float(self.lines.count * self.lines.length * self.formula.operations)

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.lines.length, self.lines.count

    def boxes(self, facts: Facts) -> Mapping[str, LaunchBox]:
        return {"box": self.box}

    def in_float32(self) -> Self:
        formula, bound = in_float32(self.formula, stores=False), around_halves(self.bound, stores=True)
        return replace(self, formula=formula, bound=bound)

    def plan(self, facts: Facts) -> Plan:
        return plan_located_rows(Layout(self.formula, (self.bound.result,)), self.bound, self.lines, facts, self.box)
