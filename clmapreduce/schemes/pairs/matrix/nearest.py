"""The K best of many distances of long vectors: matrix instructions list a few columns more than are wanted, and the
formula says which of these they are. Where it might be one that is on no list, tiles compute the rows again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.dtypes import FLOAT32, INT32
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Arguments, LocalArray, Plan, Stage, where_marked
from clmapreduce.reductions.pairs.kmin import BoundKMin
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.local_arrays import shrink_to_fit
from clmapreduce.schemes.pairs.boxes import WIDE_SCRATCH
from clmapreduce.schemes.pairs.fallback import FallbackLaunches, Unfinished
from clmapreduce.schemes.pairs.matrix.boxes import (
    MatrixLongBox,
    MatrixNearestBox,
    matrix_nearest_box,
    narrower,
)
from clmapreduce.schemes.pairs.matrix.matrix_kernel import MatrixKernel
from clmapreduce.schemes.pairs.matrix.nearest_lists import LISTS, ListedColumns, NearestLists
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.matrix.parts.pack import ALIGNED, ANY, OPERANDS, REDO, LongSides
from clmapreduce.schemes.pairs.matrix.parts.ranking import Nearest, nearest_of
from clmapreduce.schemes.pairs.matrix.scheme import MatrixScheme
from clmapreduce.schemes.pairs.matrix.thresholds import BARS_BLOCK, BUCKETS, FEWEST_BUCKETS, MOST_BUCKETS, Order
from clmapreduce.schemes.pairs.merge import merge_stage, out_names, out_parameters
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel
from clmapreduce.schemes.pairs.problem import LONGEST_CHAIN, PairProblem
from clmapreduce.schemes.pairs.scheme import GROUPS
from clmapreduce.schemes.pairs.tiles import choose_tiles, fallback_after, fallback_by_tiles, norms_fit

CHAINS, MOST_CHAINS = 2, 8
"""Buckets of an item for each of its rows, and the most of blocks: they are registers."""
LISTED_BLOCK = 64
"""Work-items of a group that makes results of lists, a row each, about."""
BUCKETS_LEFT, BARS = "buckets0", "bars0"
"""The best bounds of every row's buckets, and its bar."""


@dataclass(frozen=True, eq=False)
class NearestKernel(MatrixKernel):
    """matrix: lists, or buckets of some columns. Nothing is merged."""

    template = "kernel/matrix/pairwise_matrix_nearest"
    matrix: NearestLists

    @property
    def box(self) -> MatrixLongBox:
        return self.matrix.box

    @property
    def capacity(self) -> int:
        return self.matrix.capacity

    @property
    def chains(self) -> int:
        return self.matrix.chains

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.matrix.walk_arrays


@dataclass(frozen=True, eq=False)
class ListedKernel(PairKernel):
    """listed: how results are made of lists. Nothing is merged."""

    template = "kernel/matrix/pairwise_nearest"
    listed: ListedColumns

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return (LocalArray("doubts", "int", 1),)


