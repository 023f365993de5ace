"""Products that only decide which columns are computed as the formula says: for the least of many values, the greatest,
or the K least. As long as products are off by no more than `DOUBT` says, results are the same bits as without them.

A row's sum of products begins at what a value must pass, with the opposite sign, instead of at 0: then its sign says
whether the column may matter, and one operation on bits asks that of two more columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.schemes.pairs.matrix.parts.halves import LARGEST_COLUMN, HalfOperands, power_of_two
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText

LARGEST_ADDEND = 4
"""Rows' addends are scaled to about 2⁴, and all else with them."""
DOUBT = 2.0**-18
"""What products may be off by: so much of the magnitudes that meet in them. Pieces cost 2⁻²², each of up to four
instructions 2⁻²¹ (tests/cl_templates/test_matrix_words; 2⁻²²·³ was seen on an H200).
"""


@dataclass(frozen=True, eq=False)
class NearOperands(HalfOperands):
    """What templates take for a product that is nearly the pair's value, times a unit."""

    doubt: ClassVar[float] = DOUBT

    @property
    def pairs(self) -> PairText:
        """No value is made of products."""
        return self.exact

    @property
    def least(self) -> bool:
        """Whether lesser values are better."""
        return self.exact.bound.side < 0

    @property
    def worst(self) -> str:
        """C text of what every value is at least as good as."""
        return "INFINITY" if self.least else "-INFINITY"

    @property
    def better(self) -> str:
        """The function that gives the better of two floats, of which the second is no NaN."""
        return f"cmr_{'lesser' if self.least else 'greater_one'}_float"

    def looked(self, v: int, c: int) -> list[str]:
        """Their parts for row v and column c of every block."""
        return [f"f{v // 2}_{e}.{'xyzw'[v % 2 * 2 + c]}" for e in range(self.box.ahead)]

    def unit(self, p: int) -> str:
        return f"added{p} > 0.0f ? {power_of_two(f'added{p}', LARGEST_ADDEND)} : scale{p} * scale{p}"

    @property
    def limit(self) -> float:
        return LARGEST_COLUMN
