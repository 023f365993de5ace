"""Pairs that are made of one inner product of long vectors, or of one squared distance, and how much of its error shows
in what is reduced.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.fast import EXP2_FAST
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, Symbol, postorder
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.tile_norms import distance_of
from clmapreduce.vector.pair import Pair, PairInput, Role
from clmapreduce.vector.relative import relative_nodes


@dataclass(frozen=True)
class LongProduct:
    """A pair's only contraction: the squared distance of a row's and a column's input, or their inner product. slopes:
    where only exponents to base 2 are made of it, of powers that may be computed roughly, their derivatives by it, the
    same for all pairs; else None.
    """

    row: PairInput
    column: PairInput
    distance: bool
    slopes: tuple[Node, ...] | None

    @property
    def size(self) -> int:
        """Coordinates."""
        return self.row.dim


def long_product(pair: Pair, bound: PairBound) -> LongProduct | None:
    """The product that a float32 pair is made of; None where it sums something else, or more."""
    if len(pair.contractions) != 1 or pair.expansion is not None or pair.dtype != FLOAT32:
        return None
    found = distance_of(pair)
    sides = (found.row, found.column) if found is not None else _inner(pair)
    return None if sides is None else LongProduct(*sides, found is not None, slopes_of(pair, bound))


def _inner(pair: Pair) -> tuple[PairInput, PairInput] | None:
    """The row's and the column's input whose inner product is a pair's only contraction."""
    (contraction,) = pair.contractions
    term = contraction.term
    if not isinstance(term, Apply) or term.function.name != "multiply":
        return None
    given = {id(symbol): one for one, symbol in contraction.wide}
    sides = {given[id(arg)].role: given[id(arg)] for arg in term.args if isinstance(arg, Symbol) and id(arg) in given}
    return (sides[Role.ROW], sides[Role.COLUMN]) if set(sides) == {Role.ROW, Role.COLUMN} else None


def slopes_of(pair: Pair, bound: PairBound) -> tuple[Node, ...] | None:
    """The slopes of a LongProduct."""
    slope: dict[int, Node] = {id(pair.contractions[0].result): Literal(1, FLOAT32)}
    found: list[Node] = []
    rough = relative_nodes(pair.values, 0 if bound.summed else pair.width)
    for node in postorder(pair.values):
        if not isinstance(node, Apply) or not any(id(arg) in slope for arg in node.args):
            continue
        if node.function is EXP2_FAST and id(node) in rough:
            found.append(slope[id(node.args[0])])
            continue
        made = _slope(node, slope, pair.terms.role)
        if made is None:
            return None
        slope[id(node)] = made
    exponents = pair.width if bound.exponents else 0
    for k, value in enumerate(pair.values):
        if id(value) in slope:
            if k >= exponents:
                return None
            found.append(slope[id(value)])
    return tuple(found)


def _slope(node: Apply, slope: Mapping[int, Node], role: Mapping[int, Role]) -> Node | None:
    """The derivative of a node by the product; None where it is not linear in it, or differs from pair to pair."""
    name, known = node.function.name, [slope.get(id(arg)) for arg in node.args]
    if name == "negative":
        return known[0]
    left, right = known if len(known) == 2 else (None, None)
    if name in ("add", "subtract"):
        return left if right is None else right if left is None else None
    for mine, other in ((left, node.args[-1]), (right, node.args[0])):
        alone = mine is not None and id(other) not in slope and role[id(other)] is Role.PARAMETER
        if mine is not None and alone and (name == "multiply" or (name == "divide" and mine is left)):
            return apply(name, mine, other)
    return None
