"""The statements of lists of the columns that are nearest by products of matrix instructions, one per item and row, and
of the results that their columns have by the formula.

What lists hold is bounds: distances less what they may be off by, or the negatives of distances and more, where the
farthest are wanted, and so with inner products. A column that is on no list is no better than the last bound of some
list that is full, or than the bar that its row began with. So where the worst result is better than all of these,
nothing was missed.

Bars come from a look at some of the columns: of every item's two buckets of them the best, from the other side, so that
as many columns as are wanted are known to be as good as the bar is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from clmapreduce.formula.statements import Statements
from clmapreduce.lowering.pair import Pair, Role
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.common.arrays import element
from clmapreduce.schemes.pairs.matrix.parts.long_tiles import MatrixLongText
from clmapreduce.schemes.pairs.matrix.parts.operands import OperandPart
from clmapreduce.schemes.pairs.matrix.parts.ranking import Nearest
from clmapreduce.schemes.pairs.statements import PairText

LISTS = ("list_bounds", "list_columns")
"""The bounds and the columns of every list: [list of a split][place], and then as accumulators are left."""


@dataclass(frozen=True)
class WayText:
    """Which products are wanted: `way` is 1 for the least, -1 for the greatest."""

    nearest: Nearest
    pairs: PairText

    def declare(self) -> str:
        """Declares it."""
        text = replace(self.pairs, pair=Pair(self.pairs.pair.inputs, (self.nearest.slope,), 1))
        statements, (slope,) = text.values(0, 0)
        sign = "<" if self.pairs.bound.side < 0 else ">"
        assigned = f"way = 0.0f {sign} {slope} ? 1.0f : -1.0f;"
        return f"float way; {{ {text.uniforms()} {statements} {assigned} }}"


@dataclass(frozen=True, eq=False, kw_only=True)
class NearestText(MatrixLongText):
    """The statements that kernel/matrix/pairwise_matrix_nearest asks for. pairs: as the formula says, under its
    operator. lists: the operator of a list, which keeps the least of some numbers and their places. sample: one tile of
    so many is looked at, for bars; 1 for lists of all. chains: buckets of an item for each of its rows. barred: whether
    there are bars.
    """

    nearest: Nearest
    lists: PairBound
    sample: int
    chains: int
    barred: bool

    @property
    def kept(self) -> int:
        """Columns of a list."""
        return self.lists.kept

    @property
    def least_memory(self) -> int:
        """Bytes of local memory that a group needs."""
        return self.walk_memory

    @property
    def listed(self) -> PairText:
        """A list's columns, their bounds being the pairs' values."""
        return replace(self.pairs, bound=self.lists)

    def tilt(self) -> str:
        """Declares `way`, and `tilt`: what is added of norms for a bound."""
        sign = "-" if self.sample == 1 else ""
        way = WayText(self.nearest, self.pairs).declare()
        return f"{way} const float tilt = {sign}way * {self.nearest.doubt}f;"

    @property
    def bounded(self) -> bool:
        """Whether results are bounds of products."""
        return True

    def _result(self, part: OperandPart, x: str, y: str, product: str) -> str:
        if part.centred:
            return f"({x} * (1.0f + tilt) + {y} * (1.0f + tilt)) - {product}"
        return f"fma({x} * tilt, {y}, {product})"

    def _finished(self, p: int, v: int, c: int) -> tuple[str, str]:
        if self.nearest.factor is None:
            return super()._finished(p, v, c)
        statements, (factor,) = self.pairs.numbers([self.nearest.factor], v, c)
        return statements, f"q{v}_{c}_{p} * ({factor})"

    def _enough(self, p: int, distance: str, norms: str) -> str:
        """Bounds say what they are off by."""
        return "1"

    def declare_lists(self) -> Iterator[str]:
        """Declares the item's lists, empty, and bar{v}, what a bound of row v must be less than: of rows that are not
        the group's, nothing is.
        """
        count = len(self.warps.mine)
        yield f"float kept_bounds[{count * self.kept}]; idx kept_columns[{count * self.kept}]; int counts[{count}];"
        yield f"for (int v = 0; v < {count}; v++) counts[v] = 0;"
        for v in self.warps.mine:
            bar = f"bars[batch * rows + {self.warps.row_index(v)}]" if self.barred else "INFINITY"
            yield f"float bar{v} = {self.warps.inside(v)} ? {bar} : -INFINITY;"

    def bounds(self) -> Iterator[str]:
        """Makes bounds of the item's products, infinite beyond the last column."""
        columns, rows = range(self.columns), self.warps.mine
        for v in rows:
            for c in columns:
                yield f"q{v}_{c}_0 = way * q{v}_{c}_0;"
        yield f"if (count < {self.box.tile}) {{"
        for c in columns:
            yield f"if ({self.column_place(c)} >= count) {' = '.join(f'q{v}_{c}_0' for v in rows)} = INFINITY;"
        yield "}"

    def declare_buckets(self) -> Iterator[str]:
        """Declares the item's buckets, of which nothing is known."""
        yield f"float {', '.join(f'best{v}_{c} = INFINITY' for v in self.warps.mine for c in range(self.chains))};"

    def fill(self) -> Iterator[str]:
        """Brings the buckets up to date with the bounds."""
        for v in self.warps.mine:
            for c in range(self.columns):
                bucket = f"best{v}_{c % self.chains}"
                yield f"{bucket} = fmin({bucket}, q{v}_{c}_0);"

    def leave_buckets(self) -> Iterator[str]:
        """Stores them."""
        for v in self.warps.mine:
            yield f"if ({self.warps.inside(v)}) {{"
            yield f"const size_t at = (size_t)({self._list}) * {self.chains} * total + kept + {self.warps.row(v)};"
            for c in range(self.chains):
                yield f"buckets[at + {c} * (size_t)total] = best{v}_{c};"
            yield "}"

    def hits(self) -> Iterator[str]:
        """Declares `hits`, which of the item's rows have a bound below the bar; of those rows below{v} tells which, and
        `near` has them.
        """
        columns, rows = range(self.columns), self.warps.mine
        yield f"float near[{len(rows) * self.columns}];"
        yield "uint hits = 0;"
        for v in rows:
            least = f"q{v}_0_0"
            for c in columns[1:]:
                least = f"fmin({least}, q{v}_{c}_0)"
            stored = " ".join(f"near[{v * self.columns + c}] = q{v}_{c}_0;" for c in columns)
            below = " | ".join(f"(uint)(q{v}_{c}_0 < bar{v}) << {c}" for c in columns)
            yield f"uint below{v} = 0;"
            yield f"if ({least} < bar{v}) {{ hits |= {1 << v}; below{v} = {below}; {stored} }}"

    def open_row(self) -> Iterator[str]:
        """Declares `bar` and `below` as those of row v."""
        yield "float bar = bar0; uint below = below0;"
        for v in self.warps.mine[1:]:
            yield f"bar = v == {v} ? bar{v} : bar; below = v == {v} ? below{v} : below;"

    def close_row(self) -> Iterator[str]:
        """Keeps the bar."""
        for v in self.warps.mine:
            yield f"bar{v} = v == {v} ? bar : bar{v};"

    def share(self) -> Iterator[str]:
        """Makes the bars the least that the items know that share the row in a warp."""
        for v in self.warps.mine:
            for distance in (1, 2):
                other = f"cmr_shuffle_first_float(bar{v}, (uint)(lane ^ {distance}))"
                yield f"{{ const float other = {other}; bar{v} = fmin(other, bar{v}); }}"

    @property
    def lists_each(self) -> int:
        """Lists of a row in one split."""
        return 4 * self.box.across

    @property
    def _list(self) -> str:
        """C text of the number of the item's lists among the rows' in a split."""
        return f"warp % {self.box.across} * 4 + lane % 4"

    def leave(self) -> Iterator[str]:
        """Stores the item's lists, in order."""
        text, kept = self.listed, self.kept
        yield f"for (int v = 0; v < {len(self.warps.mine)}; v++) {{"
        yield text.outer.declare("acc")
        yield f"for (int n = 0; n < min(counts[v], {kept}); n++) {{"
        yield f"const idx place = kept_columns[v * {kept} + n]; const float value = kept_bounds[v * {kept} + n];"
        yield text.absorb("acc", 0, ["place"], text.outer, valued=lambda _v, _c: ("", ["value"]))
        yield "}"
        yield f"const idx row = {self.warps.row('v')};"
        yield f"if ({self.warps.inside('v')}) {{"
        yield f"const size_t at = (size_t)({self._list}) * {kept} * total + kept + row;"
        for name, _ in text.outer.parts:
            array = LISTS[name.startswith("place")]
            yield f"{array}[at + {name.rpartition('_')[2]} * (size_t)total] = acc_{name};"
        yield "} }"


