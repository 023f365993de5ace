"""Thresholds (bars) for the values of each row before a filter begins, from a sample of the columns.

Products of every `sample`-th column bound its value on the worse side. A row's columns lie in buckets that share none
of them, the two of every item in every split; each keeps its best bound. So as many columns as there are buckets are
known to be at least as good as their bounds, and where an operator keeps k values, the k-th best bound is one that
nothing worse than it can matter for.

What it is worth: of n columns about k · sample pass such a bar, each of which costs some thousand times what a product
does (E) where it is computed at once, some thirty times where it is listed; the look costs n / sample products. Their
sum is least at sample = √(n / (k E)): computed at once about 5 for the 10 least of 10⁶ columns, and 10 for the least of
3·10⁵, or more: where few pass, bars sink further as soon as some did (4 a row with a sample of 16, simulated). Without
bars every item begins with nothing: L items that share a row compute about L k (1 + ln(n / (L k))) columns.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, LocalArray, Stage
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import shrink_to_fit
from clmapreduce.schemes.pairs.boxes import WIDE_SCRATCH
from clmapreduce.schemes.pairs.matrix.boxes import MatrixBox, sample_box
from clmapreduce.schemes.pairs.matrix.filter import NearOperands
from clmapreduce.schemes.pairs.problem import LONGEST_CHAIN

FEWEST_BUCKETS, BUCKETS = 2, 4
"""Buckets for each value of a list: at least, lest several of the best columns meet in one and bars are loose; and
what is aimed at.
"""
MOST_BUCKETS = 256
"""Buckets of a row where more of them would only fill the device: an item walks them one by one."""
MOST_KEPT = 128
"""Values that an item orders, at most: they are registers."""
BARS_BLOCK = 64
"""Work-items of a group that orders them, a row each."""


@dataclass(frozen=True, eq=False)
class SampleOperands(NearOperands):
    """What kernel/matrix/pairwise_matrix_sample asks for."""

    @property
    def chains(self) -> int:
        """Buckets of an item."""
        return 1 if self.exact.bound.capacity == 1 else 2

    @property
    def buckets(self) -> int:
        """Buckets of a row in one split."""
        return 4 * self.box.across * self.chains

    def bucket(self, c: int) -> str:
        """C text of the number of the item's bucket c among the row's in a split."""
        across = self.box.across
        warp = f"warp % {across} * 4 + " if across > 1 else ""
        return f"(({warp}lane % 4) * {self.chains} + {c})"

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.operand_arrays(4)


@dataclass(frozen=True, eq=False)
class SampleKernel(KernelText):
    """matrix: the statements. domain: its vocabulary. The others: as in a
    `MatrixBox`.
    """

    template = "kernel/matrix/pairwise_matrix_sample"
    pair: Pair
    bound: PairBound
    matrix: SampleOperands
    parameters: tuple[str, ...]
    domain: str
    block: int
    blocks: int
    tile: int
    across: int
    ahead: int
    sample: int

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.matrix.arrays


@dataclass(frozen=True)
class Sample:
    """The launches that find bars for a domain of pairs. text: of the first."""

    text: SampleOperands
    domain: Pairwise
    mode: ComputeMode
    facts: Facts

    @property
    def box(self) -> MatrixBox:
        return self.text.box

    @cached_property
    def partition(self) -> Partition:
        """How the columns that are looked at are cut, so that there are buckets enough, and not too many."""
        looked = replace(self.domain, columns=self.domain.columns // self.box.sample)
        blocks, units, each = -(-looked.rows // self.text.rows), self.facts.compute_units, self.text.buckets
        least, most = -(-BUCKETS * self.text.exact.bound.capacity // each), MOST_BUCKETS // each
        share = units * self.box.groups // (blocks * looked.batch)
        groups = max(least, min(share, most)) * blocks * looked.batch
        tile = self.box.tile
        limits = PartitionLimits(self.text.rows, 1, tile, tile, tile * LONGEST_CHAIN, groups, looked.parts())
        return looked.partition(limits)

    @property
    def buckets(self) -> int:
        """Of every row."""
        return self.partition.splits * self.text.buckets

    @property
    def pays(self) -> bool:
        """Whether there are columns enough, and memory."""
        capacity = self.text.exact.bound.capacity
        enough = self.domain.columns // self.box.sample >= self.box.tile
        fits = sum(self.scratch.values()) <= WIDE_SCRATCH
        return enough and fits and 0 < capacity <= MOST_KEPT and self.buckets >= FEWEST_BUCKETS * capacity

    @property
    def scratch(self) -> dict[str, int]:
        """Bytes of the buckets and of the bars."""
        rows = self.domain.rows * self.domain.batch
        return {"scratch1": 4 * self.buckets * rows, "scratch2": 4 * rows}

    def stages(self) -> list[Stage]:
        """The look at some columns, and the launch that orders the buckets of every row."""
        text, box, domain, partition = self.text, self.box, self.domain, self.partition
        exact = text.exact
        pair, bound = exact.pair, exact.bound
        looking = SampleKernel(
            Target.of(self.mode, self.facts, domain.narrow), pair, bound, text,
            (*exact.parameters(), "__global float *restrict buckets"), partition.word, box.block, box.blocks, box.tile,
            box.across, box.ahead, box.sample,
        )  # fmt: skip
        names = pair.names
        arguments = (*names, "scratch1", *partition.behind)
        look = Stage(looking, partition.groups * domain.batch, box.block, arguments, names, ("scratch1",))
        order = Order(bound, text.least, text.buckets, partition, min(BARS_BLOCK, self.facts.max_group_size))
        return [look, order.stage(domain, self.mode, self.facts, ("scratch1", "scratch2"))]


@dataclass(frozen=True, eq=False)
class BarsKernel(KernelText):
    """least, buckets, block: as in an `Order`. domain: its vocabulary."""

    template = "kernel/matrix/pairwise_matrix_bars"
    bound: PairBound
    least: bool
    buckets: int
    domain: str
    block: int


@dataclass(frozen=True)
class Order:
    """The launch that orders the buckets of every row. least: whether lesser bounds are better. buckets: of a row in
    one split. partition: of the launch that left them. block: rows of a group.
    """

    bound: PairBound
    least: bool
    buckets: int
    partition: Partition
    block: int

    def stage(self, domain: Pairwise, mode: ComputeMode, facts: Facts, names: tuple[str, str]) -> Stage:
        """names: of the arrays of buckets and of bars."""
        target = Target.of(mode, facts, domain.narrow)
        spec = BarsKernel(target, self.bound, self.least, self.buckets, self.partition.word, self.block)
        groups, behind = self.partition.rows_launch(domain.rows, domain.columns, domain.batch, self.block)
        reads = (*names[:1], *self.partition.merge_tables)
        return Stage(spec, groups, self.block, (*names, *behind), reads, names[1:])


def _shorter(box: MatrixBox) -> MatrixBox | None:
    return replace(box, tile=box.tile // 2) if box.tile > 8 else None


def sample_of(text: NearOperands, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Sample | None:
    """The launches that find bars for a filter; None where its box wants none, or they would not pay."""
    if domain.scattered or not text.box.sample:
        return None
    operands = SampleOperands(text.exact, text.factoring, sample_box(text.box, facts), text.registers)
    _, operands = shrink_to_fit(operands.box, lambda box: replace(operands, box=box), _shorter, facts.local_memory)
    sample = Sample(operands, domain, mode, facts)
    return sample if sample.pays else None
