"""Sums of scalars of long vectors times long weights by matrix instructions, one product after the other; gradients of
kernels of long vectors are such too. Both sides are packed as operands once, and so are the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from clmapreduce.lowering.pair import Expansion
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage, where_marked
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.local_arrays import shrink_to_fit
from clmapreduce.schemes.pairs.fallback import Launches
from clmapreduce.schemes.pairs.matrix.boxes import MatrixChainedBox, matrix_chained_box
from clmapreduce.schemes.pairs.matrix.chained_numbers import ChainedNumbers
from clmapreduce.schemes.pairs.matrix.matrix_kernel import MatrixKernel
from clmapreduce.schemes.pairs.matrix.parts.pack import ALIGNED, OPERANDS, REDO, LongSides, products_of
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct
from clmapreduce.schemes.pairs.matrix.parts.terms import LongTerm, is_side, long_term
from clmapreduce.schemes.pairs.matrix.parts.weighted_numbers import room_of
from clmapreduce.schemes.pairs.matrix.parts.weights import Weights
from clmapreduce.schemes.pairs.matrix.scheme import MatrixScheme
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.centred import centre_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.parts.value_blocks import flat
from clmapreduce.schemes.pairs.problem import PairProblem, places
from clmapreduce.schemes.pairs.scheme import GROUPS

SHORTEST = 5
"""Numbers of a vector that is better taken as a long one."""
DIFFERENCES = 64
"""Columns from which on gradients may be made of sums of numbers: these are exact as vectors, but with few columns a
coordinate's differences may all be small beside its numbers.
"""


def scalar_of(layout: PairProblem) -> PairProblem:
    """The layout of a long value's scalars."""
    return replace(layout, pair=layout.pair.scalar)


def chained_products_of(layout: PairProblem, mode: ComputeMode, facts: Facts) -> tuple[LongProduct, ...]:
    """The products that the scalar of a long value is made of, where the scheme suits: numbers of the column, or
    differences of the very vectors whose distance a product is. Else none.
    """
    expansion = layout.pair.expansion
    term = long_term(layout.pair) if expansion is not None and layout.pair.contractions else None
    if expansion is None or term is None:
        return ()
    products = products_of(scalar_of(layout), mode, facts)
    return products if term.row is None or own_distance(term, expansion, products) is not None else ()


def own_distance(term: LongTerm, expansion: Expansion, products: Sequence[LongProduct]) -> int | None:
    """Which product is the distance of the vectors whose difference a term is."""
    if term.row is None:
        return None
    column = expansion.columns[term.column]
    for k, product in enumerate(products):
        if product.distance and is_side(term.row, product.row) and is_side(column, product.column):
            return k
    return None


@dataclass(frozen=True, eq=False)
class ChainedKernel(MatrixKernel):
    """pairs: the statements of the long value. matrix: those of its scalars, and operands."""

    template = "kernel/matrix/pairwise_matrix_chained"
    matrix: ChainedNumbers

    @property
    def box(self) -> MatrixChainedBox:
        return self.matrix.box

    @property
    def depth(self) -> int:
        return self.box.depth

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        matrix = self.matrix
        apart = places(matrix.scattered, 3 * self.tile)
        return (*matrix.operand_arrays(matrix.words, 2), *apart, *matrix.doubt_arrays)


