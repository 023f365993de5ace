"""What schemes share that compute inner products over long vectors by matrix instructions: which pairs an item holds,
where operands lie, and how products are added up.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property, partial

from clmapreduce.lowering.pair import Role
from clmapreduce.plan import LocalArray
from clmapreduce.schemes.pairs.matrix.boxes import MatrixLongBox
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.matrix.parts.operands import OperandPart, SideOperands
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText

SIDE_BY_SIDE = 4
"""Blocks of columns that instructions multiply side by side: each waits for its own last one."""


def cut_off(steps: int) -> float:
    """What sums over so many steps lose, in units of 2⁻²² of the sum: instructions cut off half of a last bit of every
    step's own sum on average, and additions of floats round half as much either way, of half of the sum.
    """
    return 1 / 4 + math.sqrt(steps) / 8


@dataclass(frozen=True, eq=False, kw_only=True)
class LongPairs(ABC):
    """What templates take for tiles of pairs of long vectors. pairs: one lane, nothing staged. products:
    follow from the pair. batched: whether the
    operands of rows, and of columns, have a part for every element of the batch. scattered: whether a tile's columns
    may lie apart, and a group's rows begin anywhere.
    """

    pairs: PairText
    products: tuple[LongProduct, ...] = field(compare=False)
    box: MatrixLongBox
    batched: tuple[bool, bool]
    scattered: bool = False

    @cached_property
    def warps(self) -> FragmentLayout:
        return FragmentLayout(self.box.block, self.box.across, self.box.rows, self.scattered)

    @property
    def rows(self) -> int:
        """Rows of a group."""
        return self.warps.rows

    @property
    def columns(self) -> int:
        """Columns of an item: two of every block."""
        return 2 * self.box.columns

    @cached_property
    @abstractmethod
    def sides(self) -> tuple[SideOperands, SideOperands]:
        """How the operands of rows and of columns lie."""

    def operands(self, rows: int, columns: int) -> tuple[SideOperands, SideOperands]:
        """How they lie in tiles of so many rows and columns."""
        operands_of = partial(SideOperands, products=self.products, narrow=self.pairs.narrow, bounded=self.bounded)
        return operands_of(Role.ROW, tile=rows), operands_of(Role.COLUMN, tile=columns)

    @property
    def bounded(self) -> bool:
        """Whether results are bounds of products."""
        return False

    @property
    def parts(self) -> tuple[OperandPart, ...]:
        """Those of every product."""
        return self.sides[0].parts

    @property
    def steps(self) -> int:
        """Stages of a tile."""
        return self.sides[0].steps

    @property
    @abstractmethod
    def stages(self) -> tuple[int, int]:
        """Words of local memory for one, of rows and of columns."""

    @property
    def stage(self) -> int:
        """Words of both."""
        return sum(self.stages)

    @abstractmethod
    def lacking(self, side: SideOperands) -> int:
        """Rows or columns that the last group may lack."""

    def padded(self, side: SideOperands, count: int) -> int:
        """So many rows, or columns, as whole tiles, and what the last group may lack."""
        return -(-count // side.tile) * side.tile + self.lacking(side)

    def parameters(self) -> list[str]:
        """The kernel's parameters for what the sides' launches leave."""
        facts = [f"__global const float *restrict {name}" for name in ("row_facts", "column_facts")]
        return [*facts, *(f"__global const uint4 *restrict {name}" for name in ("row_operands", "column_operands"))]

    def operand_arrays(self, words: int, tiles: int = 1) -> tuple[LocalArray, ...]:
        """Operands, and what is known of a group's rows and of the columns of so many tiles."""
        rows, columns = (side.facts for side in self.sides)
        return (
            LocalArray("memory", "uint", words, aligned=True),
            LocalArray("known_rows", "float", self.rows * rows, aligned=True),
            LocalArray("known_columns", "float", tiles * self.box.tile * columns, aligned=True),
        )

    @property
    def sums(self) -> list[str]:
        """Names of the sums of products of the item's pairs."""
        return [f"m{r}_{n}" for r in range(self.box.rows) for n in range(self.box.columns)]

    @property
    def side_by_side(self) -> list[range]:
        """The blocks of columns that are multiplied side by side."""
        columns = self.box.columns
        return [range(n, min(n + SIDE_BY_SIDE, columns)) for n in range(0, columns, SIDE_BY_SIDE)]

    def column_place(self, c: int | str) -> str:
        """Where the item's column number c lies in its tile. c: as C text where it is known later."""
        inside = c // 2 * 8 + c % 2 if isinstance(c, int) else f"{c} / 2 * 8 + {c} % 2"
        return f"at_column + {inside}"

    def column_index(self, c: int) -> str:
        """The index of the item's column c; past the last one the last."""
        return self.index_at(self.column_place(c))

    def index_at(self, place: str) -> str:
        """The same of the column at some place of the tile."""
        if self.scattered:
            return f"places[now * {self.box.tile} + {place}]"
        return f"min((idx)(j0 + {place}), (idx)(end - 1))"
