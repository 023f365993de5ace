"""Where many rows meet few columns, what is prepared for every row costs more than it saves: tiles that items share,
operands of matrix units, lists of each item. There an item keeps all coordinates of a row of its own.
"""

from __future__ import annotations

from clmapreduce.domain.dense import Pairwise
from clmapreduce.dtypes import FLOAT32
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.reductions.pairs.base import PairBound
from clmapreduce.schemes.pairs.matrix.parts.products import long_products
from clmapreduce.schemes.pairs.rows import kept

FEWEST_ROWS = 16384
"""Rows that fill a GPU with an item each."""
PREPARED, SAVED = 7_000, 26
"""Operations in which matrix units prepare a row, and in which they compute a pair: estimates from times on an H200. By
them rows of an item take as long as matrix units for D = 50 with 94 columns, and for D = 25 with 291.
"""
TILED = 25_000
"""Columns times coordinates up to which tiles take longer. An H200, 10⁵ rows, the least distance, ms by tiles and by
rows of an item: to 100 points with D = 20 0.060 and 0.030, D = 50 0.100 and 0.074, D = 100 0.17 and 0.13; to 1,000
points 0.22 and 0.17, 0.48 and 0.52, 0.91 and 1.05.
"""
ORDERED_COLUMNS = 2048
"""Columns up to which this holds where values are put in order. The 10 nearest of 100 points, D = 20, 50 and 100: 0.26,
0.31 and 0.39 by tiles, 0.060, 0.098 and 0.16 by rows; of 1,000 points 0.70, 1.03 and 1.48, 0.39, 0.73 and 1.31.
"""
MOST_KEPT = 128
"""Numbers that registers hold: coordinates, accumulators, and those of a tile."""
LONGEST = 100
"""Coordinates that an item keeps, at most."""


def keeps_rows(pair: Pair, bound: PairBound, domain: Pairwise, mode: ComputeMode, facts: Facts) -> bool:
    """Whether an item keeps all coordinates of a row of its own. pair: as it walks sums over coordinates."""
    sizes = [one.size for one in pair.contractions]
    if not sizes or pair.nested or pair.expansion is not None or pair.has_tables or pair.dtype != FLOAT32:
        return False
    if mode is not ComputeMode.PARALLEL or facts.kind != "gpu" or domain.scattered:
        return False
    coordinates = sum(sizes)
    if coordinates > LONGEST or coordinates + kept(bound) > MOST_KEPT:
        return False
    if domain.rows * domain.batch < FEWEST_ROWS:
        return False
    if bound.one_by_one:
        return domain.columns <= ORDERED_COLUMNS
    if facts.matrix_units and bound.smooth and long_products(pair, bound):
        return domain.columns * (2 * coordinates - SAVED) <= PREPARED
    return domain.columns * coordinates <= TILED
