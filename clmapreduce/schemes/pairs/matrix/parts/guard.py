"""Where pieces of scalars and weights keep enough digits: such that sums are off by about 2^-20 of their terms'
magnitudes, whatever the data is.

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
from typing import ClassVar

from clmapreduce.schemes.pairs.matrix.parts.scaled_halves import AT_LEAST, ScaledScalars


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
