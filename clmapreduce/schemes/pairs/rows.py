"""Pairwise reductions: groups own rows and walk columns; where rows alone do not fill the device, or one chain of sums
would grow too long, columns are split over groups as well and accumulators merged in a second launch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.pairs.boxes import PairBox, PairWork, clustered, ordering, pair_box
from clmapreduce.schemes.pairs.fallback import Launches
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel
from clmapreduce.schemes.pairs.problem import LONGEST_CHAIN, PLACE_BYTES, PairProblem, places
from clmapreduce.schemes.pairs.scheme import GROUPS, LONGEST_TEXT, RowGroup, RowScheme

SMALLEST_TILE = 8
"""Columns that are worth a stay in local memory."""
SHARED_BYTES = 64
"""Bytes of an accumulator that items which share rows hand over."""


@dataclass(frozen=True, eq=False)
class RowsText(PairKernel):
    """vectors: of rows of an item. tile: columns of one. at_once: columns at once. unroll: times that the loop over
    them is written out. sharing: items share rows. scattered: columns of a tile may lie apart. careful: what groups
    compute instead for rows whose watched sums are not sound; None where sums are not watched. seconds: what a group
    computes before that where there are many such rows.
    """

    template = "kernel/pairs/pairwise"
    vectors: int
    tile: int
    at_once: int
    unroll: int
    sharing: bool
    scattered: bool
    careful: PairText | None = None
    seconds: tuple[PairText, ...] = ()

    @property
    def looks(self) -> list[PairText]:
        """What groups look ahead with: the statements for a few columns tell whether many rows will be unsound."""
        looks = (self.pairs, *self.seconds[:-1]) if self.seconds else ()
        return [replace(text, staged=False) for text in looks]

    @property
    def lanes(self) -> int:
        return self.pairs.lanes

    @property
    def staged(self) -> bool:
        return self.pairs.staged

    @property
    def single(self) -> PairText:
        """The statements of one row."""
        return replace(self.pairs, lanes=1)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        texts = [self.pairs, *self.seconds, *([] if self.careful is None else [self.careful])]
        tiles = {array.name: array for text in texts for array in text.tile(self.tile)}
        staged = (*tiles.values(), *places(self.scattered, self.tile)) if self.staged else ()
        watched = self.careful is not None
        counts = LocalArray("unsound", "int", 1 + len(self.looks))
        votes = (counts, LocalArray("unsound_rows", "idx", self.block)) if watched else ()
        return (*staged, *votes, *(accumulators(self.pairs.bound, self.block) if self.sharing or watched else ()))


class Rows(RowScheme[PairBox]):
    """Every item owns rows. What no other scheme computes, this one does."""

    box_type = PairBox
    limits: ClassVar = {
        ComputeMode.PARALLEL: {
            "block": (32, 256), "vectors": (1, 16), "at_once": (1, 16), "unroll": (1, 16), "tile": (16, 1024), **GROUPS,
        },
        ComputeMode.SEQUENTIAL: {
            "vectors": (1, 8), "at_once": (1, 16), "tile": (16, 1024), "unroll": (1, 8), "groups": (1, 64),
        },
    }  # fmt: skip

    @property
    def suits(self) -> bool:
        return self.layout.pair.expansion is None and not self.layout.few

    def default(self) -> PairBox | None:
        if not self.suits:
            return None
        pair, domain = self.layout.pair, self.domain
        rows, loops = domain.rows * domain.batch, bool(pair.contractions)
        cluster, columns = domain.typical
        bound, terms = self.layout.bound, len(pair.terms.rows)
        work = PairWork(_kind(bound), terms, self._sums, cost_of(pair, bound), loops, pair.width)
        box = pair_box(work, rows, int(columns), self.mode, self.facts)
        return clustered(in_order(box, self.layout), cluster, pair.dtype.itemsize)

    @property
    def _sums(self) -> int:
        """Numbers of accumulators that an item keeps of every row, those of a tile included."""
        return kept(self.layout.bound)

    def fits(self, box: PairBox) -> bool:
        return super().fits(box) and box.vectors * max(box.at_once, box.unroll) <= LONGEST_TEXT

    def plan(self, box: PairBox) -> Plan:
        text = self._text(box)
        if text.staged:
            text, box = fitting(text, box, self.facts, self._column_bytes(text))
        sharing = self.domain.scattered and text.staged and shares(text, box, self.facts)
        partition = self._partition(box, sharing)
        stage = self._stage(text, box, partition, sharing)
        return self.with_merge(Launches([stage], {}), text, box, partition, f"{partition.why}; {self._cells(box)}")

    def rows(self, box: PairBox) -> int:
        """Rows that a group owns."""
        return box.vectors * self._block(box)

    def group(self, box: PairBox) -> RowGroup:
        return RowGroup(self.rows(box), self._block(box), box.tile * LONGEST_CHAIN)

    def _block(self, box: PairBox) -> int:
        """Rows that lie side by side, for a vector of every item."""
        return box.block * box.lanes(self.layout.pair.dtype.itemsize)

    def _cells(self, box: PairBox) -> str:
        return f"{self.rows(box)} rows a group, {box.tile} columns a tile"

    def _column_bytes(self, text: PairText) -> int:
        """Bytes of a column in local memory."""
        return text.column_bytes + PLACE_BYTES * self.domain.scattered

    def _text(self, box: PairBox) -> PairText:
        """What the launch over all pairs is made from."""
        layout, lanes = self.layout, box.lanes(self.layout.pair.dtype.itemsize)
        staged = self.mode is ComputeMode.PARALLEL
        return PairText(layout.pair, layout.bound, layout.outputs, lanes, self.domain.narrow, staged)

    def _partition(self, box: PairBox, sharing: bool) -> Partition:
        """How the domain is cut."""
        groups, tile = self.facts.compute_units * box.groups, box.tile
        limits = PartitionLimits(
            self._block(box), box.vectors, tile, tile * box.tiles, tile * LONGEST_CHAIN, groups, self.domain.parts(),
            self.layout.backend, sharing,
        )  # fmt: skip
        return self.domain.partition(limits)

    def _kernel(self, text: PairText, box: PairBox, partition: Partition, sharing: bool, out: list[str]) -> KernelText:
        return RowsText(
            Target.of(self.mode, self.facts, self.domain.narrow), text, tuple(out), box.block, partition.word,
            partition.partial, box.vectors, box.tile, box.at_once, box.unroll, sharing, self.domain.scattered,
        )  # fmt: skip

    def _stage(self, text: PairText, box: PairBox, partition: Partition, sharing: bool) -> Stage:
        """The launch over all pairs. sharing: as in PartitionLimits."""
        targets, out = targets_of(partition, text.outputs)
        spec = self._kernel(text, box, partition, sharing, out)
        names = text.pair.names
        arguments: Arguments = (*names, *targets, *partition.behind)
        groups = partition.groups * self.domain.batch
        return Stage(spec, groups, box.block, arguments, (*names, *partition.read), targets)


def fitting(text: PairText, box: PairBox, facts: Facts, column_bytes: int) -> tuple[PairText, PairBox]:
    """The text and the box with tiles that leave room for a second group in local memory, as far as there is any; where
    not even a small tile fits, columns are read where they lie. column_bytes: of a column in a tile.
    """
    tile = box.tile
    while tile > SMALLEST_TILE and tile * column_bytes > facts.local_memory // 2:
        tile //= 2
    staged = tile * column_bytes <= facts.local_memory
    return replace(text, staged=staged), replace(box, tile=tile) if staged else box


def shares(text: PairText, box: PairBox, facts: Facts) -> bool:
    """Whether items may share rows: accumulators meet in any order, and are small enough to be handed over."""
    bound = text.bound
    small = bound.layout.itemsize <= SHARED_BYTES and not bound.one_by_one
    tile = box.tile * (text.column_bytes + PLACE_BYTES)
    fits = tile + box.block * bound.layout.itemsize <= facts.local_memory
    return bound.commutative and small and fits and box.block > 1


def cost_of(pair: Pair, bound: PairBound) -> int:
    """Operations per pair; where vectors are put in order, those on what is kept too, or builds would take minutes."""
    return pair.cost + (len(bound.components) if bound.one_by_one and pair.width > 1 else 0)


def in_order(box: PairBox, layout: PairProblem) -> PairBox:
    """The box for an operator that puts numbers in order, if it is one."""
    bound = layout.bound
    return ordering(box, bound.layout.itemsize, layout.pair.dtype.itemsize) if bound.one_by_one else box


def kept(bound: PairBound) -> int:
    """Numbers of an accumulator, and of that of a tile."""
    return len(bound.components) * (1 if bound.block is None else 2)


def _kind(bound: PairBound) -> str:
    """Which launch box suits an operator."""
    if bound.one_by_one:
        return "kmin"
    if bound.scale != 1:
        return "logsumexp"
    return "argument" if bound.rare else "sum" if len(bound.components) == 1 else "sums"
