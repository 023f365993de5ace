"""The statements of sums of scalars of long vectors times long weights, both by matrix instructions: what the first
make of the vectors stays in registers, becomes scalars there, and is the row operand of the second.

Of gradients, columns give the other end of a difference: Σ s (x − y) is (x − c) Σ s − Σ s (y − c), with the centre c
that distances have. That loses a share of Σ |s| (|x − c| + |y − c|), which is summed up beside it as norms: where it
exceeds `SPREAD` times Σ |s| |x − y|, the group is computed again as well. All in the metric of the distance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from clmapreduce.lowering.pair import Role
from clmapreduce.schemes.pairs.matrix.boxes import MatrixChainedBox
from clmapreduce.schemes.pairs.matrix.parts.operands import DEPTH, OperandText
from clmapreduce.schemes.pairs.matrix.parts.results import LongResultsText
from clmapreduce.schemes.pairs.matrix.parts.terms import LongTerm
from clmapreduce.schemes.pairs.matrix.parts.tf32 import WeightedText
from clmapreduce.schemes.pairs.problem import PLACE_BYTES
from clmapreduce.schemes.pairs.statements import PairText

SPREAD = 8
"""How much larger than the differences the numbers may be that they are made from."""
GATHERED = ("sum", "size", "left")
"""What is summed up of every row beside differences."""
LINES = (16, 8)
"""Rows, and columns, of one operand."""


@dataclass(frozen=True, eq=False, kw_only=True)
class MatrixChainedText(LongResultsText):
    """The statements that kernel/matrix/pairwise_matrix_chained asks for. pairs: the scalars. wide: the pair with its
    expansion. term: that of the expansion. own: which product is the distance whose differences these are, if any.
    registers: whether items hold operands themselves; else these wait in local memory.
    """

    box: MatrixChainedBox
    wide: PairText
    term: LongTerm
    own: int
    registers: bool

    @cached_property
    def weighted(self) -> WeightedText:
        """Products of the scalars and the weights, which lie behind two stages."""
        centre = self.parts[self.own].steps * DEPTH if self.differs else 0
        return WeightedText(
            self.pairs, self.wide, self.box, self.warps, self.registers, self.scattered, 2 * self.stage, centre,
            self.term.column,
        )  # fmt: skip

    # ---------------------------------------------------------------------------------------------------- places
    @property
    def differs(self) -> bool:
        """Whether a term is a difference of a number of the row and one of the column."""
        return self.term.row is not None

    @cached_property
    def sides(self) -> tuple[OperandText, OperandText]:
        """How the operands of rows and of columns lie: one behind the other, since any may be the first of a group."""
        return self.operands(*LINES)

    def lacking(self, side: OperandText) -> int:
        """Rows or columns that the last group may lack."""
        return self.rows if side.role is Role.ROW else self.box.tile

    def brought(self, p: int) -> list[int]:
        """The steps of every stage of a tile for a product."""
        depth, steps = self.box.depth, self.parts[p].steps
        return [min(depth, steps - first) for first in range(0, steps, depth)]

    @property
    def stages(self) -> tuple[int, int]:
        """Words of local memory for a stage, of rows and of columns: rows wait there where items do not hold them."""
        each = DEPTH * self.box.depth
        return 0 if self.registers else each * self.rows, each * self.box.tile

    @property
    def words(self) -> int:
        """Words of local memory."""
        return max(self.weighted.end, len(GATHERED) * len(self.warps.mine) * self.box.block if self.differs else 0)

    @property
    def least_memory(self) -> int:
        """Bytes of local memory that a group needs."""
        rows, columns = (side.facts for side in self.sides)
        known = 4 * (rows * self.rows + 2 * columns * self.box.tile + 4)
        return 4 * self.words + known + 3 * PLACE_BYTES * self.box.tile * self.scattered

    # ---------------------------------------------------------------------------------------------------- stages
    def find(self) -> str:
        """Declares my_rows, where the item's share of its warp's rows begins."""
        own, each = f"(size_t)(({self.warps.origin}) / 16)", LINES[0] * DEPTH // 4
        own, item = (f"({own} + warp * {self.box.rows})", " + lane") if self.registers else (own, "")
        return f"__global const uint4 *my_rows = row_operands + {own} * {self.steps * each}{item};"

    def bring(self, turn: str, first: str, tile: str) -> str:
        """Has a stage copied to local memory. first: its first step. tile: C text of a tile's first column; where
        columns lie apart, of which third of `places` they are in.
        """
        lines, block, depth = [], self.box.block, self.box.depth
        for own, (lines_each, words) in enumerate(zip(LINES, self.stages, strict=True)):
            operand = lines_each * DEPTH // 4
            for k in range(0, words // 4, block):
                e = f"({k} + item)"
                to = f"(__local uint4 *)(memory + ({turn}) * {self.stage} + {own * self.stages[0]}) + {e}"
                step = f"{e} % {depth * operand} / {operand}"
                source = self._vector_of(own, e, first, tile)
                guards = [f"item < {words // 4 - k}"] if k + block > words // 4 else []
                short = any(part.steps % depth for part in self.parts)
                guards += [f"({first}) + {step} < {self.steps}"] if short else []
                guard = f"if ({' && '.join(guards)}) " if guards else ""
                lines.append(f"{guard}cmr_copy_async_uint4({to}, {source});")
        return "\n".join(lines)

    def _vector_of(self, own: int, e: str, step: str, tile: str) -> str:
        """C text of where vector e of a stage lies, of rows or columns."""
        operand = LINES[own] * DEPTH // 4
        share = self.box.depth * operand
        block, inside = f"({e} / {share})", f"{e} % {share}"
        if not own:
            return f"my_rows + ({block} * {self.steps} + ({step})) * {operand} + {inside}"
        if not self.scattered:
            at = f"((size_t)(({tile}) / 8 + {block}) * {self.steps} + ({step})) * {operand}"
            return f"column_operands + {at} + {inside}"
        column = f"places[({tile}) * {self.box.tile} + {block} * 8 + {inside} % {operand} / 4]"
        at = f"((size_t)({column} / 8) * {self.steps} + ({step}) + {inside} / {operand}) * {operand}"
        return f"column_operands + {at} + {column} % 8 * 4 + {e} % 4"

    @property
    def known(self) -> str:
        """C text of what is known of the tile's columns."""
        return f"known_columns + half_now * {self.box.tile * self.sides[1].facts}"

    def bring_facts(self, half: str, tile: str) -> str:
        """Has what is known of a tile's columns copied to local memory. tile: as for `bring`."""
        facts, tiled = self.sides[1].facts, self.box.tile
        to = f"known_columns + ({half}) * {tiled * facts}"
        if self.scattered:
            source = f"column_facts[(size_t)places[({tile}) * {tiled} + e / {facts}] * {facts} + e % {facts}]"
            return f"for (int e = item; e < {tiled * facts}; e += {self.box.block}) ({to})[e] = {source};"
        count, lines = tiled * facts // 4, []
        for k in range(0, count, self.box.block):
            source = f"(__global const uint4 *)(column_facts + (size_t)({tile}) * {facts}) + {k} + item"
            copy = f"cmr_copy_async_uint4((__local uint4 *)({to}) + {k} + item, {source});"
            lines.append(f"if (item < {count - k}) {copy}")
        return "\n".join(lines)

    def multiply(self, turn: str, step: int, first: str, mixed: bool) -> str:
        """Adds the products of one step of a stage that begins with step `first`: small ones first. mixed: all stand in
        one.
        """
        box, lines = self.box, []
        rows, columns = (count * DEPTH for count in LINES)
        base = f"({turn}) * {self.stage}"
        for n in range(box.columns):
            at = f"{base} + {self.stages[0]} + ({n * box.depth} + {step}) * {columns}"
            lines.append(f"const uint4 b{n} = cmr_matrix_columns_uint4(memory, {at}, lane);")
        for r in range(box.rows):
            for p, piece in enumerate("h" if mixed else "hl"):
                if self.registers:
                    at = f"my_rows[({r * self.steps} + ({first}) + {step}) * {rows // 4} + {p * rows // 8}]"
                else:
                    own = f"((warp * {box.rows} + {r}) * {box.depth} + {step}) * {rows}"
                    at = f"cmr_matrix_rows_uint4(memory, {base} + {own} + {p * rows // 2}, lane)"
                lines.append(f"const uint4 {piece}{r} = {at};")
        for r in range(box.rows):
            if not mixed:
                lines += [*self._products(r, "l", "xy"), *self._products(r, "h", "zw")]
            lines += self._products(r, "h", "xy")
        return "{\n" + "\n".join(lines) + "\n}"

    # --------------------------------------------------------------------------------------------------- scalars
    def compute(self) -> Iterator[str]:
        """Declares the item's scalars of the contractions. No sum of scalars counts columns beyond the last."""
        return self.weighted.compute(lambda c: self.pairs.column(c, self.column_index(c)), self.differs)

    def gather(self) -> Iterator[str]:
        """Adds a tile's scalars to their sums: of differences each row's Σ s, Σ |s|, and what is left of the latter's
        share of the differences when the columns' share of the numbers is taken off.
        """
        for v in self.warps.mine:
            yield f"float {', '.join(f'{name}_part{v} = 0.0f' for name in GATHERED)};"
        for c in range(self.columns):
            yield f"{{ const float norm = sqrt(yf{self.own}_{c // 2}.{'xz'[c % 2]});"
            for v in self.warps.mine:
                left = f"fma({SPREAD}.0f, cmr_sqrt_fast_float(fmax(q{v}_{c}_{self.own}, 0.0f)), -norm)"
                yield f"sum_part{v} += p{v}_{c}; size_part{v} += fabs(p{v}_{c});"
                yield f"left_part{v} = fma(fabs(p{v}_{c}), {left}, left_part{v});"
            yield "}"
        for v in self.warps.mine:
            yield " ".join(f"{name}{v} += {name}_part{v};" for name in GATHERED)

    def declare_gathered(self) -> str:
        """Declares those sums."""
        names = [f"{name}{v} = 0.0f" for v in self.warps.mine for name in GATHERED]
        return f"float {', '.join(names)};" if self.differs else ""

    def leave_gathered(self) -> Iterator[str]:
        """Leaves the item's part of those sums to the items that share its rows."""
        for k, v in enumerate(self.warps.mine):
            for j, name in enumerate(GATHERED):
                at = (len(GATHERED) * k + j) * self.box.block
                yield f"memory[{at} + item] = as_uint({name}{v});"

    def join_gathered(self) -> Iterator[str]:
        """Makes the sums those of the whole row, and notes where differences lost too much."""
        for k, v in enumerate(self.warps.mine):
            for j, name in enumerate(GATHERED):
                at = (len(GATHERED) * k + j) * self.box.block
                parts = (f"as_float(memory[{at} + item / 4 * 4 + {e}])" for e in range(4))
                yield "{} = ({} + {}) + ({} + {});".format(f"{name}{v}", *parts)
            place = f"({self.warps.row_place(v)}) * {self.sides[0].facts} + {self.parts[self.own].first_fact}"
            norm = f"sqrt(known_rows[{place}])"
            yield f"odd |= !(left{v} >= size{v} * {norm});"

    # -------------------------------------------------------------------------------------------------- products
    def subtract(self, v: int) -> Iterator[str]:
        """Makes a row's sums of numbers those of differences."""
        for b in range(self.box.numbers if self.differs else 0):
            for c in range(2):
                total = f"{self.weighted.acc(v, b, c)}_total0"
                d = f"min((idx){self.weighted.number(b, c)}, (idx){self.weighted.size - 1})"
                statements, (text,) = self.wide.long_row(0, [self.warps.row_index(v)], d)
                difference = f"({total} - (({text}) - centre[{d}]) * sum{v})"
                more, factor = "", "-1.0f" if self.term.sign < 0 else "1.0f"
                if self.term.factor is not None:
                    more, text = self.term.factor.at("", d, self.pairs.narrow, "f")
                    factor = f"{factor} * ({text})"
                yield f"{{ {statements} {more} {total} = {factor} * {difference}; }}"
