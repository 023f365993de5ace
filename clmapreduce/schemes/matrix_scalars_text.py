"""The scalars of pairs, made of products by matrix instructions, as the operands of others: cut into two pieces of 16
bits where they were computed, relative to a scale of their row.

Scales are powers of two, and lowered where a stage brings a scalar that would leave the range of 16 bits. A scalar that
is 2 to a product comes scaled: its product begins at the exponent of the row's scale.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clmapreduce.formula.fast import EXP2_FAST
from clmapreduce.formula.node import Apply
from clmapreduce.schemes.matrix_text import DEPTH, ROW_WORDS, MatrixText
from clmapreduce.tuning_matrix import MatrixWideBox

AT_FIRST, AT_MOST = 12, 15
"""A row's largest scalar is scaled to about 2^12, anew when it would pass 2^15."""
MOST, BEGIN = 126, 100
"""Scales are powers of two between 2^-126 and 2^126; a row's begins at 2^100, with which every scalar that matters
leaves the range, and only falls.
"""


@dataclass(frozen=True, eq=False)
class RaisedText(MatrixText):
    """Products that begin at lift{v}, the exponent of the scale of their row."""

    def _product_start(self, r: int, step: int) -> str:
        lifts = f"(float4)(lift{2 * r}, lift{2 * r}, lift{2 * r + 1}, lift{2 * r + 1})"
        return f"cmr_matrix_from_float4({lifts}, a{r}_{step}, b{step}, memory, lane)"


