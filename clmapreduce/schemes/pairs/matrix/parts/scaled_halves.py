"""The scalars of pairs, made of products by matrix instructions, as the operands of others: cut into two pieces of 16
bits where they were computed, relative to a scale of their row.

Scales are powers of two, and lowered where a stage brings a scalar that leaves the range of 16 bits: its pieces are not
finite, nor is what the row's instructions sum up then. A scalar that is 2 to a product comes scaled: the exponent of
the row's scale is one more piece that the row adds to its products.

A guard tells where pieces of scalars and weights keep enough digits: such that sums are off by about 2^-20 of their
terms' magnitudes, whatever the data is.
Two pieces of 16 bits hold 20 binary digits of what is at least 2^-4 in its scale, and leave 2^-25 of what is less.
Scaled scalars reach 2^16, a number's largest weight is 2^14 to 2^15. So a stage is safe

    if no scalar but 0 is below 2^-4, and
    if the weights below 2^-4, at most `small` of a number's, are off by a share of what its largest weight adds:
        small * 2^-25 * 2^16 <= 2^-20 * 2^14 * the stage's least scalar.

The least scalar that a stage needs for both is noted when weights are packed. A group that meets a stage that is not
safe gives up, and is computed again as the formula says.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, NamedTuple

from clmapreduce.formula.fast import EXP2_FAST
from clmapreduce.formula.node import Apply
from clmapreduce.schemes.pairs.matrix.parts.halves import DEPTH, ROW_WORDS, HalfOperands, OperandPieces, power_of_two
from clmapreduce.schemes.pairs.matrix.wide_boxes import MatrixWideBox

AT_FIRST, AT_MOST = 13, 16
"""A row's largest scalar is scaled to about 2^13, again when it would reach 2^16, where 16 bits end."""
AT_LEAST = -4
"""Two pieces hold all digits of scaled scalars from 2^-4 on."""
USUAL_REACH, FAR = 6, 31
"""Exponents of pairs reach 2^6 in either direction, or what a column has noted; FAR stands for too much."""
MOST, BEGIN = 126, 100
"""Scales are powers of two between 2^-126 and 2^126; a row's begins at 2^100, with which every scalar that matters
leaves the range, and only falls.
"""


class LiftPlace(NamedTuple):
    """C text of a word of local memory; which item of four owns it; whether the piece is its upper half."""

    word: str
    item: int
    upper: bool


@dataclass(frozen=True, eq=False)
class LiftedOperands(HalfOperands):
    """Products of rows that add one piece more, which the items that own it may change: the exponent of a scale.
    Columns note how far exponents reach.
    """

    @cached_property
    def slots(self) -> tuple[OperandPieces, ...]:
        return tuple(OperandPieces(len(one.rows), f"{BEGIN}.0f") for one in self.products)

    def lift_place(self, v: int) -> LiftPlace:
        """Where that piece of the item's row v is."""
        step, piece = divmod(self.slots[0].lift_at, DEPTH)
        word, side = divmod(piece, 2)
        block = self.row_operand(f"warp * {self.box.blocks} + {v // 2}", step)
        return LiftPlace(f"{block} + lane * 4 + {v % 2 + word // 4 * 2}", word % 4, bool(side))


def is_power(matrix: HalfOperands) -> bool:
    """Whether the scalar is 2 to the one product."""
    (value,) = matrix.pairs.pair.values
    power = isinstance(value, Apply) and value.function is EXP2_FAST and len(matrix.products) == 1
    return isinstance(value, Apply) and power and value.args[0] is matrix.products[0].result


@dataclass(frozen=True, eq=False)
class ScaledScalars:
    """What templates take for a stage's scalars. matrix: of the scalar. registers: whether items hold operands
    themselves and can ask each other; else their place in local memory is behind `held_at`. whole: whether the pieces
    of a whole stage stay, else those of one instruction's columns, which are used up at once.
    """

    matrix: HalfOperands
    box: MatrixWideBox
    registers: bool
    whole: bool
    held_at: int
    usual_reach: ClassVar[int] = USUAL_REACH
    far: ClassVar[int] = FAR
    least_exact: ClassVar[float] = 2.0**AT_LEAST
    begin: ClassVar[float] = 2.0**BEGIN
    bound: ClassVar[int] = 1 << AT_MOST
    at_first: ClassVar[int] = 1 << AT_FIRST

    @property
    def steps(self) -> int:
        """Instructions along a stage."""
        return self.box.tile // DEPTH

    @property
    def rows(self) -> range:
        """Numbers of the item's rows."""
        return range(2 * self.box.blocks)

    @property
    def lifted(self) -> bool:
        """Whether scalars come scaled: then the reach of exponents says how small they are."""
        return isinstance(self.matrix, LiftedOperands)

    def scale(self, v: int) -> str:
        """C text of the scale that suits a row's largest scalar, top{v}."""
        return power_of_two(f"top{v}", AT_FIRST, MOST)

    def piece_text(self, r: int, piece: int) -> str:
        """C text of the pieces of block r of rows and one instruction's columns."""
        return f"h{r}_{piece}[step]" if self.whole else f"h{r}_{piece}"

    def held_place(self, r: int, piece: int) -> str:
        """Where they wait in local memory, where items do not hold them."""
        own = f"((warp * {self.box.blocks} + {r}) * {self.steps} + step) * 2 + {piece}"
        return f"{self.held_at} + ({own}) * {ROW_WORDS}"


@dataclass(frozen=True, eq=False)
class DigitGuard:
    """What kernel/matrix/pairwise_matrix_wide and kernel/matrix/pairwise_matrix_pack ask for. Variable:
    `need`, the least scalar that a stage needs.
    """

    scalars: ScaledScalars
    not_finite: ClassVar[int] = 15
    """In place of a count of small weights, which has four bits: too many, or one that is not finite."""

    def is_small(self, scaled: str) -> str:
        """C text of whether two pieces lack digits of a scaled weight."""
        return f"({scaled} != 0.0f && fabs({scaled}) < {2.0**AT_LEAST}f)"

    def need(self, small: str) -> str:
        """C text of the least scalar that a stage needs where a number has so many small weights."""
        return f"fmax({2.0**AT_LEAST}f, {small} / 8.0f)"
