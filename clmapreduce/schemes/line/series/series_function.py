"""Functions by series, right to the last word of their results: an item takes a point and loops over the terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from clmapreduce.domain.line import Line
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.schemes.common.boxes import LaunchBox
from clmapreduce.schemes.common.kernel_data import KernelText, Target


class Table(NamedTuple):
    """Numbers that a kernel comes with. rows: how many; a row of a table of numbers in several floats has all words.
    numbers: C texts.
    """

    name: str
    ctype: str
    rows: int
    numbers: tuple[str, ...]


@dataclass(frozen=True)
class SeriesFunction:
    """What a kernel computes. function: its name. parts: the templates it needs, callees first. tables: the data of
    these. numbers: what templates see beside, by name. stored: the C type of results. words_out: words of a result.
    operands, results: how many arrays there are. compound: whether points are complex; results are then, or they are
    the arrays of the parts.
    """

    function: str
    parts: tuple[str, ...]
    tables: tuple[Table, ...]
    numbers: tuple[tuple[str, Any], ...]
    stored: str
    words_out: int
    operands: int = 1
    results: int = 1
    compound: bool = False


    @property
    def words(self) -> int:
        """Of the numbers that it computes in."""
        return int(dict(self.numbers)["words"])


@dataclass(frozen=True, eq=False)
class SeriesFunctionText(KernelText):
    """block: items of a group."""

    template = "kernel/line/series/series_function"
    block: int
    content: SeriesFunction

    def context(self) -> Mapping[str, Any]:
        fields = {name: getattr(self.content, name) for name in self.content.__dataclass_fields__ if name != "numbers"}
        return {**super().context(), **fields, **dict(self.content.numbers)}


def plan_series_function(content: SeriesFunction, line: Line, mode: ComputeMode, facts: Facts, box: LaunchBox) -> Plan:
    """The plan of the function of in0[i], in1[i] … into "out0" …"""
    spec = SeriesFunctionText(Target.of(mode, facts, line.narrow), box.block, content)
    groups, share = line.shares(max(1, facts.compute_units * box.groups), box.block)
    names = tuple(f"in{k}" for k in range(content.operands))
    targets = tuple(f"out{k}" for k in range(content.results))
    stage = Stage(spec, groups, box.block, (*names, *targets, ("idx", line.length), ("idx", share)), names, targets)
    return Plan((stage,), {}, mode, Scope.DEVICE, line.narrow, "each item walks the terms of its own points")
