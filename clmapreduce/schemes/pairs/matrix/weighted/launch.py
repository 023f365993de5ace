"""The launch that multiplies scalars of the pairs by long weights with matrix instructions. The formula makes the
scalars, or products of three pieces a number do.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition
from clmapreduce.dtypes import FLOAT32
from clmapreduce.lowering.bilinear import Factoring
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Stage
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.pairs.fallback import Unfinished
from clmapreduce.schemes.pairs.matrix.boxes import MatrixBox, MatrixWeightedBox
from clmapreduce.schemes.pairs.matrix.fine import FINE, columns_scratch, columns_stage
from clmapreduce.schemes.pairs.matrix.matrix_kernel import MatrixKernel
from clmapreduce.schemes.pairs.matrix.parts.fine_halves import FineOperands
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.matrix.parts.pack import REDO
from clmapreduce.schemes.pairs.matrix.parts.weighted_numbers import WeightedNumbers, room_of
from clmapreduce.schemes.pairs.matrix.parts.weights import Weights
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText, is_product
from clmapreduce.schemes.pairs.problem import PairProblem, places

MOST_TERMS = 24
"""Numbers of a row, or of a column, that registers and local memory have room for beside weights."""
MOST_STAGED = 128
"""Columns beyond which items of a group have no column of their own to stage: local memory is dear."""


def suits_weights(layout: PairProblem, mode: ComputeMode) -> bool:
    """Whether a long value is a scalar of the pair, of no loops, times numbers of the column."""
    pair = layout.pair
    expansion = pair.expansion
    if expansion is None or pair.contractions or pair.dtype != FLOAT32 or mode is ComputeMode.SEQUENTIAL:
        return False
    return len(expansion.scalars) == 1 and not expansion.rows and is_product(expansion) and layout.bound.commutative


@dataclass(frozen=True, eq=False)
class WeightedKernel(MatrixKernel):
    """pairs: the statements of the long value. weighted: those of its scalars, and operands. batch: columns whose terms
    are brought to local memory at once.
    """

    template = "kernel/matrix/pairwise_matrix_weighted"
    weighted: WeightedNumbers
    batch: int

    @property
    def box(self) -> MatrixWeightedBox:
        return self.weighted.box

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        weighted, columns = self.weighted, 2 * self.batch
        memory = LocalArray("memory", "uint", weighted.end, aligned=True)
        tiles = weighted.pairs.tile(columns, aligned=True)
        products = len(weighted.matrix.products) if weighted.matrix is not None else 0
        largest = (LocalArray("largest", "int", 3 * products),) if products else ()
        given_up = LocalArray("given_up", "int", 2 if products else 1)
        return memory, given_up, *largest, *tiles, *places(weighted.scattered, columns)


@dataclass(frozen=True)
class WeightedLaunch:
    """One problem cut into tiles. The operator of the layout is that of a single number. after: the launch that left
    these groups undone, if any. factoring: of the scalars, if products of three pieces a number make them. shared: the
    launches for the weights, where another one has them already.
    """

    layout: PairProblem
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: MatrixWeightedBox
    after: Unfinished | None = None
    factoring: Factoring | None = None
    shared: Weights | None = None

    @cached_property
    def text(self) -> WeightedNumbers:
        layout, narrow, scattered = self.layout, self.domain.narrow, self.domain.scattered
        again, matrix = self.after is not None, self.operands
        scalars = PairText(layout.pair.scalar, layout.bound, layout.outputs, 1, narrow, True)
        pairs = scalars if matrix is None else matrix.pairs
        return WeightedNumbers(
            pairs, PairText(layout.pair, layout.bound, layout.outputs, 1, narrow, False),
            self.box, FragmentLayout(self.box.block, 1, self.box.rows, scattered and not again),
            self.facts.register_fragments, scattered,
            room_of(self.facts) - 2 * self.batch * len(pairs.pair.terms.columns),
            0 if matrix is None else matrix.words, again=again, matrix=matrix,
        )  # fmt: skip

    @cached_property
    def operands(self) -> FineOperands | None:
        """The products that scalars are made of, in three pieces a number, if there is a factoring."""
        if self.factoring is None:
            return None
        layout, box = self.layout, self.box
        exact = PairText(layout.pair.scalar, layout.bound, layout.outputs, 1, self.domain.narrow, True)
        tiles = MatrixBox(box.block, box.rows, 2 * box.tile, share=0)
        return FineOperands(exact, self.factoring, tiles, self.facts.register_fragments)

    @cached_property
    def weights(self) -> Weights:
        """The launches for the weights, and for the groups that are computed again."""
        return self.shared or Weights(self.text, self.layout, self.domain, self.mode, self.facts)

    @property
    def partition(self) -> Partition:
        """How the domain is cut."""
        return self.weights.partition if self.after is None else self.after.partition

    @property
    def groups(self) -> int:
        """Groups of the launch over all pairs."""
        return self.text.across * self.partition.groups * self.domain.batch

    @property
    def batch(self) -> int:
        """Columns whose terms are brought to local memory at once: one for every item, and two tiles at least."""
        tile = self.box.tile
        return tile * max(2, -(-min(self.box.block, MOST_STAGED) // tile))

    def columns_stage(self) -> Stage:
        """The launch that packs the columns' operands of those products."""
        assert self.operands is not None and self.after is not None
        block, flags = self.box.block, self.after.flags
        return columns_stage(self.operands, self.domain, self.mode, self.facts, block, self.groups, flags)

    @property
    def columns_scratch(self) -> dict[str, int]:
        """Bytes of what it leaves."""
        return columns_scratch(self.operands, self.domain) if self.operands is not None else {}

    @cached_property
    def kernel(self) -> WeightedKernel:
        """The kernel over all pairs."""
        box, text, partition = self.box, self.text, self.partition
        target = Target.of(self.mode, self.facts, self.domain.narrow, registers=box.registers)
        behind = (*text.parameters, *targets_of(partition, self.layout.outputs)[1])
        return WeightedKernel(target, text.wide, behind, box.block, partition.word, partition.partial, text, self.batch)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.kernel.arrays

    def stage(self) -> Stage:
        """The launch over all pairs. Groups whose sums are not finite say so."""
        weights, partition, flags = self.weights, self.partition, REDO if self.after is None else self.after.flags
        targets, fine = targets_of(partition, self.layout.outputs)[0], FINE if self.factoring is not None else ()
        arguments: Arguments = (
            *weights.names, *weights.packed, *targets, *partition.behind, *weights.padding, flags, *fine
        )  # fmt: skip
        reads = (*weights.names, *weights.packed, *partition.read, *((flags,) if self.after else ()), *fine)
        return Stage(self.kernel, self.groups, self.box.block, arguments, reads, (*targets, flags))


def has_room(layout: PairProblem) -> bool:
    """Whether registers and local memory have room for the scalars' numbers."""
    terms = layout.pair.scalar.terms
    return max(len(terms.rows), len(terms.columns)) <= MOST_TERMS


def fewer_columns(box: MatrixWeightedBox) -> MatrixWeightedBox | None:
    """The box with tiles of half the columns."""
    return replace(box, columns=box.columns // 2) if box.columns > 1 else None
