"""Sums of long vectors: of scalars of the pair, and of what rows and columns give at every coordinate. Products of a
kernel matrix and a matrix are such, and gradients of kernels of long vectors.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.dtypes import FLOAT32
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import PADDING
from clmapreduce.schemes.pairs.boxes import WIDE_SCRATCH, WideBox, wide_box
from clmapreduce.schemes.pairs.fallback import Launches, Unfinished
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel
from clmapreduce.schemes.pairs.parts.value_blocks import flat
from clmapreduce.schemes.pairs.problem import PLACE_BYTES, PairProblem, places
from clmapreduce.schemes.pairs.scheme import GROUPS, RowGroup, RowScheme

PRIVATE_BYTES = 1 << 16
"""Bytes of one private array of sums, at most."""
CHAIN = 512
"""Columns whose terms one float32 adds up. With 4,096, sums of terms above 0 were off by 3e-6 of themselves."""


@dataclass(frozen=True, eq=False)
class WideText(PairKernel):
    """rows_taken, numbers_taken: rows of an item, and numbers of each. stage: columns of one. size: numbers of a row.
    flags: of a group, of another scheme. unroll, loads: as in a `WideBox`. scattered: a stage's columns may lie apart.
    chain: after so many stages sums are stored, and begin again; 0 where they are not.
    """

    template = "kernel/pairs/pairwise_wide"
    rows_taken: int
    numbers_taken: int
    stage: int
    size: int
    flags: int
    unroll: int
    loads: int
    scattered: bool
    chain: int

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        expansion, stage, kind = self.pairs.expansion, self.stage, self.pairs.kind
        scalars = (f"s{k}_tile" for k in range(len(expansion.scalars)))
        parts = (f"w{k}_tile" for k in range(len(expansion.columns)))
        numbers = stage * self.rows_taken * self.numbers_taken
        return (
            *(LocalArray(name, kind, stage * self.block, aligned=True) for name in scalars),
            *(LocalArray(name, kind, numbers, aligned=True) for name in parts),
            *self.pairs.tile(stage), *places(self.scattered, stage),
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class WideRowsText(PairKernel):
    """As `WideText`, where an item is alone. at_once: columns at once."""

    template = "kernel/pairs/pairwise_wide_rows"
    rows_taken: int
    numbers_taken: int
    stage: int
    size: int
    flags: int
    at_once: int

    @property
    def lanes(self) -> int:
        return self.pairs.lanes


@dataclass(frozen=True)
class _Wide:
    """One problem, cut into groups. The operator of the layout is that of a single number."""

    layout: PairProblem
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: WideBox
    after: Unfinished | None = None

    @property
    def parallel(self) -> bool:
        return self.mode is ComputeMode.PARALLEL

    @cached_property
    def text(self) -> PairText:
        layout = self.layout
        return PairText(layout.pair, layout.bound, layout.outputs, self.lanes, self.domain.narrow, self.parallel)

    @cached_property
    def columns(self) -> int:
        """Columns of a stage: as many as local memory holds, where it is used."""
        stage = self.box.stage
        expansion = self.text.expansion
        staged = self.box.block * len(expansion.scalars) + self.numbers * len(expansion.columns)
        each = (
            self.layout.pair.dtype.itemsize * staged
            + self.text.column_bytes
            + PLACE_BYTES * self.domain.scattered
        )
        while self.parallel and stage > 1 and stage * each + PADDING > self.facts.local_memory:
            stage //= 2
        return stage

    @property
    def chain(self) -> int:
        """Stages after which sums are stored; 0 where groups have no more, or sums would be converted."""
        dtype, parts = self.layout.pair.dtype, self.partition.partial and not self.domain.scattered
        kept = parts or self.layout.outputs == (dtype,)
        needed = dtype == FLOAT32 and self.domain.columns > CHAIN
        return max(1, CHAIN // self.columns) if kept and needed else 0

    @property
    def size(self) -> int:
        """Numbers per row."""
        return self.text.expansion.size

    @property
    def lanes(self) -> int:
        return self.box.lanes(self.layout.pair.dtype.itemsize)

    @property
    def rows(self) -> int:
        """Rows of a group."""
        return self.box.block if self.parallel else self.box.rows * self.lanes

    @property
    def numbers(self) -> int:
        """Numbers of every row that a group computes."""
        return self.box.rows * self.box.numbers if self.parallel else min(self.box.numbers, self.size)

    @property
    def blocks(self) -> tuple[int, int]:
        """Groups side by side along the rows, and along the numbers of a row."""
        return -(-self.domain.rows // self.rows), -(-self.size // self.numbers)

    @cached_property
    def partition(self) -> Partition:
        """How the domain is cut."""
        if self.after is not None:
            return self.after.partition
        domain, box = self.domain, self.box
        block = self.rows if self.parallel else self.lanes
        groups = self.facts.compute_units * box.groups
        if not domain.scattered:  # of blocks the boxes were measured without this
            groups = -(-groups // self.blocks[1])
        bytes_each = self.layout.bound.layout.itemsize * self.size * domain.batch
        parts = min(domain.parts(self.size), WIDE_SCRATCH // bytes_each)
        limits = PartitionLimits(
            block, self.rows // block, self.columns, 4 * self.columns, box.longest, groups, parts, self.layout.backend
        )
        return domain.partition(limits, self.size)

    def stage(self) -> Stage:
        """The launch over all pairs."""
        box, domain = self.box, self.domain
        (_, across), text, partition = self.blocks, self.text, self.partition
        targets, out = targets_of(partition, self.layout.outputs)
        flags, loop = self.after.across if self.after is not None else 0, (self.columns, self.size)
        target, cut = Target.of(self.mode, self.facts, domain.narrow), (box.block, partition.word, partition.partial)
        spec: KernelText
        if self.parallel:
            spec = WideText(
                target, text, tuple(out), *cut, box.rows, box.numbers, *loop, flags, box.unroll, box.loads,
                domain.scattered, self.chain,
            )  # fmt: skip
        else:
            spec = WideRowsText(target, text, tuple(out), *cut, box.rows, self.numbers, *loop, flags, box.at_once)
        names = text.pair.names
        flag_array = (self.after.flags,) if self.after is not None else ()
        arguments: Arguments = (*names, *targets, *partition.behind, ("idx", across), *flag_array)
        groups = across * partition.groups * domain.batch
        return Stage(spec, groups, box.block, arguments, (*names, *partition.read, *flag_array), targets)


def choose_wide(pair: Pair, mode: ComputeMode, facts: Facts) -> WideBox | None:
    """The box, where the pair's value is a long vector."""
    if pair.expansion is None:
        return None
    rows, loops = len(pair.expansion.rows), bool(pair.contractions)
    return wide_box(pair.dtype.itemsize, rows, pair.cost, loops, mode, facts)


