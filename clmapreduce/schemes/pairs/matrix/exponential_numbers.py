"""Sums of scalars of the pair times long weights by matrix instructions: the scalars, made of products themselves, are
cut into pieces of 16 bits where they were computed, and multiplied by the weights' pieces.

Scalars are scaled by a power of two for every row: the largest so far is at 2^13 to 2^16, and where a stage brings a
larger one, what was summed is scaled again. Weights are scaled by a power of two for every number and stage. Two pieces
hold 20 binary digits of what is not far below the largest; `parts/scaled_halves` says where that is not enough.
Sums are kept over the row's scale, such that the largest scalar counts as 1/8 to 1: they stay finite where the sum of
the weights' magnitudes does.
Sums inside the instructions are cut off, not rounded: every stage's products are summed alone, then added. Those of
low pieces come first, or have sums of their own where pieces are used up at once: a large sum is cut off once for 16
columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clmapreduce.plan import LocalArray
from clmapreduce.schemes.pairs.matrix.parts.halves import COLUMN_WORDS, DEPTH, ROW_WORDS, HalfOperands, power_of_two
from clmapreduce.schemes.pairs.matrix.parts.long_numbers import LongNumbers
from clmapreduce.schemes.pairs.matrix.parts.scaled_halves import AT_MOST, MOST, DigitGuard, ScaledScalars
from clmapreduce.schemes.pairs.matrix.wide_boxes import MatrixWideBox
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText

LARGEST = 14
"""Weights are scaled to about 2^14: below 65,504, where 16 bits end."""


@dataclass(frozen=True, eq=False)
class ExponentialNumbers(LongNumbers):
    """What kernel/matrix/pairwise_matrix_wide and kernel/matrix/pairwise_matrix_pack ask for. matrix: of
    the scalar, with two batches of columns in a tile, and the rows' operands in local memory all along: registers are
    dear. wide: the pair with its expansion. registers: whether items hold operands themselves and can ask each other.
    batch: columns whose operands are made at once, whole stages. scattered: whether columns may lie apart.
    """

    matrix: HalfOperands
    wide: PairText
    box: MatrixWideBox
    registers: bool
    batch: int
    scattered: bool = False

    @property
    def folded(self) -> int | None:
        """The block of numbers that takes half a block at most: its low pieces are the other half, behind the high
        ones, and their sums meet at last. None where there is none, or items cannot ask each other.
        """
        return self.size // 8 if self.registers and self.across == 1 and 0 < self.size % 8 <= 4 else None

    @property
    def sharers(self) -> int:
        """Items of a warp that pack the weights of a number together."""
        return 4 if self.registers else 1

    @property
    def steps(self) -> int:
        """Instructions along a stage."""
        return self.box.tile // DEPTH

    @cached_property
    def scalars(self) -> ScaledScalars:
        """The scalars of a stage."""
        whole = self.box.numbers > self.box.chains or not self.registers
        return ScaledScalars(self.matrix, self.box, self.registers, whole, self._held_at)

    @cached_property
    def digits(self) -> DigitGuard:
        """What tells whether a stage keeps its digits."""
        return DigitGuard(self.scalars)

    # ---------------------------------------------------------------------------------------------------- places
    @property
    def weight_words(self) -> int:
        """Words of a stage's weights for a group's numbers: pieces, what undoes their scaling, and what they need."""
        return self.need_at + 4

    @property
    def unscales_at(self) -> int:
        """Where what undoes the scaling begins, behind the stage's first."""
        return self.steps * self.box.numbers * 2 * COLUMN_WORDS

    @property
    def need_at(self) -> int:
        """Where the float lies that no scaled scalar may be below; infinity if some weight is not finite."""
        return self.unscales_at + self.numbers

    @property
    def words(self) -> int:
        """Words of local memory: operands, two stages' weights, and rows of scalars where items do not hold them."""
        scalar_words = 0 if self.registers else self.box.block // 32 * self.box.blocks * self.steps * 2 * ROW_WORDS
        return self._held_at + scalar_words

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        """What a group needs in local memory."""
        sizes = {
            "largest": 3 * len(self.matrix.products), "far": 2, "small_stage": 2 * self.scattered, "given_up": 2,
            "tops": 0 if self.registers else 2 * self.matrix.rows,
        }  # fmt: skip
        numbers = (LocalArray(name, "int", size) for name, size in sizes.items() if size)
        tiles = self.matrix.pairs.tile(2 * self.batch, aligned=True)
        return LocalArray("memory", "uint", self.words, aligned=True), *numbers, *tiles

    @property
    def weights_at(self) -> int:
        """Where the weights begin."""
        return -(-self.matrix.words // 4) * 4

    @property
    def _held_at(self) -> int:
        return self.weights_at + 2 * self.weight_words

    # --------------------------------------------------------------------------------------------------- weights
    def number_at(self, n: str) -> str:
        """C text of the number whose pieces have place n of a stage."""
        return n if self.folded is None else f"({n} < {8 * self.folded + 4} ? {n} : {n} - 4)"

    def unscale(self, top: str, scale: str) -> str:
        """C text of what undoes the scaling of a number's weights, in the unit of sums; 0 where they are 0."""
        return f"({top} == 0.0f ? 0u : as_uint(1.0f / {scale} / {self.unit}))"

    def word(self, n: str, k: str) -> str:
        """Where the first pieces of the columns k, k + 1 of place n lie in a stage; the others, 2 words on."""
        step, block = f"({k}) / {DEPTH}", f"({n}) / 8"
        own = f"({n}) % 8 * 16 + ({k}) % {DEPTH} / 2 % 4 * 4 + ({k}) % {DEPTH} / 8"
        return f"(({step}) * {self.box.numbers} + {block}) * {2 * COLUMN_WORDS} + {own}"

    def scale(self, largest: str) -> str:
        return power_of_two(largest, LARGEST, MOST)

    @property
    def unit(self) -> str:
        """Sums are kept in units of a row's scale over this."""
        return f"{float(1 << AT_MOST)}f"

    # -------------------------------------------------------------------------------------------------- products
    def blocks_from(self, first: int) -> range:
        """The blocks of numbers that are multiplied side by side, from the first one on."""
        return range(first, min(first + self.box.chains, self.box.numbers))

    @property
    def lows(self) -> range:
        """0 for the sums of products, 1 for those of low pieces where they are apart."""
        return range(1 if self.scalars.whole else 2)

    @property
    def block_words(self) -> int:
        """Words of both pieces of 16 columns' weights for a block of numbers."""
        return 2 * COLUMN_WORDS

    @property
    def least_ratio(self) -> int:
        """The bits of the least power of two that sums are scaled by."""
        return 127 - MOST << 23

    def sums(self, first: int) -> list[str]:
        """Names of the sums of products of those blocks, m{r}_{b}_{low}."""
        blocks = self.blocks_from(first)
        return [f"m{r}_{b}_{low}" for b in blocks for r in range(self.box.blocks) for low in self.lows]
