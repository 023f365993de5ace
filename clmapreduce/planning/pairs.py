"""Requests of reductions over pairs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from clmapreduce.domain.blocks import Blocks
from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.sparse import sparse
from clmapreduce.dtypes import DType
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.planning.passes import Look, Passes, Setting
from clmapreduce.planning.request import PlanRequest
from clmapreduce.schemes.pairs.boxes import Box


@dataclass(frozen=True)
class PairsRequest(PlanRequest):
    """A reduction over pairs. outputs: dtypes of the results in memory. box: instead of the default one. tunings: how
    many boxes this process had measured. blocks: the pairs, if not all; they own the plan. look: as in a Setting.
    """

    passes: Passes
    outputs: tuple[DType, ...]
    dense: Pairwise
    mode: ComputeMode
    backend: str
    box: Box | None
    tunings: int
    blocks: Blocks | None = field(compare=False)
    look: Look | None = field(compare=False)

    @property
    def key(self) -> PairsRequest:
        return replace(self, blocks=None, look=None)

    @property
    def domain(self) -> Pairwise:
        """The pairs: all of them, or those of the blocks."""
        return self.dense if self.blocks is None else sparse(self.dense, self.blocks)

    @property
    def work(self) -> float:
        return self.domain.pairs * max(1, self.passes.main.pair.cost)

    def plan(self, facts: Facts) -> Plan:
        setting = Setting(self.domain, self.mode, facts, self.backend, self.box, self.look)
        return self.passes.plan(setting, self.outputs)
