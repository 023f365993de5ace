"""Sums of scalars of the pair times long weights by matrix instructions: the scalars, made of products themselves, are
cut into pieces of 16 bits where they were computed, and multiplied by the weights' pieces.

Scalars are scaled by a power of two for every row and stage of columns, so that the largest is about 2^14; weights by
one for every number and stage. So a term is off by 2^-22 of itself, and by 2^-39 of the largest scalar of its stage
times the largest weight at most. Every stage's products are summed anew and then added: sums inside the instructions
are cut off, not rounded.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from clmapreduce.schemes.matrix_text import COLUMN_WORDS, DEPTH, ROW_WORDS, MatrixText, power_of_two
from clmapreduce.schemes.pair_text import PairText
from clmapreduce.tuning import MatrixWideBox

LARGEST = 14
"""Scalars and weights are scaled to about 2^14: below 65,504, where 16 bits end."""
PIECES = ("hi", "lo")


@dataclass(frozen=True, eq=False)
class MatrixWideText:
    """The statements that kernel/pairwise_matrix_wide and kernel/pairwise_matrix_pack ask for. matrix: of the scalar.
    wide: the pair with its expansion.
    """

    matrix: MatrixText
    wide: PairText
    box: MatrixWideBox

    @property
    def size(self) -> int:
        """Numbers of a row."""
        return self.wide.expansion.size

    @property
    def numbers(self) -> int:
        """Numbers of every row that a group computes."""
        return 8 * self.box.numbers

    @property
    def across(self) -> int:
        """Groups side by side along the numbers."""
        return -(-self.size // self.numbers)

    @property
    def column_words(self) -> int:
        """Words from the high pieces of 8 numbers to their low ones."""
        return COLUMN_WORDS

    @property
    def steps(self) -> int:
        """Instructions along a stage."""
        return self.box.tile // DEPTH

    # ---------------------------------------------------------------------------------------------------- places
    @property
    def weight_words(self) -> int:
        """Words of a stage's weights for a group's numbers."""
        return self.steps * self.box.numbers * 2 * COLUMN_WORDS

    @property
    def words(self) -> int:
        """Words of local memory: operands, weights, and rows of scalars where items do not hold them themselves."""
        held = 0 if self.matrix.registers else self.box.block // 32 * self.box.blocks * self.steps * 2 * ROW_WORDS
        return self._held_at + held

    @property
    def weights_at(self) -> int:
        """Where the weights begin."""
        return -(-self.matrix.words // 4) * 4

    @property
    def _held_at(self) -> int:
        return self.weights_at + self.weight_words

    def _weights(self, step: int, block: int, piece: int) -> int:
        """Where the pieces of a step's weights for 8 numbers begin, behind the stage's first."""
        return ((step * self.box.numbers + block) * 2 + piece) * COLUMN_WORDS

    # --------------------------------------------------------------------------------------------------- weights
    def weight(self, column: str, d: str) -> str:
        """Declares `weight`, what a column gives at number d; 0 beyond the last."""
        lines = ["float weight = 0.0f;", f"if ({column} < columns && {d} < {self.size}) {{"]
        lines += [self.wide.uniforms(), self.wide.column(0, column)]
        statements, texts = self.wide.long_column(0, column, d)
        return "\n".join([*lines, statements, f"weight = {texts[0]};", "}"])

    def word(self, d: str, k: str) -> str:
        """Where the pair of columns k, k + 1 of number d lies among a stage's high pieces."""
        step, block = f"({k}) / {DEPTH}", f"({d}) / 8"
        own = f"({d}) % 8 * 8 + ({k}) % {DEPTH} / 2 % 4 * 2 + ({k}) % {DEPTH} / 8"
        return f"(({step}) * {self.box.numbers} + {block}) * {2 * COLUMN_WORDS} + {own}"

    def scale(self, largest: str) -> str:
        return power_of_two(largest, LARGEST, 126)

    # --------------------------------------------------------------------------------------------------- scalars
    @property
    def _scalars(self) -> range:
        return range(2 * self.box.blocks)

    @property
    def _columns(self) -> range:
        """The item's columns of a stage."""
        return range(self.box.tile // 4)

    def declare(self) -> str:
        """Declares the item's scalars of a stage as 0."""
        return "\n".join(f"float {', '.join(f's{v}_{c} = 0.0f' for c in self._columns)};" for v in self._scalars)

    def compute(self) -> Iterator[str]:
        """The scalars of every block of 8 columns, of products."""
        for n in range(self.box.tile // 8):
            yield f"{{ {self.matrix.multiply(str(n))}"
            yield self.matrix.columns(f"lane % 4 * 2 + {8 * n}")
            for v in self._scalars:
                for c in range(2):
                    statements, (text,) = self.matrix.valued(v, c)
                    yield f"{{ {statements} s{v}_{2 * n + c} = {self._there(n, c)} ? {text} : 0.0f; }}"
            yield "}"

    def compute_exactly(self, place: str) -> Iterator[str]:
        """The same as the formula says. place: C text of the index of the column k."""
        exact = self.matrix.exact
        for v in self._scalars:
            yield f"{{ {exact.uniforms()}\n{exact.row(v, [f'row{v}'])}"
            for n in range(self.box.tile // 8):
                for c in range(2):
                    at = place.replace("$", f"(lane % 4 * 2 + {8 * n + c})")
                    statements, (text,) = exact.values(v, c)
                    yield f"if ({self._there(n, c)}) {{ {exact.column(c, at)}"
                    yield f"{statements}\ns{v}_{2 * n + c} = {text}; }}"
            yield "}"

    def _there(self, n: int, c: int) -> str:
        return f"lane % 4 * 2 + {8 * n + c} < count"

    def tops(self) -> Iterator[str]:
        """Raises what is known of every row's largest scalar."""
        for v in self._scalars:
            text = f"fabs(s{v}_0)"
            for c in self._columns[1:]:
                text = f"fmax({text}, fabs(s{v}_{c}))"
            some = " + ".join(f"s{v}_{c} * 0.0f" for c in self._columns)
            place = f"turn * {self.matrix.rows} + {self.matrix.places.row_place(v)}"
            yield f"atomic_max(&tops[{place}], as_int({text} + ({some})));"

    def hold(self) -> Iterator[str]:
        """Declares the pieces of the scalars as rows, h{r}_{step}_{piece}, and what undoes their scaling: down{v}."""
        for v in self._scalars:
            place = f"(turn ^ 1) * {self.matrix.rows} + {self.matrix.places.row_place(v)}"
            yield f"const float top{v} = as_float(tops[{place}]);"
            yield f"const float up{v} = {power_of_two(f'top{v}', LARGEST, 126)}, down{v} = 1.0f / up{v};"
        for r in range(self.box.blocks):
            for step in range(self.steps):
                pieces: dict[str, list[str]] = {piece: [] for piece in PIECES}
                yield "uint4 " + ", ".join(f"h{r}_{step}_{p}" for p in range(2)) + ";"
                yield "{"
                for n, half in ((0, 0), (0, 1), (1, 0), (1, 1)):
                    v, name = 2 * r + half, f"z{n}{half}"
                    for c in range(2):
                        scaled = f"s{v}_{4 * step + 2 * n + c} * up{v}"
                        yield f"const float {name}{c} = {scaled}, {name}{c}h = cmr_half_round_float({name}{c});"
                    pieces["hi"].append(f"cmr_half_pair_float({name}0h, {name}1h)")
                    pieces["lo"].append(f"cmr_half_pair_float({name}0 - {name}0h, {name}1 - {name}1h)")
                for p, piece in enumerate(PIECES):
                    own = f"((warp * {self.box.blocks} + {r}) * {self.steps} + {step}) * 2 + {p}"
                    place = f"{self._held_at} + ({own}) * {ROW_WORDS}"
                    rows = f"(uint4)({', '.join(pieces[piece])})"
                    yield f"h{r}_{step}_{p} = cmr_matrix_hold_uint4({rows}, memory, {place}, lane);"
                yield "}"

    # -------------------------------------------------------------------------------------------------- products
    def accumulators(self) -> Iterator[str]:
        """Declares the item's numbers: acc{v}_{b}_{c}_total0."""
        for v in self._scalars:
            names = [f"{self.acc(v, b, c)}_total0 = 0.0f" for b in range(self.box.numbers) for c in range(2)]
            yield f"float {', '.join(names)};"

    def acc(self, v: int, b: int, c: int) -> str:
        return f"acc{v}_{b}_{c}"

    def number(self, b: int, c: int) -> str:
        """C text of the number of the row that an accumulator is."""
        return f"(first_d + {8 * b + c} + lane % 4 * 2)"

    def products(self) -> Iterator[str]:
        """Adds a stage's products, less the scales."""
        for b in range(self.box.numbers):
            yield "{"
            for step in range(self.steps):
                for p in range(2):
                    at = self.weights_at + self._weights(step, b, p)
                    yield f"const uint2 w{step}_{p} = cmr_matrix_columns_uint2(memory, {at}, lane);"
            for c in range(2):
                yield f"const float unscale{c} = unscales[{8 * b + c} + lane % 4 * 2];"
            for r in range(self.box.blocks):
                yield f"float4 m{r};"
                parts = [(step, *pair) for step in range(self.steps) for pair in ((1, 0), (0, 1), (0, 0))]
                for k, (step, row, column) in enumerate(parts):
                    word, start = ("start", "") if k == 0 else ("product", f"m{r}, ")
                    yield f"m{r} = cmr_matrix_{word}_float4({start}h{r}_{step}_{row}, w{step}_{column}, memory, lane);"
                for half in range(2):
                    for c in range(2):
                        total = f"{self.acc(2 * r + half, b, c)}_total0"
                        part = f"m{r}.{'xyzw'[2 * half + c]}"
                        yield f"{total} = {total} + ({part} * unscale{c}) * down{2 * r + half};"
            yield "}"

    def add_exactly(self, place: str) -> Iterator[str]:
        """Adds a stage's terms as the formula says. place: C text of the index of the column k."""
        exact = self.matrix.exact
        at = place.replace("$", "k")
        for v in self._scalars:
            yield f"{{ {exact.uniforms()}\n{exact.row(v, [f'row{v}'])}"
            yield f"for (int k = 0; k < count; k++) {{ {exact.column(0, at)}"
            statements, (text,) = exact.values(v, 0)
            yield f"{statements}\nconst float scalar = {text}; const idx column = {at};"
            for b in range(self.box.numbers):
                for c in range(2):
                    total = f"{self.acc(v, b, c)}_total0"
                    yield f"{{ const idx d = {self.number(b, c)};\n{self.weight('column', 'd')}"
                    yield f"{total} = {total} + scalar * weight; }}"
            yield "} }"
