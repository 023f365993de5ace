"""Sums of exponentials times long weights by matrix instructions, of which the first compute the exponents and the
others multiply the exponentials by the weights; where data leaves these too few digits, as the formula says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition
from clmapreduce.dtypes import FLOAT32
from clmapreduce.lowering.bilinear import Factoring
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage
from clmapreduce.schemes.common.kernel import kernel_spec
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.pairs.fallback import Launches
from clmapreduce.schemes.pairs.matrix.boxes import MatrixWideBox, matrix_wide_box, redo_box, whole_tiles
from clmapreduce.schemes.pairs.matrix.exponential_numbers import ExponentialNumbers
from clmapreduce.schemes.pairs.matrix.few import factoring_of
from clmapreduce.schemes.pairs.matrix.parts.halves import DEPTH, HalfOperands
from clmapreduce.schemes.pairs.matrix.parts.scaled_halves import LiftedOperands, is_power
from clmapreduce.schemes.pairs.matrix.scheme import MATRIX_LIMITS, MatrixScheme
from clmapreduce.schemes.pairs.merge import targets_of
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText, is_product
from clmapreduce.schemes.pairs.parts.value_blocks import WideCut, flat
from clmapreduce.schemes.pairs.problem import PLACE_BYTES, PairProblem, places

PACKED, REDO = "packed0", "redo0"
"""The weights, as operands; which groups gave up."""

SHORTEST = 7
"""Numbers of a vector that is better taken as a long one."""
SHORT = 512
"""Columns of an interval of blocks below which it is not, unless it is one: stages that lie apart are packed by every
group again.
"""


def wide_factoring_of(layout: PairProblem, mode: ComputeMode) -> Factoring | None:
    """The products of a scalar that long weights of the columns are multiplied by, where the scheme suits."""
    expansion = layout.pair.expansion
    if expansion is None or layout.pair.contractions:
        return None
    if len(expansion.scalars) != 1 or expansion.rows or not is_product(expansion) or layout.pair.dtype != FLOAT32:
        return None
    return factoring_of(replace(layout, pair=replace(layout.pair, expansion=None)), mode)


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
        found = [self._text(stages * box.tile) for stages in range(1, max(4, box.block // box.tile) + 1)]
        fitting = [text for text in found if text.bytes <= self.facts.local_memory]
        return min(fitting or found[:1], key=lambda text: -(-text.batch // box.block) / text.batch)

    def _text(self, batch: int) -> ExponentialNumbers:
        layout, narrow = self.layout, self.domain.narrow
        scalar = replace(layout.pair, expansion=None)
        exact = PairText(scalar, layout.bound, layout.outputs, 1, narrow, True)
        matrix = HalfOperands(exact, self.factoring, replace(self.box, tile=2 * batch), False)
        if self._registers and is_power(matrix):
            matrix = LiftedOperands(exact, self.factoring, matrix.box, False)
        wide = PairText(layout.pair, layout.bound, layout.outputs, 1, narrow, False)
        scattered = self.domain.scattered
        return ExponentialNumbers(matrix, wide, self.box, self._registers, batch, scattered)

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
        layout, box, text = self.layout, self.box, self.text
        spec = kernel_spec(
            "matrix/pairwise_matrix_pack", Target.of(self.mode, self.facts, self.domain.narrow), self._numbers(),
            {"pair": layout.pair, "bound": layout.bound},
            lambda: {"weights": text, "parameters": text.wide.parameters()},
            arrays=_weight_arrays(text.numbers),
        )  # fmt: skip
        names = tuple(given.name for given in layout.pair.inputs)
        arguments: Arguments = (*self._given, PACKED, ("idx", self.domain.columns), ("idx", self.stages))
        groups = self.stages * text.across * self.domain.batch
        return Stage(spec, groups, box.block, arguments, names, (PACKED,))

    def _local_arrays(self) -> tuple[LocalArray, ...]:
        text = self.text
        sizes = {
            "largest": 3 * len(text.matrix.products), "far": 2, "small_stage": 2 * text.scattered, "given_up": 2,
            "tops": 0 if text.registers else 2 * text.matrix.rows,
        }  # fmt: skip
        numbers = (LocalArray(name, "int", size) for name, size in sizes.items() if size)
        tiles = text.matrix.pairs.tile(2 * text.batch, aligned=True)
        return LocalArray("memory", "uint", text.words, aligned=True), *numbers, *tiles

    def stage(self) -> Stage:
        """The launch over all pairs. Groups whose sums would be off by too much give up."""
        layout, box, text, partition = self.layout, self.box, self.text, self.partition
        targets, out = targets_of(partition, layout.outputs)
        spec = kernel_spec(
            "matrix/pairwise_matrix_wide",
            Target.of(self.mode, self.facts, self.domain.narrow, registers=box.registers),
            {**self._numbers(), "partial": partition.partial, "domain": partition.word},
            {"pair": layout.pair, "bound": layout.bound},
            lambda: {"wide": text, "parameters": [*text.wide.parameters(), *PARAMETERS, *out]},
            arrays=self._local_arrays(),
        )  # fmt: skip
        reads = (*(given.name for given in layout.pair.inputs), PACKED, *partition.read)
        arguments: Arguments = (*self._given, PACKED, *targets, *partition.behind, ("idx", self.stages), REDO)
        return Stage(spec, self._groups, box.block, arguments, reads, (*targets, REDO))

    def redo_stage(self) -> Stage:
        """The launch that computes those again."""
        layout, text, partition = self.layout, self.text, self.partition
        targets, out = targets_of(partition, layout.outputs)
        box = redo_box(text.matrix.rows, min(text.numbers, text.size))
        each = text.matrix.exact.column_bytes + 4 * box.numbers * box.across + PLACE_BYTES * text.scattered
        tile = box.tile
        while tile > 1 and tile * each > self.facts.local_memory:
            tile //= 2
        sizes = {
            "block": box.block, "tile": tile, "vectors": box.rows, "numbers": box.numbers, "across": box.across,
            "unroll": box.unroll, "taken": self.box.numbers, "partial": partition.partial, "domain": partition.word,
        }  # fmt: skip
        spec = kernel_spec(
            "matrix/pairwise_matrix_redo",
            Target.of(self.mode, self.facts, self.domain.narrow, registers=box.registers),
            sizes, {"pair": layout.pair, "bound": layout.bound},
            lambda: {"wide": text, "parameters": [*text.wide.parameters(), *out]},
            arrays=_redo_arrays(text, tile, box.numbers * box.across),
        )  # fmt: skip
        reads = (*self._given, *partition.read, REDO)
        arguments: Arguments = (*self._given, *targets, *partition.behind, REDO)
        return Stage(spec, self._groups, box.block, arguments, reads, targets)

    @property
    def _groups(self) -> int:
        """Groups of the launches over pairs."""
        return self.text.across * self.partition.groups * self.domain.batch

    @property
    def _given(self) -> tuple[str, ...]:
        """The names of the pair's inputs."""
        return tuple(given.name for given in self.layout.pair.inputs)

    def _numbers(self) -> dict[str, Any]:
        box, text = self.box, self.text
        return {
            "block": box.block, "blocks": box.blocks, "tile": box.tile, "taken": box.numbers, "share": box.share,
            "batch": text.batch, "chains": (box.chains, 0 if text.scalars.kept else box.unroll),
        }  # fmt: skip


