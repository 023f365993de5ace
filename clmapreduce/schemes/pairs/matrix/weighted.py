"""Sums of scalars times long weights, the products by matrix instructions and the scalars as the formula says, whatever
it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition
from clmapreduce.dtypes import FLOAT32
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage, where_marked
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.local_arrays import shrink_to_fit
from clmapreduce.schemes.pairs.fallback import Launches, Unfinished
from clmapreduce.schemes.pairs.matrix.boxes import MatrixWeightedBox, matrix_again_box, matrix_weighted_box
from clmapreduce.schemes.pairs.matrix.matrix_kernel import MatrixKernel
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.matrix.parts.pack import ALIGNED, REDO
from clmapreduce.schemes.pairs.matrix.parts.weighted_numbers import WeightedNumbers, room_of
from clmapreduce.schemes.pairs.matrix.parts.weights import WEIGHTS, Weights
from clmapreduce.schemes.pairs.matrix.scheme import MatrixScheme
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText, is_product, tested_of
from clmapreduce.schemes.pairs.parts.value_blocks import flat
from clmapreduce.schemes.pairs.problem import PairProblem, places
from clmapreduce.schemes.pairs.scheme import GROUPS

SHORTEST = 13
"""Numbers of a vector that is better taken as a long one."""
MOST_TERMS = 24
"""Numbers of a row, or of a column, that registers and local memory have room for beside weights."""
MOST_STAGED = 128
"""Columns beyond which items of a group have no column of their own to stage: local memory is dear."""
MOST_SCRATCH = 1 << 30
"""Bytes that the weights' pieces may take for groups that are computed again, of which there may be none."""


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
        return memory, LocalArray("given_up", "int", 1), *tiles, *places(weighted.scattered, columns)


@dataclass(frozen=True)
class _Weighted:
    """One problem cut into tiles. The operator of the layout is that of a single number. after: the launch that left
    these groups undone, if any.
    """

    layout: PairProblem
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: MatrixWeightedBox
    after: Unfinished | None = None

    @cached_property
    def text(self) -> WeightedNumbers:
        layout, narrow, scattered = self.layout, self.domain.narrow, self.domain.scattered
        again = self.after is not None
        return WeightedNumbers(
            PairText(layout.pair.scalar, layout.bound, layout.outputs, 1, narrow, True),
            PairText(layout.pair, layout.bound, layout.outputs, 1, narrow, False),
            self.box, FragmentLayout(self.box.block, 1, self.box.rows, scattered and not again),
            self.facts.register_fragments, scattered,
            room_of(self.facts) - 2 * self.batch * len(layout.pair.scalar.terms.columns), again=again,
        )  # fmt: skip

    @cached_property
    def weights(self) -> Weights:
        """The launches for the weights, and for the groups that are computed again."""
        return Weights(self.text, self.layout, self.domain, self.mode, self.facts)

    @property
    def partition(self) -> Partition:
        """How the domain is cut."""
        return self.weights.partition if self.after is None else self.after.partition

    @property
    def batch(self) -> int:
        """Columns whose terms are brought to local memory at once: one for every item, and two tiles at least."""
        tile = self.box.tile
        return tile * max(2, -(-min(self.box.block, MOST_STAGED) // tile))

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
        targets = targets_of(partition, self.layout.outputs)[0]
        arguments: Arguments = (*weights.names, *weights.packed, *targets, *partition.behind, *weights.padding, flags)
        reads = (*weights.names, *weights.packed, *partition.read, *((flags,) if self.after else ()))
        groups = self.text.across * partition.groups * self.domain.batch
        return Stage(self.kernel, groups, self.box.block, arguments, reads, (*targets, flags))


def _narrower(box: MatrixWeightedBox) -> MatrixWeightedBox | None:
    return replace(box, columns=box.columns // 2) if box.columns > 1 else None


def weighted_again(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, rows: int, blocks: int, after: Unfinished
) -> Launches:  # fmt: skip
    """The launches that compute the groups of `rows` rows and `blocks` blocks of numbers that another one left undone,
    with scalars as the formula says. Groups whose sums are not finite stay undone. There are none where registers have
    no room for the scalars' numbers, or memory for the weights.
    """
    terms = layout.pair.scalar.terms
    if not suits_weights(layout, mode) or max(len(terms.rows), len(terms.columns)) > MOST_TERMS:
        return Launches([], {})

    def tiling(box: MatrixWeightedBox) -> _Weighted:
        return _Weighted(layout, domain, mode, facts, box, after)

    box = matrix_again_box(rows, blocks, len(terms.rows))
    weighted = shrink_to_fit(box, tiling, _narrower, facts.local_memory)[1]
    nbytes = weighted.weights.scratch[WEIGHTS]
    if nbytes > MOST_SCRATCH:
        return Launches([], {})
    return Launches([weighted.weights.stage(), weighted.stage()], {WEIGHTS: nbytes})


class Weighted(MatrixScheme[MatrixWeightedBox]):
    """Scalars of any formula, times long weights. The layout's operator is that of a single number, a plain sum in the
    values' own dtype.
    """

    box_type = MatrixWeightedBox
    limits: ClassVar = {ComputeMode.PARALLEL: {**GROUPS, "rows": (1, 4), "columns": (2, 8), "chains": (1, 8)}}

    @property
    def suits(self) -> bool:
        return suits_weights(self.long_form, self.mode)

    @property
    def pays(self) -> bool:
        expansion = self.long_form.pair.expansion
        return expansion is not None and expansion.size >= SHORTEST

    @property
    def box(self) -> MatrixWeightedBox | None:
        """None as well where registers and local memory have no room for the scalars' numbers."""
        expansion = self.long_form.pair.expansion
        if expansion is None or not self.suits:
            return None
        scalar, padded = self.long_form.pair.scalar, self.domain.padded(ALIGNED)
        if max(len(scalar.terms.rows), len(scalar.terms.columns)) > MOST_TERMS:
            return None
        return matrix_weighted_box(expansion.size, len(scalar.terms.rows), padded, bool(tested_of(scalar)))

    def fits(self, box: MatrixWeightedBox) -> bool:
        return super().fits(box) and box.block // 32 % box.across == 0

    def plan(self, box: MatrixWeightedBox) -> Plan:
        """Tiles are as broad as the box says, or as local memory allows."""
        box, tiling = shrink_to_fit(box, self._tiling, _narrower, self.facts.local_memory)
        weights = tiling.weights
        partition = weights.partition
        stages = [weights.stage(), tiling.stage(), *where_marked([weights.redo_stage()], REDO)]
        why = f"{partition.why}; {tiling.text.cells}, {box.tile} columns at once, by matrix instructions"
        numbers = flat(self.domain, tiling.text.size)
        return self.with_merge(Launches(stages, weights.scratch), tiling.text.wide, box, partition, why, numbers)

    def _tiling(self, box: MatrixWeightedBox) -> _Weighted:
        return _Weighted(self.long_form, self.domain, self.mode, self.facts, box)
