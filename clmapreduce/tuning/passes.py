"""What there is to be tuned in a reduction over pairs: the launch box of every pass over all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from clmapreduce.calls.prepared import Prepared
from clmapreduce.domain.dense import Pairwise
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.boxes import is_legal, starts_of
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.tuning.measured import MeasuredChoice, TunableCall, key_of, plan_boxed
from clmapreduce.tuning.search import Problem

TOLERANCE = {2: 2e-2, 4: 2e-3, 8: 1e-6}
"""Sums over pairs may cancel, and how far is not known."""


@dataclass(frozen=True, eq=False)
class PassProblem(Problem):
    """The box of one pass of a call over all pairs."""

    call: TunableCall
    layout: PairProblem
    domain: Pairwise
    facts: Facts

    @cached_property
    def starts(self) -> list[Box]:
        return starts_of(self.layout, self.domain, self.mode, self.facts)

    def is_legal(self, box: Box) -> bool:
        return is_legal(box, self.starts, self.layout, self.domain, self.mode, self.facts)

    def plan(self, box: Box) -> Plan | None:
        return plan_boxed(box, self.layout, self.domain, self.mode, self.facts)

    def prepared(self, box: Box, owner: Any) -> Prepared:
        return self.call.prepared(Trial(self.layout.pair, box, MeasuredChoice(self.context)))


class Trial:
    """Plans with a box under trial for one pass; what else a call computes is planned as it would be."""

    def __init__(self, pair: Pair, box: Box, choice: MeasuredChoice) -> None:
        self._pair, self._box, self._choice = pair, box, choice

    def __call__(self, static: Plan, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Plan:
        if layout.pair is not self._pair:
            return self._choice(static, layout, domain, mode, facts)
        plan = plan_boxed(self._box, layout, domain, mode, facts)
        return static if plan is None else plan


class _Noting:
    """Plans as they would be, and notes the passes over all pairs."""

    def __init__(self, call: TunableCall) -> None:
        self._call = call
        self._choice = MeasuredChoice(call.context)
        self.passes: list[PassProblem] = []

    def __call__(self, static: Plan, layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Plan:
        if domain.columns:
            call, before = self._call, self._choice.find(static, layout, domain, mode, facts)
            key = key_of(call.context, static, layout, domain)
            what = f"{call.name}, {_sizes(domain)}"
            self.passes.append(
                PassProblem(call.context, key, what, mode, before, TOLERANCE, call, layout, domain, facts)
            )
        return self._choice(static, layout, domain, mode, facts)


def pass_problems(call: TunableCall) -> Sequence[Problem]:
    """A problem for every pass over all pairs that a call makes."""
    on_device = call.on_device()
    noting = _Noting(on_device)
    on_device.prepared(noting)
    return noting.passes


def _sizes(domain: Pairwise) -> str:
    batch = f"{domain.batch} x " if domain.batch > 1 else ""
    return f"{batch}{domain.rows} x {domain.columns}"
