"""Sums of exponentials times long weights by matrix instructions, of which the first compute the exponents and the
others multiply the exponentials by the weights. Where data leaves these too few digits, the exponentials come from
the formula; and where sums are not finite then, their products too.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition
from clmapreduce.dtypes import FLOAT32
from clmapreduce.lowering.bilinear import Factoring
from clmapreduce.lowering.lower import MOST_UNROLLED, UNROLLED
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage, where_marked
from clmapreduce.schemes.common.kernel_data import KernelText, Target
from clmapreduce.schemes.common.local_arrays import PADDING, bytes_of, shrink_to_fit
from clmapreduce.schemes.pairs.fallback import Launches, Unfinished
from clmapreduce.schemes.pairs.matrix.boxes import FEWEST_COLUMNS, whole_tiles
from clmapreduce.schemes.pairs.matrix.exponential_numbers import ExponentialNumbers
from clmapreduce.schemes.pairs.matrix.few import factoring_of
from clmapreduce.schemes.pairs.matrix.fine import COLUMNS, is_worth_it
from clmapreduce.schemes.pairs.matrix.matrix_kernel import MatrixKernel
from clmapreduce.schemes.pairs.matrix.parts.halves import DEPTH, HalfOperands, steps_of
from clmapreduce.schemes.pairs.matrix.parts.scaled_halves import LiftedOperands, is_power
from clmapreduce.schemes.pairs.matrix.scheme import MATRIX_LIMITS, MatrixScheme
from clmapreduce.schemes.pairs.matrix.weighted.again import WeightedAgain
from clmapreduce.schemes.pairs.matrix.wide_boxes import MatrixWideBox, RedoBox, matrix_wide_box, redo_box
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText, is_product
from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel
from clmapreduce.schemes.pairs.parts.value_blocks import WideCut, flat
from clmapreduce.schemes.pairs.problem import PairProblem, places

PACKED, REDO = "packed0", "redo0"
"""The weights, as operands; which groups gave up."""

LIGHT = 12
"""Weights up to which few columns do not pay. An H200, 10⁶ rows, ten weights, D = 3, ms: 100 columns 0.17, by the
formula 0.095; 300 0.32 and 0.25, in a unit cube 0.28 and 0.26; 1,000 0.88 and 0.80, in a unit cube 0.56 and 0.80.
"""
SHORTEST = 7
"""Numbers of a vector that is better taken as a long one."""
MOST_WALKED = 64
"""Numbers that are multiplied by exponentials of sums that are else walked: with more of them local memory has no room
for both.
"""
SHORT = 512
"""Columns of an interval of blocks below which it is not, unless it is one: stages that lie apart are packed by every
group again.
"""


def wide_factoring_of(layout: PairProblem, mode: ComputeMode, limit: int = UNROLLED) -> Factoring | None:
    """The products of a scalar that long weights of the columns are multiplied by, where the scheme suits. limit: of
    their summands.
    """
    expansion = layout.pair.expansion
    if expansion is None or layout.pair.contractions:
        return None
    if len(expansion.scalars) != 1 or expansion.rows or not is_product(expansion) or layout.pair.dtype != FLOAT32:
        return None
    return factoring_of(replace(layout, pair=layout.pair.scalar), mode, limit)


PARAMETERS = ("__global const uint *restrict packed",)


@dataclass(frozen=True, eq=False)
class WeightOperandsKernel(KernelText):
    """The kernel that makes operands of weights."""

    template = "kernel/matrix/pairwise_matrix_pack"
    weights: ExponentialNumbers

    @property
    def block(self) -> int:
        return self.weights.box.block

    @property
    def tile(self) -> int:
        return self.weights.box.tile

    @property
    def parameters(self) -> list[str]:
        return self.weights.wide.parameters()

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        """The largest weight of every number, how many are far below it, and what scalars may not be below."""
        sizes = {"largest": self.weights.numbers, "small": self.weights.numbers, "need": 1}
        return tuple(LocalArray(name, "int", size) for name, size in sizes.items())


@dataclass(frozen=True, eq=False)
class ExponentialsKernel(MatrixKernel):
    """pairs: the statements of the long value. wide: operands, and the statements of scalars."""

    template = "kernel/matrix/pairwise_matrix_wide"
    wide: ExponentialNumbers

    @property
    def box(self) -> MatrixWideBox:
        return self.wide.box

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.wide.arrays


@dataclass(frozen=True, eq=False)
class ExponentialsAgainKernel(PairKernel):
    """What groups have given up, as the formula says. pairs: the statements of the long value. wide: how groups were
    cut. box: of these groups.
    """

    template = "kernel/matrix/pairwise_matrix_redo"
    wide: ExponentialNumbers
    box: RedoBox

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        """A tile of weights, and of the columns' terms."""
        box, tile = self.box, self.box.tile
        weights = LocalArray("weights", "float", tile * box.numbers * box.across, aligned=True)
        return (weights, *self.wide.matrix.exact.tile(tile), *places(self.wide.scattered, tile))


