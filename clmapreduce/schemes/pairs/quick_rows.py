"""Pairwise sums of functions that hardware approximates: as `rows`, by approximations whose errors are small beside 1.
A group whose terms turn out too small beside them computes its sums again with the careful functions.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from clmapreduce.domain.partition import Partition
from clmapreduce.lowering.approximations.quick import QuickPair, quick_pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Plan
from clmapreduce.reductions.pairs.sum import BoundPairSum
from clmapreduce.reductions.pairs.watched import WatchedSum
from clmapreduce.schemes.common.kernel_data import KernelText
from clmapreduce.schemes.pairs.boxes import PairBox
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.rows import Rows, RowsText, kept

AT_ONCE = 2
"""Columns whose terms are added before their magnitude is taken: more would cancel where signs differ."""
ANGLES, LEAST = 5, 7
"""Numbers for which an item has no registers where angles are brought near 0: beside plain sums; and beside watched
sums, these included.
"""


@dataclass(frozen=True)
class QuickRows(Rows):
    """Plain sums, of float32 terms that are linear in such functions."""

    @cached_property
    def quick(self) -> QuickPair | None:
        """The pair with approximations, and without."""
        bound, parallel = self.layout.bound, self.mode is ComputeMode.PARALLEL
        summed = type(bound) is BoundPairSum and bound.block is not None
        return quick_pair(self.layout.pair) if parallel and summed and self.facts.quick_functions else None

    @property
    def suits(self) -> bool:
        return super().suits and self.quick is not None

    def default(self) -> PairBox | None:
        """None as well for several sums with floors: to watch each takes longer than functions that test their
        arguments.
        """
        watched = self.quick is not None and self.quick.floors and self.layout.pair.width > 1
        box = None if watched else super().default()
        return None if box is None else replace(box, at_once=AT_ONCE, unroll=max(1, box.unroll // AT_ONCE))

    @property
    def _sums(self) -> int:
        assert self.quick is not None
        sums = kept(self._watched)
        if not self.quick.angles:
            return sums
        return max(sums, LEAST) if self.quick.floors else sums + ANGLES

    def fits(self, box: PairBox) -> bool:
        return super().fits(box) and box.at_once <= AT_ONCE

    def plan(self, box: PairBox) -> Plan:
        plan = super().plan(box)
        return replace(plan, why=f"{plan.why}, functions by approximations where terms are large beside their errors")

    def _column_bytes(self, text: PairText) -> int:
        return super()._column_bytes(text) + self._careful(text).column_bytes

    def _text(self, box: PairBox) -> PairText:
        assert self.quick is not None
        return replace(super()._text(box), pair=self.quick.quick, bound=self._watched)

    @cached_property
    def _watched(self) -> WatchedSum:
        assert isinstance(self.layout.bound, BoundPairSum) and self.quick is not None
        return WatchedSum(self.layout.bound, self.quick.floors, self.quick.arguments)

    def _kernel(self, text: PairText, box: PairBox, partition: Partition, sharing: bool, out: list[str]) -> KernelText:
        kernel = super()._kernel(text, box, partition, sharing, out)
        assert isinstance(kernel, RowsText)
        return replace(kernel, careful=self._careful(text))

    def _careful(self, text: PairText) -> PairText:
        """The same text without approximations."""
        assert self.quick is not None
        return replace(text, pair=self.quick.careful, tiles="careful")
