"""Sums of scalars of the pair times long weights by matrix instructions: the scalars, made of products themselves, are
cut into pieces of 16 bits where they were computed, and multiplied by the weights' pieces.

Scalars are scaled by a power of two for every row: the largest so far is at 2^13 to 2^16, and where a stage brings a
larger one, what was summed is scaled again. Weights are scaled by a power of two for every number and stage. Two pieces
hold 20 binary digits of what is not far below the largest; `parts/guard` says where that is not enough.
Sums are kept over the row's scale, such that the largest scalar counts as 1/8 to 1: they stay finite where the sum of
the weights' magnitudes does.
Sums inside the instructions are cut off, not rounded: every stage's products are summed alone, then added. Those of
low pieces come first, or have sums of their own where pieces are used up at once: a large sum is cut off once for 16
columns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

from clmapreduce.schemes.pairs.long_numbers import LongNumbers, weight_of
from clmapreduce.schemes.pairs.matrix.boxes import MatrixWideBox
from clmapreduce.schemes.pairs.matrix.parts.guard import DigitsText
from clmapreduce.schemes.pairs.matrix.parts.halves import COLUMN_WORDS, DEPTH, ROW_WORDS, MatrixText, power_of_two
from clmapreduce.schemes.pairs.matrix.parts.scaled_halves import AT_FIRST, AT_MOST, MOST, ScalarsText
from clmapreduce.schemes.pairs.statements import PairText

LARGEST = 14
"""Weights are scaled to about 2^14: below 65,504, where 16 bits end."""


@dataclass(frozen=True, eq=False)
class MatrixWideText(LongNumbers):
    """The statements that kernel/matrix/pairwise_matrix_wide and kernel/matrix/pairwise_matrix_pack ask for. matrix: of
    the scalar, with two batches of columns in a tile, and the rows' operands in local memory all along: registers are
    dear. wide: the pair with its expansion. registers: whether items hold operands themselves and can ask each other.
    batch: columns whose operands are made at once, whole stages. scattered: whether columns may lie apart.
    """

    matrix: MatrixText
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
    def scalars(self) -> ScalarsText:
        """The scalars of a stage."""
        kept = self.box.numbers > self.box.chains or not self.registers
        return ScalarsText(self.matrix, self.box, self.registers, kept, self._held_at)

    @cached_property
    def digits(self) -> DigitsText:
        """What tells whether a stage keeps its digits."""
        return DigitsText(self.scalars)

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
        held = 0 if self.registers else self.box.block // 32 * self.box.blocks * self.steps * 2 * ROW_WORDS
        return self._held_at + held

    @property
    def bytes(self) -> int:
        """Bytes of local memory of a group."""
        tops = 0 if self.registers else 2 * self.matrix.rows
        columns = 2 * self.batch * self.matrix.pairs.column_bytes
        return 4 * (self.words + 3 * len(self.matrix.products) + 8 + tops) + columns

    @property
    def weights_at(self) -> int:
        """Where the weights begin."""
        return -(-self.matrix.words // 4) * 4

    @property
    def _held_at(self) -> int:
        return self.weights_at + 2 * self.weight_words

    # --------------------------------------------------------------------------------------------------- weights
    def weight(self, column: str, d: str) -> str:
        """Declares `weight`, what a column gives at number d; 0 beyond the last."""
        return weight_of(self.wide, column, d)

    def put(self, stage: str, n: str, k: str) -> str:
        """Stores the pieces of w0 and w1, scaled, as those of the columns k, k + 1 of place n of a stage."""
        lines = [f"const float h{c} = cmr_half_round_float(w{c});" for c in range(2)]
        lines.append("const uint high = cmr_half_pair_float(h0, h1), low = cmr_half_pair_float(w0 - h0, w1 - h1);")
        first = "high" if self.folded is None else f"({n} >= {8 * self.folded + 4} ? low : high)"
        return "\n".join([*lines, f"{stage}[{self.word(n, k)}] = {first};", f"{stage}[{self.word(n, k)} + 2] = low;"])

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
    def rescale(self) -> Iterator[str]:
        """Lowers the rows' scales, and scales their sums by what two powers of two are to each other."""
        for v in self.scalars.rows:
            yield f"if (!(top{v} * up{v} < {float(1 << AT_MOST)}f)) {{"
            yield f"const float low = fmin(up{v}, {power_of_two(f'top{v}', AT_FIRST, MOST)});"
            ratio = f"as_int(low) - as_int(up{v}) + {127 << 23}"
            yield f"const float ratio = as_float(max({ratio}, {127 - MOST << 23}));"
            yield f"up{v} = low;"
            for total in self._totals(v):
                yield f"{total} *= ratio;"
            yield "}"
        yield from self.scalars.lift()

    def accumulators(self) -> Iterator[str]:
        """Declares the item's numbers: acc{v}_{b}_{c}_total0."""
        for v in self.scalars.rows:
            yield f"float {', '.join(f'{total} = 0.0f' for total in self._totals(v))};"

    def finish(self, v: int) -> Iterator[str]:
        """Takes the scale from a row's sums, in two steps: scales begin at 2^(AT_FIRST - 127)."""
        for folded, c in product(() if self.folded is None else (self.folded,), range(2)):
            total = f"{self.acc(v, folded, c)}_total0"
            yield f"const float behind{c} = cmr_shuffle_first_float({total}, (uint)(lane ^ 2));\n{total} += behind{c};"
        yield f"const float down = {float(1 << AT_FIRST)}f / up{v};"
        for total in self._totals(v):
            yield f"{total} = {total} * down * {float(1 << AT_MOST - AT_FIRST)}f;"

    def _totals(self, v: int) -> list[str]:
        return [f"{self.acc(v, b, c)}_total0" for b in range(self.box.numbers) for c in range(2)]

    def acc(self, v: int, b: int, c: int) -> str:
        return f"acc{v}_{b}_{c}"

    def number(self, b: int, c: int) -> str:
        """C text of the number of the row that an accumulator is."""
        return f"(first_d + {8 * b + c} + lane % 4 * 2)"

    def products(self) -> Iterator[str]:
        """Adds a stage's products, less the weights' scales; where items hold operands, the first chains are there."""
        for first in range(0, self.box.numbers, self.box.chains):
            yield "{"
            if first or not self.registers:
                yield self.declare_products(first)
                yield self._begin(first)
                yield from self._multiply(first)
            yield from self._add(first)
            yield "}"

    def compute_products(self) -> Iterator[str]:
        """The stage's scalars and their pieces, and the products of the first chains."""
        held = self.scalars.compute_held()
        yield self.matrix.load_rows()
        yield self._begin(0)
        if self.scalars.kept:
            yield from self.scalars.each_step(held)
            yield from self._multiply(0)
        else:
            multiply = (self._load(0), self._multiply_low(0), self._multiply_high(0))
            yield from self.scalars.each_step((self.scalars.declare_held(),), held, *multiply)

    def overflown(self) -> str:
        """C text of whether some scalar does not suit its row's scale: a piece that is not finite leaves no product of
        its row finite. So do weights that are not.
        """
        sums = (f"m{v // 2}_0_0.{'xz'[v % 2]}" for v in self.scalars.rows)
        return " || ".join(f"!isfinite({one})" for one in sums)

    def _chained(self, first: int) -> range:
        """The blocks of numbers that are multiplied side by side, from the first one on."""
        return range(first, min(first + self.box.chains, self.box.numbers))

    @property
    def _lows(self) -> range:
        """0 for the sums of products, 1 for those of low pieces where they are apart."""
        return range(1 if self.scalars.kept else 2)

    def _sums(self, first: int) -> list[str]:
        return [f"m{r}_{b}_{low}" for b in self._chained(first) for r in range(self.box.blocks) for low in self._lows]

    def declare_products(self, first: int) -> str:
        """Declares the sums of products of scalars and weights, m{r}_{b}_{low}."""
        return f"float4 {', '.join(self._sums(first))};"

    def _begin(self, first: int) -> str:
        return " ".join(f"{name} = (float4)(0.0f);" for name in self._sums(first))

    def _multiply(self, first: int) -> Iterator[str]:
        """Adds the products with the weights of a stage whose pieces are kept."""
        yield from self.scalars.each_step(self._load(first), self._multiply_low(first))
        yield from self.scalars.each_step(self._load(first), self._multiply_high(first))

    def _load(self, first: int) -> Iterator[str]:
        """Declares the item's share of 16 columns' weights, w{b}."""
        for b in self._chained(first):
            at = f"(step * {self.box.numbers} + {b}) * {2 * COLUMN_WORDS}"
            place = f"{self.weights_at} + turn * {self.weight_words} + {at}"
            yield f"const uint4 w{b} = cmr_matrix_columns_uint4(memory, {place}, lane);"

    def _multiply_low(self, first: int) -> Iterator[str]:
        """Adds the products of a low piece and a high one; a folded block's low pieces lie beside its high ones."""
        for row, column in ((1, "xy"), (0, "zw")):
            yield from self._products(first, self._lows[-1], row, column)

    def _multiply_high(self, first: int) -> Iterator[str]:
        return self._products(first, 0, 0, "xy")

    def _products(self, first: int, low: int, row: int, column: str) -> Iterator[str]:
        for b, r in product(self._chained(first), range(self.box.blocks)):
            if b != self.folded or column == "xy":
                name, operands = f"m{r}_{b}_{low}", f"{self.scalars.held(r, row)}, w{b}.{column}"
                yield f"{name} = cmr_matrix_product_float4({name}, {operands}, memory, lane);"

    def _unscales(self, b: int) -> str:
        """Declares what undoes the scaling of the item's two numbers of a block."""
        at = f"memory + {self.weights_at + self.unscales_at + 8 * b} + turn * {self.weight_words}"
        return f"const float2 unscale{b} = ((__local const float2 *)({at}))[lane % 4];"

    def _add(self, first: int) -> Iterator[str]:
        for b in self._chained(first):
            yield self._unscales(b)
            for v in self.scalars.rows:
                for c in range(2):
                    total, part = f"{self.acc(v, b, c)}_total0", "xyzw"[v % 2 * 2 + c]
                    found = " + ".join(f"m{v // 2}_{b}_{low}.{part}" for low in self._lows)
                    yield f"{total} = fma({found}, unscale{b}.{'xy'[c]}, {total});"
