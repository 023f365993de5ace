"""Pairwise sums of functions that hardware approximates: as `rows`, by approximations whose errors are small beside 1.
Rows whose terms turn out too small beside these errors are computed again by better ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from clmapreduce.domain.partition import Partition
from clmapreduce.formula.fast import (
    COS_FAST,
    DIVIDE_FAST,
    EXP2_FAST,
    LOG_FAST,
    QUICK,
    RSQRT_FAST,
    SIN_SERIES,
    SQRT_FAST,
)
from clmapreduce.formula.node import Apply, postorder
from clmapreduce.lowering.approximations.quick import QuickPair, quick_pair
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Plan
from clmapreduce.reductions.pairs.sum import BoundPairSum
from clmapreduce.reductions.pairs.watched import Watch, WatchedSum
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.pairs.boxes import PairBox
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.rows import Rows, RowsText, kept

AT_ONCE = {0: 2, 1: 2, 2: 4}
"""Columns at once, by the numbers behind a term. One number: terms are added before their magnitude is taken, and more
of them would cancel where signs differ. Two: the weights of all these columns are taken off the margin together.
"""
ANGLES, WATCHED, SERIES = 5, {1: 7, 2: 9}, 12
"""Numbers that count as kept by an item when its rows are chosen. ANGLES: besides the sums, where whole turns are taken
off angles. WATCHED: with the sums, by the numbers behind a term. SERIES: with the sums, where sines are series; with
eight rows NVIDIA's compiler computes one series after the other.
"""
HARDWARE = {EXP2_FAST, RSQRT_FAST, SQRT_FAST, DIVIDE_FAST, LOG_FAST, QUICK[COS_FAST].function}
"""Functions of the hardware: beside them the compiler computes several series side by side."""
WIDE, REGISTERS = 256, 128
"""Items of a group, and registers of each, with which a multiprocessor holds two groups: with several walks over the
columns the compiler would take a few registers more.
"""


@dataclass(frozen=True)
class QuickRows(Rows):
    """Plain sums of float32 terms with such functions."""

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
        box = super().default()
        if box is None:
            return None
        at_once = AT_ONCE[self._watch.behind]
        return replace(box, at_once=at_once, unroll=max(1, box.unroll // at_once))

    @property
    def _watch(self) -> Watch:
        assert self.quick is not None
        return self.quick.quick.watch

    @property
    def _sums(self) -> int:
        assert self.quick is not None
        sums = kept(self._bound(self._watch))
        functions = {node.function for node in postorder(self.quick.quick.pair.values) if isinstance(node, Apply)}
        if SIN_SERIES in functions and not functions & HARDWARE:
            return max(sums, SERIES)
        if self._watch.behind:
            return max(sums, WATCHED[self._watch.behind])
        return sums + ANGLES if self.quick.angles else sums

    def fits(self, box: PairBox) -> bool:
        return super().fits(box) and (self.quick is None or box.at_once <= AT_ONCE[self._watch.behind])

    def plan(self, box: PairBox) -> Plan:
        plan = super().plan(box)
        return replace(plan, why=f"{plan.why}, functions by approximations where terms are large beside their errors")

    def _column_bytes(self, text: PairText) -> int:
        return super()._column_bytes(text) + sum(other.column_bytes for other in self._others(text))

    def _text(self, box: PairBox) -> PairText:
        assert self.quick is not None
        return replace(super()._text(box), pair=self.quick.quick.pair, bound=self._bound(self._watch))

    def _bound(self, watch: Watch) -> WatchedSum:
        assert isinstance(self.layout.bound, BoundPairSum)
        return WatchedSum(self.layout.bound, watch, self._watch.behind > 0)

    def _kernel(self, text: PairText, box: PairBox, partition: Partition, sharing: bool, out: list[str]) -> KernelText:
        kernel = super()._kernel(text, box, partition, sharing, out)
        assert isinstance(kernel, RowsText)
        careful, *seconds = self._others(text)
        registers = REGISTERS if seconds and box.block >= WIDE else 0
        target = Target.of(self.mode, self.facts, self.domain.narrow, registers=registers)
        return replace(kernel, target=target, careful=careful, seconds=tuple(seconds))

    def _others(self, text: PairText) -> list[PairText]:
        """The same text without approximations, and with others for terms for which those of the text are too rough;
        not where items share rows.
        """
        assert self.quick is not None
        seconds = () if self.domain.scattered else self.quick.seconds
        own = tuple(text.packs)

        def other(pair: Pair, watch: Watch, tiles: str) -> PairText:
            return replace(text, pair=pair, bound=self._bound(watch), tiles=tiles, shared=own)

        careful = other(self.quick.careful, Watch(), "careful")
        return [careful, *(other(*second, f"second{k}_") for k, second in enumerate(seconds))]
