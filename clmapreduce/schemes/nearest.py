"""Reductions that keep the K best of many distances of long vectors: which pairs they are, and how far a distance that
matrix instructions compute may be from what the formula says.
"""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.long_pairs_text import LONGEST
from clmapreduce.schemes.long_products import LongProduct, long_products
from clmapreduce.schemes.operand_text import DEPTH
from clmapreduce.vector.pair import Pair, Role

MOST_KEPT = 32
"""Values that an item keeps of each of its rows, at most."""


@dataclass(frozen=True)
class Nearest:
    """A distance that a pair's value grows with, or falls: the value is the distance times `slope`, of which only the
    sign counts, or a root of that.
    """

    product: LongProduct
    slope: Node

    @property
    def doubt(self) -> float:
        """How far a distance by products may be from one by differences, as a share of both norms: four times what
        pieces and instructions lose on average (see LongPairsText.cut), and what adding up differences may lose, of a
        distance that may be twice the norms.
        """
        steps = min(-(-self.product.size // DEPTH), LONGEST)
        return (4 + 1.5 * steps) * 2.0**-22 + 2 * (self.product.size + 8) * 2.0**-24


def nearest_of(pair: Pair, bound: PairBound) -> Nearest | None:
    """The distance whose best values an operator keeps; None for other operators and values."""
    if not bound.side or not 1 <= bound.kept <= MOST_KEPT or len(pair.values) != 1 or pair.factors:
        return None
    products = long_products(pair, bound)
    if len(products) != 1 or not products[0].distance:
        return None
    slope = _slope(pair)
    return None if slope is None else Nearest(products[0], slope)


def _slope(pair: Pair) -> Node | None:
    """What a value multiplies the distance by, roots aside; None where it does anything else with it."""
    slope: Node = Literal(1, FLOAT32)
    (node,), (contraction,) = pair.values, pair.contractions
    while node is not contraction.result:
        if not isinstance(node, Apply):
            return None
        name, first = node.function.name, node.args[0]
        if name in ("sqrt", "sqrt_fast"):
            node = first
        elif name == "negative":
            node, slope = first, apply("negative", slope)
        elif name in ("multiply", "divide", "divide_fast"):
            role = [pair.terms.role[id(arg)] for arg in node.args]
            if Role.PARAMETER not in role or (name != "multiply" and role[1] is not Role.PARAMETER):
                return None
            factor = node.args[role.index(Role.PARAMETER)]
            node, slope = node.args[1 - role.index(Role.PARAMETER)], apply("multiply", slope, factor)
        else:
            return None
    return slope
