"""Long weights: how groups share the numbers of a row."""

from __future__ import annotations

from clmapreduce.schemes.pairs.matrix.boxes import MatrixWeightedBox, MatrixWideBox
from clmapreduce.schemes.pairs.parts.statements import PairText


class LongNumbers:
    """The numbers of a row, and those of a group. wide: the pair with its expansion."""

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
