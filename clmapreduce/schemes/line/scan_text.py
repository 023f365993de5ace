"""What kernels of a scan see."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.formula.formula import Formula, Input
from clmapreduce.plan import LocalArray
from clmapreduce.reductions.base import Bound
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.local_arrays import accumulators
from clmapreduce.schemes.line.line_kernel import LineText, inputs_of


@dataclass(frozen=True, eq=False)
class ScanText(LineText):
    """bound, carried: the operators inside a tile and between tiles. lanes: numbers of a vector. rows: vectors of an item
    and tile.
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

    @property
    def arrays(self) -> tuple[LocalArray, ...]:
        carries = accumulators(self.carried, self.block, "carries")
        return (*accumulators(self.bound, self.block * self.rows), *carries)
