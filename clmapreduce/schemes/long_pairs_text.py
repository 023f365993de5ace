"""What schemes share that compute inner products over long vectors by matrix instructions: which pairs an item holds,
what becomes of its products, and how it computes pairs whose products have lost too much.

A result is off by about 2⁻²² of its row's and column's norms, and by what instructions cut off when they add: 2⁻²⁵
each. That is as much as the distance may lose where it is not much smaller than the norms, or as an exponent may where
they are small. An item whose distances are neither, or whose rows or columns have no finite scale, computes its pairs
as the formula says, from the inputs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, partial

from clmapreduce.schemes.arrays_text import element
from clmapreduce.schemes.long_products import LongProduct
from clmapreduce.schemes.matrix_places import Warps
from clmapreduce.schemes.operand_text import DEPTH, OperandPart, OperandText
from clmapreduce.schemes.pair_text import PairText
from clmapreduce.tuning_matrix import MatrixLongBox
from clmapreduce.vector.pair import Contraction, Pair, Role

RELATIVE, ABSOLUTE = 12, 16
"""A distance may be off by so many 2⁻²² of itself, an exponent by so many 2⁻²²."""
LOST = 2.0**-10
"""Of an inner product in an exponent, what undoes the scales of row and column, multiplied, times its slope: so much
it may be with 16 coordinates, and less as the root of their number grows. Pieces end at 2⁻²⁵ of a scaled number: with
24 coordinates, one of them 10⁶ to 10¹² in all columns and none in rows, terms were off by 2⁻⁹·⁶ of that.
"""
PATIENCE, COST = 2, 32
"""Tiles that a warp may compute from the inputs before its group gives up, and one more of so many: each costs as much
as so many others.
"""
LONGEST = 20
"""Steps that are added up by instructions alone: what they cut off adds up too."""


@dataclass(frozen=True, eq=False, kw_only=True)
class LongPairsText(ABC):
    """The statements about tiles of pairs of long vectors. pairs: one lane, nothing staged. batched: whether the
    operands of rows, and of columns, have a part for every element of the batch. scattered: whether a tile's columns
    may lie apart, and a group's rows begin anywhere.
    """

    pairs: PairText
    products: tuple[LongProduct, ...]
    box: MatrixLongBox
    batched: tuple[bool, bool]
    scattered: bool = False

    @cached_property
    def warps(self) -> Warps:
        return Warps(self.box.block, self.box.across, self.box.rows, self.scattered)

    @property
    def rows(self) -> int:
        """Rows of a group."""
        return self.warps.rows

    @property
    def columns(self) -> int:
        """Columns of an item: two of every block."""
        return 2 * self.box.columns

    @cached_property
    @abstractmethod
    def sides(self) -> tuple[OperandText, OperandText]:
        """How the operands of rows and of columns lie."""

    def operands(self, rows: int, columns: int) -> tuple[OperandText, OperandText]:
        """How they lie in tiles of so many rows and columns."""
        made = partial(OperandText, products=self.products, narrow=self.pairs.narrow, bounded=self.bounded)
        return made(Role.ROW, tile=rows), made(Role.COLUMN, tile=columns)

    @property
    def bounded(self) -> bool:
        """Whether results are bounds of products."""
        return False

    @property
    def parts(self) -> tuple[OperandPart, ...]:
        """Those of every product."""
        return self.sides[0].parts

    @property
    def steps(self) -> int:
        """Stages of a tile."""
        return self.sides[0].steps

    @property
    @abstractmethod
    def stages(self) -> tuple[int, int]:
        """Words of local memory for one, of rows and of columns."""

    @property
    def stage(self) -> int:
        """Words of both."""
        return sum(self.stages)

    @abstractmethod
    def lacking(self, side: OperandText) -> int:
        """Rows or columns that the last group may lack."""

    def padded(self, side: OperandText, count: int) -> int:
        """So many rows, or columns, as whole tiles, and what the last group may lack."""
        return -(-count // side.tile) * side.tile + self.lacking(side)

    def parameters(self) -> list[str]:
        """The kernel's parameters for what the sides' launches leave."""
        facts = [f"__global const float *restrict {name}" for name in ("row_facts", "column_facts")]
        return [*facts, *(f"__global const uint4 *restrict {name}" for name in ("row_operands", "column_operands"))]

    def offsets(self, batch: str) -> str:
        """Moves them to their part for one element of the batch."""
        lines = []
        for side, name, batched in zip(self.sides, ("row", "column"), self.batched, strict=True):
            if batched:
                spare = self.padded(side, 0) // side.tile
                lines.append(f"const size_t {name}_tiles = ({name}s + {side.tile - 1}) / {side.tile} + {spare};")
                lines.append(f"{name}_facts += {batch} * {name}_tiles * {side.tile * side.facts};")
                lines.append(f"{name}_operands += {batch} * {name}_tiles * {side.steps * side.stage // 4};")
        return "\n".join(lines)

    def open(self, p: int) -> str:
        """Sets the sums of products of the item's pairs to zero, and sums of them, where there are many steps. The
        first product's are declared.
        """
        names = [f"m{r}_{n}" for r in range(self.box.rows) for n in range(self.box.columns)]
        if any(map(self.summed, [p] if p else range(len(self.parts)))):
            names += [f"t{name}" for name in names]
        declared = "" if p else "float4 "
        return "\n".join(f"{declared}{name} = (float4)(0.0f, 0.0f, 0.0f, 0.0f);" for name in names)

    def summed(self, p: int) -> bool:
        """Whether a product has sums of sums."""
        return self.parts[p].steps > LONGEST

    def _products(self, r: int, piece: str, words: str) -> Iterator[str]:
        """Adds the products of one piece of a block of rows with one of every block of columns."""
        for n in range(self.box.columns):
            column = f"(uint2)(b{n}.{words[0]}, b{n}.{words[1]})"
            yield f"m{r}_{n} = cmr_matrix_product_float4(m{r}_{n}, {piece}{r}, {column}, memory, lane);"

    def collect(self, p: int, s: str) -> str:
        """After every so many steps of a product, moves what the instructions have added up to the sums of sums. s: C
        text of which step of all it is.
        """
        if not self.summed(p):
            return ""
        first, steps = self.parts[p].first_step, self.parts[p].steps
        own = f"({s} - {first})" if first else s
        lines = [f"if ({own} % {LONGEST} == {LONGEST - 1} || {own} == {steps - 1}) {{"]
        for r in range(self.box.rows):
            for n in range(self.box.columns):
                zero = "(float4)(0.0f, 0.0f, 0.0f, 0.0f)"
                each = " ".join(f"tm{r}_{n}.{x} += m{r}_{n}.{x};" for x in "xyzw")
                lines.append(f"{each} m{r}_{n} = {zero};")
        return "\n".join([*lines, "}"])

    def column_place(self, c: int) -> str:
        """Where the item's column number c lies in its tile."""
        return f"at_column + {c // 2 * 8 + c % 2}"

    def keep_rows(self) -> str:
        """Stores what is known of the group's rows in local memory, and declares `largest_x`, of every product the
        largest norm of the item's own, or what undoes the largest scale times the slope of its exponents, or NaN where
        one is not finite.
        """
        each, block = self.sides[0].facts, self.box.block
        count, first = self.rows * each, self.warps.origin
        lines = []
        for k in range(0, count, block):
            guard = f"if (item < {count - k}) " if k + block > count else ""
            lines.append(f"{guard}known_rows[{k} + item] = row_facts[(size_t)({first}) * {each} + {k} + item];")
        for p, part in enumerate(self.parts):
            lines.append(f"float largest_x{p} = 0.0f, all_x{p} = 0.0f;")
            for v in self.warps.mine:
                at = f"((size_t)({first}) + {self.warps.row_place(v)}) * {each} + {part.first_fact}"
                lines.append(f"all_x{p} += {' + '.join(f'row_facts[{at} + {k}]' for k in range(part.facts))};")
                if part.centred or self._in_exponents(p):
                    lines.append(f"largest_x{p} = fmax(largest_x{p}, row_facts[{at}]);")
            if self._in_exponents(p):
                lines.append(f"largest_x{p} *= steepest{p};")
            lines.append(f"if (!isfinite(all_x{p})) largest_x{p} = NAN;")
        return "\n".join(lines)

    @property
    def known(self) -> str:
        """C text of what is known of the tile's columns."""
        return "known_columns"

    def results(self, p: int) -> str:
        """Declares the contractions q{v}_{c}_{p} of the item's pairs, and makes `doubtful` 1 where some have lost more
        digits than they may.
        """
        part, box = self.parts[p], self.box
        distance = part.centred
        names = "xyzw"[: 2 * part.facts]
        lines = [] if p else ["int doubtful = 0;"]
        lines.append(f"float least{p} = INFINITY, largest_y{p} = 0.0f, all{p} = 0.0f;")
        for n in range(box.columns):
            lines.append(f"const float{2 * part.facts} yf{p}_{n} = {self._column_facts(part, n)};")
            lines.append(f"all{p} += {' + '.join(f'yf{p}_{n}.{x}' for x in names)};")
            if distance:
                lines.append(f"largest_y{p} = fmax(largest_y{p}, fmax(yf{p}_{n}.x, yf{p}_{n}.z));")
        summed = "tm" if self.summed(p) else "m"
        for v in self.warps.mine:
            at = f"known_rows + ({self.warps.row_place(v)}) * {self.sides[0].facts} + {part.first_fact}"
            fact = [f"({at})[{k}]" for k in range(part.facts)]
            lines.append(f"const float xs{p}_{v} = {fact[-1]};")
            if part.facts == 2:
                lines.append(f"const float xn{p}_{v} = {fact[0]};")
            for c in range(self.columns):
                factor = f"yf{p}_{c // 2}.{('xy' if part.facts == 1 else 'yw')[c % 2]}"
                text = f"({summed}{v // 2}_{c // 2}.{'xyzw'[v % 2 * 2 + c % 2]} * xs{p}_{v}) * {factor}"
                if part.facts == 2:
                    text = self._with_norms(part, f"xn{p}_{v}", f"yf{p}_{c // 2}.{'xz'[c % 2]}", text)
                lines.append(f"float q{v}_{c}_{p} = {text};")
                if distance:
                    lines.append(f"least{p} = fmin(least{p}, q{v}_{c}_{p});")
        lines.append(f"doubtful |= !({self._trusted(p)});")
        return "\n".join(lines)

    def _with_norms(self, part: OperandPart, x: str, y: str, product: str) -> str:
        """C text of a result, made of a product and the norms of row and column."""
        return f"({x} + {y}) - {product}"

    def _column_facts(self, part: OperandPart, n: int) -> str:
        """C text of what is known of two columns, one behind the other."""
        each, count = self.sides[1].facts, part.facts
        at = f"{self.known} + (at_column + {8 * n}) * {each}"
        if count == each:
            return f"*(__local const float{2 * count} *)({at})"
        facts = [f"({at})[{c * each + part.first_fact + k}]" for c in range(2) for k in range(count)]
        return f"(float{2 * count})({', '.join(facts)})"

    def _trusted(self, p: int) -> str:
        """C text of whether an item's results of a product may stay. Inner products are as exact as vectors, which is
        enough but for exponents.
        """
        if self._in_exponents(p):
            return f"all{p} * largest_x{p} <= {LOST * (DEPTH / max(DEPTH, self.products[p].size)) ** 0.5}f"
        if not self.parts[p].centred:
            return f"isfinite(all{p} + largest_x{p})"
        norms = f"(largest_x{p} + largest_y{p})"
        enough = f"least{p} >= {self.least(p)}f * {norms}"
        if self.products[p].slopes is not None:
            enough = f"({enough} || {norms} * steepest{p} <= {self.bearable(p)}f)"
        return f"isfinite(all{p} + largest_x{p}) && {enough}"

    def _in_exponents(self, p: int) -> bool:
        """Whether a product is an inner one of which exponents are made, and nothing else."""
        return not self.parts[p].centred and not self.bounded and self.products[p].slopes is not None

    def cut(self, p: int) -> float:
        """What instructions cut off, in units of 2⁻²² of a product: half of the last bit each on average, while half of
        the product is there.
        """
        return 3 * min(self.parts[p].steps, LONGEST) / 8

    def least(self, p: int) -> float:
        """What a distance must be, relative to the norms that it is made from: at ρ their product is at most 1 − ρ of
        them, so that (1 + (1 − ρ) cut) / ρ may be RELATIVE.
        """
        return (1 + self.cut(p)) / (RELATIVE + self.cut(p))

    def bearable(self, p: int) -> float:
        """What the norms may be where only exponents are made of a distance, times its slope."""
        return ABSOLUTE / (1 + self.cut(p))

    def slopes(self) -> str:
        """Declares `steepest`, of every product the largest slope of an exponent, where only these are made of it."""
        return "\n".join(line for p in range(len(self.products)) for line in self._slopes(p))

    def _slopes(self, p: int) -> Iterator[str]:
        found = self.products[p].slopes
        if found is None or self.bounded:
            return
        pair = Pair(self.pairs.pair.inputs, found, len(found))
        text = PairText(pair, self.pairs.bound, self.pairs.outputs, 1, self.pairs.narrow, False)
        statements, names = text.values(0, 0)
        yield f"float steepest{p} = 0.0f;"
        yield f"{{ {text.uniforms()} {statements}"
        for name in names:
            yield f"{{ const float slope = fabs({name}); if (!(slope <= steepest{p})) steepest{p} = slope; }}"
        yield "}"

    def exactly(self) -> str:
        """The contractions of the item's pairs from the inputs, two rows and two columns at a time. They pass through
        an array, so that this rare case is a loop that asks for no registers of its own.
        """
        box, contractions = self.box, self.pairs.pair.contractions
        count = range(len(contractions))
        pairs = [(v, c) for v in range(2) for c in range(2)]
        each = f"for (int block = 0; block < {box.rows * box.columns}; block++) {{"
        lines = [f"float exact[{4 * box.rows * box.columns * len(count)}];", "#pragma unroll 1", each]
        lines.append(f"const int r = block / {box.columns}, n = block % {box.columns};")
        for v in range(2):
            at = f"{self.warps.row(v)} + 16 * r"
            lines.append(f"const idx row{v} = min((idx)({at}), (idx)(last - 1));")
        for c in range(2):
            lines.append(f"const idx column{c} = {self._index(f'at_column + 8 * n + {c}')};")
        for k in range(2):
            lines += [self.pairs.row(k, [f"row{k}"]), self.pairs.column(k, f"column{k}")]
        for p in count:
            lines += [f"float q{v}_{c}_{p} = 0.0f;" for v, c in pairs]
            lines += ["#pragma unroll 1", f"for (int d = 0; d < {self.products[p].size}; d++) {{"]
            lines += self._coordinates(contractions[p])
            lines += [*self.pairs.contracted(contractions[p], p, pairs), "}"]
            for v, c in pairs:
                statements, text = self._finished(p, v, c)
                lines.append(f"{{ {statements} exact[{self._exact('block', v, c, p)}] = {text}; }}")
        lines.append("}")
        for v in self.warps.mine:
            for c in range(self.columns):
                block = str(v // 2 * box.columns + c // 2)
                lines += [f"q{v}_{c}_{p} = exact[{self._exact(block, v % 2, c % 2, p)}];" for p in count]
        return "\n".join(lines)

    def _finished(self, p: int, v: int, c: int) -> tuple[str, str]:
        """Statements, and the text of a product of a pair whose contractions and terms are declared."""
        return "", f"q{v}_{c}_{p}"

    def _exact(self, block: str, v: int, c: int, p: int) -> str:
        """Where a contraction of a pair of a block waits."""
        return f"{4 * len(self.products)} * {block} + {4 * p + 2 * v + c}"

    def _coordinates(self, contraction: Contraction) -> Iterator[str]:
        """Declares one coordinate of what a contraction walks, of two rows and two columns."""
        for given, _ in contraction.wide:
            if given.role is Role.PARAMETER:
                yield f"const float w{given.name} = {element(given, 'd')};"
                continue
            name, index = (f"w{given.name}_", "row") if given.role is Role.ROW else (f"w{given.name}_c", "column")
            for k in range(2):
                yield f"const float {name}{k} = {element(given, f'{index}{k} * {given.dim} + d')};"

    def open_doubts(self) -> str:
        """Declares, and sets for a group, what tells how often warps have computed pairs from the inputs: `doubts`,
        with how often they may, `doubted`, their last tiles, and `given_up`, of this tile and the last one.
        """
        warps = self.box.block // 32
        patience = f"{warps} * ({PATIENCE} + (int)min((idx)1000000, (idx)((end - begin) / {COST * self.box.tile})))"
        return f"""__local int doubts[2];
__local int doubted[{warps}];
__local int given_up[2];
if (item < 2) {{ doubts[item] = item ? {patience} : 0; given_up[item] = 0; }}
if (lane == 0) doubted[warp] = -1;"""

    def doubt(self, number: str, half: str) -> str:
        """Counts a warp's tile that it computes from the inputs. number: C text of which; half: of its parity."""
        first = f"atomic_xchg(&doubted[warp], (int)({number})) != (int)({number})"
        return f"if ({first} && atomic_inc(&doubts[0]) >= doubts[1]) given_up[{half}] = 1;"

    def column_index(self, c: int) -> str:
        """The index of the item's column c; past the last one the last."""
        return self._index(self.column_place(c))

    def _index(self, place: str) -> str:
        if self.scattered:
            return f"places[now * {self.box.tile} + {place}]"
        return f"min((idx)(j0 + {place}), (idx)(end - 1))"