@dataclass(frozen=True, eq=False)
class ScalarsText:
    """The statements about a stage's scalars. matrix: of the scalar. registers: whether items hold operands themselves
    and can ask each other; else their place in local memory is behind `held_at`.
    """

    matrix: MatrixText
    box: MatrixWideBox
    registers: bool
    held_at: int

    @property
    def steps(self) -> int:
        """Instructions along a stage."""
        return self.box.tile // DEPTH

    @property
    def rows(self) -> range:
        """Numbers of the item's rows."""
        return range(2 * self.box.blocks)

    @property
    def _columns(self) -> range:
        """The item's columns of a stage."""
        return range(self.box.tile // 4)

    def declare(self, columns: Sequence[int] | None = None) -> str:
        """Declares the item's scalars of a stage, s{v}_{c}, or some of them."""
        taken = self._columns if columns is None else columns
        return "\n".join(f"float {', '.join(f's{v}_{c}' for c in taken)};" for v in self.rows)

    def compute(self) -> Iterator[str]:
        """The scalars of every block of 8 columns, of products. Columns beyond the last are the last one."""
        yield self.matrix.load_rows()
        for n in range(self.box.tile // 8):
            yield from self._block(n, self.matrix)

    def compute_held(self) -> Iterator[str]:
        """The same and their pieces, as in `hold`, a few columns at a time."""
        raised = self._raised
        yield self.matrix.load_rows()
        for v in self.rows if raised is not None else ():
            yield f"const float lift{v} = (float)((as_int(up{v}) >> 23) - 127);"
        for step in range(self.steps):
            yield f"{{ {self.declare(range(4 * step, 4 * step + 4))}"
            yield from self._block(2 * step, raised or self.matrix)
            yield from self._block(2 * step + 1, raised or self.matrix)
            yield from self._hold(step, raised is not None)
            yield "}"

    @property
    def _raised(self) -> MatrixText | None:
        """What says the products of a scalar that is 2 to one of them."""
        given = self.matrix
        (value,) = given.pairs.pair.values
        power = isinstance(value, Apply) and value.function is EXP2_FAST and len(given.products) == 1
        if not isinstance(value, Apply) or not power or value.args[0] is not given.products[0].result:
            return None
        return RaisedText(given.exact, given.factoring, given.box, given.registers)

    def _block(self, n: int, matrix: MatrixText) -> Iterator[str]:
        yield f"{{ {matrix.multiply(f'at / 8 + {n}')}"
        yield self.matrix.columns(f"at + lane % 4 * 2 + {8 * n}")
        for v in self.rows:
            for c in range(2):
                statements, (text,) = self.matrix.valued(v, c)
                yield f"{{ {statements} s{v}_{2 * n + c} = {text}; }}"
        yield "}"

    def compute_exactly(self, place: str) -> Iterator[str]:
        """The same as the formula says, through an array, so that this rare case is a loop that asks for no registers
        of its own. place: C text of the index of the column $.
        """
        exact, each = self.matrix.exact, len(self._columns)
        yield f"float told[{len(self.rows) * each}];\n#pragma unroll 1"
        yield f"for (int e = 0; e < {len(self.rows) * each}; e++) {{"
        yield f"const int v = e / {each}, k = lane % 4 * 2 + e % {each} / 2 * 8 + e % 2;"
        yield f"const idx row = {self.matrix.places.row_index('v')};\ntold[e] = 0.0f;"
        statements, (text,) = exact.values(0, 0)
        terms = f"{exact.uniforms()}\n{exact.row(0, ['row'])}\n{exact.column(0, place.replace('$', 'k'))}"
        yield f"if (k < count) {{ {terms}"
        yield f"{statements}\ntold[e] = {text}; }} }}"
        for v in self.rows:
            yield " ".join(f"s{v}_{c} = told[{v * each + c}];" for c in self._columns)

    def tops(self) -> Iterator[str]:
        """Declares the item's largest scalar of each of its rows, top{v}; NaN where one is."""
        for v in self.rows:
            names = [f"s{v}_{c}" for c in self._columns]
            while len(names) > 1:
                over = names[len(names) // 2 * 2 :]
                names = [f"cmr_magnitude_float({a}, {b})" for a, b in zip(names[::2], names[1::2], strict=False)] + over
            yield f"float top{v} = {names[0]};"

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

    def declare_held(self) -> str:
        """Declares the pieces of the scalars as rows, h{r}_{step}_{piece}; and seen{r}, the largest high ones."""
        blocks = range(self.box.blocks)
        held = "\n".join(f"uint4 h{r}_{step}_0, h{r}_{step}_1;" for r in blocks for step in range(self.steps))
        return f"{held}\nuint {', '.join(f'seen{r} = 0' for r in blocks)};" if self.registers else held

    def hold(self) -> Iterator[str]:
        """The pieces of the scalars."""
        for step in range(self.steps):
            yield from self._hold(step)

    def _hold(self, step: int, scaled: bool = False) -> Iterator[str]:
        """scaled: whether the scalars come scaled."""
        for r in range(self.box.blocks):
            yield "{"
            places = ((0, 0), (0, 1), (1, 0), (1, 1))
            for n, side in places:
                v, name, first = 2 * r + side, f"{n}{side}", 4 * step + 2 * n
                x, y = (f"s{v}_{first + c}" + ("" if scaled else f" * up{v}") for c in range(2))
                yield f"const float x{name} = {x}, y{name} = {y};"
                yield f"const uint z{name} = cmr_half_pair_float(x{name}, y{name});"
                if self.registers:
                    yield f"seen{r} = cmr_half_larger_uint(seen{r}, z{name});"
            pieces = [[f"z{n}{side}" for n, side in places], [self._left(f"{n}{side}") for n, side in places]]
            for p, words in enumerate(pieces):
                own = f"((warp * {self.box.blocks} + {r}) * {self.steps} + {step}) * 2 + {p}"
                place = f"{self.held_at} + ({own}) * {ROW_WORDS}"
                yield f"h{r}_{step}_{p} = cmr_matrix_hold_uint4((uint4)({', '.join(words)}), memory, {place}, lane);"
            yield "}"

    def overflown(self) -> str:
        """C text of whether some scalar no longer suits its row's scale, by its high piece; NaN does not."""
        limit = (AT_MOST + 15) << 10
        seen = [f"(seen{r} & 0xffffu) > {limit}u || seen{r} >> 16 > {limit}u" for r in range(self.box.blocks)]
        return " || ".join(seen)

    def _left(self, name: str) -> str:
        """C text of what the high pieces leave of two scalars."""
        low, high = f"x{name} - cmr_half_low_float(z{name})", f"y{name} - cmr_half_high_float(z{name})"
        return f"cmr_half_pair_float({low}, {high})"
