"""The launches beside the one that multiplies scalars by long weights with matrix instructions: one before it, which
computes the columns' numbers, and one after it, for groups that were left undone.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, Stage
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.pairs.fallback import Unfinished
from clmapreduce.schemes.pairs.long_values import redo_groups
from clmapreduce.schemes.pairs.matrix.parts.pack import ALIGNED, REDO
from clmapreduce.schemes.pairs.matrix.parts.weighted_numbers import WeightedNumbers
from clmapreduce.schemes.pairs.parts.value_blocks import WideCut
from clmapreduce.schemes.pairs.problem import PairProblem

WEIGHTS = "weights0"
"""The columns' numbers, in whole blocks."""
TAKEN = 8
"""Numbers that an item of the launch over the weights takes."""


@dataclass(frozen=True, eq=False)
class WeightsKernel(KernelText):
    """weighted: the statements. numbers: of a block."""

    template = "kernel/matrix/pairwise_weights"
    at_once: ClassVar[int] = TAKEN
    pair: Pair
    bound: PairBound
    weighted: WeightedNumbers
    parameters: tuple[str, ...]
    block: int
    numbers: int


@dataclass(frozen=True)
class Weights:
    """wide: the layout of the long value. centre: the array of what numbers are relative to, if anything."""

    text: WeightedNumbers
    wide: PairProblem
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    centre: str = ""

    @cached_property
    def partition(self) -> Partition:
        """How the domain is cut."""
        text, backend = self.text, self.wide.backend
        rows, across = text.warps.rows, text.across
        return WideCut(self.domain, text.box, self.facts, backend, text.size, rows, across, aligned=ALIGNED).partition()

    @property
    def padded(self) -> int:
        """Columns of one element of the batch whose numbers are kept."""
        return -(-self.domain.columns // 2) * 2 + self.text.box.tile

    @property
    def scratch(self) -> dict[str, int]:
        """The arrays that these launches share with the one between them, in bytes."""
        text, batch = self.text, self.domain.batch
        weights = 4 * (self.padded // text.side) * text.line * text.across * batch
        return {WEIGHTS: weights, REDO: 4 * self.groups}

    @property
    def groups(self) -> int:
        """Groups of the launch over all pairs."""
        return self.text.across * self.partition.groups * self.domain.batch

    @property
    def names(self) -> tuple[str, ...]:
        """The inputs' names."""
        return self.wide.pair.names

    @property
    def _centre(self) -> tuple[str, ...]:
        return (self.centre,) if self.text.centre else ()

    @property
    def packed(self) -> tuple[str, ...]:
        """What the launch over all pairs reads of the weights."""
        return (WEIGHTS, *self._centre)

    @property
    def padding(self) -> Arguments:
        """Its argument behind the partition's."""
        return (("idx", self.padded),)

    @property
    def behind(self) -> Arguments:
        """Its arguments behind all others."""
        return *self.padding, REDO

    def stage(self) -> Stage:
        """The launch that computes the columns' numbers."""
        text, domain, padded = self.text, self.domain, self.padded
        block = text.box.block
        groups = -(-padded * text.numbers // (block * TAKEN))
        target, parameters = Target.of(self.mode, self.facts, domain.narrow), (*text.wide.parameters(), *text.centres)
        spec = WeightsKernel(target, self.wide.pair, self.wide.bound, text, parameters, block, text.numbers)
        sizes: Arguments = (("idx", domain.columns), ("idx", padded), ("idx", groups))
        arguments: Arguments = (*self.names, *self._centre, WEIGHTS, *sizes)
        return Stage(
            spec, groups * text.across * domain.batch, block, arguments, (*self.names, *self._centre), (WEIGHTS,)
        )

    def redo_stage(self) -> Stage:
        """The launch that computes groups again, as the formula says."""
        after = Unfinished(self.partition, self.text.across, REDO)
        return redo_groups(self.wide, self.domain, self.mode, self.facts, self.text.warps.rows, after)
