"""Sums of products inside a pair's values as operands of matrix instructions: how numbers are split into pieces of 16
bits, where the pieces lie along the instruction's depth, and the bound on the error that decides what may use them.

A number is the sum of two pieces, 22 bits; what one side adds on its own is the sum of three. So Σ r_k c_k + r + c is

    rows     r1h r1h r1l … rn  rn' rn″ 1   1   1
    columns  c1h c1l c1h … 1   1   1   cn  cn' cn″

summed in float32. Rows are scaled by a power of two per group, columns by its reciprocal, so that no piece leaves the
range of 16 bits where the bound holds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from clmapreduce.dtypes import FLOAT32, HEX, c_name
from clmapreduce.formula.fast import EXP2_FAST, exp2_near
from clmapreduce.formula.node import Apply, Literal, Node, postorder
from clmapreduce.lowering.bilinear import Factoring
from clmapreduce.lowering.pair import Bilinear, Pair, PairInput, Role
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.pairs.matrix.boxes import MatrixBox
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.statements import PairText

DEPTH = 16
"""Pieces that one instruction takes."""
ROW_WORDS, COLUMN_WORDS = 128, 64
"""Words of an operand of one instruction: of 16 rows, and of 8 columns."""
SAMPLES = 8
"""Rows whose mean is the centre of a group's."""
LIMIT = 16.0
"""The error of a sum of products is about 2⁻²² of the magnitudes that meet in it: they may add up to so much."""
LARGEST_ROW, LARGEST_COLUMN = 3, 1e4
"""Rows are scaled to about 2³; columns stay below this, far from the 65,504 where 16 bits end."""


