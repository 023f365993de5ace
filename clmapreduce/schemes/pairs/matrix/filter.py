"""Products that only decide which columns are computed as the formula says: for the least of many values, the greatest,
or the K least. As long as products are off by no more than `DOUBT` says, results are the same bits as without them.

A row's sum of products begins at what a value must pass, with the opposite sign, instead of at 0: then its sign says
whether the column may matter, and one operation on bits asks that of two more columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clmapreduce.formula.statements import Statements
from clmapreduce.schemes.pairs.matrix.parts.halves import LARGEST_COLUMN, MatrixText, power_of_two
from clmapreduce.schemes.pairs.statements import PairText

LARGEST_ADDEND = 4
"""Rows' addends are scaled to about 2⁴, and all else with them."""
DOUBT = 2.0**-18
"""What products may be off by: so much of the magnitudes that meet in them. Pieces cost 2⁻²², each of up to four
instructions 2⁻²¹ (tests/cl_templates/test_matrix_words; 2⁻²²·³ was seen on an H200).
"""


@dataclass(frozen=True, eq=False)
class NearText(MatrixText):
    """The statements about a product that is nearly the pair's value, times a unit."""

    @property
    def pairs(self) -> PairText:
        """No value is made of products."""
        return self.exact

    @property
    def least(self) -> bool:
        """Whether lesser values are better."""
        return self.exact.bound.side < 0

    @property
    def worst(self) -> str:
        """C text of what every value is at least as good as."""
        return "INFINITY" if self.least else "-INFINITY"

    def better(self, new: str, old: str) -> str:
        """C text of the better of two floats, of which the second is no NaN."""
        return f"cmr_{'lesser' if self.least else 'greater_one'}_float({new}, {old})"

    def doubt(self) -> str:
        """Declares by how much products of this tile may be off."""
        return f"const float doubt = {DOUBT}f * (as_float(far[turn + 2]) + 1.0f);"

    def look(self, n: str, rows: Sequence[int] | None = None) -> str:
        """Declares the products of the item's rows, or of some of its blocks of them, with the blocks of columns from
        number n on: f{r}_{e}.
        """
        lines, mine = [], range(self.box.blocks) if rows is None else rows
        for e in range(self.box.ahead):
            lines += [*(f"float4 f{r}_{e};" for r in mine), "{", *self._columns(f"({n} + {e * self.box.across})")]
            lines += [line for r in mine for line in self._product(f"f{r}_{e}", r, 0)]
            lines.append("}")
        return "\n".join(lines)

    def looked(self, v: int, c: int) -> list[str]:
        """Their parts for row v and column c of every block."""
        return [f"f{v // 2}_{e}.{'xyzw'[v % 2 * 2 + c]}" for e in range(self.box.ahead)]

    def _unit(self, p: int) -> str:
        return f"added{p} > 0.0f ? {power_of_two(f'added{p}', LARGEST_ADDEND)} : scale{p} * scale{p}"

    def _limit(self) -> float:
        return LARGEST_COLUMN

    def _noted(self, p: int) -> str:
        return "atomic_max(&far[turn + 2], as_int(magnitude));"


@dataclass(frozen=True, eq=False)
class FilterText(NearText):
    """The statements that kernel/matrix/pairwise_matrix_filter asks for. An item keeps its rows' accumulators in
    arrays, kept_{component}, by the row's number.
    """

    def declare_kept(self) -> str:
        """Declares the accumulators of the item's rows, of no columns yet."""
        count = len(self.places.mine)
        lines = [f"{kind} kept_{name}[{count}];" for name, kind in self.exact.outer.parts]
        each = f"{{ {self.exact.outer.declare('none')} {self.keep('none', 'v')} }}"
        return "\n".join([*lines, f"for (int v = 0; v < {count}; v++) {each}"])

    def fetch(self, acc: str, v: int | str) -> str:
        """Declares `acc` as the accumulator of row v."""
        return "\n".join(f"{kind} {acc}_{name} = kept_{name}[{v}];" for name, kind in self.exact.outer.parts)

    def keep(self, acc: str, v: str) -> str:
        """Makes `acc` the accumulator of row v."""
        return "\n".join(f"kept_{name}[{v}] = {acc}_{name};" for name, _ in self.exact.outer.parts)

    def lower(self, number: str) -> str:
        """Brings the bar of the row of a number up to date, behind changes of `acc`, which is its accumulator."""
        block, bound = Statements(1, self.exact.narrow, "bar_"), self.exact.bound
        bar = block.text(bound.bar(block.record("acc", self.exact.outer.dtypes))).c
        lines = [f"if ({number} == {v}) bar{v} = {self.better('bar', f'bar{v}')};" for v in self.places.mine]
        return "\n".join(["{", str(block), f"const float bar = {bar};", *lines, "}"])

    def declare_starts(self) -> str:
        """Declares where the products with a tile begin: s{r}."""
        return "\n".join(f"float4 s{r};" for r in range(self.box.blocks))

    def starts(self) -> str:
        """Brings that up to date with the bars."""
        lines = []
        for v in self.places.mine:
            first, second = "xy" if v % 2 == 0 else "zw"
            passed = f"-(bar{v} * unit0 {'+' if self.least else '-'} doubt)"
            lines.append(f"s{v // 2}.{first} = s{v // 2}.{second} = {passed};")
        return "\n".join(lines)

    def share(self, v: int) -> str:
        """Makes the bar of row v the best that the four items know that share it."""
        lines = []
        for distance in (1, 2):
            other = f"cmr_shuffle_first_float(bar{v}, (uint)(lane ^ {distance}))"
            lines.append(f"{{ const float other = {other}; bar{v} = {self.better('other', f'bar{v}')}; }}")
        return "\n".join(lines)

    def any_hit(self) -> str:
        """C text of an int that is 0 where none of all that were looked at is good enough to be computed exactly."""
        names = [name for v in self.places.mine for c in range(2) for name in self.looked(v, c)]
        signs = (" | " if self.least else " & ").join(f"as_int({name})" for name in names)
        return f"{'' if self.least else '~'}({signs}) & (int)0x80000000"

    def hits(self, v: int) -> str:
        """C text of which of row v's are, as bits: 2 e + column."""
        flip = "" if self.least else "~"
        parts = []
        for c in range(2):
            for e, name in enumerate(self.looked(v, c)):
                parts.append(f"({flip}as_uint({name}) >> 31) << {2 * e + c}")
        return " | ".join(parts)

    def _product_start(self, r: int, step: int) -> str:
        return f"cmr_matrix_from_float4(s{r}, a{r}_{step}, b{step}, memory, lane)"
