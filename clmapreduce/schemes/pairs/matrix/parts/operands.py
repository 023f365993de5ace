"""One side of inner products of long vectors as operands of matrix instructions: every number the sum of two pieces of
16 bits, 22 bits together, in the order in which a warp's items hold them.

Rows, and columns, are scaled by a power of two each, so that their largest number has the largest exponent that 16 bits
bear: whatever the magnitudes are, what the pieces lose is relative to the row's own. What cannot be scaled, an
infinity, a NaN or a number beyond 2¹⁰⁰, gets NaN for its scale, which says that its pieces are none.

A step is three products: of high pieces, and of high ones with low ones either way. Where at most five coordinates are
left for the last step, all three stand side by side in the depth of one instruction. Where pairs are made of several
products, the steps of one follow those of the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from clmapreduce.lowering.pair import PairInput, Role
from clmapreduce.schemes.common.arrays import offsets_of, parameters_of
from clmapreduce.schemes.pairs.centred import centred
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct
from clmapreduce.schemes.pairs.sides import Side, inputs_of

DEPTH = 16
"""Coordinates that one instruction takes."""
LARGEST = 14
"""The exponent to which the largest number is scaled; products of two of them stay far from the end of floats."""
SMALL = "0x1p-4f"
"""Scaled numbers from here on lose at most 2⁻²¹ of themselves. Smaller ones lose nothing if they are multiples of 2⁻²⁴,
else some 2⁻²⁵: those are counted.
"""
COUNTED, POWER = "0x7fffffu", "0x7f800000u"
"""Bits of a number that undoes a scale: those that have the count, as a power of two asks for none of them, and the
power's own.
"""
FINITE = "0x1p100f"
"""Rows whose magnitudes add up to less can be scaled back in two steps without leaving the floats."""


@dataclass(frozen=True, eq=False)
class OperandPart:
    """One product's share of a side's operands. number: of the product. side: the numbers. centred: whether a centre is
    subtracted, and norms are kept beside the scales; in a metric, if there is one. first_step, first_fact: where its
    steps and facts begin among all.
    """

    whole: OperandText
    number: int
    side: Side
    centred: bool
    metric: Side | None
    first_step: int
    first_fact: int

    @property
    def steps(self) -> int:
        """Instructions along the coordinates."""
        return -(-self.side.size // DEPTH)

    @property
    def mixed(self) -> int:
        """Coordinates of a last step that is one product."""
        rest = self.side.size % DEPTH
        return rest if 3 * rest <= DEPTH else 0

    @property
    def counts(self) -> bool:
        """Whether it is known how many of a row's numbers have lost digits."""
        return not self.centred and not self.whole.bounded

    @property
    def facts(self) -> int:
        """Numbers that are kept of every row: its norm, where there is a centre, and what undoes its scale; a column's
        times two then, as a distance subtracts its products. Of inner products that are bounded, with what is added up
        of the row, and the column's largest number, for a norm. Of others what undoes the scale, with that count.
        """
        return 1 if self.counts else 2

    def measure(self, row: str) -> str:
        """Declares `scale`, 0 where there is none, and `unscale`."""
        statements, text = self._number(row, "d")
        return f"""float most = 0, all = 0;
for (int d = 0; d < {self.side.size}; d++) {{
{statements} const float v = fabs({text});
most = fmax(most, v); all += v;
}}
const int usable = all < {FINITE}, exponent = max(1, min(253, {254 + LARGEST} - (as_int(most) >> 23)));
const float scale = usable ? as_float(exponent << 23) : 0.0f;
const float unscale = usable ? as_float((254 - exponent) << 23) : NAN;"""

    def keep(self, row: str, at: str) -> str:
        """Stores what is kept of a row as number `at`."""
        own, of_rows = f"facts[{self.whole.facts} * {at} + {self.first_fact}", self.side.role is Role.ROW
        if self.counts:
            return f"{own}] = usable ? as_float(as_uint(unscale) | lost) : NAN;"
        if not self.centred:
            return f"{own}] = {'all' if of_rows else 'most'}; {own} + 1] = unscale;"
        return f"{own}] = norms{self.number}[{row}]; {own} + 1] = {'' if of_rows else '2.0f * '}unscale;"

    def put(self, row: str, at: str) -> str:
        """Stores the pieces of a row's coordinates, step by step, as number `at` of all rows. Declares `lost`, how many
        lose digits, where that is kept.
        """
        whole = self.whole
        lines = ["uint lost = 0;"] if self.counts else []
        lines.append(f"const idx tile = {at} / {whole.tile};")
        lines.append(f"const int inside = (int)({at} % {whole.tile}), line = inside % {whole.lines};")
        first = f"((size_t)tile * {whole.steps} + {self.first_step}) * {whole.stage}"
        lines.append(f"__global uint *to = operands + {first} + inside / {whole.lines} * {whole.words};")
        alike = self.steps - (self.mixed > 0)
        lines.append(f"for (int s = 0; s < {alike}; s++, to += {whole.stage}) {{ {self._put_step(row, 's')} }}")
        return "\n".join([*lines, *self._put_mixed(row)])

    def _put_step(self, row: str, step: str) -> str:
        """Stores high and low pieces of 16 coordinates."""
        lines = []
        for k in range(8):
            first = f"{step} * {DEPTH} + {2 * k}"
            names = (f"v{2 * k}", f"v{2 * k + 1}")
            for c, name in enumerate(names):
                d = f"{first} + {c}"
                lines += [self._scaled(name, row, d, f"usable && {d} < {self.side.size}")]
                lines.append(f"const float {name}h = cmr_half_round_float({name});")
                lines.append(self._count(name))
            high = f"cmr_half_pair_float({names[0]}h, {names[1]}h)"
            low = f"cmr_half_pair_float({names[0]} - {names[0]}h, {names[1]} - {names[1]}h)"
            lines.append(f"to[{self.whole.word(k, 0)}] = {high}; to[{self.whole.word(k, 1)}] = {low};")
        return "\n".join(lines)

    def _put_mixed(self, row: str) -> list[str]:
        """Stores the last coordinates: a row's high, high and low pieces stand beside a column's high, low and high."""
        first, slots = self.side.size - self.mixed, ["0.0f"] * DEPTH
        lines = []
        for c in range(self.mixed):
            lines.append(self._scaled(f"v{c}", row, str(first + c), "usable"))
            lines.append(f"const float v{c}h = cmr_half_round_float(v{c});")
            lines.append(self._count(f"v{c}"))
            low = f"v{c} - v{c}h"
            of_rows = self.side.role is Role.ROW
            slots[3 * c : 3 * c + 3] = (f"v{c}h", f"v{c}h", low) if of_rows else (f"v{c}h", low, f"v{c}h")
        for k in range(8 if self.mixed else 0):
            pair = f"cmr_half_pair_float({slots[2 * k]}, {slots[2 * k + 1]})"
            lines.append(f"to[{self.whole.word(k, 0)}] = {pair}; to[{self.whole.word(k, 1)}] = 0;")
        return lines

    def _scaled(self, name: str, row: str, d: str, wanted: str) -> str:
        """Declares `name`, a number times the scale; 0 where it is not wanted."""
        statements, text = self._number(row, d)
        return f"float {name} = 0.0f; if ({wanted}) {{ {statements} {name} = scale * ({text}); }}"

    def _count(self, name: str) -> str:
        """Counts a scaled number if its pieces lack digits that it has."""
        return f"lost += fabs({name}) < {SMALL} && 0x1p24f * {name} != rint(0x1p24f * {name});" if self.counts else ""

    def _number(self, row: str, d: str) -> tuple[str, str]:
        """Statements, and the text of a coordinate, less the centre."""
        if not self.centred:
            return self.side.at(row, d, self.whole.narrow)
        return centred(self.side, self.metric, row, d, f"centre{self.number}[{d}]", self.whole.narrow)


