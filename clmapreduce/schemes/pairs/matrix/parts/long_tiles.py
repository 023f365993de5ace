"""What templates take for tiles of pairs whose inner products over long vectors matrix instructions compute: operands
stage by stage through local memory, results in registers, where the item that holds them folds the pairs' values.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from clmapreduce.lowering.pair import Role
from clmapreduce.plan import LocalArray
from clmapreduce.schemes.common.local_arrays import PADDING, bytes_of
from clmapreduce.schemes.pairs.matrix.parts.long_results import LongResults
from clmapreduce.schemes.pairs.matrix.parts.operands import DEPTH, SideOperands
from clmapreduce.schemes.pairs.problem import places

OPERAND = 16 * DEPTH
"""Words of both pieces of 16 rows in a step; of 8 columns, half of it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LongTiles(LongResults):
    """What kernel/matrix/pairwise_matrix_long asks for. local_memory: bytes that a group may take."""

    local_memory: int
    operand: ClassVar[int] = OPERAND

    @cached_property
    def sides(self) -> tuple[SideOperands, SideOperands]:
        """How the operands of rows and of columns lie."""
        return self.operands(*((16, 8) if self.scattered else (self.rows, self.box.tile)))

    @property
    def stages(self) -> tuple[int, int]:
        """Words of local memory for one, of rows and of columns."""
        return DEPTH * self.rows, DEPTH * self.box.tile

    def lacking(self, side: SideOperands) -> int:
        """Rows that the last group may lack, where groups begin anywhere."""
        return self.rows if self.scattered and side.role is Role.ROW else 0

    @property
    def walk_arrays(self) -> tuple[LocalArray, ...]:
        """What walks over tiles need in local memory."""
        return (*self.operand_arrays(2 * self.stage), *places(self.scattered, 2 * self.box.tile))

    @property
    def spilled(self) -> int:
        """How many of an item's accumulators wait in local memory while products are summed, as many as it holds: it
        leaves registers to the sums.
        """
        each = self.box.block * self.pairs.bound.layout.itemsize
        least = bytes_of(self.walk_arrays) + each + PADDING
        return max(0, min(len(self.warps.mine), (self.local_memory - least) // each))
