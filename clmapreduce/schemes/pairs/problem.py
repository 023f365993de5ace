"""A reduction over pairs as schemes see it, and the bounds that all of them keep."""

from __future__ import annotations

from dataclasses import dataclass, replace

from clmapreduce.dtypes import DType
from clmapreduce.lowering.pair import Pair
from clmapreduce.plan import LocalArray
from clmapreduce.reductions.pairs.base import PairBound

LONGEST_CHAIN = 1024
"""Tiles whose sums one accumulator absorbs at most: beyond that, float32 sums lose a sixth digit."""
PLACE_BYTES = 8
"""Bytes of a column's place in local memory, where columns lie apart."""


def places(scattered: bool, count: int) -> tuple[LocalArray, ...]:
    """The array of the places of so many columns, where they lie apart."""
    return (LocalArray("places", "idx", count),) if scattered else ()


@dataclass(frozen=True)
class PairProblem:
    """A pair with its operator. outputs: dtypes of the results in memory. few: whether items share a few rows and walk
    columns of their own. backend: whether the caller forces the columns to be split ("2D") or not ("1D"). wide: the
    same for a vector of a few numbers as if it were a long one, for who can take it so. short: the pair with the terms
    of sums that it walks, likewise.
    """

    pair: Pair
    bound: PairBound
    outputs: tuple[DType, ...]
    few: bool = False
    backend: str = "auto"
    wide: PairProblem | None = None
    short: Pair | None = None

    @property
    def shortened(self) -> PairProblem:
        """The problem with the terms of sums that are else walked, where they are few enough."""
        return self if self.short is None else replace(self, pair=self.short, short=None)