@dataclass(frozen=True)
class OperandPieces:
    """Where the pieces of one product lie. count: pairs of numbers. lift: C text of one piece more that a row adds."""

    count: int
    lift: str = ""

    @property
    def steps(self) -> int:
        """Instructions."""
        return -(-(self.lift_at + bool(self.lift)) // DEPTH)

    @property
    def lift_at(self) -> int:
        """The number of that piece."""
        return 3 * self.count + 6

    def rows(self) -> list[str]:
        """The pieces of a row in their order: r0h, r0l, … of its numbers, n0 n1 n2 of what it adds."""
        own = [piece for k in range(self.count) for piece in (f"r{k}h", f"r{k}h", f"r{k}l")]
        return self._filled([*own, "n0", "n1", "n2", *["1.0f"] * 3, self.lift])

    def columns(self) -> list[str]:
        """The pieces of a column that they meet."""
        own = [piece for k in range(self.count) for piece in (f"r{k}h", f"r{k}l", f"r{k}h")]
        return self._filled([*own, *["1.0f"] * 3, "n0", "n1", "n2", "1.0f" if self.lift else ""])

    def _filled(self, pieces: list[str]) -> list[str]:
        return [piece or "0.0f" for piece in pieces] + ["0.0f"] * (self.steps * DEPTH - len(pieces))


@dataclass(frozen=True, eq=False)
class ProductSide:
    """One side of one product: numbers that meet the other side's, and what is added."""

    numbers: tuple[Node, ...]
    added: Node


@dataclass(frozen=True, eq=False)
class MatrixText:
    """The statements that kernel/matrix/pairwise_matrix asks for. exact: the pair as it was given. factoring: its
    products. registers: whether items hold the rows' operands themselves, so that their place serves the columns. half:
    as for Warps.
    """

    exact: PairText
    factoring: Factoring
    box: MatrixBox
    registers: bool
    half: bool = False

    @cached_property
    def pairs(self) -> PairText:
        """The values, made of products. Where they are products themselves they are small, and an operator that would
        shift exponents need not.
        """
        pair, given, sums = self.exact.pair, self.factoring, self.exact.bound.in_plain_sums()
        values, bound = given.values, self.exact.bound
        results = {id(product.result) for product in given.products}
        if any(id(value) not in results for value in values[: pair.width]):
            sums = None
        if sums is not None:
            values, bound = tuple(sums.terms(values)), sums.bound
        width = pair.width if sums is None else len(values)
        made = Pair(pair.inputs, values, width, bilinear=given.products, factors=pair.factors)
        return replace(self.exact, pair=made, bound=bound, tiles="tile")

    @cached_property
    def near(self) -> PairText:
        """The same with exponentials that need no special function: those of products alone, which are small."""
        pair = self.pairs.pair
        ready = {id(product.result) for product in self.products}
        new: dict[int, Node] = {}
        for node in postorder(pair.values):
            made = node
            if isinstance(node, Apply):
                args = tuple(new[id(arg)] for arg in node.args)
                near = node.function is EXP2_FAST and id(node.args[0]) in ready
                if near or any(one is not other for one, other in zip(args, node.args, strict=True)):
                    made = exp2_near(args[0]) if near else Apply(node.function, args, node.dtype, node.weak)
            new[id(node)] = made
        values = tuple(new[id(node)] for node in pair.values)
        return replace(
            self.pairs, pair=Pair(pair.inputs, values, pair.width, bilinear=pair.bilinear, factors=pair.factors)
        )

    def valued(self, v: int, c: int) -> tuple[str, list[str]]:
        """The values of the item's row v and its column c of a block."""
        share = self.box.share
        number = 2 * v + c
        return (self.near if share and number % share == share - 1 else self.pairs).values(v, c)

    @property
    def products(self) -> tuple[Bilinear, ...]:
        return self.factoring.products

    @cached_property
    def slots(self) -> tuple[OperandPieces, ...]:
        return tuple(OperandPieces(len(product.rows)) for product in self.products)

    @property
    def steps(self) -> int:
        """Instructions for all products of 16 rows and 8 columns."""
        return sum(slots.steps for slots in self.slots)

    # ---------------------------------------------------------------------------------------------------- places
    @property
    def places(self) -> FragmentLayout:
        """Which rows the items compute."""
        return FragmentLayout(self.box.block, self.box.across, self.box.blocks, half=self.half)

    @property
    def rows(self) -> int:
        """Rows of a group."""
        return self.places.rows

    @property
    def row_words(self) -> int:
        """Words of the operands of a group's rows."""
        return self.steps * self.places.down * self.box.blocks * ROW_WORDS

    @property
    def words(self) -> int:
        """Words of local memory for the operands of a group's rows and of a tile."""
        columns = self.steps * self.box.tile // 8 * COLUMN_WORDS
        return max(self.row_words, columns) if self.registers else self.row_words + columns

    def row_operand(self, block: str, step: int) -> str:
        """Where the operand of 16 rows begins."""
        return f"(({block}) * {self.steps} + {step}) * {ROW_WORDS}"

    def column_operand(self, block: str, step: int) -> str:
        """Where the operand of 8 columns begins."""
        behind = "" if self.registers else f"{self.row_words} + "
        return f"{behind}(({block}) * {self.steps} + {step}) * {COLUMN_WORDS}"

    # ---------------------------------------------------------------------------------------------------- a group
    @cached_property
    def _middle(self) -> PairInput:
        """The centres, among the inputs of both sides."""
        symbols = tuple(symbol for symbol, _ in self.factoring.centres)
        return PairInput("centre", Role.PARAMETER, len(symbols), FLOAT32, symbols)

    def centres(self) -> str:
        """Declares the centres: means over a few rows, the same for every item. What is not finite counts as 0."""
        found = self.factoring.centres
        if not found:
            return ""
        text = self._text([node for _, node in found], Role.ROW)
        zeros = ", ".join(["0.0f"] * len(found))
        lines = [f"float centre[{len(found)}] = {{ {zeros} }};", f"for (int s = 0; s < {SAMPLES}; s++) {{"]
        lines.append(f"const idx at = first + (idx)((long)(till - first) * (2 * s + 1) / {2 * SAMPLES});")
        lines.append(text.uniforms())
        lines.append(text.row(0, ["at"]))
        statements, names = text.values(0, 0)
        lines.append(statements)
        lines += [f"centre[{k}] += isfinite({name}) ? {name} * {1 / SAMPLES}f : 0.0f;" for k, name in enumerate(names)]
        return "\n".join([*lines, "}"])

    def measure(self, at: str) -> str:
        """Raises what the group knows of its rows by one row: per product the largest number, the largest sum of their
        squares and the largest addend, as the bits of floats.
        """
        lines = []
        for p in range(len(self.products)):
            lines.append(f"{{ {self._declared(p, Role.ROW, at)}")
            lines.append(f"atomic_max(&largest[{3 * p}], as_int({self._largest(p)}));")
            lines.append(f"atomic_max(&largest[{3 * p + 1}], as_int({self._squares(p)}));")
            lines.append(f"atomic_max(&largest[{3 * p + 2}], as_int(fabs(r_added))); }}")
        return "\n".join(lines)

    def scales(self) -> str:
        """Declares what follows from them per product: the rows' scale, a power of two, and the products' unit."""
        lines = []
        for p in range(len(self.products)):
            lines.append(f"const float most{p} = as_float(largest[{3 * p}]);")
            lines.append(f"const float added{p} = as_float(largest[{3 * p + 2}]);")
            lines.append(f"const float scale{p} = {power_of_two(f'most{p}', LARGEST_ROW)};")
            lines.append(f"const float unit{p} = {self._unit(p)}, unscale{p} = unit{p} / scale{p};")
            lines.append(f"const float reach{p} = sqrt(as_float(largest[{3 * p + 1}]));")
        return "\n".join(lines)

    def put_row(self, at: str, slot: str) -> str:
        """Stores the pieces of the row `at` as number `slot` of the group's."""
        lines = [f"const int put_block = ({slot}) / 16, put_row = ({slot}) % 16;"]
        for p, pieces in enumerate(self.slots):
            lines.append(f"{{ {self._declared(p, Role.ROW, at)}")
            lines.append(self._pieces(p, f"scale{p}"))
            for step, k, pair in self._words(p, pieces.rows()):
                own = f"put_row % 8 * 16 + put_row / 8 + {k % 4 * 4 + k // 4 * 2}"
                lines.append(f"memory[{self.row_operand('put_block', step)} + {own}] = {pair};")
            lines.append("}")
        return "{\n" + "\n".join(lines) + "\n}"

    def put_column(self, at: str, slot: str, far: str) -> str:
        """Stores the pieces of the column `at` as number `slot` of the tile. far: a statement that notes that some of
        its pairs may be off by more than is promised.
        """
        lines = [f"const int put_block = ({slot}) / 8, put_column = ({slot}) % 8;"]
        for p, pieces in enumerate(self.slots):
            lines.append(f"{{ {self._declared(p, Role.COLUMN, at)}")
            lines.append(f"const float size = sqrt({self._squares(p)});")
            lines.append(f"const float magnitude = (reach{p} * size + fabs(r_added) + added{p}) * unit{p};")
            near = f"magnitude <= {self._limit()}f && size * unscale{p} <= {LARGEST_COLUMN}f"
            lines.append(f"if (!({near})) {far}")
            lines.append(self._noted(p))
            lines.append(self._pieces(p, f"unscale{p}"))
            found = {(step, k % 4 * 2 + k // 4): pair for step, k, pair in self._words(p, pieces.columns())}
            for step, word in sorted(found):
                if word % 4 == 0:
                    four = ", ".join(found[step, word + other] for other in range(4))
                    place = f"{self.column_operand('put_block', step)} + put_column * 8 + {word}"
                    lines.append(f"cmr_matrix_put_uint4(memory, {place}, (uint4)({four}));")
            lines.append("}")
        return "{\n" + "\n".join(lines) + "\n}"

    # ----------------------------------------------------------------------------------------------------- pairs
    def load_rows(self) -> str:
        """Declares the item's share of the operands of its rows."""
        found = []
        for r in range(self.box.blocks):
            for step in range(self.steps):
                at = self.row_operand(f"warp / {self.box.across} * {self.box.blocks} + {r}", step)
                found.append(f"const uint4 a{r}_{step} = cmr_matrix_rows_uint4(memory, {at}, lane);")
        return "\n".join(found)

    @property
    def together(self) -> int:
        """Blocks of 8 columns that an operator takes at once: several where it asks first whether they matter."""
        return self._together(self.pairs.bound)

    @property
    def exact_together(self) -> int:
        """The same where the pair is computed as it was given; fewer, as registers are short for what is rarely run."""
        return min(2, self._together(self.exact.bound))

    def _together(self, bound: PairBound) -> int:
        return self.box.ahead if (bound.block or bound).rare else 1

    def multiply(self, block: str, e: int = 0) -> str:
        """Declares the products of the item's rows and its two columns of a block of 8, numbers 2 e and 2 e + 1 of
        those that are taken at once: q{v}_{c}_{p}.
        """
        lines = []
        for r in range(self.box.blocks):
            for p in range(len(self.products)):
                lines += [f"float4 m{r}_{p}_{e};"]
        lines += ["{", *self._columns(block)]
        for r in range(self.box.blocks):
            for p in range(len(self.products)):
                lines += self._product(f"m{r}_{p}_{e}", r, p)
        lines.append("}")
        for v in self.places.mine:
            for p in range(len(self.products)):
                for c in range(2):
                    part = f"m{v // 2}_{p}_{e}.{'xyzw'[v % 2 * 2 + c]}"
                    lines.append(f"const float q{v}_{2 * e + c}_{p} = {part};")
        return "\n".join(lines)

    def columns(self, block: str, e: int = 0, text: PairText | None = None) -> str:
        """Declares the terms of the item's two columns of a block of 8, numbers 2 e and 2 e + 1 of those that are taken
        at once: where they are numbers on their own, one load brings both. text: `exact` for its terms instead of those
        of `pairs`. Pointers are added up, not indices: NVIDIA's compiler then knows places of blocks that lie side by
        side without computing them.
        """
        lines, text, own = [], text or self.pairs, f"lane % 4 * 2 + 8 * ({block})"
        for p, (dtype, width, taken) in enumerate(text.packs()):
            kind = c_name(dtype, width)
            if width == 1:
                both = c_name(dtype, 2)
                lines.append(f"const {both} t{e}_{p} = *(__local const {both} *)({text.tiles}{p} + {own});")
            for c in range(2):
                if width > 1:
                    lines.append(f"const {kind} t{2 * e + c}_{p} = ({text.tiles}{p} + {own})[{c}];")
                for place, k in enumerate(taken):
                    part = f"t{e}_{p}.{'xy'[c]}" if width == 1 else f"t{2 * e + c}_{p}.s{HEX[place]}"
                    lines.append(f"const {c_name(dtype)} y{2 * e + c}_{k} = {part};")
        return "\n".join(lines)

    # -------------------------------------------------------------------------------------------------- internals
    def _unit(self, p: int) -> str:
        """C text of the power of two that product p comes times."""
        return "1.0f"

    def _limit(self) -> float:
        """What the magnitudes that meet in a product may add up to, in its unit."""
        return LIMIT

    def _noted(self, p: int) -> str:
        """What else is done with the `magnitude` of a column."""
        return ""

    def _words(self, p: int, pieces: Sequence[str]) -> Iterator[tuple[int, int, str]]:
        """Pieces of product p two to a word: the instruction, the word's number in its operand, and its text."""
        for word, (low, high) in enumerate(zip(pieces[::2], pieces[1::2], strict=True)):
            step, k = divmod(word, 8)
            yield self._first(p) + step, k, f"cmr_half_pair_float({low}, {high})"

    def _first(self, p: int) -> int:
        """The first instruction of product p."""
        return sum(slots.steps for slots in self.slots[:p])

    def _columns(self, block: str) -> list[str]:
        """Declares the item's share of the operands of 8 columns."""
        return [
            f"const uint2 b{step} = cmr_matrix_columns_uint2(memory, {self.column_operand(block, step)}, lane);"
            for step in range(self.steps)
        ]

    def _product(self, name: str, r: int, p: int) -> list[str]:
        """Gives a variable product p of the item's block r of rows and those columns."""
        first = self._first(p)
        lines = [f"{name} = {self._product_start(r, first)};"]
        for step in range(first + 1, first + self.slots[p].steps):
            lines.append(f"{name} = cmr_matrix_product_float4({name}, a{r}_{step}, b{step}, memory, lane);")
        return lines

    def _product_start(self, r: int, step: int) -> str:
        """C text of the sum of a product's first instruction."""
        return f"cmr_matrix_start_float4(a{r}_{step}, b{step}, memory, lane)"

    def _text(self, values: Sequence[Node], role: Role) -> PairText:
        """Some numbers of one side as a pair of their own."""
        pair = Pair((*self.exact.pair.inputs, self._middle), tuple(values), len(values))
        return PairText(pair, self.exact.bound, self.exact.outputs, 1, self.exact.narrow, False)

    def _side(self, p: int, role: Role) -> ProductSide:
        product = self.products[p]
        numbers, added = product.rows, product.row
        if role is Role.COLUMN:
            numbers, added = product.columns, product.column
        return ProductSide(numbers, added if added is not None else Literal(0, FLOAT32))

    def _declared(self, p: int, role: Role, at: str) -> str:
        """Declares the numbers r0, r1, … of one side of product p at an index, and r_added."""
        side = self._side(p, role)
        text = self._text((*side.numbers, side.added), role)
        terms = text.row(0, [at]) if role is Role.ROW else text.column(0, at)
        statements, names = text.values(0, 0)
        lines = [text.uniforms(), terms, statements]
        lines += [f"const float r{k} = {name};" for k, name in enumerate(names[:-1])]
        return "\n".join([*lines, f"const float r_added = {names[-1]};"])

    def _largest(self, p: int) -> str:
        """C text of the largest of the declared numbers."""
        text = "fabs(r0)"
        for k in range(1, len(self.products[p].rows)):
            text = f"fmax({text}, fabs(r{k}))"
        return text

    def _squares(self, p: int) -> str:
        return " + ".join(f"r{k} * r{k}" for k in range(len(self.products[p].rows)))

    def _pieces(self, p: int, scale: str) -> str:
        """Declares the pieces of what is declared."""
        lines = []
        for k in range(len(self.products[p].rows)):
            lines.append(
                f"const float s{k} = r{k} * {scale}, r{k}h = cmr_half_round_float(s{k}), r{k}l = s{k} - r{k}h;"
            )
        lines.append(f"const float n = r_added * unit{p}, n0 = cmr_half_round_float(n), n_left = n - n0;")
        lines.append("const float n1 = cmr_half_round_float(n_left), n2 = n_left - n1;")
        return "\n".join(lines)


def power_of_two(of: str, to: int, most: int = 60) -> str:
    """C text of the power of two that scales a positive float to about 2^to; 2^most at most, 2^-most at least, and 1
    for what is not positive or not finite.
    """
    exponent = f"max({127 - most}, min({127 + most}, {to + 254} - (as_int({of}) >> 23)))"
    return f"({of} > 0.0f && isfinite({of}) ? as_float({exponent} << 23) : 1.0f)"
