"""The statements of the formulas of a pair and of its operator, as C text for templates.

Names in a kernel: `u…` terms of neither row nor column, `x{v}_…` terms of row vector v (`lanes` rows), `y{c}_…` terms
of the c-th column taken at once, `acc{v}_…` and `part{v}_…` accumulators, `q{v}_{c}_{k}` contractions. What statements
declare stays known in the scope where they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from clmapreduce.dtypes import DType, broadcast_text, c_name, literal, widened
from clmapreduce.formula.node import Apply, Node, Record, postorder
from clmapreduce.formula.text.emit import Text
from clmapreduce.formula.text.side_by_side import MOST, SideBySide, side_by_side, tested
from clmapreduce.formula.text.statements import Statements
from clmapreduce.lowering.pair import Contraction, Expansion, Pair, PairInput, Role
from clmapreduce.plan import LocalArray
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.reductions.pairs.watched import WatchedSum
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.arrays import element, gathered, parameters_of
from clmapreduce.schemes.common.outputs import OutputArray
from clmapreduce.schemes.pairs.parts.column_packs import ColumnPack, packs_of
from clmapreduce.schemes.pairs.parts.computed import Computed, Declared, Several, Variable
from clmapreduce.schemes.pairs.parts.folding import Folding
from clmapreduce.schemes.pairs.parts.powers import powers_of
from clmapreduce.schemes.pairs.parts.results import LeftNumber, Result


class ContractionSum(NamedTuple):
    """A sum over `size` coordinates: its C type, and 0."""

    type: str
    zero: str
    size: int


class LongRow(NamedTuple):
    """The long vectors of rows: the C type of a number, the array that keeps them, and what every row vector has at
    coordinate d.
    """

    type: str
    name: str
    size: int
    texts: Sequence[str]


@dataclass(frozen=True, eq=False)
class PairText:
    """One pair under one operator, for `lanes` pairs at once. `staged`: columns come from tiles in local memory.
    `along`: whether the lanes are rows, all with the same column, or columns of the same row. `outputs`: dtypes of the
    results in memory. `tiles`: what a tile's arrays are called. `shared`: another text's packs, whose arrays this one
    takes where it would have the same.
    """

    pair: Pair
    bound: PairBound
    outputs: tuple[DType, ...]
    lanes: int
    narrow: bool
    staged: bool
    along: Role = Role.ROW
    tiles: str = "tile"
    shared: tuple[ColumnPack, ...] = ()

    @property
    def kind(self) -> str:
        """The C type that is computed with, one lane."""
        return c_name(self.pair.dtype)

    @property
    def outer(self) -> OperatorText:
        """The operator over everything."""
        return OperatorText(self.bound, self.narrow)

    @property
    def inner(self) -> OperatorText | None:
        """The operator within a tile of columns, where that is another one."""
        return OperatorText(self.bound.block, self.narrow) if self.bound.block is not None else None

    # ------------------------------------------------------------------------------------------------ arguments
    def parameters(self) -> list[str]:
        """The kernel's parameters for the pair's inputs."""
        return parameters_of(self.pair.inputs)

    # ---------------------------------------------------------------------------------------------------- terms
    def uniforms(self) -> str:
        """Declares the terms that no pair changes."""
        block = Statements(1, self.narrow, "ub")
        self._read(block, Role.PARAMETER, "ui", lambda variable, d: element(variable, str(d)))
        return self._declared(block, Role.PARAMETER, "u", 1)

    def row(self, v: int, places: Sequence[str]) -> str:
        """Declares the terms of row vector v, whose rows stand at the places, one per lane."""
        block = Statements(len(places), self.narrow, f"xb{v}_")
        self._bind(block, {Role.PARAMETER: "u"})
        self._read(block, Role.ROW, f"xi{v}_", lambda variable, d: gathered(variable, places, str(d)))
        return self._declared(block, Role.ROW, f"x{v}_", len(places))

    def column(self, c: int, at: str) -> str:
        """Declares the terms of a column, or of those of all lanes, from the inputs at the index `at`."""
        places = self._lane_places(at)
        block = Statements(len(places), self.narrow, f"yb{c}_")
        self._bind(block, {Role.PARAMETER: "u"})
        self._read(block, Role.COLUMN, f"yi{c}_", lambda variable, d: gathered(variable, places, str(d)))
        return self._declared(block, Role.COLUMN, f"y{c}_", len(places))

    def _lane_places(self, at: str) -> list[str]:
        """The columns that begin at one: those of all lanes, where lanes are columns."""
        return [f"({at} + {lane})" for lane in range(self.lanes if self.along is Role.COLUMN else 1)]

    @cached_property
    def packs(self) -> list[ColumnPack]:
        """How a column's terms lie in a tile, array by array."""
        return packs_of(self.pair.terms.columns, self.tiles, self.shared)

    def tile(self, count: int, aligned: bool = False) -> tuple[LocalArray, ...]:
        """The arrays that hold a tile of columns."""
        return tuple(LocalArray(pack.array, pack.type, count, aligned) for pack in self.packs)

    @property
    def column_bytes(self) -> int:
        """Bytes of a column in a tile, without arrays of another text."""
        return sum(pack.bytes for pack in self.packs if pack.own)

    # ---------------------------------------------------------------------------------------------------- pairs
    def folding(self, op: OperatorText, acc: str, names: Sequence[Sequence[str]], at: Sequence[str]) -> Folding:
        """How the values of some columns, given as texts, are folded into `acc`. at: the columns' indices."""
        bound = op.bound
        assert isinstance(bound, PairBound)
        dtypes = [node.dtype for node in self.pair.values]
        return Folding(op, bound, self.lanes, self.along is Role.ROW, acc, names, dtypes, at)

    def values(self, v: int, c: int) -> Several:
        """The values of row vector v and column c."""
        return self.numbers(self.pair.values, v, c)

    def numbers(self, nodes: Sequence[Node], v: int, c: int) -> Several:
        """The same of any nodes that are made of terms and products."""
        block = self._block(v, c)
        texts = [block.texts(node)[""] for node in nodes]
        return Several(str(block), texts)

    def values_of(self, places: Sequence[tuple[int, int]]) -> SideBySide:
        """The values of several row vectors and columns."""
        blocks = [self._block(v, c) for v, c in places]
        return side_by_side(blocks, self.pair.values, self._tested, "b{}_{}_".format(*places[0]))

    def together(self, vectors: Sequence[int], columns: int) -> list[Sequence[int]]:
        """The row vectors in parts whose values had better be computed at once. columns: of each."""
        size = max(1, MOST // columns) if self._tested else 1
        return [vectors[first : first + size] for first in range(0, len(vectors), size)]

    @cached_property
    def _tested(self) -> list[Apply]:
        """The functions of a pair that test their arguments, where a test of several pairs is no vector's already."""
        return tested_of(self.pair) if self.lanes == 1 else []

    def _block(self, v: int, c: int) -> Statements:
        """A block that knows the terms and the products of row vector v and column c."""
        powers = powers_of(self.pair, self.lanes > 1)
        inline = self._inline | powers.inline
        block = Statements(self.lanes, self.narrow, f"p{v}_{c}_", inline=inline, instead=powers.instead)
        self._bind(block, {Role.PARAMETER: "u", Role.ROW: f"x{v}_", Role.COLUMN: f"y{c}_"})
        for k, contraction in enumerate(self.pair.contractions):
            block.bind(contraction.result, Text(f"q{v}_{c}_{k}"))
        for k, product in enumerate(self.pair.bilinear):
            block.bind(product.result, Text(f"q{v}_{c}_{k}"))
        return block

    @property
    def expansion(self) -> Expansion:
        """The pair's."""
        assert self.pair.expansion is not None
        return self.pair.expansion

    @property
    def plain(self) -> bool:
        """Whether the expansion is a product of one scalar and one number of the column, 0 where both are."""
        return len(self.expansion.scalars) == 1 and is_product(self.expansion)

    def long_column(self, c: int, at: str, d: str) -> Several:
        """What column c, at the index `at`, gives the expansion at coordinate d. Its terms are declared. One lane."""
        block = Statements(1, self.narrow, f"w{c}_", inline=self.pair.products)
        self._bind(block, {Role.PARAMETER: "u", Role.COLUMN: f"y{c}_"})
        return self._long(block, self.expansion.columns, [at], d)

    def long_row(self, v: int, places: Sequence[str], d: str) -> Several:
        """What row vector v, whose rows stand at the places, gives at coordinate d."""
        block = Statements(len(places), self.narrow, f"z{v}_", inline=self.pair.products)
        self._bind(block, {Role.PARAMETER: "u"})
        return self._long(block, self.expansion.rows, places, d)

    def _long(self, block: Statements, parts: Sequence[Contraction], places: Sequence[str], d: str) -> Several:
        for variable, symbol in parts[0].wide if parts else ():
            if variable.role is Role.PARAMETER:
                block.bind(symbol, Text(broadcast_text(symbol.dtype, element(variable, d), block.lanes)))
            else:
                block.bind(symbol, Text(gathered(variable, [f"({at})" for at in places], d)))
        texts = [block.text(part.term).c for part in parts]
        return Several(str(block), texts)

    def long_term(self, lanes: int, scalars: Sequence[str], rows: Sequence[str], columns: Sequence[str]) -> Computed:
        """A pair's long value at one coordinate; its parts are texts."""
        expansion = self.expansion
        block = Statements(lanes, self.narrow, "e", inline=self.pair.products)
        symbols = (*expansion.scalars, *(part.result for part in (*expansion.rows, *expansion.columns)))
        for symbol, text in zip(symbols, (*scalars, *rows, *columns), strict=True):
            block.bind(symbol, Text(text))
        text = block.text(expansion.term).c
        return Computed(str(block), text)

    @property
    def _inline(self) -> frozenset[int]:
        """Which products the values are written with: a value that the operator uses twice is none of them."""
        if self.bound.reuses:
            return self.pair.products - {id(node) for node in self.pair.values}
        return self.pair.products

    # ---------------------------------------------------------------------------------------------- contractions
    @property
    def contractions(self) -> list[ContractionSum]:
        """The sums over coordinates that a pair's values need."""
        kinds = [(c.result.dtype, c.size) for c in self.pair.contractions]
        return [ContractionSum(c_name(d, self.lanes), literal(0, d, self.lanes), size) for d, size in kinds]

    def coordinates(self, k: int, vectors: int, columns: Sequence[str], stride: int) -> Iterator[Variable]:
        """What contraction k needs at coordinate d for some row vectors and columns (their places). stride: as many row
        vectors lie side by side in their arrays.
        """
        contraction = self.pair.contractions[k]
        dtype = contraction.result.dtype
        kind = c_name(dtype, self.lanes)
        for variable, _ in contraction.wide:
            if variable.role is Role.ROW:
                texts = {f"_{v}": f"x_{variable.name}[d * {stride} + {v}]" for v in range(vectors)}
            elif variable.role is Role.COLUMN:
                texts = {f"_c{c}": gathered(variable, self._lane_places(at), "d") for c, at in enumerate(columns)}
            else:
                texts = {"": element(variable, "d")}
            for suffix, text in texts.items():
                whole = text if variable.role is self.along else broadcast_text(dtype, text, self.lanes)
                yield Variable(kind, f"w{variable.name}{suffix}", whole)

    def term(self, k: int, v: int, c: int) -> Computed:
        """What a coordinate adds to contraction k of row vector v and column c."""
        contraction = self.pair.contractions[k]
        block = Statements(self.lanes, self.narrow, f"t{v}_{c}_", inline=self.pair.products)
        self._bind(block, {Role.PARAMETER: "u", Role.ROW: f"x{v}_", Role.COLUMN: f"y{c}_"})
        for variable, symbol in contraction.wide:
            suffix = {Role.ROW: f"_{v}", Role.COLUMN: f"_c{c}", Role.PARAMETER: ""}[variable.role]
            block.bind(symbol, Text(f"w{variable.name}{suffix}"))
        for earlier, ended in enumerate(self.pair.contractions[:k]):
            block.bind(ended.result, Text(f"q{v}_{c}_{earlier}"))
        text = block.text(contraction.term).c
        return Computed(str(block), text)

    def long_rows(self, places: Sequence[Sequence[str]]) -> Iterator[LongRow]:
        """The rows' long vectors. places: of the rows of every vector."""
        wide = {id(g): g for c in self.pair.contractions for g, _ in c.wide if g.role is Role.ROW}
        for variable in wide.values():
            kind = c_name(variable.symbols[0].dtype, len(places[0]))
            yield LongRow(kind, f"x_{variable.name}", variable.dim, [gathered(variable, rows, "d") for rows in places])

    # --------------------------------------------------------------------------------------------------- results
    def seed(self, v: int) -> Declared:
        """The accumulator `part{v}` of a tile of columns, as it begins."""
        inner = self.inner
        assert inner is not None
        block = Statements(self.lanes, self.narrow, f"s{v}_")
        seed = self.bound.seed(block.record(f"acc{v}", self.outer.dtypes))
        texts = {name: block.texts(node)[""] for name, node in seed.items()}
        kinds = {name: c_name(dtype, self.lanes) for name, dtype in inner.dtypes.items()}
        return Declared(str(block), [Variable(kind, f"part{v}_{name}", texts[name]) for name, kind in kinds.items()])

    def tile_merge(self, v: int) -> str:
        """Statements that merge `part{v}` into `acc{v}`, times the factors that waited."""
        inner, outer = self.inner, self.outer
        assert inner is not None
        block = Statements(self.lanes, self.narrow, f"m{v}_")
        acc, part = block.record(f"acc{v}", outer.dtypes), self.bound.widened(block.record(f"part{v}", inner.dtypes))
        if self.pair.factors:
            self._bind(block, {Role.PARAMETER: "u"})
            names = [c.name for c in self.bound.components]
            part = Record({n: part[n] * factor for n, factor in zip(names, self.pair.factors, strict=True)})
        merged = self.bound.merge(acc, part)
        block.assign({f"acc{v}_{name}": merged[name] for name in outer.dtypes})
        return str(block)

    @property
    def bar(self) -> Computed:
        """What a value must beat to enter the accumulator `acc`."""
        block = Statements(1, self.narrow, "bar_")
        text = block.text(self.bound.bar(block.record("acc", self.outer.dtypes))).c
        return Computed(str(block), text)

    def sound(self, acc: str, inner: bool = False) -> Computed:
        """Whether a watched sum is within its error in every lane. inner: one of a tile of columns."""
        op = self.inner if inner else self.outer
        assert op is not None and isinstance(self.bound, WatchedSum)
        block = Statements(self.lanes, self.narrow, f"{acc}_ok_")
        text = block.text(~self.bound.sound(block.record(acc, op.dtypes))).c
        return Computed(str(block), f"!cmr_any_int{self.lanes}({text})" if self.lanes > 1 else f"!({text})")

    @property
    def left_numbers(self) -> list[LeftNumber]:
        """An accumulator's numbers as they wait in memory, widest first, so that each one's array is aligned."""
        numbers, before = [], 0
        for name, dtype in self.sorted_components():
            numbers.append(LeftNumber(c_name(dtype), name, before))
            before += dtype.itemsize
        return numbers

    def sorted_components(self) -> list[tuple[str, DType]]:
        """The accumulator's components, widest first."""
        parts = [(c.name, c.dtype) for c in self.bound.components]
        return sorted(parts, key=lambda part: -part[1].itemsize)

    def results(self, acc: str, lanes: int, count: str) -> list[Result]:
        """What is stored of an accumulator, output by output. count: C text of the columns that were reduced."""
        block = Statements(lanes, self.narrow, f"f{acc}_", uniform=True)
        outputs = self.bound.finish_pairs(block.record(acc, self.outer.dtypes), block.index(count))
        results = []
        for k, (dtype, nodes) in enumerate(zip(self.outputs, outputs, strict=True)):
            texts = [block.texts(node.astype(widened(dtype)))[""] for node in nodes]
            results.append(Result(OutputArray(f"out{k}", dtype), block.drained(), texts))
        return results

    # ------------------------------------------------------------------------------------------------- internals
    def _bind(self, block: Statements, prefixes: dict[Role, str]) -> None:
        """Gives a block the terms that are declared, by the prefix of their names."""
        for role, prefix in prefixes.items():
            for k, node in enumerate(self.pair.terms.of(role)):
                text = f"{prefix}{k}"
                if role is not self.along:
                    text = broadcast_text(node.dtype, text, block.lanes)
                block.bind(node, Text(text))

    def _read(self, block: Statements, role: Role, prefix: str, read: Callable[[PairInput, int], str]) -> None:
        """Binds the symbols of one role's inputs to what is read, those that the role's terms use."""
        used = {id(node) for node in postorder(self.pair.terms.of(role))}
        for variable in self.pair.inputs:
            for d, symbol in enumerate(variable.symbols):
                if variable.role is role and id(symbol) in used:
                    name = f"{prefix}{variable.name}_{d}"
                    block.add(f"const {c_name(symbol.dtype, block.lanes)} {name} = {read(variable, d)};")
                    block.bind(symbol, Text(name))

    def _declared(self, block: Statements, role: Role, prefix: str, lanes: int) -> str:
        """A block's statements, then the terms of a role as variables."""
        lines = []
        for k, node in enumerate(self.pair.terms.of(role)):
            text = block.text(node).c
            lines.append(f"const {c_name(node.dtype, lanes)} {prefix}{k} = {text};")
        return "\n".join([str(block), *lines])


def tested_of(pair: Pair) -> list[Apply]:
    """A pair's functions that test their arguments, without those of one side, which are computed once."""
    roles = (Role.PARAMETER, Role.ROW, Role.COLUMN)
    return tested(pair.values, {id(node) for role in roles for node in pair.terms.of(role)})


def is_product(expansion: Expansion) -> bool:
    """Whether an expansion's term is its first scalar times its only number of the column."""
    term = expansion.term
    assert isinstance(term, Apply)
    return bool(expansion.columns) and term.args[1] is expansion.columns[0].result
