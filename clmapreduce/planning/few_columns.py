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

FEWEST_ROWS = 16384
"""Rows that fill a GPU with an item each."""
PREPARED, SAVED = 10_000, 26
"""Operations in which matrix units prepare a row, and in which they compute a pair."""
TILED = 25_000
"""Columns times coordinates up to which tiles take longer. An H200, 10⁵ rows, the least distance, ms by tiles and by
rows of an item: to 100 points with D = 20 0.060 and 0.030, D = 50 0.100 and 0.074, D = 100 0.17 and 0.13; to 1,000
points 0.22 and 0.17, 0.48 and 0.52, 0.91 and 1.05.
"""
ORDERED_COLUMNS, MOST_KEPT = 2048, 128
"""Columns up to which this holds where values are put in order, and numbers of a row that registers hold then. The 10
nearest of 100 points, D = 20, 50 and 100: 0.26, 0.31 and 0.39 by tiles, 0.060, 0.098 and 0.16 by rows; of 1,000 points
0.70, 1.03 and 1.48, 0.39, 0.73 and 1.31.
"""
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
    if domain.rows * domain.batch < FEWEST_ROWS or coordinates > LONGEST:
        return False
    if bound.one_by_one:
        kept = coordinates + len(bound.components)
        return domain.columns <= ORDERED_COLUMNS and kept <= MOST_KEPT
    if facts.matrix_units and bound.smooth and long_products(pair, bound):
        return domain.columns * (2 * coordinates - SAVED) <= PREPARED
    return domain.columns * coordinates <= TILED