@dataclass(frozen=True)
class _Wide:
    """One problem, cut into groups. The operator of the layout is that of a single number."""

    layout: PairProblem
    factoring: Factoring
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: MatrixWideBox

    @property
    def _registers(self) -> bool:
        """Whether items hold operands themselves and can ask each other."""
        return self.facts.register_fragments

    @cached_property
    def text(self) -> ExponentialNumbers:
        """With batches of columns that leave few items idle, or shorter ones where local memory asks for them."""
        box = self.box
        texts = [self._text(stages * box.tile) for stages in range(1, max(4, box.block // box.tile) + 1)]
        fitting = [text for text in texts if bytes_of(text.arrays) <= self.facts.local_memory - PADDING]
        return min(fitting or texts[:1], key=lambda text: -(-text.batch // box.block) / text.batch)

    def _text(self, batch: int) -> ExponentialNumbers:
        layout, narrow = self.layout, self.domain.narrow
        exact = PairText(layout.pair.scalar, layout.bound, layout.outputs, 1, narrow, True)
        matrix = HalfOperands(exact, self.factoring, replace(self.box, tile=2 * batch), False)
        if self._registers and is_power(matrix):
            matrix = LiftedOperands(exact, self.factoring, matrix.box, False)
        wide = PairText(layout.pair, layout.bound, layout.outputs, 1, narrow, False)
        scattered = self.domain.scattered
        return ExponentialNumbers(matrix, wide, self.box, self._registers, batch, scattered)

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.text.arrays

    @property
    def stages(self) -> int:
        """Stages of all columns."""
        return -(-self.domain.columns // self.box.tile)

    @cached_property
    def partition(self) -> Partition:
        """How the domain is cut."""
        text, backend = self.text, self.layout.backend
        rows = text.matrix.rows
        return WideCut(self.domain, self.box, self.facts, backend, text.size, rows, text.across, whole=True).partition()

    @property
    def scratch(self) -> dict[str, int]:
        """The arrays that launches leave to the next ones, in bytes."""
        across = self.text.across * self.domain.batch
        packed = 4 * self.text.weight_words * self.stages * across
        return {PACKED: packed, REDO: 4 * across * self.partition.groups}

    def pack_stage(self) -> Stage:
        """The launch that packs the weights."""
        box, text, names = self.box, self.text, self.layout.pair.names
        spec = WeightOperandsKernel(Target.of(self.mode, self.facts, self.domain.narrow), text)
        arguments: Arguments = (*names, PACKED, ("idx", self.domain.columns), ("idx", self.stages))
        groups = self.stages * text.across * self.domain.batch
        return Stage(spec, groups, box.block, arguments, names, (PACKED,))

    def stage(self) -> Stage:
        """The launch over all pairs. Groups whose sums would be off by too much give up."""
        box, text, partition, names = self.box, self.text, self.partition, self.layout.pair.names
        targets, out = targets_of(partition, self.layout.outputs)
        spec = ExponentialsKernel(
            Target.of(self.mode, self.facts, self.domain.narrow, registers=box.registers), text.wide,
            (*PARAMETERS, *out), box.block, partition.word, partition.partial, text,
        )  # fmt: skip
        reads = (*names, PACKED, *partition.read)
        arguments: Arguments = (*names, PACKED, *targets, *partition.behind, ("idx", self.stages), REDO)
        return Stage(spec, self._groups, box.block, arguments, reads, (*targets, REDO))

    @cached_property
    def again(self) -> Launches:
        """The launches that compute those again: with matrix instructions, if these serve, and then what is left."""
        text, rows = self.text, self.text.matrix.rows
        after = Unfinished(self.partition, text.across, REDO)
        factoring = self.factoring if self.box.fine and self.facts.fp64 else None
        groups = WeightedAgain(self.layout, self.domain, self.mode, self.facts, rows, self.box.numbers, after)
        again = groups.launches(factoring)
        return Launches(where_marked([*again.stages, self._redo_stage()], REDO), again.scratch)

    def _redo_stage(self) -> Stage:
        """The launch without them."""
        text, partition, names = self.text, self.partition, self.layout.pair.names
        targets, out = targets_of(partition, self.layout.outputs)
        full = redo_box(text.matrix.rows, min(text.numbers, text.size))
        target = Target.of(self.mode, self.facts, self.domain.narrow, registers=full.registers)

        def kernel(box: RedoBox) -> ExponentialsAgainKernel:
            cut, partial = partition.word, partition.partial
            return ExponentialsAgainKernel(target, text.wide, tuple(out), box.block, cut, partial, text, box)

        box, spec = shrink_to_fit(full, kernel, _halved, self.facts.local_memory)
        reads = (*names, *partition.read, REDO)
        arguments: Arguments = (*names, *targets, *partition.behind, REDO)
        return Stage(spec, self._groups, box.block, arguments, reads, targets)

    @property
    def _groups(self) -> int:
        """Groups of the launches over pairs."""
        return self.text.across * self.partition.groups * self.domain.batch


def _shorter(box: MatrixWideBox) -> MatrixWideBox | None:
    return replace(box, tile=box.tile // 2 // DEPTH * DEPTH) if box.tile > DEPTH else None


def _halved(box: RedoBox) -> RedoBox | None:
    return replace(box, tile=box.tile // 2) if box.tile > 1 else None


class Exponentials(MatrixScheme[MatrixWideBox]):
    """Exponentials of products of a few numbers, times long weights. The layout's operator is that of a single number,
    a plain sum in the values' own dtype.
    """

    box_type = MatrixWideBox
    limits: ClassVar = {
        ComputeMode.PARALLEL: {
            **MATRIX_LIMITS, "tile": (16, 128), "numbers": (1, 16), "chains": (1, 8), "unroll": (1, 8), "fine": (0, 1),
        },
    }  # fmt: skip

    @cached_property
    def factoring(self) -> Factoring | None:
        """The products that the exponents are made of."""
        limit = UNROLLED if self.long_form.short is None else MOST_UNROLLED
        return wide_factoring_of(self._problem, self.mode, limit)

    @property
    def _problem(self) -> PairProblem:
        return self.long_form.shortened

    @property
    def suits(self) -> bool:
        return self.factoring is not None

    @property
    def pays(self) -> bool:
        pair = self.long_form.pair
        torn = self.layout.wide is not None and self.domain.interval < SHORT
        if pair.expansion is None:
            return False
        if pair.expansion.size <= LIGHT and self.meets_few(FEWEST_COLUMNS):
            return False
        if pair.contractions and (pair.expansion.size > MOST_WALKED or not self._fine_pays):
            return False
        return pair.expansion.size >= SHORTEST and not torn

    @property
    def _fine_pays(self) -> bool:
        return is_worth_it(self.factoring, self.domain, self.facts)

    @property
    def box(self) -> MatrixWideBox | None:
        expansion = self.long_form.pair.expansion
        if expansion is None or self.factoring is None:
            return None
        box = matrix_wide_box(expansion.size, steps_of(self.factoring), self.domain.padded())
        return replace(box, fine=int(self._fine_pays))

    def fits(self, box: MatrixWideBox) -> bool:
        return super().fits(box) and whole_tiles(box)

    def plan(self, box: MatrixWideBox) -> Plan:
        """Stages are as long as the box says, or as local memory allows."""
        layout, domain = self._problem, self.domain
        box, wide = shrink_to_fit(box, self._tiling, _shorter, self.facts.local_memory)
        text, partition = wide.text, wide.partition
        cells = f"{text.matrix.rows} rows and {text.numbers} of {text.size} numbers a group, {box.tile} columns a stage"
        stages, scratch = [wide.pack_stage(), wide.stage(), *wide.again.stages], wide.scratch | wide.again.scratch
        why = f"{partition.why}; {cells}, by matrix instructions"
        if COLUMNS in scratch:
            why += "; groups far apart again, by three pieces a number"
        exact = PairText(layout.pair, layout.bound, layout.outputs, 1, domain.narrow, False)
        return self.with_merge(Launches(stages, scratch), exact, box, partition, why, flat(domain, text.size))

    def _tiling(self, box: MatrixWideBox) -> _Wide:
        assert self.factoring is not None
        return _Wide(self._problem, self.factoring, self.domain, self.mode, self.facts, box)
