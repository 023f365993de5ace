"""Whether the values of a pair follow from one squared distance such that far pairs do not matter."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.node import Literal, Symbol
from clmapreduce.lowering.once import once_per_pair
from clmapreduce.lowering.pair import Pair
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.pairs.cells.intervals import Interval, interval_of
from clmapreduce.schemes.pairs.matrix.parts.products import LongProduct, long_products

LIMIT = 2.0**40
"""What factors of a row or a column may be at most: then products with 0 are 0."""


class Rule(Enum):
    """Which pairs do not matter: those whose values are 0 in a sum; exponents far below the row's greatest one; values
    that are worse than as many others as are kept.
    """

    ZERO = "zero"
    EXPONENT = "exponent"
    LEAST = "least"
    GREATEST = "greatest"


@dataclass(frozen=True, eq=False)
class ApartPair:
    """pair: with its distance as a loop. distance: which one it is. least, greatest: symbols that stand for its bounds.
    bounds: of every value, made of these and of parameters. kept: values that a row keeps.
    """

    pair: Pair
    distance: LongProduct
    least: Symbol
    greatest: Symbol
    bounds: tuple[Interval, ...]
    rule: Rule
    kept: int


@once_per_pair
def apart_pair(pair: Pair, bound: PairBound) -> ApartPair | None:
    """The pair with the bounds of its values; None where values follow from something else, or all pairs matter."""
    rule, products = _rule_of(bound), long_products(pair, bound)
    if rule is None or len(products) != 1 or not products[0].distance:
        return None
    terms = (*pair.terms.rows, *pair.terms.columns)
    if rule is not Rule.ZERO and terms:
        return None
    least, greatest = Symbol("least square", FLOAT32), Symbol("greatest square", FLOAT32)
    known = {id(pair.contractions[0].result): Interval(least, greatest)}
    known |= {id(node): Interval(Literal(-LIMIT, FLOAT32), Literal(LIMIT, FLOAT32)) for node in terms}
    known |= {id(node): Interval(node, node) for node in pair.terms.uniform}
    bounds = [interval_of(value, known) for value in pair.values]
    ends = tuple(interval for interval in bounds if interval is not None)
    if len(ends) < len(bounds):
        return None
    return ApartPair(pair, products[0], least, greatest, ends, rule, max(1, bound.capacity))


def _rule_of(bound: PairBound) -> Rule | None:
    """Which pairs an operator can do without."""
    if bound.linear and bound.commutative:
        return Rule.ZERO
    if bound.weights or bound.width != 1 or not bound.commutative:
        return None
    if bound.exponents:
        return Rule.EXPONENT
    if bound.side and bound.capacity:
        return Rule.LEAST if bound.side < 0 else Rule.GREATEST
    return None

