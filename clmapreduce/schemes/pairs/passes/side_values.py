"""Numbers of rows and of columns that are computed before all pairs, and reach these as inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from clmapreduce.plan import Arguments, Plan
from clmapreduce.schemes.common.join_plans import joined, with_strides


@dataclass(frozen=True)
class SideValuePlan:
    """name: what the pairs' launches call the numbers. plan: of their launches. count: of rows or columns. batch: of
    problems that have numbers of their own, 1 where all share them. itemsize: bytes of a number.
    """

    name: str
    plan: Plan
    count: int
    batch: int
    itemsize: int


def plan_asides(asides: Sequence[SideValuePlan], pairs: Plan, batch: int) -> Plan:
    """The plan of everything. pairs: the plan of what reads the numbers, for `batch` problems."""
    strides: dict[str, Arguments] = {
        one.name: (("idx", batch), ("idx", one.count if one.batch > 1 else 0)) for one in asides
    }
    last = replace(pairs, stages=with_strides(pairs.stages, strides))
    passes = joined([*((one.plan, {"out0": one.name}) for one in asides), (last, {})])
    scratch = passes.scratch | {one.name: one.itemsize * one.count * one.batch for one in asides}
    count = f"{len(asides)} number{'s' if len(asides) > 1 else ''} of a side computed before"
    why = f"{count}; {pairs.why}"
    lean = None if pairs.lean is None else plan_asides(asides, pairs.lean, batch)
    return replace(pairs, stages=passes.stages, scratch=scratch, tables=passes.tables, why=why, lean=lean)
