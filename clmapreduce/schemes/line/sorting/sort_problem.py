"""What is to be sorted: keys, and what goes with them."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.dtypes import DType
from clmapreduce.schemes.line.sorting.radix_keys import RadixKeys


@dataclass(frozen=True)
class SortProblem:
    """`length` keys, 1 at least, to be sorted, and what goes with them. wants_keys: sorted keys are wanted. values: the
    dtype of what goes with each key, if anything; a word of 1 to 8 bytes. results: the dtype in which these are wanted.
    counts_up: these are the keys' indices. bits: of the keys that differ, from the lowest on; all if None.

    Arrays: "in0" the keys, "in1" values that are given; "out0" the keys if wanted, the values behind them.
    """

    keys: RadixKeys
    length: int
    wants_keys: bool = True
    values: DType | None = None
    results: DType | None = None
    counts_up: bool = False
    bits: int | None = None

    @property
    def significant(self) -> int:
        """How many bits order the keys."""
        return self.keys.bits if self.bits is None else max(1, self.bits)

    @property
    def itemsize(self) -> int:
        """Bytes of a key and its value."""
        return self.keys.number.itemsize + (0 if self.values is None else self.values.itemsize)
