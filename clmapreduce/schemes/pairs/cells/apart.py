"""Whether the values of a pair follow from one squared distance such that far pairs do not matter."""

from __future__ import annotations

from collections.abc import Mapping
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
LIMITED = Interval(Literal(-LIMIT, FLOAT32), Literal(LIMIT, FLOAT32))
"""Between which numbers they lie."""


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
    bounds: of every value, or of all numbers of a long value, made of these and of parameters. kept: values that a row
    keeps.
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
    rule, products = _rule_of(bound), long_products(pair.scalar, bound)
    if rule is None or len(products) != 1 or not products[0].distance:
        return None
    terms = (*pair.terms.rows, *pair.terms.columns)
    if rule is not Rule.ZERO and (terms or pair.expansion is not None):
        return None
    least, greatest = Symbol("least square", FLOAT32), Symbol("greatest square", FLOAT32)
    known = {id(pair.contractions[0].result): Interval(least, greatest)}
    known |= {id(node): LIMITED for node in terms}
    known |= {id(node): Interval(node, node) for node in pair.terms.uniform}
    ends = _bounds_of(pair, known)
    if ends is None:
        return None
    return ApartPair(pair, products[0], least, greatest, ends, rule, max(1, bound.capacity))


def _bounds_of(pair: Pair, known: Mapping[int, Interval]) -> tuple[Interval, ...] | None:
    """The bounds of the values; None where some are unknown."""
    values = tuple(interval for value in pair.values if (interval := interval_of(value, known)) is not None)
    if len(values) < len(pair.values):
        return None
    long = pair.expansion
    if long is None:
        return values
    scalars = {id(symbol): value for symbol, value in zip(long.scalars, values, strict=True)}
    numbers = {id(part.result): LIMITED for part in (*long.rows, *long.columns)}
    whole = interval_of(long.term, scalars | numbers)
    return None if whole is None else (whole,)


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

