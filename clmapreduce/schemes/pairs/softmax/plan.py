"""The plan of softmax sums of floats of 16 bits: both vectors and the weights are packed as operands, one launch walks
all pairs, and the last one makes results of what is left of every share of the columns.

Where a sum is not finite, for instance because a weight is infinite, the usual two passes compute everything again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from clmapreduce.domain.dense import Pairwise
from clmapreduce.domain.partition import Partition, PartitionLimits
from clmapreduce.dtypes import FLOAT16, is_bfloat16
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Arguments, Facts, LocalArray, Plan, Stage, where_marked
from clmapreduce.schemes.common.arrays import parameters_of
from clmapreduce.schemes.common.gates import gated
from clmapreduce.schemes.common.join_plans import shared_scratch
from clmapreduce.schemes.common.kernel_data import Target
from clmapreduce.schemes.common.local_arrays import PADDING, bytes_of
from clmapreduce.schemes.pairs.boxes import WIDE_SCRATCH
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct, long_products
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText
from clmapreduce.schemes.pairs.parts.pair_kernel import PairKernel
from clmapreduce.schemes.pairs.passes.two_pass import LastResults, last_stage
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.softmax.box import SoftmaxBox, softmax_box
from clmapreduce.schemes.pairs.softmax.numbers import SoftmaxNumbers
from clmapreduce.schemes.pairs.softmax.operands import ColumnOperand, Operand, OperandsKernel, RowOperand, WeightOperand
from clmapreduce.schemes.pairs.softmax.weights import LongWeights

OPERANDS = ("row_operands", "column_operands", "weight_operands")
SUMMED = ("softmax_marks", "softmax_sums")
"""Of every share of the columns: every row's mark and sum of exponentials, and its numbers."""
GIVEN_UP = "softmax_given_up"
"""One number: whether a sum is not finite."""
LEAST_PAIRS = 4 * 10**7
"""Pairs below which the launches of both ways take longer than they compute."""
WORDS = {True: ("matrix_bfloat", "bfloat_pair"), False: ("matrix_product", "half_pair")}
"""The vocabulary's names of products and pairs, of bfloat16 or not."""


@dataclass(frozen=True, eq=False)
class SoftmaxKernel(PairKernel):
    """pairs: the statements of exponents. softmax: the places of everything."""

    template = "kernel/softmax/pairwise_softmax"
    softmax: SoftmaxNumbers

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        return self.softmax.arrays


def softmax_product(problem: PairProblem, weights: LongWeights, mode: ComputeMode) -> LongProduct | None:
    """The inner product that exponents are made of, if both vectors and the weights are arrays of the same floats of 16
    bits; else None.
    """
    pair = problem.pair
    if mode is ComputeMode.SEQUENTIAL or pair.has_tables or not problem.bound.exponents:
        return None
    products = long_products(pair, problem.bound)
    if len(products) != 1 or products[0].distance or products[0].slopes is None:
        return None
    (product,) = products
    vectors = (product.row.plain, product.column.plain, *weights.arrays)
    short = all(one is not None and one.dtype == weights.dtype for one in vectors)
    if not all(one.scalar or one.name in pair.names for one in weights.numbers):
        return None
    return product if short and (weights.dtype == FLOAT16 or is_bfloat16(weights.dtype)) else None


