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
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import ClassVar, Protocol

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import EXP2_FAST, exp2_near
from clmapreduce.formula.node import Apply, Literal, Node
from clmapreduce.formula.text.side_by_side import SideBySide
from clmapreduce.lowering.bilinear import Factoring
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Bilinear, Pair, PairInput, Role
from clmapreduce.lowering.unique import rewritten
from clmapreduce.plan import LocalArray
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.pairs.matrix.boxes import MatrixBox
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.parts.computed import Several
from clmapreduce.schemes.pairs.parts.pair_formulas import PairText, tested_of

DEPTH = 16
"""Pieces that one instruction takes."""
ONE = "1.0f"
"""The piece that pieces of addends meet."""
NOTHING = ("0.0f", "0.0f")
"""Two pieces that meet in places without numbers."""
ROW_WORDS, COLUMN_WORDS = 128, 64
"""Words of an operand of one instruction: of 16 rows, and of 8 columns."""
SAMPLES = 32
"""Rows whose mean is the centre of a group's. What it is off by adds to the magnitudes: with 8, rows and columns of a
unit cube of 16 coordinates exceeded LIMIT.
"""
PROBES = 32
"""Columns that a group looks at before it begins: if one is too far from its rows, it need not begin."""
EXACT_TERMS = 24
"""Numbers of its rows that an item holds at once where the formula itself is computed: others need the registers."""
LIMIT = 16.0
"""The error of a sum of products is about 2⁻²² of the magnitudes that meet in it: they may add up to so much."""
LARGEST_ROW, LARGEST_COLUMN = 3, 1e4
"""Rows are scaled to about 2³; columns stay below this, far from the 65,504 where 16 bits end."""


class Pieces(Protocol):
    """Where the pieces of a product lie along the depth of its instructions."""

    @property
    def steps(self) -> int: ...

    @property
    def high(self) -> int: ...

    @property
    def meetings(self) -> list[tuple[str, str]]: ...


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

    @property
    def high(self) -> int:
        """Instructions whose sum is a product's; the others' is scaled, and joins it afterwards."""
        return self.steps

    @property
    def meetings(self) -> list[tuple[str, str]]:
        """The pieces of a row with those of a column that they meet: s0h, s0l, … of numbers, n0 n1 n2 of what a side
        adds.
        """
        own = [(f"s{k}{a}", f"s{k}{b}") for k in range(self.count) for a, b in ("hh", "hl", "lh")]
        lift = [(self.lift, ONE)] if self.lift else []
        return filled([*own, *addends("n0", "n1", "n2"), *lift], self.steps)


def steps_of(factoring: Factoring) -> int:
    """Instructions for the products of 16 rows and 8 columns."""
    return sum(OperandPieces(len(product.rows)).steps for product in factoring.products)


def addends(*pieces: str) -> list[tuple[str, str]]:
    """What pieces of a row's addend meet, and what those of a column's do."""
    return [(piece, ONE) for piece in pieces] + [(ONE, piece) for piece in pieces]


def filled(meetings: list[tuple[str, str]], steps: int) -> list[tuple[str, str]]:
    """As many as so many instructions take."""
    return meetings + [NOTHING] * (steps * DEPTH - len(meetings))