@dataclass(frozen=True)
class _Nearest(LongSides):
    """One problem cut into tiles."""

    box: MatrixNearestBox
    nearest: Nearest

    @cached_property
    def exact(self) -> PairText:
        """The pairs as the formula says."""
        layout = self.layout
        return PairText(layout.pair, layout.bound, layout.outputs, 1, self.domain.narrow, False)

    @cached_property
    def text(self) -> NearestLists:
        return self._text(1, self.barred)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.text.walk_arrays

    def _text(self, sample: int, barred: bool) -> NearestLists:
        lists = BoundKMin(FLOAT32, 1, self.layout.bound.capacity + self.box.spare, INT32, (True, True))
        return NearestLists(
            pairs=self.exact, products=self.products, box=self.box, batched=self.batched,
            local_memory=self.facts.local_memory, scattered=self.domain.scattered,
            nearest=self.nearest, lists=lists, sample=sample, chains=self.chains, barred=barred,
        )  # fmt: skip

    @cached_property
    def blocks(self) -> int:
        """Groups side by side over the rows of one element of the batch."""
        box = self.box
        return -(-self.domain.rows // FragmentLayout(box.block, box.across, box.rows).rows)

    @cached_property
    def partition(self) -> Partition:
        """How the domain is cut: every row leaves lists. Blocks of pairs leave as many as memory holds; of dense
        domains `lists_fit` has asked.
        """
        domain, box = self.domain, self.box
        groups, text = self.facts.compute_units * box.groups, self.text
        parts = domain.parts()
        if domain.scattered:
            parts = min(parts, WIDE_SCRATCH // (8 * text.lists_each * text.capacity * domain.batch))
        limits = PartitionLimits(
            text.rows, 1, box.tile, box.tile * box.tiles, box.tile * LONGEST_CHAIN, groups, parts,
            self.layout.backend, aligned=ALIGNED, leaving=True,
        )  # fmt: skip
        return domain.partition(limits)

    # ------------------------------------------------------------------------------------------------------ bars
    @property
    def chains(self) -> int:
        """Buckets of an item for each of its rows. Blocks, which are cut as for the lists, have as many as are aimed
        at, or registers bear.
        """
        lists = -(-BUCKETS * self.layout.bound.capacity // (4 * self.box.across))
        most = min(MOST_CHAINS, 2 * self.box.columns)
        return min(most, 1 << (lists - 1).bit_length()) if self.domain.scattered else CHAINS

    @cached_property
    def looked(self) -> Partition:
        """How the domain is cut for the look at some columns: some buckets for every value of a list."""
        domain, box, units = self.domain, self.box, self.facts.compute_units
        if domain.scattered:
            return self.partition
        each, tile = 4 * self.chains * box.across, box.tile * max(1, box.sample)
        least = -(-BUCKETS * self.layout.bound.capacity // each)
        share = max(least, units * box.groups // (self.blocks * domain.batch))
        return domain.shared(self.blocks, min(share, max(1, MOST_BUCKETS // each)), tile)

    @property
    def buckets(self) -> int:
        """Of every row in one split of the look."""
        return 4 * self.chains * self.box.across

    @cached_property
    def barred(self) -> bool:
        """Whether a look pays."""
        box, capacity = self.box, self.layout.bound.capacity
        if box.sample < 2 or self.domain.typical[1] < box.tile * box.sample * box.tiles:
            return False
        if self.domain.scattered:
            return self.buckets >= FEWEST_BUCKETS * capacity
        return self.buckets * self.looked.splits >= BUCKETS * capacity

    def bar_stages(self) -> list[Stage]:
        """The look at some columns, and the launch that orders the buckets of every row."""
        if not self.barred:
            return []
        text, names = self._text(self.box.sample, False), (BUCKETS_LEFT, BARS)
        look = self._stage(text, self.looked, (BUCKETS_LEFT,), ["__global float *restrict buckets"])
        block = self.text.rows if self.domain.scattered else min(BARS_BLOCK, self.facts.max_group_size)
        order = Order(self.layout.bound, True, self.buckets, self.looked, block)
        return [look, order.stage(self.domain, self.mode, self.facts, names)]

    # ----------------------------------------------------------------------------------------------------- lists
    @property
    def may_give_up(self) -> bool:
        return True

    @cached_property
    def fallback(self) -> FallbackLaunches:
        """The launches for rows in doubt: blocks are cut as for the lists."""
        if self.domain.scattered:
            after = Unfinished(self.partition, 1, REDO, of_rows=True)
            return fallback_after(self.layout, self.domain, self.mode, self.facts, self.text.rows, after, ANY)
        return fallback_by_tiles(self.layout, self.domain, self.mode, self.facts, REDO, ANY)

    @property
    def scratch(self) -> dict[str, int]:
        """The arrays that launches leave to the next ones, in bytes."""
        rows = self.domain.rows * self.domain.batch
        lists = 4 * self.text.lists_each * self.text.capacity * self.partition.total
        bars = {BUCKETS_LEFT: 4 * self.buckets * self.looked.total, BARS: 4 * rows} if self.barred else {}
        return super().scratch | dict.fromkeys(LISTS, lists) | bars | {REDO: 4 * rows} | self.fallback.scratch

    def stage(self) -> Stage:
        """The launch over all pairs."""
        list_parameters = ["__global float *restrict list_bounds", "__global int *restrict list_columns"]
        bars = ["__global const float *restrict bars"] if self.barred else []
        return self._stage(self.text, self.partition, LISTS, [*list_parameters, *bars], (BARS,) if bars else ())

    def _stage(
        self, text: NearestLists, partition: Partition, outputs: tuple[str, ...], arrays: list[str],
        read: tuple[str, ...] = (),
    ) -> Stage:  # fmt: skip
        """A launch over pairs. arrays: the kernel's parameters for what it leaves, and then for what it reads."""
        layout, box = self.layout, self.box
        target = Target.of(self.mode, self.facts, self.domain.narrow)
        spec = NearestKernel(target, text.pairs, (*text.parameters(), *arrays), box.block, partition.word, False, text)
        names = (*layout.pair.names, *OPERANDS)
        arguments: Arguments = (*names, *outputs, *read, *partition.behind)
        groups = partition.groups * self.domain.batch
        return Stage(spec, groups, box.block, arguments, (*names, *read, *partition.read), outputs)

    def listed_stage(self) -> Stage:
        """The launch that makes results of the lists, and says which rows are in doubt."""
        layout, domain, partition, exact = self.layout, self.domain, self.partition, self.exact
        block = self.fallback.rows
        if not domain.scattered:  # several of its groups are one here
            block = max(block, min(LISTED_BLOCK, self.facts.max_group_size) // block * block)
        text = ListedColumns(exact, self.nearest, self.text.capacity, self.text.lists_each, self.barred)
        bars = ["__global const float *restrict bars"] if self.barred else []
        groups, behind = partition.rows_launch(domain.rows, domain.columns, domain.batch, block)
        parameters = (
            "__global const float *restrict list_bounds", "__global const int *restrict list_columns", *bars,
            "__global int *restrict redo", f"__global int *restrict {ANY}", *out_parameters(layout.outputs),
        )  # fmt: skip
        target = Target.of(self.mode, self.facts, domain.narrow)
        spec = ListedKernel(target, exact, parameters, block, partition.word, False, text)
        names = (*layout.pair.names, *LISTS, *((BARS,) if bars else ()))
        outputs = (REDO, ANY, *out_names(layout.outputs))
        arguments: Arguments = (*names, *outputs, *behind)
        return Stage(spec, groups, block, arguments, (*names, *partition.merge_tables), outputs)


def lists_fit(layout: PairProblem, domain: Pairwise, box: MatrixNearestBox) -> bool:
    """Whether there are columns enough for lists, and memory."""
    entries, lists = layout.bound.capacity + box.spare, 4 * box.across
    bytes_each = 8 * entries * lists * domain.rows * domain.batch
    return domain.typical[1] >= box.tile * box.tiles and 2 * bytes_each <= WIDE_SCRATCH


class NearestColumns(MatrixScheme[MatrixNearestBox]):
    """The K best of many products of long vectors: work-items, columns that 32 bits count, tiles for what is in doubt,
    and a centre that local memory holds.
    """

    box_type = MatrixNearestBox
    limits: ClassVar = {ComputeMode.PARALLEL: {**GROUPS, "rows": (1, 4), "columns": (2, 8), "sample": (0, 64)}}

    @cached_property
    def nearest(self) -> Nearest | None:
        """The product, and how the columns are ranked by it."""
        layout = self.layout
        if self.mode is ComputeMode.SEQUENTIAL or layout.few or not self.domain.narrow:
            return None
        if choose_tiles(layout.pair, layout.bound, self.mode, self.facts, redo=True) is None:
            return None
        nearest = nearest_of(layout.pair, layout.bound)
        return nearest if nearest is not None and norms_fit(nearest.product.size, self.facts) else None

    @property
    def suits(self) -> bool:
        return self.nearest is not None

    @property
    def pays(self) -> bool:
        return self.layout.pair.expansion is None and bool(self.layout.pair.contractions)

    @property
    def box(self) -> MatrixNearestBox | None:
        """None as well for too few pairs, and for lists that memory does not hold."""
        if not self.suits:
            return None
        domain = self.domain
        box = matrix_nearest_box(
            self.layout.bound.capacity, domain.typical[1], domain.pairs, domain.padded(ALIGNED)
        )  # fmt: skip
        return box if box is not None and lists_fit(self.layout, domain, box) else None

    def fits(self, box: MatrixNearestBox) -> bool:
        return super().fits(box) and box.block // 32 % box.across == 0

    def plan(self, box: MatrixNearestBox) -> Plan:
        """Warps are as broad as the box says, or as local memory allows."""
        box, tiling = shrink_to_fit(box, self._tiling, narrower, self.facts.local_memory)
        text, partition, fallback = tiling.text, tiling.partition, tiling.fallback
        cells = f"tiles of {text.rows} rows and {box.tile} columns by matrix instructions"
        lists = text.lists_each * partition.splits
        why = f"{partition.why}; {cells}, {lists} lists of {text.capacity} columns a row; rows in doubt by differences"
        if tiling.barred:
            buckets = tiling.buckets * tiling.looked.splits
            why += f", bars from every {box.sample} tiles, the best of {buckets} buckets of them"
        domain, mode, tables, again = self.domain, self.mode, partition.tables, [*fallback.stages]
        if fallback.partition.partial:
            again.append(merge_stage(tiling.exact, domain, mode, self.facts, fallback.box, fallback.partition, REDO))
        before = [*tiling.before(), *tiling.bar_stages(), tiling.stage(), tiling.listed_stage()]
        stages = [*before, *where_marked(again, REDO)]
        return Plan(tuple(stages), tiling.scratch, mode, Scope.DEVICE, domain.narrow, why, tables=tables)

    def _tiling(self, box: MatrixNearestBox) -> _Nearest:
        nearest = self.nearest
        assert nearest is not None
        return _Nearest(self.layout, (nearest.product,), self.domain, self.mode, self.facts, box, nearest)
