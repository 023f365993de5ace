"""Pipelines: a traced program with its two lowerings, and requests for their plans."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.domain.line import Line, Lines, Window
from clmapreduce.dtypes import DType
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.request import PlanRequest
from clmapreduce.program.program import Program
from clmapreduce.schemes.common.boxes import launch_box, strictly_sequential
from clmapreduce.schemes.line.chain import Chain
from clmapreduce.schemes.line.fused import Fused, fused_box, plan_fused


@dataclass(frozen=True, eq=False)
class TracedPipeline:
    """A pipeline traced for some signatures, and its two lowerings: one launch for whole lines, and a chain of launches
    for one long line. Pipelines keep one per signature.
    """

    program: Program
    outputs: tuple[DType, ...]
    chain: Chain
    fused: Fused | None


@dataclass(frozen=True)
class PipelineRequest(PlanRequest):
    """A pipeline for `rows` lines of `length`. streaming: stores go past the caches. strict: one work-item does it all.
    why: of the scope, for `explain()`. window: of the line, or of the rows, where host arrays are streamed.
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

    @property
    def work(self) -> float:
        program = self.traced.program
        return float(self.length * self.rows * (len(program.nodes) + len(program.inputs)))

    def plan(self, facts: Facts) -> Plan:
        fused = self.traced.fused
        if self.scope is Scope.DEVICE or fused is None:
            line = Line(self.length, self.window)
            return self.traced.chain.plan(line, self.mode, facts, self.streaming, self.strict)
        lines = Lines(self.rows, self.length, self.window)
        box = launch_box(fused_box(self.scope, lines), self.mode, facts)
        box = strictly_sequential(box) if self.strict else box
        return plan_fused(fused, lines, self.scope, self.mode, facts, box, self.why)
