"""The statements of tiles of pairs whose inner products over long vectors matrix instructions compute: operands stage by
stage through local memory, results in registers, where the item that holds them makes them distances, asks whether they
may be trusted, and folds the pairs' values.

A result is off by about 2⁻²² of its row's and column's norms, and by what instructions cut off when they add: 2⁻²⁵ each.
That is as much as the distance may lose where it is not much smaller than the norms, or as an exponent may where they are
small. An item whose distances are neither, or whose rows or columns have no finite scale, computes its pairs as the
formula says, from the inputs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clmapreduce.schemes.long_products import LongProduct
from clmapreduce.schemes.matrix_places import Warps
from clmapreduce.schemes.operand_text import OperandText
from clmapreduce.schemes.pair_text import PairText, element
from clmapreduce.tuning import MatrixLongBox
from clmapreduce.vector.pair import Pair

LEAST = 0.25
"""A distance may be so much smaller than the norms that it is made from."""
LIMIT = 16
"""An exponent may be off by so many 2⁻²²."""
LONGEST = 20
"""Steps that are added up by instructions alone: what they cut off adds up too."""


@dataclass(frozen=True, eq=False)
class MatrixLongText:
    """The statements that kernel/pairwise_matrix_long asks for. pairs: one lane, nothing staged. batched: whether the
    operands of rows, and of columns, have a part for every element of the batch.
    """

    pairs: PairText
    product: LongProduct
    box: MatrixLongBox
    batched: tuple[bool, bool]

    @cached_property
    def warps(self) -> Warps:
        return Warps(self.box.block, self.box.across, self.box.rows)

    @property
    def rows(self) -> int:
        """Rows of a group."""
        return self.warps.rows

    @property
    def columns(self) -> int:
        """Columns of an item: two of every block."""
        return 2 * self.box.columns

    @cached_property
    def sides(self) -> tuple[OperandText, OperandText]:
        """How the operands of rows and of columns lie."""
        product = self.product
        rows = OperandText(product.row, self.rows, product.distance)
        return rows, OperandText(product.column, self.box.tile, product.distance)

    @property
    def steps(self) -> int:
        """Stages of a tile."""
        return self.sides[0].steps

    @property
    def stage(self) -> int:
        """Words of local memory for one."""
        return sum(side.stage for side in self.sides)

    def parameters(self) -> list[str]:
        """The kernel's parameters for what the sides' launches leave."""
        facts = [f"__global const float *restrict {name}" for name in ("row_facts", "column_facts")]
        return [*facts, *(f"__global const uint4 *restrict {name}" for name in ("row_operands", "column_operands"))]

    def offsets(self, batch: str) -> str:
        """Moves them to their part for one element of the batch."""
        lines = []
        for side, name, batched in zip(self.sides, ("row", "column"), self.batched, strict=True):
            if batched:
                lines.append(f"const size_t {name}_tiles = ({name}s + {side.tile - 1}) / {side.tile};")
                lines.append(f"{name}_facts += {batch} * {name}_tiles * {side.tile * side.facts};")
                lines.append(f"{name}_operands += {batch} * {name}_tiles * {side.steps * side.stage // 4};")
        return "\n".join(lines)

    # ------------------------------------------------------------------------------------------------- products
    def copy(self, turn: str) -> str:
        """Has the next stage copied to local memory. next_rows, next_columns: where the item's share of it begins."""
        lines, place, block = [], 0, self.box.block
        for side, name in zip(self.sides, ("next_rows", "next_columns"), strict=True):
            count = side.stage // 4
            for k in range(0, count, block):
                to = f"(__local uint4 *)(memory + ({turn}) * {self.stage}) + {place + k} + item"
                guard = f"if (item < {count - k}) " if k + block > count else ""
                lines.append(f"{guard}cmr_copy_async_uint4({to}, {name} + {k});")
            place += count
        return "\n".join(lines)

    def open(self) -> str:
        """Declares the sums of products of the item's pairs as zero; and sums of them, where there are many steps."""
        names = [f"m{r}_{n}" for r in range(self.box.rows) for n in range(self.box.columns)]
        lines = [f"float4 {name} = (float4)(0.0f, 0.0f, 0.0f, 0.0f);" for name in names]
        if self.steps > LONGEST:
            lines += [f"float4 t{name} = (float4)(0.0f, 0.0f, 0.0f, 0.0f);" for name in names]
        return "\n".join(lines)

    def multiply(self, turn: str) -> str:
        """Adds the products of one stage: small ones first."""
        box = self.box
        lines = [f"const int stage_at = ({turn}) * {self.stage};"]
        rows, columns = (side.words for side in self.sides)
        for n in range(box.columns):
            at = f"stage_at + {self.sides[0].stage} + (warp % {box.across} * {box.columns} + {n}) * {columns}"
            lines.append(f"const uint4 b{n} = cmr_matrix_columns_uint4(memory, {at}, lane);")
        for r in range(box.rows):
            at = f"stage_at + (warp / {box.across} * {box.rows} + {r}) * {rows}"
            lines.append(f"const uint4 h{r} = cmr_matrix_rows_uint4(memory, {at}, lane);")
            lines.append(f"const uint4 l{r} = cmr_matrix_rows_uint4(memory, {at} + {rows // 2}, lane);")
            for a, b in ((f"l{r}", "xy"), (f"h{r}", "zw"), (f"h{r}", "xy")):
                for n in range(box.columns):
                    words = f"(uint2)(b{n}.{b[0]}, b{n}.{b[1]})"
                    lines.append(f"m{r}_{n} = cmr_matrix_product_float4(m{r}_{n}, {a}, {words}, memory, lane);")
        return "\n".join(lines)

    def collect(self, s: str) -> str:
        """After every so many steps, moves what the instructions have added up to the sums of sums."""
        if self.steps <= LONGEST:
            return ""
        lines = [f"if ({s} % {LONGEST} == {LONGEST - 1} || {s} == {self.steps - 1}) {{"]
        for r in range(self.box.rows):
            for n in range(self.box.columns):
                zero = "(float4)(0.0f, 0.0f, 0.0f, 0.0f)"
                each = " ".join(f"tm{r}_{n}.{x} += m{r}_{n}.{x};" for x in "xyzw")
                lines.append(f"{each} m{r}_{n} = {zero};")
        return "\n".join([*lines, "}"])

    # ---------------------------------------------------------------------------------------------------- places
    def column_place(self, c: int) -> str:
        """Where the item's column number c lies in its tile."""
        return f"at_column + {c // 2 * 8 + c % 2}"

    # --------------------------------------------------------------------------------------------------- results
    def results(self) -> str:
        """Declares the contractions q{v}_{c}_0 of the item's pairs, and `doubtful`: whether some have lost more digits
        than they may.
        """
        distance, box = self.product.distance, self.box
        lines = ["float all = 0.0f, least = INFINITY, largest_x = 0.0f, largest_y = 0.0f;"]
        for n in range(box.columns):
            count = 2 * self.sides[1].facts
            at = f"column_facts + (size_t)(j0 + at_column + {8 * n}) * {self.sides[1].facts}"
            lines.append(f"const float{count} yf{n} = CMR_LOAD(float{count}, {at});")
            for c in range(2):
                scale = f"yf{n}.{'yw'[c]} * -2.0f" if distance else f"yf{n}.{'xy'[c]}"
                lines.append(f"const float ys{2 * n + c} = {scale};")
                if distance:
                    lines.append(f"const float yn{2 * n + c} = yf{n}.{'xz'[c]};")
                    lines.append(f"largest_y = fmax(largest_y, yn{2 * n + c}); all += yn{2 * n + c};")
                lines.append(f"all += ys{2 * n + c};")
        for v in self.warps.mine:
            lines.append(self._row_facts(v))
            for c in range(self.columns):
                summed = "tm" if self.steps > LONGEST else "m"
                text = f"({summed}{v // 2}_{c // 2}.{'xyzw'[v % 2 * 2 + c % 2]} * xs{v}) * ys{c}"
                text = f"(xn{v} + yn{c}) + {text}" if distance else text
                lines.append(f"float q{v}_{c}_0 = {text};")
                if distance:
                    lines.append(f"least = fmin(least, q{v}_{c}_0);")
        lines.append(f"const int doubtful = !({self._trusted()});")
        return "\n".join(lines)

    def _row_facts(self, v: int) -> str:
        """Declares the norm and what undoes the scale of a row."""
        at = f"row_facts + (size_t)(first + {self.warps.row_place(v)}) * {self.sides[0].facts}"
        if not self.product.distance:
            return f"const float xs{v} = *({at}); all += xs{v};"
        return (
            f"const float2 xf{v} = CMR_LOAD(float2, {at}); const float xn{v} = xf{v}.x, xs{v} = xf{v}.y;"
            f" largest_x = fmax(largest_x, xn{v}); all += xn{v} + xs{v};"
        )

    def _trusted(self) -> str:
        """C text of whether the results of an item may stay. An inner product is as exact as its terms allow."""
        if not self.product.distance:
            return "isfinite(all)"
        enough = f"least >= {LEAST}f * (largest_x + largest_y)"
        if self.product.slopes is not None:
            enough = f"({enough} || (largest_x + largest_y) * steepest <= {self.bearable}f)"
        return f"isfinite(all) && {enough}"

    @property
    def bearable(self) -> float:
        """What the norms may be where only exponents are made of a distance, times its slope."""
        return LIMIT / (1 + 3 * min(self.steps, LONGEST) / 8)

    def slopes(self) -> str:
        """Declares `steepest`, the largest slope of an exponent."""
        found = self.product.slopes
        if not self.product.distance or found is None:
            return ""
        pair = Pair(self.pairs.pair.inputs, found, len(found))
        text = PairText(pair, self.pairs.bound, self.pairs.outputs, 1, self.pairs.narrow, False)
        statements, names = text.values(0, 0)
        lines = ["float steepest = 0.0f;", "{", text.uniforms(), statements]
        lines += [f"{{ const float slope = fabs({name}); if (!(slope <= steepest)) steepest = slope; }}" for name in names]
        return "\n".join([*lines, "}"])

    def exactly(self) -> str:
        """The contractions of the item's pairs from the inputs, two columns at a time."""
        row, column = self.product.row, self.product.column
        (contraction,) = self.pairs.pair.contractions
        lines = [f"const idx row{v} = {self.warps.row_index(v)};" for v in self.warps.mine]
        for first in range(0, self.columns, 2):
            taken = range(first, first + 2)
            pairs = [(v, c) for v in self.warps.mine for c in taken]
            lines.append("{")
            lines += [f"const idx column{c} = {self.column_index(c)};" for c in taken]
            lines += [f"q{v}_{c}_0 = 0.0f;" for v, c in pairs]
            lines.append(f"for (int d = 0; d < {self.product.size}; d++) {{")
            for v in self.warps.mine:
                lines.append(f"const float w{row.name}_{v} = {element(row, f'row{v} * {row.dim} + d')};")
            for c in taken:
                lines.append(f"const float w{column.name}_c{c} = {element(column, f'column{c} * {column.dim} + d')};")
            lines += [*self.pairs.contracted(contraction, 0, pairs), "} }"]
        return "\n".join(lines)

    def column_index(self, c: int) -> str:
        """The index of the item's column c; past the last one the last."""
        return f"min((idx)(j0 + {self.column_place(c)}), (idx)(end - 1))"
