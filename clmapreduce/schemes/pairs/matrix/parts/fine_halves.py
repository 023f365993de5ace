"""Sums of products as operands of matrix instructions, with three pieces of 16 bits a number: for rows and columns
whose magnitudes are too large for two.

A number is h + m + l. h is a multiple of 2⁻⁷ and at most 16, so that sums of h·h are multiples of 2⁻¹⁴; with the high
pieces of the addends they stay below 2¹⁰. A float32 holds such a sum without rounding. All other products are below
2⁻⁴ a number. They have a sum of their own, in units of 2⁻¹²:

    high    rows     r1h … rn0 rn1 1   1
            columns  c1h … 1   1   cn0 cn1

    low     rows     r1h r1m r1m r1h r1l … rn2 1
            columns  c1m c1h c1m c1l c1h … 1   cn2

m and l of one side are 2¹² times themselves, of m·m both sides 2⁶ times. Left out are m·l and l·l.

All groups have the same centre and the same scale, so that columns are packed once for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from clmapreduce.dtypes import FLOAT64
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Apply, Literal, Node
from clmapreduce.lowering.pair import Role
from clmapreduce.schemes.pairs.matrix.parts.halves import DEPTH, HalfOperands, Pieces, addends, filled
from clmapreduce.schemes.pairs.parts.computed import Several

GRID = 7
"""h is a multiple of 2^-7."""
LONGEST = 16.0
"""Vectors of scaled numbers are at most so long: h has 11 bits then."""
SAMPLES, USUAL = 32, 2.0
"""Rows and columns whose lengths decide the scale: scaled rows are as long as scaled columns. Where all rows or all
columns are 0, the others' length is scaled to the square of the second number.
"""
LARGEST_ADDEND = 128.0
"""Sums of h·h are at most LONGEST², so that all high products together are below 2¹⁰."""
LOW = 12
"""Low products count 2^12 times."""


@dataclass(frozen=True)
class FinePieces:
    """Where the pieces of one product lie. count: pairs of numbers."""

    count: int

    @property
    def high(self) -> int:
        """Instructions of the high pieces."""
        return -(-(self.count + 4) // DEPTH)

    @property
    def steps(self) -> int:
        """Instructions."""
        return self.high + -(-(5 * self.count + 2) // DEPTH)

    @property
    def meetings(self) -> list[tuple[str, str]]:
        """The pieces of a row with those of a column that they meet: those of the high products, then the others."""
        numbers = range(self.count)
        high = filled([*((f"s{k}h", f"s{k}h") for k in numbers), *addends("n0", "n1")], self.high)
        low = [(f"s{k}{a}", f"s{k}{b}") for k in numbers for a, b in LOW_MEETINGS]
        return filled([*high, *low, *addends("n2")], self.steps)


LOW_MEETINGS = (("h", "m"), ("m", "h"), ("mm", "mm"), ("h", "l"), ("l", "h"))
"""What the pieces of a number meet in low products."""
ARITHMETIC = frozenset({"add", "subtract", "multiply", "negative"})
"""What is computed in float64; other functions are of float32 numbers."""


def in_float64(values: Sequence[Node]) -> list[Node]:
    """The same values, with sums and products in float64."""
    new: dict[int, Node] = {}

    def wide(node: Node) -> Node:
        if id(node) not in new:
            if isinstance(node, Literal):
                new[id(node)] = Literal(node.value, FLOAT64)
            elif isinstance(node, Apply) and node.function.name in ARITHMETIC:
                new[id(node)] = apply(node.function.name, *map(wide, node.args))
            else:
                new[id(node)] = cast(node, FLOAT64)
        return new[id(node)]

    return [wide(value) for value in values]


@dataclass(frozen=True, eq=False)
class FineOperands(HalfOperands):
    """What kernel/matrix/pairwise_matrix asks for where groups are computed again."""

    number_type: ClassVar[str] = "double"
    samples: ClassVar[int] = SAMPLES
    small: ClassVar[bool] = False
    fine: ClassVar[bool] = True
    usual: ClassVar[float] = USUAL
    grid: ClassVar[int] = GRID
    low: ClassVar[int] = LOW
    longest: ClassVar[float] = LONGEST
    largest_addend: ClassVar[float] = LARGEST_ADDEND

    @cached_property
    def slots(self) -> Sequence[Pieces]:
        return tuple(FinePieces(len(product.rows)) for product in self.products)

    @property
    def row_turns(self) -> int:
        """One block of every warp at a time, where items hold the operands themselves."""
        return self.box.blocks if self.registers else 1

    @property
    def facts(self) -> int:
        """Numbers that all groups have in common: the centre, and a scale for each product."""
        return len(self.centres.texts) + len(self.products)

    def _numbers(self, values: Sequence[Node], role: Role, at: str) -> Several:
        """In float64: what the addends lose by rounding would be lost by every pair."""
        return super()._numbers(in_float64(values), role, at)