@dataclass(frozen=True, eq=False)
class OperandText:
    """The statements that kernel/matrix/pairwise_operands asks for. role: whose operands. tile: rows or columns in a
    group's tile. bounded: whether it must be known how far products may be off.
    """

    role: Role
    products: tuple[LongProduct, ...]
    tile: int
    narrow: bool
    bounded: bool = False

    @cached_property
    def parts(self) -> tuple[OperandPart, ...]:
        """Those of every product, one behind the other."""
        found: list[OperandPart] = []
        for k, product in enumerate(self.products):
            last = found[-1] if found else None
            step, fact = (last.first_step + last.steps, last.first_fact + last.facts) if last is not None else (0, 0)
            side = product.side(self.role)
            found.append(OperandPart(self, k, side, product.distance, product.metric, step, fact))
        return tuple(found)

    @property
    def inputs(self) -> tuple[PairInput, ...]:
        """All that the numbers are made of, each once."""
        return inputs_of(*(side for part in self.parts for side in (part.side, part.metric)))

    @property
    def steps(self) -> int:
        """Instructions along the coordinates."""
        return sum(part.steps for part in self.parts)

    @property
    def facts(self) -> int:
        """Numbers that are kept of every row."""
        return sum(part.facts for part in self.parts)

    @property
    def lines(self) -> int:
        """Rows, or columns, of one operand."""
        return 16 if self.role is Role.ROW else 8

    @property
    def words(self) -> int:
        """Words of both pieces of one operand."""
        return self.lines * DEPTH

    @property
    def stage(self) -> int:
        """Words of a tile's operands of one step: they lie one behind the other, tile by tile and step by step."""
        return self.tile // self.lines * self.words

    def parameters(self) -> list[str]:
        """The kernel's parameters for what is read."""
        names = [f"{name}{part.number}" for part in self.parts if part.centred for name in ("centre", "norms")]
        return [*parameters_of(self.inputs), *(f"__global const float *restrict {name}" for name in names)]

    def offsets(self, batch: str) -> str:
        """Moves what is read to its part for one element of the batch."""
        lines = [offsets_of(self.inputs, batch)]
        for part in self.parts:
            if part.centred:
                k = part.number
                lines.append(f"centre{k} += (size_t){batch} * {part.steps * DEPTH}; norms{k} += {batch} * count;")
        return "\n".join(lines)

    def word(self, k: int, piece: int) -> str:
        """Where the word of coordinates 2 k and 2 k + 1 of `line` lies: rows' pieces one behind the other, columns'
        side by side, so that one load brings both.
        """
        if self.role is Role.ROW:
            return f"{piece * self.words // 2} + line % 8 * 16 + line / 8 + {k % 4 * 4 + k // 4 * 2}"
        return f"line * 16 + {k % 4 * 4 + piece * 2 + k // 4}"
