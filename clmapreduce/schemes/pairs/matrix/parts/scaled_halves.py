"""The scalars of pairs, made of products by matrix instructions, as the operands of others: cut into two pieces of 16
bits where they were computed, relative to a scale of their row.

Scales are powers of two, and lowered where a stage brings a scalar that leaves the range of 16 bits: its pieces are not
finite, nor is what the row's instructions sum up then. A scalar that is 2 to a product comes scaled: the exponent of
the row's scale is one more piece that the row adds to its products.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import ClassVar

from clmapreduce.formula.fast import EXP2_FAST
from clmapreduce.formula.node import Apply
from clmapreduce.schemes.pairs.matrix.boxes import MatrixWideBox
from clmapreduce.schemes.pairs.matrix.parts.halves import DEPTH, ROW_WORDS, MatrixText, OperandPieces

AT_FIRST, AT_MOST = 13, 16
"""A row's largest scalar is scaled to about 2^13, again when it would reach 2^16, where 16 bits end."""
AT_LEAST = -4
"""Two pieces hold all digits of scaled scalars from 2^-4 on."""
USUAL_REACH, FAR = 6, 31
"""Exponents of pairs reach 2^6 in either direction, or what a column has noted; FAR stands for too much."""
MOST, BEGIN = 126, 100
"""Scales are powers of two between 2^-126 and 2^126; a row's begins at 2^100, with which every scalar that matters
leaves the range, and only falls.
"""


@dataclass(frozen=True, eq=False)
class LiftedText(MatrixText):
    """Products of rows that add one piece more, which the items that own it may change: the exponent of a scale.
    Columns note how far exponents reach.
    """

    @cached_property
    def slots(self) -> tuple[OperandPieces, ...]:
        return tuple(OperandPieces(len(one.rows), f"{BEGIN}.0f") for one in self.products)

    def lift(self, v: int, by: str) -> str:
        """Changes that piece of the item's row v. by: C text of a whole number."""
        step, piece = divmod(self.slots[0].lift_at, DEPTH)
        word, side = divmod(piece, 2)
        at = f"{self.row_operand(f'warp * {self.box.blocks} + {v // 2}', step)} + lane * 4 + {v % 2 + word // 4 * 2}"
        kept, shift = ("0xffffu", " << 16") if side else ("0xffff0000u", "")
        put = f"memory[{at}] = memory[{at}] & {kept} | cmr_half_bits_float({by}){shift};"
        return f"if (lane % 4 == {word % 4}) {put}"

    def _noted(self, p: int) -> str:
        reach = "atomic_max(&far[bank], mark * 32 + (int)ceil(magnitude));"
        return f"else if (magnitude > {USUAL_REACH}.0f) {reach}"


def is_power(matrix: MatrixText) -> bool:
    """Whether the scalar is 2 to the one product."""
    (value,) = matrix.pairs.pair.values
    power = isinstance(value, Apply) and value.function is EXP2_FAST and len(matrix.products) == 1
    return isinstance(value, Apply) and power and value.args[0] is matrix.products[0].result


