"""Pairs whose values are made of sums of products over a few numbers, by matrix instructions: groups own rows and walk
columns as in `pairwise`, a warp computes 16 rows and 8 columns at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.lowering.bilinear import Factoring, factored_pair
from clmapreduce.lowering.lower import MOST_UNROLLED, UNROLLED
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage, where_marked
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.local_arrays import accumulators, shrink_to_fit
from clmapreduce.schemes.pairs.fallback import Launches
from clmapreduce.schemes.pairs.matrix.boxes import (
    FEW_TERMS,
    FINE_REGISTERS,
    MatrixBox,
    fewest_columns,
    filter_box,
    matrix_box,
    whole_tiles,
)
from clmapreduce.schemes.pairs.matrix.filter import NearOperands
from clmapreduce.schemes.pairs.matrix.fine import (
    FINE,
    columns_scratch,
    columns_stage,
    fine_box,
    is_heavy,
    is_worth_it,
    most_fine,
)
from clmapreduce.schemes.pairs.matrix.matrix_kernel import MatrixKernel
from clmapreduce.schemes.pairs.matrix.parts.fine_halves import FineOperands
from clmapreduce.schemes.pairs.matrix.parts.halves import HalfOperands, steps_of
from clmapreduce.schemes.pairs.matrix.scheme import MATRIX_LIMITS, MatrixScheme
from clmapreduce.schemes.pairs.matrix.thresholds import Sample, sample_of
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText, tested_of
from clmapreduce.schemes.pairs.problem import LONGEST_CHAIN, PairProblem, places

MANY_SUMS, MOST_SUMS, MANY_KEPT = 8, 16, 14
"""Registers hold too few rows where an operator keeps more numbers of a row than MANY_SUMS and than a plain sum would,
or more than MOST_SUMS; or, where groups may be computed again by three pieces a number, where these and the row's own
numbers are more than MANY_KEPT.
"""
FILTERED = 6
"""Operations per pair from which on a filter in front of them is worth it."""
TESTED = 4
"""Numbers up to which exponents are better left to rows, beside functions that test their arguments."""
REDO, REDO_FORMULA = "redo0", "redo1"
"""Which groups gave up; and which did so again."""
STARTS = (MatrixBox(256, 2, 256), MatrixBox(128, 2, 256), MatrixBox(128, 1, 128))
"""Boxes from which tuning starts."""


def factoring_of(layout: PairProblem, mode: ComputeMode, limit: int = UNROLLED) -> Factoring | None:
    """The products of a pair that are but exponents, so that what they are off by is a share of the results' terms; or
    the only value, where it decides which columns can matter. None where there are none of up to `limit` summands, or
    where the scheme needs an order of merging that is not free.
    """
    bound, pair = layout.bound, layout.pair
    if mode is ComputeMode.SEQUENTIAL or layout.few or not bound.commutative:
        return None
    if bound.side:
        factoring = factored_pair(pair)
        if factoring is None or len(factoring.products) != 1:
            return None
        alone = factoring.values[0] is factoring.products[0].result
        return factoring if alone else None
    if not bound.smooth:
        return None
    exponents = pair.width if bound.exponents else 0
    return factored_pair(pair, limit, exponents=exponents, every=False, summed=bound.summed)


SHORT_TILE = 64
"""Columns of a tile below which smaller groups are the better way to need less local memory."""


@dataclass(frozen=True, eq=False)
class _FewKernel(MatrixKernel):
    """matrix: operands, and the statements behind products. scattered: columns of a tile may lie apart."""

    matrix: HalfOperands
    scattered: bool

    @property
    def box(self) -> MatrixBox:
        return self.matrix.box


@dataclass(frozen=True, eq=False)
class FewNumbersKernel(_FewKernel):
    """Exponents are products. by_products, by_formula: which tiles there are: within the error bound, and beyond.
    leaves: whether groups give up: at their first tile beyond it, or before it, if one of a few columns is; or, if
    there are both, where beside one tile more than one in `patience` is. parts: where only groups are computed that
    gave up before, how many there are for each of that launch; 0: all are. sharing: so many have a flag in common.
    """

    template = "kernel/matrix/pairwise_matrix"
    patience: ClassVar[int] = 8
    by_products: bool = True
    by_formula: bool = True
    leaves: bool = False
    parts: int = 0
    sharing: int = 1

    @property
    def gives_up_early(self) -> bool:
        return self.leaves

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        matrix, tile = self.matrix, self.tile
        operands = matrix.operand_arrays(2) if self.by_products else ()
        texts = [matrix.pairs] * self.by_products + [self.pairs] * self.by_formula
        tiles = [array for text in texts for array in text.tile(tile, aligned=True)]
        apart, sums = places(self.scattered, tile), accumulators(self.pairs.bound, self.block)
        return (*operands, *tiles, *apart, *sums)


@dataclass(frozen=True, eq=False)
class FilterKernel(_FewKernel):
    """Products decide which columns are computed as the formula says. barred: a launch before has left bars."""

    template = "kernel/matrix/pairwise_matrix_filter"
    barred: bool

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        apart, sums = places(self.scattered, self.tile), accumulators(self.pairs.bound, self.block)
        return (*self.matrix.operand_arrays(4), *apart, *sums)


@dataclass(frozen=True)
class _Matrix:
    """One problem cut into tiles."""

    layout: PairProblem
    factoring: Factoring
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: MatrixBox

    @cached_property
    def text(self) -> HalfOperands:
        layout, registers = self.layout, self.facts.register_fragments
        exact = PairText(layout.pair, layout.bound, layout.outputs, 1, self.domain.narrow, True, tiles="exact_tile")
        if not layout.bound.side:
            return HalfOperands(exact, self.factoring, self.box, registers, self.half)
        return NearOperands(exact, self.factoring, self.box, registers)

    @cached_property
    def fine_box(self) -> MatrixBox | None:
        """The box for groups that give up, to be computed again by more pieces a number; None where none do. Exponents
        are too far apart for polynomials there.
        """
        suits = self.facts.fp64 and not self.layout.bound.side and not self.half
        return fine_box(self.factoring, self.box, self.facts, _is_heavy(self.layout, self.factoring)) if suits else None

    @property
    def half(self) -> bool:
        """Whether all rows are one group's, whose last block has eight of them at most."""
        shared = self.box.block == 32 * self.box.across
        return not self.domain.scattered and shared and self.domain.rows <= 16 * self.box.blocks - 8

    @cached_property
    def sample(self) -> Sample | None:
        """What is launched before, for a filter."""
        text = self.text
        return sample_of(text, self.domain, self.mode, self.facts) if isinstance(text, NearOperands) else None

    @cached_property
    def partition(self) -> Partition:
        """How the domain is cut."""
        box, rows, groups = self.box, self.text.rows, self.facts.compute_units * self.box.groups
        least, most, parts = box.tile * box.tiles, box.tile * LONGEST_CHAIN, self.domain.parts()
        limits = PartitionLimits(rows, 1, box.tile, least, most, groups, parts, self.layout.backend)
        return self.domain.partition(limits)

    @cached_property
    def kernel(self) -> MatrixKernel:
        """The kernel over all pairs."""
        text, partition, scattered = self.text, self.partition, self.domain.scattered
        out = targets_of(partition, text.exact.outputs)[1]
        fine = self.fine_box is not None
        target = self._target(self.box) if fine else Target.of(self.mode, self.facts, self.domain.narrow)
        block, barred = self.box.block, self.sample is not None
        if not isinstance(text, NearOperands):
            return FewNumbersKernel(
                target, text.exact, tuple(out), block, partition.word, partition.partial, text, scattered,
                by_formula=not fine, leaves=fine,
            )  # fmt: skip
        behind = (*out, *(["__global const float *restrict bars"] if barred else []))
        return FilterKernel(
            target, text.exact, behind, block, partition.word, partition.partial, text, scattered, barred
        )

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.kernel.arrays

    @property
    def groups(self) -> int:
        """Groups of a launch over pairs."""
        return self.partition.groups * self.domain.batch

    def stage(self) -> Stage:
        """The launch over all pairs."""
        layout, partition = self.layout, self.partition
        targets = targets_of(partition, layout.outputs)[0]
        names = layout.pair.names
        bars = ("scratch2",) if self.sample is not None else ()
        flags = () if self.fine_box is None else (REDO,)
        arguments: Arguments = (*names, *targets, *bars, *partition.behind, *flags)
        reads = (*names, *bars, *partition.read)
        return Stage(self.kernel, self.groups, self.box.block, arguments, reads, (*targets, *flags))

    def again_stages(self, box: MatrixBox) -> list[Stage]:
        """The launches over the groups that gave up: by three pieces a number, for which columns are packed before, and
        by the formula alone. box: for these groups.
        """
        fine, formula = (REDO, REDO_FORMULA), (REDO_FORMULA,)
        text = self._fine_text(box)
        columns = columns_stage(text, self.domain, self.mode, self.facts, box.block, self.groups, REDO)
        return [
            *where_marked([columns, self._again_stage(box, False, fine)], REDO),
            *where_marked([self._again_stage(box, True, formula)], REDO_FORMULA),
        ]

    def _again_stage(self, box: MatrixBox, last: bool, flags: tuple[str, ...]) -> Stage:
        """last: whether by the formula alone. flags: the arrays of who is computed, and of who gives up again, if
        any.
        """
        partition, names, parts = self.partition, self.layout.pair.names, self._parts(box)
        targets, out = targets_of(partition, self.layout.outputs)

        def kernel(box: MatrixBox) -> FewNumbersKernel:
            text = self._fine_text(box)
            return FewNumbersKernel(
                self._target(box), text.exact, tuple(out), box.block, partition.word, partition.partial, text,
                self.domain.scattered, by_products=not last, leaves=not last, parts=parts, sharing=1 if last else parts,
            )  # fmt: skip

        packed = () if last else FINE
        box, spec = shrink_to_fit(box, kernel, _shorter, self.facts.local_memory)
        arguments: Arguments = (*names, *targets, *partition.behind, *flags, *packed)
        reads = (*names, *partition.read, flags[0], *packed)
        return Stage(spec, parts * self.groups, box.block, arguments, reads, (*targets, *flags[1:]))

    def _fine_text(self, box: MatrixBox) -> FineOperands:
        """What groups that gave up take."""
        return FineOperands(self.text.exact, self.factoring, box, self.text.registers)

    def _target(self, box: MatrixBox) -> Target:
        """Of kernels where groups give up."""
        registers = FINE_REGISTERS.get(box.block, 0)
        return Target.of(self.mode, self.facts, self.domain.narrow, registers=registers)

    def _parts(self, box: MatrixBox) -> int:
        """Groups that compute again what one has given up."""
        return self.text.rows // self._fine_text(box).rows

    def again_scratch(self, box: MatrixBox) -> dict[str, int]:
        """Bytes of the flags of groups that gave up, and of what is packed for them."""
        flags = {REDO: 4 * self.groups, REDO_FORMULA: 4 * self.groups * self._parts(box)}
        return {**flags, **columns_scratch(self._fine_text(box), self.domain)}


