"""What templates take for lists of the columns that are nearest by products of matrix instructions, one per item and
row, and of the results that their columns have by the formula.

What lists hold is bounds: distances less what they may be off by, or the negatives of distances and more, where the
farthest are wanted, and so with inner products. A column that is on no list is no better than the last bound of some
list that is full, or than the bar that its row began with. So where the worst result is better than all of these,
nothing was missed.

Bars come from a look at some of the columns: of every item's two buckets of them the best, from the other side, so that
as many columns as are wanted are known to be as good as the bar is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

from clmapreduce.lowering.pair import Contraction, Pair, Role
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.arrays import element
from clmapreduce.schemes.pairs.matrix.parts.long_tiles import LongTiles
from clmapreduce.schemes.pairs.matrix.parts.ranking import Nearest
from clmapreduce.schemes.pairs.parts.computed import Computed
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText

LISTS = ("list_bounds", "list_columns")
"""The bounds and the columns of every list: [list of a split][place], and then as accumulators are left."""


@dataclass(frozen=True)
class Way:
    """Which products are wanted: the least or the greatest."""

    nearest: Nearest
    pairs: PairText

    @property
    def slope(self) -> Computed:
        """What the product is multiplied by, of which only the sign counts."""
        text = replace(self.pairs, pair=Pair(self.pairs.pair.inputs, (self.nearest.slope,), 1))
        statements, (slope,) = text.values(0, 0)
        return Computed(f"{text.uniforms()} {statements}", slope)

    @property
    def least(self) -> bool:
        """Whether lesser values of the formula are better."""
        return self.pairs.bound.side < 0


@dataclass(frozen=True, eq=False, kw_only=True)
class NearestLists(LongTiles):
    """What kernel/matrix/pairwise_matrix_nearest asks for. pairs: as the formula says, under its operator. nearest: the
    product and the ranking, which follow from the pair. lists: the operator of a list, which keeps the least of some
    numbers and their places. sample: one tile of so many is looked at, for bars; 1 for lists of all. chains: buckets of
    an item for each of its rows. barred: whether there are bars.
    """

    nearest: Nearest = field(compare=False)
    lists: PairBound = field(compare=False)
    sample: int
    chains: int
    barred: bool

    @property
    def capacity(self) -> int:
        """Columns of a list."""
        return self.lists.capacity

    @property
    def listed(self) -> PairText:
        """A list's columns, their bounds being the pairs' values."""
        return replace(self.pairs, bound=self.lists)

    @property
    def way(self) -> Way:
        return Way(self.nearest, self.pairs)

    @property
    def bounded(self) -> bool:
        """Whether results are bounds of products."""
        return True

    def finished(self, p: int, v: int, c: int) -> Computed:
        if self.nearest.factor is None:
            return super().finished(p, v, c)
        statements, (factor,) = self.pairs.numbers([self.nearest.factor], v, c)
        return Computed(statements, f"q{v}_{c}_{p} * ({factor})")

    @property
    def lists_each(self) -> int:
        """Lists of a row in one split."""
        return 4 * self.box.across

    @property
    def list_number(self) -> str:
        """C text of the number of the item's lists among the rows' in a split."""
        return f"warp % {self.box.across} * 4 + lane % 4"

    @property
    def arrays(self) -> list[tuple[str, str, str]]:
        """The numbers of a list in order, as its accumulator has them: the array of each, its place there, its name."""
        names = [name for name, _ in self.listed.outer.parts]
        return [(LISTS[name.startswith("place")], name.rpartition("_")[2], name) for name in names]


@dataclass(frozen=True, eq=False)
class ListedColumns:
    """What kernel/matrix/pairwise_nearest asks for. pairs: as the formula says. nearest: follows from the pair.
    capacity: columns of a list. lists: of a row in one split. barred: whether they began with bars.
    """

    pairs: PairText
    nearest: Nearest = field(compare=False)
    capacity: int
    lists: int
    barred: bool

    @property
    def way(self) -> Way:
        return Way(self.nearest, self.pairs)

    @property
    def worst(self) -> str:
        """C text of what every value is at least as good as."""
        return "INFINITY" if self.way.least else "-INFINITY"

    @cached_property
    def value(self) -> Computed:
        """The pair's value, where its product is q0_0_0."""
        text = replace(self.pairs, pair=self.nearest.value)
        statements, (nearly,) = text.values(0, 0)
        return Computed(f"{text.uniforms()} {statements}", nearly)

    @property
    def contraction(self) -> Contraction:
        """The pairs' only sum over coordinates."""
        (contraction,) = self.pairs.pair.contractions
        return contraction

    @property
    def coordinates(self) -> Iterator[tuple[str, str]]:
        """Names and C text of what the contraction walks, at coordinate d."""
        for variable, _ in self.contraction.wide:
            if variable.role is Role.PARAMETER:
                yield f"w{variable.name}", element(variable, "d")
                continue
            of_row = variable.role is Role.ROW
            name, index = (f"w{variable.name}_0", "row") if of_row else (f"w{variable.name}_c0", "column")
            yield name, element(variable, f"{index} * {variable.dim} + d")
