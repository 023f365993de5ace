"""Prefix queries on kept partials: one merge per set bit of the query."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Input
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.line.line_kernel import LineText


@dataclass(frozen=True)
class Queries:
    """Queries of kept partials, one for every index of `line`. entries: partials. listed: queries are an array of
    places; else each asks for its own index. whole: each asks for a prefix; else for an entry as it is kept.
    """

    line: Line
    entries: int
    listed: bool
    whole: bool


@dataclass(frozen=True, eq=False)
class PrefixText(LineText):
    """queried, whole: as `listed` and `whole` of `Queries`."""

    template = "kernel/line/prefix"
    bound: Bound
    block: int
    queried: bool
    whole: bool

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def read(self) -> tuple[Input, ...]:
        """No inputs: partials and places."""
        return ()


def plan_prefix(bound: Bound, queries: Queries, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Plan:
    """The plan that answers queries from the partials in "in0" into "out0"; "in1" holds the queries that are listed."""
    line, listed = queries.line, queries.listed
    narrow = line.narrow and Line(queries.entries).narrow
    target = Target.of(mode, facts, narrow)
    spec = PrefixText(target, (bound.result,), None, False, bound, box.block, listed, queries.whole)
    groups, share = line.shares(max(1, facts.compute_units * box.groups), box.block)
    names = ("in0", "in1") if listed else ("in0",)
    stage = Stage(spec, groups, box.block, (*names, "out0", ("idx", line.length), ("idx", share)), names, ("out0",))
    return Plan((stage,), {}, mode, Scope.DEVICE, narrow, "one item per query, one merge per set bit")
