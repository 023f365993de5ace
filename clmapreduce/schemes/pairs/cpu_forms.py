"""The form of a pair that CPUs compute fastest: sums over a few coordinates are better walked than unrolled, and a few
numbers better taken as a long value, since vector registers hold few numbers of a row. Measured on two cores with
Intel's runtime and PoCL 3.0; docs/notes/pairs_cpu says what was gained.
"""

from __future__ import annotations

from clmapreduce.dtypes import FLOAT64
from clmapreduce.formula.node import Apply, postorder
from clmapreduce.lowering.factors import quotient_of
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.pairs.parts.pair_formulas import is_product

SHORTEST, SHORTEST_BESIDE = 8, 12
"""Coordinates from which on loops are faster; and those for logsumexp, and for several numbers of a pair."""
MOST_TERMS = 2
"""Numbers that are kept of a row beside the loop, at most."""


def faster_pair(pair: Pair, looped: Pair | None, bound: PairBound, mode: ComputeMode, facts: Facts) -> Pair:
    """The pair with its sum over coordinates as a loop, where that is faster. pair: with the terms of that sum."""
    if looped is None or pair.contractions or facts.kind != "cpu" or mode is not ComputeMode.SEQUENTIAL:
        return pair
    if len(looped.contractions) != 1 or len(looped.terms.rows) > MOST_TERMS or looped.expansion is not None:
        return pair
    if looped.dtype == FLOAT64 and not facts.halves_wide_calls and _has_exponential(looped):
        return pair  # with registers of 512 bits, which hold the terms
    (walked,) = looped.contractions
    factors, _ = quotient_of(walked.term)
    shortest = SHORTEST_BESIDE if bound.exponents or len(looped.values) > 1 else SHORTEST
    return looped if len(factors) > 1 and walked.size >= shortest else pair


def is_better_long(long: Pair, walked: bool, mode: ComputeMode, facts: Facts) -> bool:
    """Whether a vector of a few numbers is faster as a long value: a scalar times numbers of the column. walked:
    whether its other form walks coordinates, which this one does not.
    """
    expansion = long.expansion
    if expansion is None or facts.kind != "cpu" or mode is not ComputeMode.SEQUENTIAL:
        return False
    product = len(expansion.scalars) == 1 and not expansion.rows and is_product(expansion)
    return product and (not walked or _has_exponential(long))


def _has_exponential(pair: Pair) -> bool:
    """Whether values contain one."""
    names = (node.function.name for node in postorder(pair.values) if isinstance(node, Apply))
    return any(name.startswith("exp") for name in names)
