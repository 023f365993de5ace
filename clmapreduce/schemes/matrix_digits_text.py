"""Where pieces of scalars and weights keep enough digits: such that sums are off by about 2^-20 of their terms'
magnitudes, whatever the data is.

Two pieces of 16 bits hold 20 binary digits of what is at least 2^-4 in its scale, and leave 2^-25 of what is less.
Scaled scalars reach 2^16, a number's largest weight is 2^14 to 2^15. So a stage is safe

    if no scalar but 0 is below 2^-4, and
    if the weights below 2^-4, at most `small` of a number's, are off by a share of what its largest weight adds:
        small * 2^-25 * 2^16 <= 2^-20 * 2^14 * the stage's least scalar.

The least scalar that a stage needs for both is noted when weights are packed. In a stage that is not safe scalars are
told as the formula says, and multiplied level by level: what is below 2^-4 comes 2^20 times as large in the next one.
Where weights are too small for it, terms are added one by one. Both end where sums are so large already that all that
is left, of all columns, could not matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.schemes.matrix_scalars_text import AT_LEAST, LEVEL, ScalarsText


@dataclass(frozen=True, eq=False)
class DigitsText:
    """The conditions that kernel/pairwise_matrix_wide and kernel/pairwise_matrix_pack ask for. tile: columns of a
    stage. Variables: `need`, the least scalar that a stage needs; `large`, a bound of what the item's sums are, in the
    unit of scaled products; `down`, what the next level's products come times.
    """

    scalars: ScalarsText
    tile: int
    strange: ClassVar[int] = 15
    """In place of a count of small weights, which has four bits: too many, or one that is not finite."""

    def is_small(self, scaled: str) -> str:
        """C text of whether two pieces lack digits of a scaled weight."""
        return f"({scaled} != 0.0f && fabs({scaled}) < {2.0**AT_LEAST}f)"

    def need(self, small: str) -> str:
        """C text of the least scalar that a stage needs where a number has so many small weights."""
        return f"fmax({2.0**AT_LEAST}f, {small} / 8.0f)"

    def is_uneven(self) -> str:
        """C text of whether a stage has small weights, or some that are not finite."""
        return f"need > {2.0**AT_LEAST}f"

    def is_unsafe(self) -> str:
        """C text of whether the item's rows lack digits."""
        return f"!({self.scalars.least()} >= need) || isinf(need)"

    def is_too_uneven(self) -> str:
        """C text of whether small weights matter, were there as many in all stages: 2^-24 of the sums, and no more."""
        return f"isinf(need) || !(large >= need * (float)(columns / {self.tile} + 1) * {2.0**18}f)"

    def matters(self) -> str:
        """C text of whether scalars that are left to the next level matter, were all columns' so large and their
        weights 2^15: 2^-24 of the sums, and no more.
        """
        return f"!(large >= (float)columns * down * {2.0 ** (24 + 15 + AT_LEAST + LEVEL)}f)"
