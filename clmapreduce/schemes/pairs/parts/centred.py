"""Squared distances by products: |x − y|² = |x − c|² + |y − c|² − 2 (x − c)·(y − c), one instruction per coordinate
instead of two; weighted by parameters as well.

Rounding is then relative to |x − c|² + |y − c|² instead of |x − y|². So a tile whose least distance falls below `LEAST`
times the largest such sum is computed again by differences, and so is what is not finite; a group in which that happens
often stays with differences. c is the mean of a few rows and columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.node import Apply, Node, Symbol
from clmapreduce.lowering.pair import Pair, PairInput, Role
from clmapreduce.schemes.common.arrays import parameters_of
from clmapreduce.schemes.pairs.parts.computed import Computed
from clmapreduce.schemes.pairs.parts.sides import Side

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
    variable = {id(symbol): one for one, symbol in contraction.wide}
    sides = {id(one): one for one in _difference(contraction.term, variable)}.values()
    by_role = {one.role: one for one in sides}
    if set(by_role) != {Role.ROW, Role.COLUMN}:
        return None
    return Distance(by_role[Role.ROW], by_role[Role.COLUMN])


def _difference(term: Node, variable: dict[int, PairInput]) -> Sequence[PairInput]:
    """The inputs of a term (a − b)², where a and b are coordinates; none for another term."""
    if not isinstance(term, Apply) or term.function.name != "multiply" or term.args[0] is not term.args[1]:
        return ()
    inner = term.args[0]
    if not isinstance(inner, Apply) or inner.function.name != "subtract":
        return ()
    if not all(isinstance(arg, Symbol) and id(arg) in variable for arg in inner.args):
        return ()
    return [variable[id(arg)] for arg in inner.args]


def centre_of(number: int) -> str:
    """The array of centres of distance `number` of a pair: as the first of NORMS."""
    return f"{NORMS[0]}_{number}" if number else NORMS[0]


@dataclass(frozen=True, eq=False)
class CentredNorms:
    """What kernels that find a centre take: what norms are made of. metric: what differences are multiplied by, if
    anything. inputs: all that the numbers are made of.
    """

    row: Side
    column: Side
    metric: Side | None
    inputs: tuple[PairInput, ...]
    narrow: bool
    samples: ClassVar[int] = SAMPLES

    def parameters(self) -> list[str]:
        """The kernel's parameters for what is read."""
        return parameters_of(self.inputs)

    def centred(self, side: Side, at: str, d: str) -> Computed:
        """The number of a row or column at coordinate d, less that of `middle`."""
        return centred(side, self.metric, at, d, f"middle[{d}]", self.narrow)


def centred(side: Side, metric: Side | None, index: str, d: str, centre: str, narrow: bool) -> Computed:
    """A row's or column's number at a coordinate, less the centre, in a metric."""
    statements, text = side.at(index, d, narrow)
    if metric is None:
        return Computed(statements, f"{text} - {centre}")
    more, factor = metric.at(index, d, narrow, "f")
    return Computed(f"{statements} {more}", f"({text} - {centre}) * {factor}")
