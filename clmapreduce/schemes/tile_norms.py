"""Squared distances by products: |x − y|² = |x − c|² + |y − c|² − 2 (x − c)·(y − c), one instruction per coordinate
instead of two.

Rounding is then relative to |x − c|² + |y − c|² instead of |x − y|². So a tile whose least distance falls below `LEAST`
times the largest such sum is computed again by differences, and so is what is not finite; a group in which that happens
often stays with differences. c is the mean of a few rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.node import Apply, Node, Symbol
from clmapreduce.schemes.arrays_text import element, offsets_of
from clmapreduce.vector.pair import Pair, PairInput, Role

NORMS = ("scratch1", "scratch2", "scratch3")
"""The centre of every element of the batch, the rows' norms and the columns' norms."""
SAMPLES = 8
"""Rows, and columns, whose mean is the centre."""
LEAST = 0.125


@dataclass(frozen=True)
class Distance:
    """The squared distance between two inputs that is a pair's only contraction."""

    row: PairInput
    column: PairInput


def distance_of(pair: Pair) -> Distance | None:
    """The distance that a pair is made of; None where it sums something else. float32 only: products of doubles are not
    what a double's kernel waits for.
    """
    if len(pair.contractions) != 1 or pair.dtype != FLOAT32:
        return None
    (contraction,) = pair.contractions
    given = {id(symbol): one for one, symbol in contraction.wide}
    sides = {id(one): one for one in _difference(contraction.term, given)}.values()
    found = {one.role: one for one in sides}
    if set(found) != {Role.ROW, Role.COLUMN}:
        return None
    return Distance(found[Role.ROW], found[Role.COLUMN])


def _difference(term: Node, given: dict[int, PairInput]) -> Sequence[PairInput]:
    """The inputs of a term (a − b)², where a and b are coordinates; none for another term."""
    if not isinstance(term, Apply) or term.function.name != "multiply" or term.args[0] is not term.args[1]:
        return ()
    inner = term.args[0]
    if not isinstance(inner, Apply) or inner.function.name != "subtract":
        return ()
    if not all(isinstance(arg, Symbol) and id(arg) in given for arg in inner.args):
        return ()
    return [given[id(arg)] for arg in inner.args]


@dataclass(frozen=True)
class NormsText:
    """The statements that kernel/pairwise_norms asks for."""

    row: PairInput
    column: PairInput

    def offsets(self, batch: str) -> str:
        """Moves both inputs to their part for one element of the batch."""
        return offsets_of((self.row, self.column), batch)

    def samples(self, d: str) -> str:
        """Declares coordinate d of the centre. What is not finite counts as 0."""
        lines = ["float centre = 0;"]
        for given, count in ((self.row, "rows"), (self.column, "columns")):
            at = f"(idx)(((long)s * 2 + 1) * {count} / {2 * SAMPLES}) * {given.dim} + {d}"
            lines.append(
                f"for (int s = 0; s < {SAMPLES}; s++) {{ const float v = {element(given, at)};"
                f" centre += isfinite(v) ? v * {1 / (2 * SAMPLES)}f : 0; }}"
            )
        return "\n".join(lines)

    def norm(self, given: PairInput, at: str) -> str:
        """Declares the squared distance of a row or column from `middle`, as eight sums: fewer roundings than one."""
        lines = [f"float {', '.join(f's{k} = 0' for k in range(8))};", "int d = 0;"]
        lines.append(f"for (; d < {given.dim // 8 * 8}; d += 8) {{")
        for k in range(8):
            lines.append(f"const float v{k} = {element(given, f'({at}) * {given.dim} + d + {k}')} - middle[d + {k}];")
        lines += [f"s{k} = s{k} + v{k} * v{k};" for k in range(8)]
        lines += ["}", f"for (; d < {given.dim}; d++) {{"]
        lines.append(f"const float v = {element(given, f'({at}) * {given.dim} + d')} - middle[d]; s0 = s0 + v * v; }}")
        lines.append("const float norm = ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7));")
        return "\n".join(lines)
