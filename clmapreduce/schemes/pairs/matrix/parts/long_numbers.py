"""Sums of long weights: how groups share the numbers of a row, and which of them an item has."""

from __future__ import annotations

from clmapreduce.schemes.pairs.matrix.boxes import MatrixWeightedBox
from clmapreduce.schemes.pairs.matrix.wide_boxes import MatrixWideBox
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText


class LongNumbers:
    """The numbers of a row, of a group, and of an item: two of every eight. wide: the pair with its expansion."""

    wide: PairText
    box: MatrixWideBox | MatrixWeightedBox

    @property
    def size(self) -> int:
        """Numbers of a row."""
        return self.wide.expansion.size

    @property
    def numbers(self) -> int:
        """Numbers of every row that a group computes."""
        return 8 * self.box.numbers

    @property
    def across(self) -> int:
        """Groups side by side along the numbers."""
        return -(-self.size // self.numbers)

    def totals(self, v: int) -> list[str]:
        """Names of the item's numbers of row v."""
        return [f"{self.acc(v, b, c)}_total0" for b in range(self.box.numbers) for c in range(2)]

    def acc(self, v: int, b: int, c: int) -> str:
        return f"acc{v}_{b}_{c}"

    def number(self, b: int, c: int) -> str:
        """C text of the number of the row that an accumulator is."""
        return f"(first_d + {8 * b + c} + lane % 4 * 2)"
