"""One side of inner products of long vectors as operands of matrix instructions: every number the sum of two pieces of
16 bits, 22 bits together, in the order in which a warp's items hold them.

Rows, and columns, are scaled by a power of two each, so that their largest number has the largest exponent that 16 bits
bear: whatever the magnitudes are, what the pieces lose is relative to the row's own. What cannot be scaled, an
infinity, a NaN or a number beyond 2¹⁰⁰, gets NaN for its scale, which says that its pieces are none.

A step is three products: of high pieces, and of high ones with low ones either way. Where at most five coordinates are
left for the last step, all three stand side by side in the depth of one instruction. Where pairs are made of several
products, the steps of one follow those of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from clmapreduce.lowering.pair import PairInput, Role
from clmapreduce.schemes.common.arrays import parameters_of
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct
from clmapreduce.schemes.pairs.parts.centred import CentredNorms
from clmapreduce.schemes.pairs.parts.computed import Computed
from clmapreduce.schemes.pairs.parts.sides import Side

DEPTH = 16
"""Coordinates that one instruction takes."""
LARGEST = 14
"""The exponent to which the largest number is scaled; products of two of them stay far from the end of floats."""
SMALL = "0x1p-4f"
"""Scaled numbers from here on lose at most 2⁻²¹ of themselves. Smaller ones lose nothing if they are multiples of 2⁻²⁴,
else some 2⁻²⁵: those are counted.
"""
COUNTED, POWER = "0x7fffffu", "0x7f800000u"
"""Bits of a number that undoes a scale: those that have the count, as a power of two asks for none of them, and the
power's own.
"""
FINITE = "0x1p100f"
"""Rows whose magnitudes add up to less can be scaled back in two steps without leaving the floats."""


@dataclass(frozen=True, eq=False)
class OperandPart:
    """One product's share of a side's operands. number: of the product. first_step, first_fact: where its steps and
    facts begin among all.
    """

    whole: SideOperands
    number: int
    product: LongProduct
    first_step: int
    first_fact: int

    @property
    def side(self) -> Side:
        """The numbers."""
        return self.product.side(self.whole.role)

    @property
    def centred(self) -> bool:
        """Whether a centre is subtracted, and norms are kept beside the scales; in a metric, if there is one."""
        return self.product.distance

    @property
    def norms(self) -> CentredNorms:
        """How the centre is found."""
        product, narrow = self.product, self.whole.narrow
        return CentredNorms(product.row, product.column, product.metric, product.inputs, narrow)

    @property
    def inputs(self) -> tuple[PairInput, ...]:
        """All that the numbers are made of; the centre is made of both sides."""
        return self.product.inputs if self.centred else self.side.inputs

    @property
    def steps(self) -> int:
        """Instructions along the coordinates."""
        return -(-self.side.size // DEPTH)

    @property
    def mixed(self) -> int:
        """Coordinates of a last step that is one product."""
        rest = self.side.size % DEPTH
        return rest if 3 * rest <= DEPTH else 0

    @property
    def counts(self) -> bool:
        """Whether it is known how many of a row's numbers have lost digits."""
        return not self.centred and not self.whole.bounded

    @property
    def facts(self) -> int:
        """Numbers that are kept of every row: its norm, where there is a centre, and what undoes its scale; a column's
        times two then, as a distance subtracts its products. Of inner products that are bounded, with what is added up
        of the row, and the column's largest number, for a norm. Of others what undoes the scale, with that count.
        """
        return 1 if self.counts else 2

    def coordinate(self, row: str, d: str) -> Computed:
        """A row's number at coordinate d, less the centre."""
        return self.norms.centred(self.side, row, d) if self.centred else self.side.at(row, d, self.whole.narrow)


@dataclass(frozen=True, eq=False)
class SideOperands:
    """What kernel/matrix/pairwise_operands asks for. role: whose operands. tile: rows or columns in a
    group's tile. bounded: whether it must be known how far products may be off.
    """

    role: Role
    products: tuple[LongProduct, ...]
    tile: int
    narrow: bool
    bounded: bool = False
    depth: ClassVar[int] = DEPTH
    largest: ClassVar[int] = LARGEST
    small: ClassVar[str] = SMALL
    finite: ClassVar[str] = FINITE

    @cached_property
    def parts(self) -> tuple[OperandPart, ...]:
        """Those of every product, one behind the other."""
        parts: list[OperandPart] = []
        for k, product in enumerate(self.products):
            last = parts[-1] if parts else None
            step, fact = (last.first_step + last.steps, last.first_fact + last.facts) if last is not None else (0, 0)
            parts.append(OperandPart(self, k, product, step, fact))
        return tuple(parts)

    @property
    def inputs(self) -> tuple[PairInput, ...]:
        """All that the numbers are made of, each once."""
        return tuple({id(one): one for part in self.parts for one in part.inputs}.values())

    @property
    def steps(self) -> int:
        """Instructions along the coordinates."""
        return sum(part.steps for part in self.parts)

    @property
    def facts(self) -> int:
        """Numbers that are kept of every row."""
        return sum(part.facts for part in self.parts)

    @property
    def lines(self) -> int:
        """Rows, or columns, of one operand."""
        return 16 if self.role is Role.ROW else 8

    @property
    def words(self) -> int:
        """Words of both pieces of one operand."""
        return self.lines * DEPTH

    @property
    def stage(self) -> int:
        """Words of a tile's operands of one step: they lie one behind the other, tile by tile and step by step."""
        return self.operands * self.words

    def parameters(self) -> list[str]:
        """The kernel's parameters for what is read, and for the centres."""
        centres = [f"__global float *restrict centre{part.number}" for part in self.parts if part.centred]
        return [*parameters_of(self.inputs), *(centres if self.of_rows else ())]

    @property
    def of_rows(self) -> bool:
        return self.role is Role.ROW

    @property
    def operands(self) -> int:
        """Operands of a tile, side by side."""
        return self.tile // self.lines