@dataclass(frozen=True)
class _Chained(LongSides):
    """One problem cut into tiles. layout: of the scalars. wide: of the long value."""

    box: MatrixChainedBox
    wide: PairProblem

    @cached_property
    def text(self) -> ChainedNumbers:
        wide, narrow = self.wide, self.domain.narrow
        term = long_term(wide.pair)
        assert term is not None
        own = own_distance(term, wide.pair.expansion, self.products) if wide.pair.expansion is not None else None
        return ChainedNumbers(
            pairs=PairText(self.layout.pair, self.layout.bound, self.layout.outputs, 1, narrow, False),
            products=self.products, box=self.box, batched=self.batched,
            scattered=self.domain.scattered,
            wide=PairText(wide.pair, wide.bound, wide.outputs, 1, narrow, False), term=term, own=own or 0,
            registers=self.facts.register_fragments, room=room_of(self.facts),
        )  # fmt: skip

    @cached_property
    def weights(self) -> Weights:
        """The launches for the weights, and for the groups that are computed again."""
        return Weights(self.text.weighted, self.wide, self.domain, self.mode, self.facts, centre_of(self.text.own))

    @property
    def scratch(self) -> dict[str, int]:
        """The arrays that launches leave to the next ones, in bytes."""
        return super().scratch | self.weights.scratch

    @cached_property
    def kernel(self) -> ChainedKernel:
        """The kernel over all pairs."""
        box, text, partition = self.box, self.text, self.weights.partition
        target = Target.of(self.mode, self.facts, self.domain.narrow, registers=box.registers)
        out = targets_of(partition, self.layout.outputs)[1]
        behind = (*text.parameters(), *text.weighted.parameters, *out)
        return ChainedKernel(target, text.wide, behind, box.block, partition.word, partition.partial, text)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.kernel.arrays

    def stage(self) -> Stage:
        """The launch over all pairs. Groups whose sums would be off by too much say so."""
        weights, partition = self.weights, self.weights.partition
        targets = targets_of(partition, self.layout.outputs)[0]
        packed = (*OPERANDS, *weights.packed)
        arguments: Arguments = (*weights.names, *packed, *targets, *partition.behind, *weights.behind)
        reads = (*weights.names, *packed, *partition.read)
        return Stage(self.kernel, weights.groups, self.box.block, arguments, reads, (*targets, REDO))


def _shallower(box: MatrixChainedBox) -> MatrixChainedBox | None:
    if box.depth > 1:
        return replace(box, depth=box.depth // 2)
    return replace(box, columns=box.columns // 2) if box.columns > 1 else None


class Chained(MatrixScheme[MatrixChainedBox]):
    """Products of long vectors, and the scalars made of them times long weights. The layout's operator is that of a
    single number, a plain sum in the values' own dtype.
    """

    box_type = MatrixChainedBox
    limits: ClassVar = {
        ComputeMode.PARALLEL: {**GROUPS, "rows": (1, 4), "columns": (2, 8), "depth": (1, 8), "chains": (1, 8)},
    }

    @cached_property
    def products(self) -> tuple[LongProduct, ...]:
        """Those that the scalar is made of."""
        return chained_products_of(self.long_form, self.mode, self.facts)

    @property
    def suits(self) -> bool:
        return bool(self.products)

    @property
    def pays(self) -> bool:
        expansion = self.long_form.pair.expansion
        return expansion is not None and expansion.size >= SHORTEST

    @property
    def box(self) -> MatrixChainedBox | None:
        expansion = self.long_form.pair.expansion
        if expansion is None or not self.suits or (expansion.rows and self.domain.typical[1] < DIFFERENCES):
            return None
        return matrix_chained_box(expansion.size, self.domain.padded(ALIGNED))

    def fits(self, box: MatrixChainedBox) -> bool:
        return super().fits(box) and box.block // 32 % box.across == 0

    def plan(self, box: MatrixChainedBox) -> Plan:
        """Stages are as deep as the box says, or as local memory allows."""
        box, chained = shrink_to_fit(box, self._tiling, _shallower, self.facts.local_memory)
        weights, layout, narrow = chained.weights, self.long_form, self.domain.narrow
        partition, cells = weights.partition, f"{weights.text.cells}, {box.tile} columns at once"
        stages = [*chained.before(), weights.stage(), chained.stage(), *where_marked([weights.redo_stage()], REDO)]
        why = f"{partition.why}; {cells}, by matrix instructions"
        exact = PairText(layout.pair, layout.bound, layout.outputs, 1, narrow, False)
        numbers = flat(self.domain, exact.expansion.size)
        return self.with_merge(Launches(stages, chained.scratch), exact, box, partition, why, numbers)

    def _tiling(self, box: MatrixChainedBox) -> _Chained:
        layout = self.long_form
        return _Chained(scalar_of(layout), self.products, self.domain, self.mode, self.facts, box, layout)