def _left_of(layout: PairProblem, factoring: Factoring) -> Pair:
    """What is left of a pair beside its products."""
    return Pair(layout.pair.inputs, factoring.values, layout.pair.width, bilinear=factoring.products)


def _is_heavy(layout: PairProblem, factoring: Factoring) -> bool:
    """Whether an item's registers hold little beside its operands."""
    return is_heavy(factoring, _left_of(layout, factoring), len(layout.bound.components))


def _shorter(box: MatrixBox) -> MatrixBox | None:
    return replace(box, tile=box.tile // 2) if box.tile > 8 else None


def _smaller(box: MatrixBox) -> MatrixBox | None:
    """Shorter tiles, or smaller groups."""
    if box.tile <= 8 and box.block <= 32:
        return None
    if box.tile > SHORT_TILE or box.block == 32:
        return replace(box, tile=box.tile // 2)
    return replace(box, block=box.block // 2, across=min(box.across, box.block // 64))


class FewNumbers(MatrixScheme[MatrixBox]):
    """Products of vectors of a few numbers: exponents, or a value that decides which columns are computed at all."""

    box_type = MatrixBox
    limits: ClassVar = {
        ComputeMode.PARALLEL: {
            **MATRIX_LIMITS, "tile": (16, 1024), "across": (1, 8), "unroll": (1, 16), "ahead": (1, 16),
            "sample": (0, 64), "fine": (0, 4),
        },
    }  # fmt: skip

    @cached_property
    def factoring(self) -> Factoring | None:
        """The products that the values are made of."""
        limit = UNROLLED if self.layout.short is None else MOST_UNROLLED
        return factoring_of(self.short_form, self.mode, limit)

    @property
    def suits(self) -> bool:
        return self.factoring is not None

    @property
    def pays(self) -> bool:
        pair, side = self.layout.pair, self.layout.bound.side
        if pair.expansion is not None:
            return False
        if self.factoring is not None and self.meets_few(fewest_columns(steps_of(self.factoring))):
            return False
        if pair.contractions:
            if side or not self._fine_pays or len(self.layout.bound.components) > MOST_SUMS:
                return False
            return len(self._left.terms.rows) <= FEW_TERMS
        if side or self.factoring is None:
            return pair.cost >= FILTERED
        return not self._crowded and (self.factoring.numbers > TESTED or not tested_of(self._left))

    @property
    def _crowded(self) -> bool:
        """Whether registers hold too few rows beside their numbers and sums."""
        sums = len(self.layout.bound.components)
        if self._fine_pays:
            return len(self._left.terms.rows) + sums > MANY_KEPT
        return sums > min(MOST_SUMS, max(MANY_SUMS, self.layout.pair.width))

    @cached_property
    def _left(self) -> Pair:
        """What is left of the pair beside its products."""
        assert self.factoring is not None
        return _left_of(self.short_form, self.factoring)

    @property
    def _fine_pays(self) -> bool:
        return is_worth_it(self.factoring, self.domain, self.facts)

    @property
    def box(self) -> MatrixBox | None:
        if self.factoring is None:
            return None
        bound, steps = self.layout.bound, steps_of(self.factoring)
        rows, columns, padded = self.domain.rows * self.domain.batch, self.domain.columns, self.domain.padded()
        if bound.side:
            return filter_box(steps, bound.capacity, rows, columns, padded)
        box = matrix_box(steps, self._left.cost, len(self._left.terms.rows), rows, columns, padded)
        if not self._fine_pays:
            return box
        heavy = _is_heavy(self.short_form, self.factoring)
        return replace(box, fine=most_fine(self.factoring, box, self.facts, heavy))

    def starts(self) -> Sequence[MatrixBox]:
        return STARTS if self.layout.pair.expansion is None and self.suits else ()

    def fits(self, box: MatrixBox) -> bool:
        return super().fits(box) and whole_tiles(box)

    def plan(self, box: MatrixBox) -> Plan:
        """Tiles are as long as the box says, or as local memory allows; where little is left for them, groups are
        smaller. Packed columns take several times the memory of the inputs: without them tiles that are far apart are
        computed by the formula.
        """
        box, matrix = shrink_to_fit(box, self._tiling, _smaller, self.facts.local_memory)
        text, partition, sample = matrix.text, matrix.partition, matrix.sample
        cells = f"{text.rows} rows a group, {box.tile} columns a tile, {text.steps} matrix instructions a block"
        why = f"{partition.why}; {cells}"
        if sample is not None:
            looked = f"every {box.sample} columns" if box.sample > 1 else "all columns"
            why += f", bars from {looked}, the best of {sample.buckets} buckets of them"
        stages = [*(sample.stages() if sample is not None else []), matrix.stage()]
        scratch = sample.scratch if sample is not None else {}
        if matrix.fine_box is not None:
            stages += matrix.again_stages(matrix.fine_box)
            scratch = {**scratch, **matrix.again_scratch(matrix.fine_box)}
            why += "; groups far apart again, by three pieces a number"
        plan = self.with_merge(Launches(stages, scratch), text.exact, box, partition, why)
        return plan if matrix.fine_box is None else replace(plan, lean=self.plan(replace(box, fine=0)))

    def _tiling(self, box: MatrixBox) -> _Matrix:
        assert self.factoring is not None
        return _Matrix(self.short_form, self.factoring, self.domain, self.mode, self.facts, box)
