"""Keys of a radix sort: numbers as words of bits, whose order is that of the numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from clmapreduce.dtypes import DType, is_bfloat16

_MANTISSA = {2: 10, 4: 23, 8: 52}
_BFLOAT16_MANTISSA = 7


@dataclass(frozen=True)
class RadixKeys:
    """Keys of a dtype: bools, integers or floats of 16 to 64 bits. descending: the largest first. ties: zeros of both
    signs are equal, and NaN of all kinds, as for a stable order of what goes with them; else they have an order of
    their own, zeros by sign. in_place: words stay in memory as they are; else passes but the first find them mapped.
    """

    number: DType
    descending: bool = False
    ties: bool = False
    in_place: bool = False

    @property
    def dtype(self) -> DType:
        """Of the words."""
        return np.dtype(f"u{self.number.itemsize}")

    @property
    def kind(self) -> Literal["u", "i", "f"]:
        """What orders them: unsigned integers, integers, floats."""
        return "f" if is_bfloat16(self.number) or self.number.kind == "f" else "i" if self.number.kind == "i" else "u"

    @property
    def bits(self) -> int:
        """Bits that order the keys."""
        return 1 if self.number.kind == "b" else 8 * self.number.itemsize

    @property
    def sign(self) -> int:
        """The bit of the sign."""
        return 1 << (self.bits - 1)

    @property
    def infinity(self) -> int:
        """The bits of infinity."""
        return self.sign - (1 << self._mantissa)

    @property
    def negative_nans(self) -> int:
        """How many words are NaN with the sign."""
        return (1 << self._mantissa) - 1

    @property
    def _mantissa(self) -> int:
        return _BFLOAT16_MANTISSA if is_bfloat16(self.number) else _MANTISSA[self.number.itemsize]