@dataclass(frozen=True, eq=False)
class ScalarsText:
    """The statements about a stage's scalars. matrix: of the scalar. registers: whether items hold operands themselves
    and can ask each other; else their place in local memory is behind `held_at`. kept: whether the pieces of a stage
    are kept, else those of one instruction's columns, which are used up at once.
    """

    matrix: MatrixText
    box: MatrixWideBox
    registers: bool
    kept: bool
    held_at: int
    usual_reach: ClassVar[int] = USUAL_REACH
    far: ClassVar[int] = FAR

    @property
    def steps(self) -> int:
        """Instructions along a stage."""
        return self.box.tile // DEPTH

    @property
    def rows(self) -> range:
        """Numbers of the item's rows."""
        return range(2 * self.box.blocks)

    @property
    def _lifted(self) -> LiftedText | None:
        """What says the products of scalars that come scaled."""
        return self.matrix if isinstance(self.matrix, LiftedText) else None

    def each_step(self, *statements: Iterable[str]) -> Iterator[str]:
        """The statements for the columns of every instruction along a stage, `step`."""
        yield f"#pragma unroll {self.steps if self.kept else self.box.unroll}"
        yield f"for (int step = 0; step < {self.steps}; step++) {{"
        for some in statements:
            yield from some
        yield "}"

    def compute(self) -> Iterator[str]:
        """Declares the item's scalars of one instruction's columns, s{v}_{c}, of products; `matrix.load_rows` goes
        before. Columns beyond the last are the last one.
        """
        yield self._declare()
        for n in range(2):
            block = f"at / 8 + 2 * step + {n}"
            yield f"{{ {self.matrix.multiply(block)}\n{self.matrix.columns(block)}"
            for v in self.rows:
                for c in range(2):
                    statements, (text,) = self.matrix.valued(v, c)
                    yield f"{{ {statements} s{v}_{2 * n + c} = {text}; }}"
            yield "}"

    def compute_held(self) -> Iterator[str]:
        """The same and their pieces; notes the smallest where nothing else bounds it."""
        yield from self.compute()
        yield from self._hold()

    def _declare(self) -> str:
        return "\n".join(f"float {', '.join(f's{v}_{c}' for c in range(4))};" for v in self.rows)

    def _noting(self, scalar: str) -> str:
        """Lowers `least` to a scalar. One that is 0 has its digits, but leaves its weight nothing."""
        return f"least = fmin(least, {scalar} == 0.0f ? zero : fabs({scalar}));"

    def declare_least(self) -> str:
        """Declares `least`, of no scalars yet. need: what they may not be below."""
        return f"const float zero = need > {2.0**AT_LEAST}f ? 0.0f : INFINITY;\nfloat least = INFINITY;"

    @property
    def bounds_least(self) -> bool:
        """Whether the reach of exponents says how small scalars are, so that they are not looked at."""
        return self._lifted is not None

    def least(self) -> str:
        """C text of a bound of the stage's scaled scalars."""
        if not self.bounds_least:
            return "least"
        lowest = f"up{self.rows[0]}"
        for v in self.rows[1:]:
            lowest = f"fmin({lowest}, up{v})"
        return f"as_float(as_int({lowest}) - (reach << 23))"

    def computed_tops(self) -> Iterator[str]:
        """Declares the largest scalar of each of the item's rows, unscaled, top{v}; NaN where one is."""
        yield f"float {', '.join(f'top{v} = 0.0f' for v in self.rows)};\n{{"
        if self._lifted is not None:
            yield from (self._lifted.lift(v, "0.0f") for v in self.rows)
        yield self.matrix.load_rows()
        tops = (f"top{v} = cmr_magnitude_float(top{v}, s{v}_{c});" for v in self.rows for c in range(4))
        yield from self.each_step(self.compute(), tops)
        yield "}"

    def lift(self) -> Iterator[str]:
        """Makes products come scaled, where they do."""
        if self._lifted is not None:
            yield from (self._lifted.lift(v, f"(float)((as_int(up{v}) >> 23) - 127)") for v in self.rows)

    def share_tops(self) -> Iterator[str]:
        """Makes them those of the row, where items can ask each other."""
        for distance in (1, 2):
            for v in self.rows:
                other = f"beside{distance}_{v}"
                yield f"const float {other} = cmr_shuffle_first_float(top{v}, (uint)(lane ^ {distance}));"
                yield f"top{v} = cmr_magnitude_float(top{v}, {other});"

    def raise_tops(self) -> Iterator[str]:
        """Raises what the group knows of its rows."""
        for v in self.rows:
            yield f"atomic_max(&tops[turn * {self.matrix.rows} + {self.matrix.places.row_place(v)}], as_int(top{v}));"

    def read_tops(self) -> Iterator[str]:
        for v in self.rows:
            yield f"top{v} = as_float(tops[turn * {self.matrix.rows} + {self.matrix.places.row_place(v)}]);"

    def scales(self) -> str:
        """Declares the rows' scales, up{v}."""
        return "\n".join(f"float up{v} = {2.0**BEGIN}f;" for v in self.rows)

    def odd(self) -> str:
        """C text of whether one of the item's scalars is not finite."""
        return " || ".join(f"!isfinite(top{v})" for v in self.rows)

    def held(self, r: int, piece: int) -> str:
        """C text of the pieces of block r of rows and one instruction's columns."""
        return f"h{r}_{piece}[step]" if self.kept else f"h{r}_{piece}"

    def declare_held(self) -> str:
        """Declares the pieces of the scalars as rows."""
        size = f"[{self.steps}]" if self.kept else ""
        return "\n".join(f"uint4 h{r}_0{size}, h{r}_1{size};" for r in range(self.box.blocks))

    def _hold(self) -> Iterator[str]:
        """The pieces of the declared scalars, scaled: the digits that 16 bits hold, and what they leave."""
        scaled = self._lifted is not None
        for r in range(self.box.blocks):
            yield "{"
            pieces: tuple[list[str], list[str]] = ([], [])
            for n, side in product(range(2), repeat=2):
                v, names = 2 * r + side, [f"x{n}{side}_{c}" for c in range(2)]
                for c, name in enumerate(names):
                    given = f"s{v}_{2 * n + c}" + ("" if scaled else f" * up{v}")
                    yield f"const float {name} = {given}, {name}h = as_float(as_uint({name}) & 0xffffe000u);"
                    if not self.bounds_least:
                        yield self._noting(name)
                pieces[0].append("cmr_half_pair_float({}h, {}h)".format(*names))
                pieces[1].append("cmr_half_pair_float({0} - {0}h, {1} - {1}h)".format(*names))
            for p, words in enumerate(pieces):
                own = f"((warp * {self.box.blocks} + {r}) * {self.steps} + step) * 2 + {p}"
                place = f"{self.held_at} + ({own}) * {ROW_WORDS}"
                yield f"{self.held(r, p)} = cmr_matrix_hold_uint4((uint4)({', '.join(words)}), memory, {place}, lane);"
            yield "}"