@dataclass(frozen=True, eq=False)
class ListedText:
    """The statements that kernel/matrix/pairwise_nearest asks for. pairs: as the formula says. kept: columns of a list.
    lists: of a row in one split. barred: whether they began with bars.
    """

    pairs: PairText
    nearest: Nearest
    kept: int
    lists: int
    barred: bool

    @property
    def least(self) -> bool:
        """Whether lesser values are better."""
        return self.pairs.bound.side < 0

    @property
    def worst(self) -> str:
        """C text of what every value is at least as good as."""
        return "INFINITY" if self.least else "-INFINITY"

    def beats(self, new: str, old: str, equal: bool = False) -> str:
        """C text of whether a value is better than another one, or as good."""
        return f"{new} {'<' if self.least else '>'}{'=' if equal else ''} {old}"

    def way(self) -> str:
        """Declares `way`."""
        return WayText(self.nearest, self.pairs).declare()

    def bounded(self) -> str:
        """Declares `nearly`, the value that belongs to `bound`."""
        text = replace(self.pairs, pair=self.nearest.value)
        statements, (nearly,) = text.values(0, 0)
        product = "fmax(way * bound, 0.0f)" if self.nearest.rooted else "way * bound"
        given = f"{text.uniforms()} const float q0_0_0 = {product};"
        return f"float nearly; {{ {given} {statements} nearly = {nearly}; }}"

    def compute(self) -> Iterator[str]:
        """Folds the column into `acc`, and brings `bar` up to date."""
        pairs = self.pairs
        (contraction,) = pairs.pair.contractions
        yield pairs.column(0, "column")
        yield "float q0_0_0 = 0.0f;"
        yield f"for (int d = 0; d < {contraction.size}; d++) {{"
        for given, _ in contraction.wide:
            if given.role is Role.PARAMETER:
                yield f"const float w{given.name} = {element(given, 'd')};"
                continue
            name, index = (f"w{given.name}_0", "row") if given.role is Role.ROW else (f"w{given.name}_c0", "column")
            yield f"const float {name} = {element(given, f'{index} * {given.dim} + d')};"
        yield from pairs.contracted(contraction, 0, [(0, 0)])
        yield "}"
        yield pairs.outer.declare("one")
        yield pairs.absorb("one", 0, ["column"], pairs.outer)
        yield pairs.outer.merge("acc", "acc", "one")
        block = Statements(1, pairs.narrow, "bar_")
        bar = block.text(pairs.bound.bar(block.record("acc", pairs.outer.dtypes))).c
        yield f"{block} bar = {bar};"
