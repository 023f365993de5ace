"""A few rows and many columns: all items share the rows, and every item has columns of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.domain.partition import Partition
from clmapreduce.lowering.pair import Role
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import LocalArray, Plan
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.pairs.boxes import PairBox, few_box
from clmapreduce.schemes.pairs.merge import group_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel
from clmapreduce.schemes.pairs.rows import Rows, cost_of, in_order


@dataclass(frozen=True, eq=False)
class SharedRowsText(PairKernel):
    """vectors: rows at once. tile: columns of one."""

    template = "kernel/pairs/pairwise_few"
    vectors: int
    tile: int

    @property
    def lanes(self) -> int:
        return self.pairs.lanes

    @property
    def single(self) -> PairText:
        """The statements of one column."""
        return replace(self.pairs, lanes=1)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return accumulators(self.pairs.bound, self.block)


class SharedRows(Rows):
    """Where the planner has found too few rows for items to own some."""

    @property
    def suits(self) -> bool:
        return self.layout.pair.expansion is None and self.layout.few

    def default(self) -> PairBox | None:
        if not self.suits:
            return None
        pair, bound = self.layout.pair, self.layout.bound
        terms, cost = len(pair.terms.rows), cost_of(pair, bound)
        return in_order(few_box(terms, cost, self.domain.rows, self.mode, self.facts), self.layout)

    def fits(self, box: PairBox) -> bool:
        return super().fits(box) and box.vectors <= self.domain.rows

    def plan(self, box: PairBox) -> Plan:
        if self.mode is ComputeMode.PARALLEL:
            box = replace(box, block=group_of(box.block, self.layout.bound, self.facts))
        return super().plan(box)

    def _block(self, box: PairBox) -> int:
        return 1

    def _cells(self, box: PairBox) -> str:
        return f"a few rows, {self.rows(box)} at a time, and every item has columns of its own"

    def _text(self, box: PairBox) -> PairText:
        return replace(super()._text(box), staged=False, along=Role.COLUMN)

    def _kernel(self, text: PairText, box: PairBox, partition: Partition, sharing: bool, out: list[str]) -> KernelText:
        target = Target.of(self.mode, self.facts, self.domain.narrow)
        cut = (box.block, partition.word, partition.partial)
        return SharedRowsText(target, text, tuple(out), *cut, box.vectors, box.tile)
