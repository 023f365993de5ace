"""What templates take for sums of scalars times long weights by matrix instructions, where items have computed the
scalars of a tile: these become row operands, and the weights are brought to local memory tile by tile.

The instructions take floats with all of their exponents, as two pieces of 11 bits each (tf32): no row and no column
needs a scale, and whatever the magnitudes are, a product is off by 2⁻²⁰ of itself at most. Where numbers have a centre,
sums become small differences: there scalars are rounded, not cut off, and a product is off by 2⁻²¹. Infinities and NaN
have no pieces: they leave no sum of theirs finite, and a group that ends up with such a sum is computed again as the
formula says.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.plan import Facts
from clmapreduce.schemes.pairs.matrix.boxes import MatrixWeightedBox
from clmapreduce.schemes.pairs.matrix.parts.fine_halves import FineOperands
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.matrix.parts.long_numbers import LongNumbers
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText

BESIDE = 4
"""Words of local memory behind the weights of a column: with them no two items of a warp want the same bank."""
REST = 2.0**-12
"""What the sums of last digits count."""
LITTLE = 512
"""Words of local memory for what else there is."""


def room_of(facts: Facts) -> int:
    """Words of local memory for weights, and for what is before them."""
    return facts.local_memory // 4 - LITTLE


@dataclass(frozen=True, eq=False)
class WeightedNumbers(LongNumbers):
    """pairs: the scalars. wide: the pair with its expansion. warps: which pairs an item holds. registers: whether items
    hold operands themselves; else these wait in local memory. scattered: whether a tile's columns may lie apart. room:
    words of local memory for weights and what is before them. weights_at: where the weights begin there. centre: how
    long the centre is that numbers are relative to; 0 for none. part: which of the expansion's columns they are. again:
    whether these are groups that another launch left undone, in stretches of columns of its own. matrix: the operands
    of the products that the scalars are made of, of two tiles' columns; None where the formula makes them.
    """

    pairs: PairText
    wide: PairText
    box: MatrixWeightedBox
    warps: FragmentLayout
    registers: bool
    scattered: bool
    room: int
    weights_at: int = 0
    centre: int = 0
    part: int = 0
    again: bool = False
    matrix: FineOperands | None = None
    rest: ClassVar[float] = REST

    # ---------------------------------------------------------------------------------------------------- places
    @property
    def cells(self) -> str:
        """What a group computes, for `explain`."""
        return f"{self.warps.rows} rows and {self.numbers} of {self.size} numbers a group"

    @property
    def apart(self) -> bool:
        """Whether numbers are two pieces already, which all warps need: where columns lie side by side, and memory
        has room.
        """
        words = self.weights_at + self.box.tile * (4 * self.numbers + 2 * BESIDE)
        return not self.scattered and words <= self.room

    @property
    def side(self) -> int:
        """Columns whose pieces lie side by side, so that one load brings an item's share of both."""
        return 2 if self.apart else 1

    @property
    def words(self) -> int:
        """Words from one number to the next one."""
        return self.side**2

    @property
    def line(self) -> int:
        """Words of these columns' weights."""
        return self.words * self.numbers

    @property
    def lines(self) -> int:
        """So many a tile."""
        return self.box.tile // self.side

    @property
    def stride(self) -> int:
        """Words of local memory from one line to the next one."""
        return self.line + self.side * BESIDE

    @property
    def held_at(self) -> int:
        """Where the scalars begin, where items do not hold them: behind two tiles' weights."""
        return self.weights_at + 2 * self.lines * self.stride

    @property
    def end(self) -> int:
        """Where all of that ends."""
        return self.held_at + (0 if self.registers else self.warps.rows * self.box.tile)

    @property
    def columns(self) -> range:
        """Numbers of the item's columns in a tile."""
        return range(2 * self.box.columns)

    def column_place(self, c: int) -> str:
        """Where the item's column number c lies in its tile."""
        return f"at_column + {c // 2 * 8 + c % 2}"

    # --------------------------------------------------------------------------------------------------- weights
    @property
    def centres(self) -> list[str]:
        """The kernels' parameters for the centre."""
        return ["__global const float *restrict centre"] if self.centre else []

    @property
    def parameters(self) -> list[str]:
        """The parameters of the kernel over all pairs for what is made of the weights."""
        return ["__global const uint *restrict weights", *self.centres]
