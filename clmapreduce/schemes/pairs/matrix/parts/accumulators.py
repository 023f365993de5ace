"""What schemes share that compute inner products over long vectors by matrix instructions: which pairs an item holds,
where operands lie, and how products are added up.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from clmapreduce.lowering.pair import Role
from clmapreduce.schemes.pairs.matrix.boxes import MatrixLongBox
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.matrix.parts.operands import OperandPart, OperandText
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct
from clmapreduce.schemes.pairs.statements import PairText

LONGEST = 20
"""Steps that are added up by instructions alone: what they cut off adds up too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LongPairsText(ABC):
    """The statements about tiles of pairs of long vectors. pairs: one lane, nothing staged. batched: whether the
    operands of rows, and of columns, have a part for every element of the batch. scattered: whether a tile's columns
    may lie apart, and a group's rows begin anywhere.
    """

    pairs: PairText
    products: tuple[LongProduct, ...]
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
    def sides(self) -> tuple[OperandText, OperandText]:
        """How the operands of rows and of columns lie."""

    def operands(self, rows: int, columns: int) -> tuple[OperandText, OperandText]:
        """How they lie in tiles of so many rows and columns."""
        made = partial(OperandText, products=self.products, narrow=self.pairs.narrow, bounded=self.bounded)
        return made(Role.ROW, tile=rows), made(Role.COLUMN, tile=columns)

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
    def lacking(self, side: OperandText) -> int:
        """Rows or columns that the last group may lack."""

    def padded(self, side: OperandText, count: int) -> int:
        """So many rows, or columns, as whole tiles, and what the last group may lack."""
        return -(-count // side.tile) * side.tile + self.lacking(side)

    def parameters(self) -> list[str]:
        """The kernel's parameters for what the sides' launches leave."""
        facts = [f"__global const float *restrict {name}" for name in ("row_facts", "column_facts")]
        return [*facts, *(f"__global const uint4 *restrict {name}" for name in ("row_operands", "column_operands"))]

    def offsets(self, batch: str) -> str:
        """Moves them to their part for one element of the batch."""
        lines = []
        for side, name, batched in zip(self.sides, ("row", "column"), self.batched, strict=True):
            if batched:
                spare = self.padded(side, 0) // side.tile
                lines.append(f"const size_t {name}_tiles = ({name}s + {side.tile - 1}) / {side.tile} + {spare};")
                lines.append(f"{name}_facts += {batch} * {name}_tiles * {side.tile * side.facts};")
                lines.append(f"{name}_operands += {batch} * {name}_tiles * {side.steps * side.stage // 4};")
        return "\n".join(lines)

    def open(self, p: int) -> str:
        """Sets the sums of products of the item's pairs to zero, and sums of them, where there are many steps. The
        first product's are declared.
        """
        names = [f"m{r}_{n}" for r in range(self.box.rows) for n in range(self.box.columns)]
        if any(map(self.summed, [p] if p else range(len(self.parts)))):
            names += [f"t{name}" for name in names]
        declared = "" if p else "float4 "
        return "\n".join(f"{declared}{name} = (float4)(0.0f, 0.0f, 0.0f, 0.0f);" for name in names)

    def summed(self, p: int) -> bool:
        """Whether a product has sums of sums."""
        return self.parts[p].steps > LONGEST

    def _products(self, r: int, piece: str, words: str) -> Iterator[str]:
        """Adds the products of one piece of a block of rows with one of every block of columns."""
        for n in range(self.box.columns):
            column = f"(uint2)(b{n}.{words[0]}, b{n}.{words[1]})"
            yield f"m{r}_{n} = cmr_matrix_product_float4(m{r}_{n}, {piece}{r}, {column}, memory, lane);"

    def collect(self, p: int, s: str) -> str:
        """After every so many steps of a product, moves what the instructions have added up to the sums of sums. s: C
        text of which step of all it is.
        """
        if not self.summed(p):
            return ""
        first, steps = self.parts[p].first_step, self.parts[p].steps
        own = f"({s} - {first})" if first else s
        lines = [f"if ({own} % {LONGEST} == {LONGEST - 1} || {own} == {steps - 1}) {{"]
        for r in range(self.box.rows):
            for n in range(self.box.columns):
                zero = "(float4)(0.0f, 0.0f, 0.0f, 0.0f)"
                each = " ".join(f"tm{r}_{n}.{x} += m{r}_{n}.{x};" for x in "xyzw")
                lines.append(f"{each} m{r}_{n} = {zero};")
        return "\n".join([*lines, "}"])

    def column_place(self, c: int) -> str:
        """Where the item's column number c lies in its tile."""
        return f"at_column + {c // 2 * 8 + c % 2}"

    def column_index(self, c: int) -> str:
        """The index of the item's column c; past the last one the last."""
        return self._index(self.column_place(c))

    def _index(self, place: str) -> str:
        if self.scattered:
            return f"places[now * {self.box.tile} + {place}]"
        return f"min((idx)(j0 + {place}), (idx)(end - 1))"
