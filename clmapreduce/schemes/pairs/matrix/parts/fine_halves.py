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
from clmapreduce.schemes.pairs.matrix.parts.halves import DEPTH, HalfOperands, Pieces, power_of_two
from clmapreduce.schemes.pairs.parts.computed import Several

GRID = 7
"""h is a multiple of 2^-7."""
LONGEST = 16.0
"""Vectors of scaled numbers are at most so long: h has 11 bits then."""
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

    def rows(self) -> list[str]:
        """The pieces of a row in their order: those of the high products, then the others."""
        high = [*(f"s{k}h" for k in range(self.count)), "n0", "n1", "1.0f", "1.0f"]
        low = [piece for k in range(self.count) for piece in (f"s{k}h", f"s{k}m", f"s{k}mm", f"s{k}h", f"s{k}l")]
        return self._filled(high, [*low, "n2", "1.0f"])

    def columns(self) -> list[str]:
        """The pieces of a column that they meet."""
        high = [*(f"s{k}h" for k in range(self.count)), "1.0f", "1.0f", "n0", "n1"]
        low = [piece for k in range(self.count) for piece in (f"s{k}m", f"s{k}h", f"s{k}mm", f"s{k}l", f"s{k}h")]
        return self._filled(high, [*low, "1.0f", "n2"])

    def _filled(self, high: list[str], low: list[str]) -> list[str]:
        high += ["0.0f"] * (self.high * DEPTH - len(high))
        return high + low + ["0.0f"] * (self.steps * DEPTH - len(high) - len(low))


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
    small: ClassVar[bool] = False
    low_unit: ClassVar[float] = 2.0**-LOW

    @cached_property
    def slots(self) -> Sequence[Pieces]:
        return tuple(FinePieces(len(product.rows)) for product in self.products)

    def number_pieces(self, name: str) -> str:
        high = f"{name}h = (float)(rint({name} * {2.0**GRID}) * {2.0**-GRID})"
        middle = f"{name}_middle = cmr_half_round_float((float)({name} - {name}h))"
        low = f"{name}l = (float)(({name} - {name}h - {name}_middle) * {2.0**LOW})"
        scaled = f"{name}m = {name}_middle * {2.0**LOW}f, {name}mm = {name}_middle * {2.0 ** (LOW // 2)}f"
        return f"const float {high}, {middle}, {scaled}, {low};"

    @property
    def addend_pieces(self) -> str:
        """n0 + n1 is a multiple of 2⁻¹²."""
        high = f"n_high = (float)(rint(n * {2.0**LOW}) * {2.0**-LOW}), n0 = cmr_half_round_float(n_high)"
        return f"const float {high}, n1 = n_high - n0, n2 = (float)((n - n_high) * {2.0**LOW});"

    def _numbers(self, values: Sequence[Node], role: Role, at: str) -> Several:
        """In float64: what the addends lose by rounding would be lost by every pair."""
        return super()._numbers(in_float64(values), role, at)

    def within(self, p: int) -> str:
        added = f"fabs(r_added) <= {LARGEST_ADDEND}f && added{p} <= {LARGEST_ADDEND}f"
        return f"size * unscale{p} <= {LONGEST}f && {added}"

    def scale(self, p: int) -> str:
        """The longest row of a group becomes 8 to 16 long."""
        return power_of_two(f"reach{p}", 3)
