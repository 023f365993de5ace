"""Pipelines: a traced program with its two lowerings, and requests for their plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from clmapreduce.domain.line import Line, Lines, Window
from clmapreduce.dtypes import DType
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.mode import few_long_rows
from clmapreduce.planning.request import PlanRequest
from clmapreduce.program.program import Program
from clmapreduce.schemes.common.boxes import LaunchBox, launch_box, strictly_sequential
from clmapreduce.schemes.line.chain import Chain
from clmapreduce.schemes.line.fused import fused_box, plan_fused
from clmapreduce.schemes.line.fused_line import Fused
from clmapreduce.schemes.line.shared_rows import can_share, plan_shared_rows
from clmapreduce.schemes.line.teams import warp_team


@dataclass(frozen=True, eq=False)
class TracedPipeline:
    """A pipeline traced for some signatures, and its two lowerings: one launch for whole lines, and a chain of launches
    for one long line. Pipelines keep one per signature.
    """

    program: Program
    outputs: tuple[DType, ...]
    chain: Chain
    fused: Fused | None

    def shares(self, rows: int, length: int, mode: ComputeMode, facts: Facts) -> bool:
        """Whether groups share each of some rows, in the launches of the chain."""
        return few_long_rows(rows, length, mode, facts) and self._can_share

    @property
    def running(self) -> bool:
        """Whether an element may need those before it."""
        return self.fused is None or not self.fused.reduces_in_any_order

    def team(self, rows: int, length: int, facts: Facts) -> int:
        """How many items of a warp walk a row of a batch together; 0: rows have other walkers."""
        team = warp_team(self.fused, Lines(rows, length), facts) if self.fused is not None else None
        return team.items if team else 0

    @cached_property
    def _can_share(self) -> bool:
        return can_share(self.chain)


@dataclass(frozen=True)
class PipelineRequest(PlanRequest):
    """A pipeline for `rows` lines of `length`. streaming: stores go past the caches. strict: one work-item does it all.
    why: of the scope, for `explain()`. window: of the line, or of the rows, where host arrays are streamed. own:
    boxes instead of the default ones, by name.
    """

    traced: TracedPipeline
    length: int
    rows: int
    scope: Scope
    mode: ComputeMode
    streaming: bool
    strict: bool
    why: str
    window: Window | None = None
    own: tuple[tuple[str, LaunchBox], ...] = ()

    def boxes(self, facts: Facts) -> Mapping[str, LaunchBox]:
        if self.window is not None or self.strict:
            return {}
        return {**self._defaults(facts), **dict(self.own)}

    def in_box(self, name: str, box: LaunchBox) -> PipelineRequest:
        return replace(self, own=tuple(sorted({**dict(self.own), name: box}.items())))

    @property
    def sizes(self) -> tuple[int, ...]:
        return self.length, self.rows

    @property
    def work(self) -> float:
        program = self.traced.program
        return float(self.length * self.rows * (len(program.nodes) + len(program.inputs)))

    @property
    def _fused(self) -> Fused | None:
        """The lowering to one launch, where that computes it."""
        return None if self.scope is Scope.DEVICE else self.traced.fused

    @property
    def _lines(self) -> Lines:
        return Lines(self.rows, self.length, self.window)

    def _defaults(self, facts: Facts) -> dict[str, LaunchBox]:
        if self._fused is None:
            return self.traced.chain.boxes(self.mode, facts)
        name = fused_box(self._fused, self.scope, self._lines, facts)
        return {name: launch_box(name, self.mode, facts)}

    def plan(self, facts: Facts) -> Plan:
        fused, lines, own = self._fused, self._lines, dict(self.own)
        if fused is None and self.rows > 1:
            return plan_shared_rows(self.traced.chain, lines, self.mode, facts, own)
        if fused is None:
            line = Line(self.length, self.window)
            return self.traced.chain.plan(line, self.mode, facts, self.streaming, self.strict, own)
        name = fused_box(fused, self.scope, lines, facts)
        box = own.get(name) or launch_box(name, self.mode, facts)
        box = strictly_sequential(box) if self.strict else box
        return plan_fused(fused, lines, self.scope, self.mode, facts, box, self.why)