def suited_softmax(
    problem: PairProblem, weights: LongWeights, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> Softmax | None:
    """One walk over the columns, where it suits. problem: the exponents, and the operator that sums exponentials."""
    if not facts.matrix_units or domain.scattered or domain.pairs < LEAST_PAIRS:
        return None
    product = softmax_product(problem, weights, mode)
    box = None if product is None else softmax_box(product.size, weights.dim, facts)
    if product is None or box is None:
        return None
    softmax = Softmax(problem, product, weights, domain, mode, facts, box)
    fits = bytes_of(softmax.text.arrays) <= facts.local_memory - PADDING
    return softmax if fits else None


def _whole(count: int, tile: int) -> int:
    """So many vectors as whole tiles."""
    return -(-count // tile) * tile


@dataclass(frozen=True)
class Softmax:
    """One problem, cut into groups."""

    problem: PairProblem
    product: LongProduct
    weights: LongWeights
    domain: Pairwise
    mode: ComputeMode
    facts: Facts
    box: SoftmaxBox

    @cached_property
    def operands(self) -> tuple[Operand, Operand, Operand]:
        """Those of rows, columns and weights."""
        row, column, narrow = self.product.row.plain, self.product.column.plain, self.domain.narrow
        assert row is not None
        assert column is not None
        weights = WeightOperand(self.weights.arrays, narrow, self.ahead)
        return RowOperand((row,), narrow), ColumnOperand((column,), narrow), weights

    @property
    def ahead(self) -> int:
        """Columns of zeros behind the last stage, and before the weights of the first one."""
        return self.box.part if self.facts.register_fragments else 0

    @cached_property
    def text(self) -> SoftmaxNumbers:
        problem, (row, column, weight) = self.problem, self.operands
        pairs = PairText(problem.pair, problem.bound, problem.outputs, 1, self.domain.narrow, False)
        words = WORDS[is_bfloat16(self.weights.dtype)]
        steps = (row.steps, column.steps, weight.steps)
        return SoftmaxNumbers(pairs, self.weights, steps, words, self.box, self.ahead)

    @cached_property
    def partition(self) -> Partition:
        """How the domain is cut."""
        domain, box, size = self.domain, self.box, self.weights.dim
        parts = min(domain.parts(size), WIDE_SCRATCH // (4 * size * domain.batch))
        least, groups = box.tiles * box.tile, self.facts.compute_units * box.groups
        limits = PartitionLimits(
            self.text.rows, 1, box.tile, least, box.longest, groups, parts, self.problem.backend
        )  # fmt: skip
        return domain.partition(limits, size)

    @property
    def counts(self) -> tuple[int, int, int]:
        """Vectors of each kind, as many as whole groups and stages have."""
        columns = _whole(self.domain.columns, self.box.tile) + self.ahead
        return _whole(self.domain.rows, self.text.rows), columns, columns

    @property
    def words(self) -> tuple[int, ...]:
        """Words of the operands of an element of the batch."""
        return tuple(one.words(count) for one, count in zip(self.operands, self.counts, strict=True))

    @property
    def scratch(self) -> dict[str, int]:
        """The arrays that launches leave to the next ones, in bytes."""
        domain, batch = self.domain, self.domain.batch
        shares = self.partition.splits * domain.rows * batch
        operands = {name: 4 * words * batch for name, words in zip(OPERANDS, self.words, strict=True)}
        marks, sums = SUMMED
        return {**operands, marks: 8 * shares, sums: 4 * self.weights.dim * shares, GIVEN_UP: 4}

    def _operands_stage(self) -> Stage:
        """The launch that packs rows, columns and weights."""
        domain, block, operands = self.domain, self.box.block, self.operands
        spec = OperandsKernel(Target.of(self.mode, self.facts, domain.narrow), operands, block)
        quads = [words // 4 for words in self.words]
        groups = [-(-count // block) for count in quads]
        written, read = (*OPERANDS, GIVEN_UP), tuple(one.name for one in spec.inputs)
        counts = (domain.rows, domain.columns, domain.columns)
        sizes: Arguments = tuple(("idx", n) for kind in zip(counts, quads, groups, strict=True) for n in kind)
        return Stage(spec, sum(groups) * domain.batch, block, (*read, *written, *sizes), read, written)

    def _pairs_stage(self) -> Stage:
        """The launch over all pairs."""
        box, text, partition, names = self.box, self.text, self.partition, self.problem.pair.names
        more = list({one.name: one for one in self.weights.numbers if one.name not in names}.values())
        names = (*names, *(one.name for one in more))
        behind = (
            *parameters_of(more),
            *(f"__global const uint4 *restrict {name}" for name in OPERANDS),
            *(f"__global float *restrict {name}" for name in ("marks", "sums")),
        )
        target = Target.of(self.mode, self.facts, self.domain.narrow, registers=box.registers)
        spec = SoftmaxKernel(target, text.pairs, behind, box.block, partition.word, False, text)
        quads: Arguments = tuple(("idx", words // 4) for words in self.words)
        arguments: Arguments = (*names, *OPERANDS, *SUMMED, *partition.behind, *quads, GIVEN_UP)
        groups = partition.groups * self.domain.batch
        return Stage(spec, groups, box.block, arguments, (*names, *OPERANDS), (*SUMMED, GIVEN_UP))

    def plan(self, last: LastResults, usual: Plan, plain: Plan) -> Plan:
        """The plan. last: makes results. usual, plain: those of the two passes, with matrix instructions and without.
        The plain one, which has fewer launches, computes everything where a sum is not finite.
        """
        domain, partition = self.domain, self.partition
        again = where_marked(gated(plain.stages, (0, True), GIVEN_UP), GIVEN_UP)
        stages = (
            self._operands_stage(), self._pairs_stage(), *again,
            last_stage(last, SUMMED, domain, self.mode, self.facts, partition.splits, GIVEN_UP),
        )  # fmt: skip
        why = (
            f"one walk for weights of {self.weights.dim} numbers of 16 bits: {partition.why}; {self.text.rows} rows a "
            f"group, {self.box.tile} columns a stage, by matrix instructions; where sums are not finite {plain.why}"
        )
        return replace(plain, stages=stages, scratch=shared_scratch(plain.scratch, self.scratch), why=why, lean=usual)
