"""Products that only decide which columns are computed as the formula says: for the least of many values, the greatest,
or the K least. As long as products are off by no more than `DOUBT` says, results are the same bits as without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.formula.block import Block
from clmapreduce.schemes.matrix_text import LARGEST_COLUMN, MatrixText, power_of_two
from clmapreduce.schemes.pair_text import PairText

LARGEST_ADDEND = 4
"""Rows' addends are scaled to about 2⁴, and all else with them."""
DOUBT = 2.0**-18
"""What products may be off by: so much of the magnitudes that meet in them. Pieces cost 2⁻²²; the rest is room for sums
inside the instructions, which no GPU was asked about yet.
"""


@dataclass(frozen=True, eq=False)
class FilterText(MatrixText):
    """The statements that kernel/pairwise_matrix asks for where its only product is the pair's value."""

    filters: ClassVar[bool] = True

    @property
    def pairs(self) -> PairText:
        """No value is made of products."""
        return self.exact

    def doubt(self) -> str:
        """Declares by how much products of this tile may be off, and the bars that they must pass: pass{v}."""
        lines = [f"const float doubt = {DOUBT}f * (as_float(far[turn + 2]) + 1.0f);"]
        lines += [f"float pass{v} = {self._bar(f'bar{v}')};" for v in range(2 * self.box.blocks)]
        return "\n".join(lines)

    def bar(self, v: int) -> str:
        """C text of what a value must pass to change the accumulator of row v."""
        block = Block(1, self.exact.narrow, f"bar{v}_")
        bound = self.exact.bound
        return block.text(bound.bar(block.record(f"acc{v}", {c.name: c.dtype for c in bound.components}))).c

    def lower(self, v: int) -> str:
        """Brings the bar of row v up to date."""
        return f"bar{v} = {self._better(self.bar(v), f'bar{v}')}; pass{v} = {self._bar(f'bar{v}')};"

    def share(self, v: int) -> str:
        """Makes the bar of row v the best that the four items know that share it."""
        lines = []
        for distance in (1, 2):
            other = f"cmr_shuffle_first_float(bar{v}, (uint)(lane ^ {distance}))"
            lines.append(f"{{ const float other = {other}; bar{v} = {self._better('other', f'bar{v}')}; }}")
        return "\n".join(lines)

    def look(self, n: str) -> str:
        """Declares the products of the item's rows with several blocks: f{r}_{e}."""
        lines = []
        for e in range(self.box.ahead):
            lines += [f"float4 f{r}_{e};" for r in range(self.box.blocks)]
            lines += ["{", *self._columns(f"({n} + {e * self.box.across})")]
            lines += [line for r in range(self.box.blocks) for line in self._product(f"f{r}_{e}", r, 0)]
            lines.append("}")
        return "\n".join(lines)

    def best(self, v: int) -> str:
        """C text of the best of them for row v."""
        names = self._looked(v)
        text = names[0]
        for name in names[1:]:
            text = self._better(name, text)
        return text

    def passes(self, number: str, v: int) -> str:
        """C text of whether a product is good enough to be computed exactly."""
        return f"{number} {'<=' if self.exact.bound.side < 0 else '>='} pass{v}"

    def hits(self, v: int) -> str:
        """C text of which of them are, as bits: 2 e + column."""
        return " | ".join(f"(uint)({self.passes(name, v)}) << {bit}" for bit, name in enumerate(self._looked(v)))

    def _looked(self, v: int) -> list[str]:
        return [f"f{v // 2}_{e}.{'xyzw'[v % 2 * 2 + c]}" for e in range(self.box.ahead) for c in range(2)]

    def _bar(self, bar: str) -> str:
        return f"{bar} * unit0 {'+' if self.exact.bound.side < 0 else '-'} doubt"

    def _better(self, new: str, old: str) -> str:
        return f"cmr_{'lesser' if self.exact.bound.side < 0 else 'greater_one'}_float({new}, {old})"

    # -------------------------------------------------------------------------------------------------- the unit
    def _unit(self, p: int) -> str:
        return f"added{p} > 0.0f ? {power_of_two(f'added{p}', LARGEST_ADDEND)} : scale{p} * scale{p}"

    def _limit(self) -> float:
        return LARGEST_COLUMN

    def _noted(self, p: int) -> str:
        return "atomic_max(&far[turn + 2], as_int(magnitude));"
