"""Pairs of long vectors by matrix instructions: both sides are packed as operands once, then groups walk tiles of pairs
as in a matrix product, and fold what comes out of it where it is.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, LocalArray, Plan, Stage, where_marked
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.local_arrays import accumulators, shrink_to_fit
from clmapreduce.schemes.pairs.fallback import Launches, Unfinished
from clmapreduce.schemes.pairs.matrix.boxes import MatrixLongBox, matrix_long_box, narrower, within_registers
from clmapreduce.schemes.pairs.matrix.matrix_kernel import MatrixKernel
from clmapreduce.schemes.pairs.matrix.parts.long_tiles import LongTiles
from clmapreduce.schemes.pairs.matrix.parts.pack import ALIGNED, ANY, OPERANDS, REDO, LongSides, products_of
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct
from clmapreduce.schemes.pairs.matrix.scheme import MatrixScheme
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText, tested_of
from clmapreduce.schemes.pairs.problem import LONGEST_CHAIN
from clmapreduce.schemes.pairs.scheme import GROUPS
from clmapreduce.schemes.pairs.tiles import redo_by_tiles

MOST_SUMS = 18
"""Numbers that an operator keeps of a row, at most: with more of them tiles are too narrow."""


@dataclass(frozen=True, eq=False)
class LongProductsKernel(MatrixKernel):
    """may_give_up: groups leave tiles with too many pairs in doubt to a launch behind; stops: they return then."""

    template = "kernel/matrix/pairwise_matrix_long"
    matrix: LongTiles
    may_give_up: bool
    stops: bool

    @property
    def box(self) -> MatrixLongBox:
        return self.matrix.box

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        matrix, bound, block, spilled = self.matrix, self.pairs.bound, self.block, self.matrix.spilled
        return (
            *matrix.walk_arrays, *accumulators(bound, block),
            *(accumulators(bound, block * spilled, "spilled") if spilled else ()),
            *(matrix.doubt_arrays if self.may_give_up else ()),
        )  # fmt: skip


@dataclass(frozen=True)
class _Tiling(LongSides):
    """One problem cut into tiles."""

    @cached_property
    def text(self) -> LongTiles:
        layout = self.layout
        pairs = PairText(layout.pair, layout.bound, layout.outputs, 1, self.domain.narrow, False)
        return LongTiles(
            pairs=pairs, products=self.products, box=self.box, batched=self.batched,
            local_memory=self.facts.local_memory, scattered=self.domain.scattered,
        )  # fmt: skip

    @cached_property
    def partition(self) -> Partition:
        """How the domain is cut."""
        box, groups = self.box, self.facts.compute_units * self.box.groups
        least, most, parts = box.tile * box.tiles, box.tile * LONGEST_CHAIN, self.domain.parts()
        limits = PartitionLimits(
            self.text.rows, 1, box.tile, least, most, groups, parts, self.layout.backend, aligned=ALIGNED
        )
        return self.domain.partition(limits)

    @property
    def may_give_up(self) -> bool:
        """Whether groups that compute too many pairs alone are computed again. Those of inner products do so only for
        numbers that are not finite.
        """
        return any(product.distance for product in self.products)

    def fallback(self) -> Launches:
        """The launches that compute those."""
        if not self.may_give_up:
            return Launches([], {})
        after = Unfinished(self.partition, 1, REDO)
        launches = redo_by_tiles(self.layout, self.domain, self.mode, self.facts, self.text.rows, after, ANY)
        scratch = launches.scratch | {REDO: 4 * self.partition.groups * self.domain.batch}
        return Launches(where_marked(launches.stages, REDO), scratch)

    @cached_property
    def kernel(self) -> LongProductsKernel:
        """The kernel over all pairs."""
        text, partition = self.text, self.partition
        behind = (*text.parameters(), *targets_of(partition, self.layout.outputs)[1])
        return LongProductsKernel(
            Target.of(self.mode, self.facts, self.domain.narrow), text.pairs, behind, self.box.block, partition.word,
            partition.partial, text, self.may_give_up, self.facts.groups_may_return,
        )  # fmt: skip

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.kernel.arrays

    def stage(self) -> Stage:
        """The launch over all pairs."""
        layout, box, partition = self.layout, self.box, self.partition
        targets = targets_of(partition, layout.outputs)[0]
        names = (*layout.pair.names, *OPERANDS)
        flags = (REDO, ANY) if self.may_give_up else ()
        arguments: Arguments = (*names, *targets, *partition.behind, *flags)
        groups = partition.groups * self.domain.batch
        return Stage(self.kernel, groups, box.block, arguments, (*names, *partition.read), (*targets, *flags))


class LongProducts(MatrixScheme[MatrixLongBox]):
    """Inner products and distances of long vectors."""

    box_type = MatrixLongBox
    limits: ClassVar = {ComputeMode.PARALLEL: GROUPS}

    @cached_property
    def products(self) -> tuple[LongProduct, ...]:
        """Those that the pair is made of."""
        return products_of(self.layout, self.mode, self.facts)

    @property
    def suits(self) -> bool:
        return bool(self.products)

    @property
    def pays(self) -> bool:
        pair, bound = self.layout.pair, self.layout.bound
        return pair.expansion is None and bool(pair.contractions) and len(bound.components) <= MOST_SUMS

    @property
    def box(self) -> MatrixLongBox | None:
        return matrix_long_box(self.domain.padded(ALIGNED), self._heavy) if self.suits else None

    @property
    def _heavy(self) -> bool:
        """Whether a pair's functions look for rare arguments, or an operator keeps several numbers of a value."""
        pair, bound = self.layout.pair, self.layout.bound
        return len(bound.components) > pair.width or bool(tested_of(pair))

    def fits(self, box: MatrixLongBox) -> bool:
        return super().fits(box) and box.block // 32 % box.across == 0

    def plan(self, box: MatrixLongBox) -> Plan:
        """Warps are as broad as the box says, or as registers and local memory allow."""
        held = within_registers(box) if len(self.products) > 1 else box
        box, tiling = shrink_to_fit(held, self._tiling, narrower, self.facts.local_memory)
        text, partition = tiling.text, tiling.partition
        cells = f"tiles of {text.rows} rows and {box.tile} columns by matrix instructions"
        if tiling.may_give_up:
            cells += ", distances by differences where they lost digits"
        fallback = tiling.fallback()
        stages = [*tiling.before(), tiling.stage(), *fallback.stages]
        scratch, why = tiling.scratch | fallback.scratch, f"{partition.why}; {cells}"
        return self.with_merge(Launches(stages, scratch), text.pairs, box, partition, why)

    def _tiling(self, box: MatrixLongBox) -> _Tiling:
        return _Tiling(self.layout, self.products, self.domain, self.mode, self.facts, box)