def _weight_arrays(numbers: int) -> tuple[LocalArray, ...]:
    """The largest weight of every number, how many are far below it, and what scalars may not be below."""
    sizes = {"largest": numbers, "small": numbers, "need": 1}
    return tuple(LocalArray(name, "int", size) for name, size in sizes.items())


def _redo_arrays(text: ExponentialNumbers, tile: int, numbers: int) -> tuple[LocalArray, ...]:
    """A tile of so many weights a column, and of the columns' terms."""
    weights = LocalArray("weights", "float", tile * numbers, aligned=True)
    return (weights, *text.matrix.exact.tile(tile), *places(text.scattered, tile))


PARAMETERS = ("__global const uint *restrict packed",)


class Exponentials(MatrixScheme[MatrixWideBox]):
    """Exponentials of products of a few numbers, times long weights. The layout's operator is that of a single number,
    a plain sum in the values' own dtype.
    """

    box_type = MatrixWideBox
    limits: ClassVar = {
        ComputeMode.PARALLEL: {
            **MATRIX_LIMITS, "tile": (16, 128), "numbers": (1, 16), "chains": (1, 8), "unroll": (1, 8),
        },
    }  # fmt: skip

    @cached_property
    def factoring(self) -> Factoring | None:
        """The products that the exponents are made of."""
        return wide_factoring_of(self.long_form, self.mode)

    @property
    def suits(self) -> bool:
        return self.factoring is not None

    @property
    def pays(self) -> bool:
        expansion = self.long_form.pair.expansion
        torn = self.layout.wide is not None and self.domain.interval < SHORT
        return expansion is not None and expansion.size >= SHORTEST and not torn

    @property
    def box(self) -> MatrixWideBox | None:
        expansion = self.long_form.pair.expansion
        if expansion is None or not self.suits:
            return None
        return matrix_wide_box(expansion.size, self.domain.padded())

    def fits(self, box: MatrixWideBox) -> bool:
        return super().fits(box) and whole_tiles(box)

    def plan(self, box: MatrixWideBox) -> Plan:
        """Stages are as long as the box says, or as local memory allows."""
        assert self.factoring is not None
        layout, domain = self.long_form, self.domain
        wide = _Wide(layout, self.factoring, domain, self.mode, self.facts, box)
        while box.tile > DEPTH and wide.text.bytes > self.facts.local_memory:
            box = replace(box, tile=box.tile // 2 // DEPTH * DEPTH)
            wide = _Wide(layout, self.factoring, domain, self.mode, self.facts, box)
        text, partition = wide.text, wide.partition
        cells = f"{text.matrix.rows} rows and {text.numbers} of {text.size} numbers a group, {box.tile} columns a stage"
        stages = [wide.pack_stage(), wide.stage(), wide.redo_stage()]
        why = f"{partition.why}; {cells}, by matrix instructions"
        exact = PairText(layout.pair, layout.bound, layout.outputs, 1, domain.narrow, False)
        return self.with_merge(Launches(stages, wide.scratch), exact, box, partition, why, flat(domain, text.size))
