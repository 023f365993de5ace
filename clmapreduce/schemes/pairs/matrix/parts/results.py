"""What schemes share that compute inner products over long vectors by matrix instructions: what becomes of an item's
products, and how it computes pairs whose products have lost too much.

A result is off by about 2⁻²² of its row's and column's norms, and by what instructions cut off when they add: 2⁻²⁵
each. That is as much as the distance may lose where it is not much smaller than the norms, or as an exponent may where
they are small. An inner product is off by 2⁻²¹ of every coordinate's share, and by more only where coordinates are so
small beside their vector's largest that pieces lack digits of them: these have been counted, and the product must be so
large that it does not matter. An item whose results are none of these, or whose rows or columns have no finite scale,
computes those pairs as the formula says, from the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from clmapreduce.lowering.pair import Contraction, Pair, Role
from clmapreduce.schemes.common.arrays import element
from clmapreduce.schemes.pairs.matrix.parts.accumulators import LONGEST, LongPairsText
from clmapreduce.schemes.pairs.matrix.parts.operands import COUNTED, POWER, OperandPart
from clmapreduce.schemes.pairs.statements import PairText

RELATIVE, ABSOLUTE = 12, 16
"""A distance may be off by so many 2⁻²² of itself, an exponent by so many 2⁻²²."""
LOSS = 2.0**-10
"""What a coordinate that has lost digits is off by, times the largest number of the other side: 2⁻²⁵ · 2¹⁵."""
EXACT = 2.0**-20
"""What an inner product may be off by for it, of itself, or an exponent."""
PATIENCE, COST = 2, 32
"""Tiles of which a warp may compute pairs from the inputs before its group gives up, and one more of so many: as many
others a tile costs of which it computes all.
"""


@dataclass(frozen=True, eq=False, kw_only=True)
class LongResultsText(LongPairsText):
    """The statements about results."""

    def keep_rows(self) -> str:
        """Stores what is known of the group's rows in local memory, and declares, of every product, `largest_x`, the
        largest norm of the item's own, or NaN where one is not finite. Of inner products it is what undoes the largest
        scale, times the slope of exponents, and `lost_x` has all bits of what is known.
        """
        each, block = self.sides[0].facts, self.box.block
        count, first = self.rows * each, self.warps.origin
        lines = []
        for k in range(0, count, block):
            guard = f"if (item < {count - k}) " if k + block > count else ""
            lines.append(f"{guard}known_rows[{k} + item] = row_facts[(size_t)({first}) * {each} + {k} + item];")
        for p, part in enumerate(self.parts):
            lines.append(f"float largest_x{p} = 0.0f, all_x{p} = 0.0f; uint lost_x{p} = 0;")
            for v in self.warps.mine:
                at = f"row_facts[((size_t)({first}) + {self.warps.row_place(v)}) * {each} + {part.first_fact}"
                if part.counts:
                    lines.append(f"largest_x{p} = fmax(largest_x{p}, {_power(at + ']')}); lost_x{p} |= as_uint({at}]);")
                else:
                    lines.append(f"largest_x{p} = fmax(largest_x{p}, {at}]); all_x{p} += {at}] + {at} + 1];")
            if not part.counts:
                lines.append(f"if (!isfinite(all_x{p})) largest_x{p} = NAN;")
            elif self.products[p].slopes is not None:
                lines.append(f"largest_x{p} *= steepest{p};")
        return "\n".join(lines)

    @property
    def known(self) -> str:
        """C text of what is known of the tile's columns."""
        return "known_columns"

    def results(self, p: int) -> str:
        """Declares the contractions q{v}_{c}_{p} of the item's pairs, and makes `doubtful` 1 where some have lost more
        digits than they may.
        """
        part = self.parts[p]
        lines = [] if p else ["int doubtful = 0;"]
        lines += self._facts(part)
        lines += self._doubt_counted(part) if part.counts else []
        for v in self.warps.mine:
            for c in range(self.columns):
                product = f"({self._product(p, v, c)} * xs{p}_{v}) * ys{p}_{c}"
                lines.append(f"float q{v}_{c}_{p} = {self._result(part, f'xn{p}_{v}', f'yn{p}_{c}', product)};")
        lines += [] if part.counts else self._doubt_known(part)
        return "\n".join(lines)

    def _product(self, p: int, v: int, c: int) -> str:
        """C text of what instructions have made of a pair, scaled."""
        return f"{'tm' if self.summed(p) else 'm'}{v // 2}_{c // 2}.{'xyzw'[v % 2 * 2 + c % 2]}"

    def _facts(self, part: OperandPart) -> Iterator[str]:
        """Declares what undoes the scales of the item's rows and columns, xs{p}_{v} and ys{p}_{c}, and what is kept
        beside it, xn{p}_{v} and yn{p}_{c}, or else `lost`, the bits of all.
        """
        p = part.number
        for n in range(self.box.columns):
            yield f"const float{2 * part.facts} yf{p}_{n} = {self._column_facts(part, n)};"
        if part.counts:
            bits = (f"as_uint(yf{p}_{n}.{x})" for n in range(self.box.columns) for x in "xy")
            yield f"const uint lost{p} = lost_x{p} | {' | '.join(bits)};"
        for v in self.warps.mine:
            if part.counts:
                yield f"const float xs{p}_{v} = {_power(self._row_fact(part, v))};"
            else:
                yield f"const float xn{p}_{v} = {self._row_fact(part, v)}, xs{p}_{v} = {self._row_fact(part, v, 1)};"
        for c in range(self.columns):
            facts = f"yf{p}_{c // 2}."
            if part.counts:
                yield f"const float ys{p}_{c} = {_power(facts + 'xy'[c % 2])};"
            else:
                yield f"const float yn{p}_{c} = {facts}{'xz'[c % 2]}, ys{p}_{c} = {facts}{'yw'[c % 2]};"

    def _doubt_counted(self, part: OperandPart) -> Iterator[str]:
        """Doubts inner products that may be off by more than `EXACT` of an exponent, or of themselves: these are small
        beside the largest numbers of row and column. Bits of counts are at least as large as each, and any row's and
        any column's together at most twice that.
        """
        p = part.number
        lost = f"(float)(lost{p} & {COUNTED})"
        if self.products[p].slopes is not None:
            yield f"float largest_y{p} = ys{p}_0;"
            yield from (f"largest_y{p} = fmax(largest_y{p}, ys{p}_{c});" for c in range(1, self.columns))
            yield f"doubtful |= !({lost} * (largest_x{p} * largest_y{p}) <= {EXACT / LOSS / 2}f);"
            return
        yield f"if (lost{p} & {COUNTED}) {{ float least = INFINITY;"
        for v in self.warps.mine:
            yield from (f"least = fmin(least, fabs({self._product(p, v, c)}));" for c in range(self.columns))
        yield f"doubtful |= !(least >= {2 * LOSS / EXACT}f * {lost}); }}"

    def _doubt_known(self, part: OperandPart) -> Iterator[str]:
        """Doubts results that are too small beside their norms, or whose columns have no finite scale."""
        p = part.number
        yield f"float least{p} = INFINITY, largest_y{p} = 0.0f, all{p} = 0.0f;"
        for c in range(self.columns):
            yield f"all{p} += yn{p}_{c} + ys{p}_{c}; largest_y{p} = fmax(largest_y{p}, yn{p}_{c});"
            for v in self.warps.mine:
                yield f"least{p} = fmin(least{p}, q{v}_{c}_{p});"
        enough = self._enough(p, f"least{p}", f"(largest_x{p} + largest_y{p})")
        yield f"doubtful |= !(isfinite(all{p} + largest_x{p}) && {enough});"

    def _enough(self, p: int, distance: str, norms: str) -> str:
        """C text of whether a distance is large enough beside the norms that it is made from, or these are small enough
        in exponents.
        """
        enough = f"{distance} >= {self.least(p)}f * {norms}"
        if self.products[p].slopes is not None:
            enough = f"({enough} || {norms} * steepest{p} <= {self.bearable(p)}f)"
        return enough

    def _trusted(self, part: OperandPart, v: int, c: int) -> str:
        """C text of whether a result of a block's pair, `q`, may stay, as `results` asks of all together."""
        p = part.number
        row = f"({self.warps.row_place(v)} + 16 * r) * {self.sides[0].facts} + {part.first_fact}"
        column = f"(at_column + 8 * n + {c}) * {self.sides[1].facts} + {part.first_fact}"
        x, y = f"known_rows[{row}]", f"({self.known})[{column}]"
        if not part.counts:
            return f"isfinite(q) && {self._enough(p, 'q', f'({x} + {y})')}"
        off = f"({_count(x)} + {_count(y)}) * ({_power(x)} * {_power(y)})"
        if self.products[p].slopes is not None:
            return f"{off} * steepest{p} <= {EXACT / LOSS}f"
        return f"fabs(q) >= {LOSS / EXACT}f * ({off})"

    def _result(self, part: OperandPart, x: str, y: str, product: str) -> str:
        """C text of a result, made of a product and what is known of row and column."""
        return f"({x} + {y}) - {product}" if part.centred else product

    def _row_fact(self, part: OperandPart, v: int, k: int = 0) -> str:
        """C text of fact k of a row."""
        return f"known_rows[({self.warps.row_place(v)}) * {self.sides[0].facts} + {part.first_fact + k}]"

    def _column_facts(self, part: OperandPart, n: int) -> str:
        """C text of what is known of two columns, one behind the other."""
        each, count = self.sides[1].facts, part.facts
        at = f"{self.known} + (at_column + {8 * n}) * {each}"
        if count == each:
            return f"*(__local const float{2 * count} *)({at})"
        facts = [f"({at})[{c * each + part.first_fact + k}]" for c in range(2) for k in range(count)]
        return f"(float{2 * count})({', '.join(facts)})"

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

    def exactly(self, doubt: str = "") -> str:
        """The contractions of the item's pairs that are not exact enough from the inputs, two rows and two columns at a
        time; all of them, where results are bounds. They pass through an array, so that this rare case is a loop that
        asks for no registers of its own. doubt: what is done where there are any.
        """
        box, count = self.box, range(len(self.products))
        pairs = [(v, c) for v in range(2) for c in range(2)]
        held = []
        for v in self.warps.mine:
            for c in range(self.columns):
                block = str(v // 2 * box.columns + c // 2)
                held += [(f"q{v}_{c}_{p}", f"exact[{self._exact(block, v % 2, c % 2, p)}]") for p in count]
        lines = [f"float exact[{4 * box.rows * box.columns * len(count)}]; int computed = 0;"]
        lines += [] if self.bounded else [f"{place} = {name};" for name, place in held]
        lines += ["#pragma unroll 1", f"for (int block = 0; block < {box.rows * box.columns}; block++) {{"]
        lines.append(f"const int r = block / {box.columns}, n = block % {box.columns};")
        lines += [] if self.bounded else self._trust_block(pairs)
        lines += [*self._compute_block(pairs), "computed = 1; }"]
        lines += [f"{name} = {place};" for name, place in held]
        return "\n".join([*lines, f"if (computed) {{ {doubt} }}" if doubt else ""])

    def _trust_block(self, pairs: Sequence[tuple[int, int]]) -> Iterator[str]:
        """Goes on with the next block where all results of this one may stay."""
        yield "int trusted = 1;"
        for part in self.parts:
            for v, c in pairs:
                q = f"const float q = exact[{self._exact('block', v, c, part.number)}];"
                yield f"{{ {q} trusted &= {self._trusted(part, v, c)}; }}"
        yield "if (trusted) continue;"

    def _compute_block(self, pairs: Sequence[tuple[int, int]]) -> Iterator[str]:
        """Computes pairs of block r of rows and n of columns from the inputs."""
        contractions = self.pairs.pair.contractions
        for v in range(2):
            yield f"const idx row{v} = min((idx)({self.warps.row(v)} + 16 * r), (idx)(last - 1));"
        for c in range(2):
            yield f"const idx column{c} = {self._index(f'at_column + 8 * n + {c}')};"
        for k in range(2):
            yield from (self.pairs.row(k, [f"row{k}"]), self.pairs.column(k, f"column{k}"))
        for p, product in enumerate(self.products):
            yield from (f"float q{v}_{c}_{p} = 0.0f;" for v, c in pairs)
            yield from ("#pragma unroll 1", f"for (int d = 0; d < {product.size}; d++) {{")
            yield from self._coordinates(contractions[p])
            yield from (*self.pairs.contracted(contractions[p], p, pairs), "}")
            for v, c in pairs:
                statements, text = self._finished(p, v, c)
                yield f"{{ {statements} exact[{self._exact('block', v, c, p)}] = {text}; }}"

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
        """Counts a warp's tile that needed the inputs. number: C text of which; half: of its parity."""
        first = f"atomic_xchg(&doubted[warp], (int)({number})) != (int)({number})"
        return f"if ({first} && atomic_inc(&doubts[0]) >= doubts[1]) given_up[{half}] = 1;"


def _power(fact: str) -> str:
    """C text of what undoes a scale."""
    return f"as_float(as_uint({fact}) & {POWER})"


def _count(fact: str) -> str:
    """C text of how many numbers of a row have lost digits."""
    return f"(float)(as_uint({fact}) & {COUNTED})"