def redo_groups(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, rows: int, after: Unfinished
) -> Stage:  # fmt: skip
    """The launch that computes the groups of `rows` rows that another one left undone."""
    box = choose_wide(layout.pair, mode, facts)
    assert box is not None
    box = replace(box, block=rows, rows=min(box.rows, max(4, rows // 8)))
    return _Wide(layout, domain, mode, facts, box, after).stage()


class LongValues(RowScheme[WideBox]):
    """Groups own rows and a stretch of the numbers of each. The layout's operator is that of a single number, a plain
    sum in the values' own dtype.
    """

    box_type = WideBox
    limits: ClassVar = {
        ComputeMode.PARALLEL: {
            "block": (64, 256), "rows": (4, 16), "numbers": (2, 16), "stage": (4, 128), "unroll": (1, 16),
            "loads": (1, 16), **GROUPS,
        },
        ComputeMode.SEQUENTIAL: {
            "rows": (1, 8), "at_once": (1, 16), "numbers": (16, 1024), "stage": (8, 1024), "groups": (1, 64),
        },
    }  # fmt: skip

    @property
    def suits(self) -> bool:
        return self.layout.pair.expansion is not None

    def default(self) -> WideBox | None:
        return choose_wide(self.layout.pair, self.mode, self.facts)

    def fits(self, box: WideBox) -> bool:
        itemsize = self.layout.pair.dtype.itemsize
        if self.mode is ComputeMode.SEQUENTIAL:
            return box.rows * box.numbers * max(box.bytes, itemsize) <= PRIVATE_BYTES
        width, most, warps = 16 // itemsize, box.block // 8, box.block // 32
        whole = box.rows % max(4, width) == 0 and box.numbers % width == 0
        broad = whole and max(box.rows, box.numbers) <= most and warps % (box.rows // 4) == 0
        return broad and super().fits(box)

    def group(self, box: WideBox) -> RowGroup:
        """Sums are as long as one may be, however many columns there are."""
        rows = _Wide(self.layout, self.domain, self.mode, self.facts, box).rows
        return RowGroup(rows, rows, self.domain.columns)

    def plan(self, box: WideBox) -> Plan:
        layout, narrow = self.layout, self.domain.narrow
        wide = _Wide(layout, self.domain, self.mode, self.facts, box)
        stage, partition = wide.stage(), wide.partition
        cells = f"{wide.rows} rows and {wide.numbers} of {wide.size} numbers a group, {wide.columns} columns a stage"
        text, why = PairText(layout.pair, layout.bound, layout.outputs, 1, narrow, False), f"{partition.why}; {cells}"
        return self.with_merge(Launches([stage], {}), text, box, partition, why, flat(self.domain, wide.size))
