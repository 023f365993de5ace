"""Plans of reductions of many lines: of columns, and of places in rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from clmapreduce.domain.line import Columns, Lines
from clmapreduce.formula.formula import Formula
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Layout, Plan
from clmapreduce.reductions import Bound
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.line.columns import plan_columns
from clmapreduce.schemes.line.rows import plan_located_rows


def columns_plan(formula: Formula, bound: Bound, columns: Columns, mode: ComputeMode, facts: Facts, **how: Any) -> Plan:
    box = replace(launch_box("columns", mode, facts), **how)
    return plan_columns(Layout(formula, (bound.result,)), bound, columns, mode, facts, box)


def every_batch_plan(
    name: str, formula: Formula, bound: Bound, facts: Facts, mode: ComputeMode
) -> Iterator[tuple[str, Plan]]:
    """Those of one operator."""
    for columns in (Columns(1, 100_003, 40), Columns(3, 100, 37)):
        yield f"columns {columns.width} {name}", columns_plan(formula, bound, columns, mode, facts)
    if bound.locates and mode is ComputeMode.SEQUENTIAL:
        box, layout = launch_box("located_rows", mode, facts), Layout(formula, (bound.result,))
        yield f"rows {name}", plan_located_rows(layout, bound, Lines(50, 201), facts, box)
