"""What the kernels of scans have in common."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.formula.formula import Formula, Input
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.line.line_kernel import LineText, inputs_of


@dataclass(frozen=True, eq=False)
class ScanText(LineText):
    """bound, carried: the operator near an index, and the one for longer stretches, of the same components. exclusive:
    results are without the index's own value. lanes: numbers of a vector. rows: vectors of an item and tile.
    """

    formula: Formula
    bound: Bound
    carried: Bound
    exclusive: bool
    block: int
    lanes: int
    rows: int

    @property
    def op(self) -> OperatorText:
        return OperatorText(self.bound, self.narrow)

    @property
    def wide(self) -> OperatorText:
        return OperatorText(self.carried, self.narrow)

    @property
    def read(self) -> tuple[Input, ...]:
        return inputs_of(self.formula.inputs, self.tail)
