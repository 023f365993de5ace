"""What the template takes for sums of scalars of long vectors times long weights, both by matrix instructions: what the
first make of the vectors stays in registers, becomes scalars there, and is the row operand of the second.

Of gradients, columns give the other end of a difference: Σ s (x − y) is (x − c) Σ s − Σ s (y − c), with the centre c
that distances have. That loses a share of Σ |s| (|x − c| + |y − c|), which is summed up beside it as norms: where it
exceeds `SPREAD` times Σ |s| |x − y|, the group is computed again as well. All in the metric of the distance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from clmapreduce.lowering.pair import Role
from clmapreduce.schemes.pairs.matrix.boxes import MatrixChainedBox
from clmapreduce.schemes.pairs.matrix.parts.long_results import LongResults
from clmapreduce.schemes.pairs.matrix.parts.operands import DEPTH, SideOperands
from clmapreduce.schemes.pairs.matrix.parts.terms import LongTerm
from clmapreduce.schemes.pairs.matrix.parts.weighted_numbers import WeightedNumbers
from clmapreduce.schemes.pairs.parts.computed import Computed
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText

SPREAD = 8
"""How much larger than the differences the numbers may be that they are made from."""
GATHERED = ("sum", "size", "left")
"""What is summed up of every row beside differences."""
LINES = (16, 8)
"""Rows, and columns, of one operand."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ChainedNumbers(LongResults):
    """What kernel/matrix/pairwise_matrix_chained asks for. pairs: the scalars. wide: the pair with its
    expansion. term: that of the expansion, from which it follows. own: which product is the distance whose differences
    these are, if any.
    registers: whether items hold operands themselves; else these wait in local memory. room: words of that.
    """

    box: MatrixChainedBox
    wide: PairText
    term: LongTerm = field(compare=False)
    own: int
    registers: bool
    room: int
    spread: ClassVar[int] = SPREAD
    gathered: ClassVar[tuple[str, ...]] = GATHERED
    lines: ClassVar[tuple[int, int]] = LINES

    @cached_property
    def weighted(self) -> WeightedNumbers:
        """Products of the scalars and the weights, which lie behind two stages."""
        centre = self.parts[self.own].steps * DEPTH if self.differs else 0
        return WeightedNumbers(
            self.pairs, self.wide, self.box, self.warps, self.registers, self.scattered, self.room, 2 * self.stage,
            centre, self.term.column,
        )  # fmt: skip

    # ---------------------------------------------------------------------------------------------------- places
    @property
    def differs(self) -> bool:
        """Whether a term is a difference of a number of the row and one of the column."""
        return self.term.row is not None

    @cached_property
    def sides(self) -> tuple[SideOperands, SideOperands]:
        """How the operands of rows and of columns lie: one behind the other, since any may be the first of a group."""
        return self.operands(*LINES)

    def lacking(self, side: SideOperands) -> int:
        """Rows or columns that the last group may lack."""
        return self.rows if side.role is Role.ROW else self.box.tile

    def step_counts(self, p: int) -> list[int]:
        """The steps of every stage of a tile for a product."""
        depth, steps = self.box.depth, self.parts[p].steps
        return [min(depth, steps - first) for first in range(0, steps, depth)]

    @property
    def stages(self) -> tuple[int, int]:
        """Words of local memory for a stage, of rows and of columns: rows wait there where items do not hold them."""
        each = DEPTH * self.box.depth
        return 0 if self.registers else each * self.rows, each * self.box.tile

    @property
    def words(self) -> int:
        """Words of local memory."""
        return max(self.weighted.end, len(GATHERED) * len(self.warps.mine) * self.box.block if self.differs else 0)

    @property
    def known(self) -> str:
        """C text of what is known of the tile's columns."""
        return f"known_columns + half_now * {self.box.tile * self.sides[1].facts}"

    # -------------------------------------------------------------------------------------------------- products
    def row_number(self, v: int, d: str) -> Computed:
        """What the item's row v gives at number d, where a term is a difference."""
        statements, (text,) = self.wide.long_row(0, [self.warps.row_index(v)], d)
        return Computed(statements, text)

    def factor(self, d: str) -> Computed | None:
        """What a difference is multiplied by at number d, if by anything."""
        return None if self.term.factor is None else self.term.factor.at("", d, self.pairs.narrow, "f")
