"""The statements of sums of scalars times long weights by matrix instructions, where items have computed the scalars
of a tile: these become row operands, and the weights are brought to local memory tile by tile.

The instructions take floats with all of their exponents, as two pieces of 11 bits each (tf32): no row and no column
needs a scale, and whatever the magnitudes are, a product is off by about 2⁻²³ of itself. Infinities and NaN have no
pieces: they leave no sum of theirs finite, and a group that ends up with such a sum is computed again as the formula
says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from clmapreduce.schemes.pairs.long_numbers import LongNumbers, weight_of
from clmapreduce.schemes.pairs.matrix.boxes import MatrixWeightedBox
from clmapreduce.schemes.pairs.matrix.parts.fragments import FragmentLayout
from clmapreduce.schemes.pairs.statements import PairText

BESIDE = 4
"""Words of local memory between the weights of two columns: with them no two items of a warp want the same bank."""
REST = 2.0**-12
"""What the sums of last digits count."""


@dataclass(frozen=True, eq=False)
class WeightedText(LongNumbers):
    """pairs: the scalars. wide: the pair with its expansion. warps: which pairs an item holds. registers: whether items
    hold operands themselves; else these wait in local memory. scattered: whether a tile's columns may lie apart.
    weights_at: where the weights begin in local memory. centre: how long the centre is that numbers are relative to; 0
    for none. part: which of the expansion's columns they are.
    """

    pairs: PairText
    wide: PairText
    box: MatrixWeightedBox
    warps: FragmentLayout
    registers: bool
    scattered: bool
    weights_at: int = 0
    centre: int = 0
    part: int = 0

    # ---------------------------------------------------------------------------------------------------- places
    @property
    def cells(self) -> str:
        """What a group computes, for `explain`."""
        return f"{self.warps.rows} rows and {self.numbers} of {self.size} numbers a group"

    @property
    def stride(self) -> int:
        """Words from one column's weights to the next ones."""
        return self.numbers + BESIDE

    @property
    def held_at(self) -> int:
        """Where the scalars begin, where items do not hold them: behind two tiles' weights."""
        return self.weights_at + 2 * self.box.tile * self.stride

    @property
    def end(self) -> int:
        """Where all of that ends."""
        return self.held_at + (0 if self.registers else self.warps.rows * self.box.tile)

    @property
    def columns(self) -> range:
        """Numbers of the item's columns in a tile."""
        return range(2 * self.box.columns)

    def column_place(self, c: int) -> str:
        """Where the item's column number c lies in its tile."""
        return f"at_column + {c // 2 * 8 + c % 2}"

    # --------------------------------------------------------------------------------------------------- weights
    def weight(self, column: str, d: str) -> str:
        """Declares `weight`, what a column gives at number d; 0 beyond the last."""
        lines = [weight_of(self.wide, column, d, self.part)]
        if self.centre:
            lines.append(f"if ({column} < columns && {d} < {self.size}) weight -= centre[{d}];")
        return "\n".join(lines)

    @property
    def centres(self) -> list[str]:
        """The kernels' parameters for the centre."""
        return ["__global const float *restrict centre"] if self.centre else []

    def offset_centre(self, batch: str) -> str:
        """Moves it to its part for one element of the batch."""
        return f"centre += (size_t){batch} * {self.centre};" if self.centre else ""

    @property
    def parameters(self) -> list[str]:
        """The parameters of the kernel over all pairs for what is made of the weights."""
        return ["__global const float *restrict weights", *self.centres]

    def find(self) -> str:
        """Declares my_weights, where those of the group's numbers begin."""
        own = f"((size_t)batch * {self.across} + block_d) * padded * {self.numbers // 4}"
        return f"__global const uint4 *my_weights = (__global const uint4 *)weights + {own};"

    def bring(self, half: str, tile: str) -> str:
        """Has a tile's weights copied to local memory. tile: C text of its first column; where columns lie apart, of
        where in `places` it begins.
        """
        lines, block, each = [], self.box.block, self.numbers // 4
        count = self.box.tile * each
        for k in range(0, count, block):
            e = f"({k} + item)"
            place = f"({tile}) + {e} / {each}"
            column = f"places[{place}]" if self.scattered else place
            to = f"memory + {self.weights_at} + (({half}) * {self.box.tile} + {e} / {each}) * {self.stride}"
            guard = f"if (item < {count - k}) " if k + block > count else ""
            source = f"my_weights + (size_t)({column}) * {each} + {e} % {each}"
            lines.append(f"{guard}cmr_copy_async_uint4((__local uint4 *)({to}) + {e} % {each}, {source});")
        return "\n".join(lines)

    # --------------------------------------------------------------------------------------------------- scalars
    def compute(self, declared: Callable[[int], str], bounded: bool) -> Iterator[str]:
        """Declares the item's scalars, p{v}_{c}. declared: says the terms of its column number c. bounded: whether they
        are 0 for columns beyond the last, whose weights may be those of another one.
        """
        rows = self.warps.mine
        for v in rows:
            yield f"float {', '.join(f'p{v}_{c}' for c in self.columns)};"
        for c in self.columns:
            yield "{"
            yield declared(c)
            for v in rows:
                statements, (text,) = self.pairs.values(v, c)
                yield f"{{ {statements} p{v}_{c} = {text}; }}"
            yield "}"
        if bounded or self.scattered:
            yield f"if (count < {self.box.tile}) {{"
            for c in self.columns:
                yield f"if ({self.column_place(c)} >= count) {' = '.join(f'p{v}_{c}' for v in rows)} = 0.0f;"
            yield "}"

    # -------------------------------------------------------------------------------------------------- products
    def accumulators(self) -> Iterator[str]:
        """Declares the item's numbers: acc{v}_{b}_{c}_total0."""
        for v in self.warps.mine:
            yield f"float {', '.join(f'{total} = 0.0f' for total in self._totals(v))};"

    def _totals(self, v: int) -> list[str]:
        return [f"{self.acc(v, b, c)}_total0" for b in range(self.box.numbers) for c in range(2)]

    def acc(self, v: int, b: int, c: int) -> str:
        return f"acc{v}_{b}_{c}"

    def number(self, b: int, c: int) -> str:
        """C text of the number of the row that an accumulator is."""
        return f"(first_d + {8 * b + c} + lane % 4 * 2)"

    def hold(self) -> Iterator[str]:
        """Makes row operands of the scalars: a{r}_{n} of a block of rows and one of columns."""
        for r in range(self.box.rows):
            for n in range(self.box.columns):
                words = [f"as_uint(p{2 * r + side}_{2 * n + c})" for c in range(2) for side in range(2)]
                place = f"{self.held_at} + ((warp * {self.box.rows} + {r}) * {self.box.columns} + {n}) * 128"
                held = f"cmr_matrix_hold_uint4((uint4)({', '.join(words)}), memory, {place}, lane)"
                yield f"const uint4 a{r}_{n} = {held};"

    def expand(self) -> Iterator[str]:
        """Adds the tile's products of scalars and weights, summed up apart from the sums before; their last digits have
        sums of their own.
        """
        for first in range(0, self.box.numbers, self.box.chains):
            blocks = range(first, min(first + self.box.chains, self.box.numbers))
            sums = [f"{kind}{r}_{b}" for b in blocks for r in range(self.box.rows) for kind in ("sum", "rest")]
            yield "{"
            yield f"float4 {', '.join(f'{name} = (float4)(0.0f)' for name in sums)};"
            for n in range(self.box.columns):
                for b in blocks:
                    at = f"{self.weights_at} + (half_now * {self.box.tile} + {8 * n}) * {self.stride} + {8 * b}"
                    yield f"const uint2 w{n}_{b} = cmr_matrix_numbers_uint2(memory, {at}, {self.stride}, lane);"
                    for r in range(self.box.rows):
                        for kind in ("rest", "sum"):
                            operands = f"{kind}{r}_{b}, a{r}_{n}, w{n}_{b}, memory, lane"
                            yield f"{kind}{r}_{b} = cmr_matrix_{kind}_float4({operands});"
            for b in blocks:
                for v in self.warps.mine:
                    for c in range(2):
                        part = f"{v // 2}_{b}.{'xyzw'[v % 2 * 2 + c]}"
                        yield f"{self.acc(v, b, c)}_total0 += fma(rest{part}, {REST}f, sum{part});"
            yield "}"

    def note(self, v: int) -> str:
        """Makes `odd` 1 where one of the item's numbers of a row is not finite."""
        return " ".join(f"odd |= !isfinite({total});" for total in self._totals(v))
