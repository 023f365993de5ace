"""What schemes share that compute inner products over long vectors by matrix instructions: what becomes of an item's
products, and how it computes pairs whose products have lost too much.

A result is off by about 2⁻²² of its row's and column's norms, and by what sums of products lose (`cut_off`). That is
as much as the distance may lose where it is not much smaller than the norms, or as an exponent may where they are
small. An inner product is off by 2⁻²¹ of every coordinate's share, and by more only where coordinates are so small
beside their vector's largest that pieces lack digits of them: these have been counted, and the product must be so large
that it does not matter. An item whose results are none of these, or whose rows or columns have no finite scale,
computes those pairs as the formula says, from the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.plan import LocalArray
from clmapreduce.schemes.common.arrays import element
from clmapreduce.schemes.pairs.matrix.parts.long_pairs import LongPairs, cut_off
from clmapreduce.schemes.pairs.matrix.parts.operands import COUNTED, POWER
from clmapreduce.schemes.pairs.parts.computed import Computed, Several
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText

RELATIVE, ABSOLUTE = 12, 16
"""A distance may be off by so many 2⁻²² of itself, an exponent by so many 2⁻²²."""
LOSS = 2.0**-10
"""What a coordinate that has lost digits is off by, times the largest number of the other side: 2⁻²⁵ · 2¹⁵."""
EXACT = 2.0**-20
"""What an inner product may be off by for it, of itself, or an exponent."""
PATIENCE, COST = 2, 32
"""Tiles of which a warp may compute pairs from the inputs before its group gives up, and one more of so many: as many
others a tile costs of which it computes all.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class LongResults(LongPairs):
    """What templates take for results: numbers, and what formulas compute."""

    exact: ClassVar[float] = EXACT
    counted: ClassVar[str] = COUNTED
    power: ClassVar[str] = POWER
    loss: ClassVar[float] = LOSS
    patience: ClassVar[int] = PATIENCE
    cost: ClassVar[int] = COST

    @property
    def known(self) -> str:
        """C text of what is known of the tile's columns."""
        return "known_columns"

    @property
    def doubt_arrays(self) -> tuple[LocalArray, ...]:
        """What tells how often warps have computed pairs from the inputs."""
        sizes = {"doubts": 2, "doubted": self.box.block // 32, "given_up": 2}
        return tuple(LocalArray(name, "int", size) for name, size in sizes.items())

    def cut(self, p: int) -> float:
        """What sums of products lose, in units of 2⁻²² of a product."""
        return cut_off(self.parts[p].steps)

    def least(self, p: int) -> float:
        """What a distance must be, relative to the norms that it is made from: at ρ their product is at most 1 − ρ of
        them, so that (1 + (1 − ρ) cut) / ρ may be RELATIVE.
        """
        return (1 + self.cut(p)) / (RELATIVE + self.cut(p))

    def bearable(self, p: int) -> float:
        """What the norms may be where only exponents are made of a distance, times its slope."""
        return ABSOLUTE / (1 + self.cut(p))

    def slopes(self, p: int) -> Several | None:
        """Statements, and the texts of the slopes of product p's exponents, where only these are made of it."""
        slopes = self.products[p].slopes
        if slopes is None or self.bounded:
            return None
        pair = Pair(self.pairs.pair.inputs, slopes, len(slopes))
        text = PairText(pair, self.pairs.bound, self.pairs.outputs, 1, self.pairs.narrow, False)
        statements, names = text.values(0, 0)
        return Several(f"{text.uniforms()} {statements}", names)

    def finished(self, p: int, v: int, c: int) -> Computed:
        """A product of a pair whose contractions and terms are declared."""
        return Computed("", f"q{v}_{c}_{p}")

    def coordinates(self, p: int) -> Iterator[tuple[str, str]]:
        """Names and C text of what contraction p walks, at coordinate d, of two rows and two columns."""
        for variable, _ in self.pairs.pair.contractions[p].wide:
            if variable.role is Role.PARAMETER:
                yield f"w{variable.name}", element(variable, "d")
                continue
            of_row = variable.role is Role.ROW
            name, index = (f"w{variable.name}_", "row") if of_row else (f"w{variable.name}_c", "column")
            for k in range(2):
                yield f"{name}{k}", element(variable, f"{index}{k} * {variable.dim} + d")