def short_steps(slots: Pieces) -> frozenset[int]:
    """The instructions of a product whose second half of pieces is 0."""
    ends = [slots.meetings[at + DEPTH // 2 : at + DEPTH] for at in range(0, slots.steps * DEPTH, DEPTH)]
    return frozenset(step for step, end in enumerate(ends) if set(end) == {NOTHING})


@once_per_pair
def _of_products(pair: Pair, bound: PairBound, factoring: Factoring, small: bool) -> tuple[Pair, PairBound]:
    """The pair whose values are made of products, and its operator. small: whether products are within LIMIT."""
    values, sums = factoring.values, bound.in_plain_sums() if small else None
    results = {id(product.result) for product in factoring.products}
    width = pair.width
    if sums is not None and all(id(value) in results for value in values[:width]):
        values, bound = tuple(sums.terms(values)), sums.bound
        width = len(values)
    return Pair(pair.inputs, values, width, bilinear=factoring.products, factors=pair.factors), bound


@once_per_pair
def _with_near_exponentials(pair: Pair) -> Pair:
    """The pair with the exponentials of products that polynomials compute."""
    ready = {id(product.result) for product in pair.bilinear}

    def change(node: Apply, args: tuple[Node, ...]) -> Node | None:
        return exp2_near(args[0]) if node.function is EXP2_FAST and id(node.args[0]) in ready else None

    new = rewritten(pair.values, change)
    values = tuple(new[id(node)] for node in pair.values)
    return Pair(pair.inputs, values, pair.width, bilinear=pair.bilinear, factors=pair.factors)


@dataclass(frozen=True, eq=False)
class HalfOperands:
    """What kernel/matrix/pairwise_matrix asks for. exact: the pair as it was given. factoring: its products, which
    follow from the pair. registers: whether items hold the rows' operands themselves, so that their place serves the
    columns. half: as for Warps.
    """

    exact: PairText
    factoring: Factoring = field(compare=False)
    box: MatrixBox
    registers: bool
    half: bool = False
    samples: ClassVar[int] = SAMPLES
    probes: ClassVar[int] = PROBES
    number_type: ClassVar[str] = "float"
    """The C type of the numbers that are cut into pieces."""
    small: ClassVar[bool] = True
    """Whether products are within LIMIT."""
    fine: ClassVar[bool] = False
    """Whether numbers have three pieces."""
    largest_column: ClassVar[float] = LARGEST_COLUMN

    @cached_property
    def pairs(self) -> PairText:
        """The values, made of products. Where they are products themselves and small, an operator that would shift
        exponents need not.
        """
        pair, bound = _of_products(self.exact.pair, self.exact.bound, self.factoring, self.small)
        return replace(self.exact, pair=pair, bound=bound, tiles="tile")

    @cached_property
    def near(self) -> PairText:
        """The same with exponentials that need no special function: those of products alone, which are small."""
        return replace(self.pairs, pair=_with_near_exponentials(self.pairs.pair))

    def valued(self, v: int, c: int) -> Several:
        """The values of the item's row v and its column c of a block."""
        share = self.box.share
        number = 2 * v + c
        return (self.near if share and number % share == share - 1 else self.pairs).values(v, c)

    def values_of(self, places: Sequence[tuple[int, int]]) -> SideBySide:
        """The values of several of the item's rows and columns. Beside functions that test their arguments no
        exponential is a polynomial: the unit that computes exponentials has time enough.
        """
        if tested_of(self.pairs.pair):
            return self.pairs.values_of(places)
        each = [self.valued(*place) for place in places]
        return SideBySide("\n".join(one.statements for one in each), [one.texts for one in each])

    @property
    def products(self) -> tuple[Bilinear, ...]:
        return self.factoring.products

    @cached_property
    def slots(self) -> Sequence[Pieces]:
        """Where the pieces of each product lie."""
        return tuple(OperandPieces(len(product.rows)) for product in self.products)

    @property
    def steps(self) -> int:
        """Instructions for all products of 16 rows and 8 columns."""
        return sum(slots.steps for slots in self.slots)

    @cached_property
    def short_steps(self) -> frozenset[int]:
        """Instructions that take but the first half of their pieces: the others are 0."""
        return frozenset(self.first(p) + step for p, slots in enumerate(self.slots) for step in short_steps(slots))

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
    def row_turns(self) -> int:
        """In how many turns the rows' operands pass through local memory."""
        return 1

    @property
    def row_words(self) -> int:
        """Words of the operands of a group's rows that are put at once."""
        return self.steps * self.places.down * self.box.blocks // self.row_turns * ROW_WORDS

    @property
    def words(self) -> int:
        """Words of local memory for the operands of a group's rows and of a tile; before them, for the samples."""
        columns = self.steps * self.box.tile // 8 * COLUMN_WORDS
        operands = max(self.row_words, columns) if self.registers else self.row_words + columns
        return max(operands, 0 if self.fine else self.samples * self.samples_apart)

    @property
    def samples_apart(self) -> int:
        """Words from one sample's numbers to the next one's: odd, so that items write to different banks."""
        return len(self.factoring.centres) | 1

    def operand_arrays(self, far: int) -> tuple[LocalArray, ...]:
        """The operands, what scales their numbers, and which of so many tiles are beyond the bound on errors."""
        largest = LocalArray("largest", "int", 3 * len(self.products))
        return LocalArray("memory", "uint", self.words, aligned=True), largest, LocalArray("far", "int", far)

    def row_operand(self, block: str, step: int) -> str:
        """Where the operand of 16 rows begins."""
        return f"(({block}) * {self.steps} + {step}) * {ROW_WORDS}"

    def column_operand(self, block: int | str, step: int | str) -> str:
        """Where the operand of 8 columns begins."""
        behind = "" if self.registers else f"{self.row_words} + "
        return f"{behind}(({block}) * {self.steps} + {step}) * {COLUMN_WORDS}"

    # ---------------------------------------------------------------------------------------------------- a group
    @cached_property
    def _middle(self) -> PairInput:
        """The centres, among the inputs of both sides."""
        symbols = tuple(symbol for symbol, _ in self.factoring.centres)
        return PairInput("centre", Role.PARAMETER, len(symbols), FLOAT32, symbols)

    @property
    def centres(self) -> Several:
        """The numbers of the row `at` whose means are the centres."""
        centres = self.factoring.centres
        return self._numbers([node for _, node in centres], Role.ROW, "at") if centres else Several("", ())

    def row_numbers(self, p: int, at: str) -> Several:
        """Those of a row in product p, what it adds behind them."""
        product = self.products[p]
        added = Literal(0, FLOAT32) if product.row is None else product.row
        return self._numbers((*product.rows, added), Role.ROW, at)

    def column_numbers(self, p: int, at: str) -> Several:
        """The same of a column."""
        product = self.products[p]
        added = Literal(0, FLOAT32) if product.column is None else product.column
        return self._numbers((*product.columns, added), Role.COLUMN, at)

    def scale(self, p: int) -> str:
        """C text of the rows' scale in product p, a power of two."""
        return power_of_two(f"most{p}", LARGEST_ROW)

    def unit(self, p: int) -> str:
        """C text of the power of two that product p comes times."""
        return "1.0f"

    @property
    def limit(self) -> float:
        """What the magnitudes that meet in a product may add up to, in its unit."""
        return LIMIT

    def row_pieces(self, p: int) -> Iterator[tuple[int, int, tuple[str, str]]]:
        """The pieces of a row in product p, two to a word: the instruction, the word of its operand, and the pieces."""
        for step, k, pair in self._words(p, [row for row, _ in self.slots[p].meetings]):
            yield step, k % 4 * 4 + k // 4 * 2, pair

    def column_pieces(self, p: int) -> Iterator[tuple[int, int, list[tuple[str, str]]]]:
        """The same of a column, four words at a time."""
        pieces = [column for _, column in self.slots[p].meetings]
        words = {(step, k % 4 * 2 + k // 4): pair for step, k, pair in self._words(p, pieces)}
        for step, word in sorted(words):
            if word % 4 == 0:
                yield step, word, [words[step, word + other] for other in range(4)]

    # ----------------------------------------------------------------------------------------------------- pairs
    @property
    def together(self) -> int:
        """Blocks of 8 columns that an operator takes at once: several where it asks first whether they matter."""
        return self._together(self.pairs.bound)

    @property
    def exact_together(self) -> int:
        """The same where the formula itself is computed; fewer, because this rare path has few registers."""
        return min(2, self._together(self.exact.bound))

    @property
    def exact_rows(self) -> list[range]:
        """The item's rows that are taken at once there."""
        mine = self.places.mine
        turns = -(-len(mine) // max(1, EXACT_TERMS // max(1, len(self.exact.pair.terms.rows))))
        return [mine[len(mine) * turn // turns : len(mine) * (turn + 1) // turns] for turn in range(turns)]

    def _together(self, bound: PairBound) -> int:
        return self.box.ahead if (bound.block or bound).rare else 1

    def first(self, p: int) -> int:
        """The first instruction of product p."""
        return sum(slots.steps for slots in self.slots[:p])

    # -------------------------------------------------------------------------------------------------- internals
    def _words(self, p: int, pieces: Sequence[str]) -> Iterator[tuple[int, int, tuple[str, str]]]:
        """Pieces of product p two to a word: the instruction, the word's number in its operand, and the two."""
        for word, pair in enumerate(zip(pieces[::2], pieces[1::2], strict=True)):
            step, k = divmod(word, 8)
            yield self.first(p) + step, k, pair

    def _numbers(self, values: Sequence[Node], role: Role, at: str) -> Several:
        """Some numbers of one side at an index."""
        pair = Pair((*self.exact.pair.inputs, self._middle), tuple(values), len(values))
        text = PairText(pair, self.exact.bound, self.exact.outputs, 1, self.exact.narrow, False)
        terms = text.row(0, [at]) if role is Role.ROW else text.column(0, at)
        statements, names = text.values(0, 0)
        return Several("\n".join([text.uniforms(), terms, statements]), names)


def power_of_two(of: str, to: int, most: int = 60) -> str:
    """C text of the power of two that scales a positive float to about 2^to; 2^most at most, 2^-most at least, and 1
    for what is not positive or not finite.
    """
    exponent = f"max({127 - most}, min({127 + most}, {to + 254} - (as_int({of}) >> 23)))"
    return f"({of} > 0.0f && isfinite({of}) ? as_float({exponent} << 23) : 1.0f)"
