"""Launch boxes of schemes that matrix instructions compute: numbers only, measured on an H200; docs/notes says
what lost.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from clmapreduce.plan import Facts


@dataclass(frozen=True)
class MatrixBox:
    """For pairs whose products matrix instructions compute. block: work-items per group, a multiple of 32. blocks: of
    16 rows per warp. tile: columns between two sums of sums, a multiple of 8. across: warps that share rows, a power of
    two. unroll: of the loop over a tile, 8 columns a turn. share: every so many exponentials are left to
    multiplications; 0: none. ahead: blocks of 8 columns between two questions whether one of them matters, where few
    do. sample: every how many columns are looked at beforehand, to know what may matter; 0: none. groups, tiles,
    merge_block: as in a PairBox. fine: blocks of 16 rows per warp where groups far apart are computed again, by three
    pieces a number. 0: they are computed by the formula itself.
    """

    block: int
    blocks: int
    tile: int
    across: int = 1
    unroll: int = 4
    share: int = 4
    ahead: int = 4
    sample: int = 8
    groups: int = 40
    tiles: int = 4
    merge_block: int = 128
    fine: int = 0


def whole_tiles(box: MatrixBox) -> bool:
    """Whether warps share rows evenly, and a tile is of whole turns of the loop over it."""
    shared = box.block // 32 % box.across == 0
    return shared and 8 * box.unroll <= max(box.tile, 64) and box.tile % 16 == 0


MATRIX_FEW, SHARED_BY_TWO = 7, 5
"""With rows of up to so many blocks all warps of a group share them; from how many on the group is of two warps."""
LITTLE, SOME_PAIRS, MANY_PAIRS = 10**7, 4 * 10**7, 2 * 10**8
"""Pairs, times steps, below which a second launch that merges shares of the columns takes longer than walking all of
them at once; pairs from which on tiles of 256 columns leave enough groups; and from which on the largest boxes do.
"""
EXPONENTIAL, LIGHT, FEW_TERMS = 3, 5, 4
"""Operations left of a pair beside which there is time for exponentials by multiplications; and with which two blocks
of rows a warp are best; with more of them four, where no more numbers are kept of every row.
"""


def matrix_box(
    steps: int, work: int, terms: int, rows: int, columns: int, padded: Callable[[int], float] | None = None
) -> MatrixBox:  # fmt: skip
    """The box for pairs whose products matrix instructions compute. steps: instructions for 16 rows and 8 columns.
    work: operations that are left to do per pair. terms: numbers kept per row. rows, columns: of the whole problem.
    padded: for rows in clusters, the pairs that groups of so many rows walk.
    """
    share = 4 if work <= EXPONENTIAL and steps < 3 else 0
    if padded is not None:
        return replace(_clustered_box(padded, IDLE), share=share)
    blocks, pairs = -(-rows // 16), rows * columns
    if pairs * steps < LITTLE:
        return MatrixBox(128, 1, 512, 4, share=share, groups=4)
    if blocks <= MATRIX_FEW:
        warps, groups, tiles = (2, 40, 1) if blocks >= SHARED_BY_TWO else (4, 16, 2)
        return MatrixBox(32 * warps, blocks, 512, warps, share=share, groups=groups, tiles=tiles, merge_block=256)
    if pairs < MANY_PAIRS:
        return MatrixBox(128, 2, 256 if pairs >= SOME_PAIRS else 128, share=share, groups=16, tiles=2)
    if terms <= FEW_TERMS and (steps > 2 or work > LIGHT):
        return MatrixBox(128, 4, 256 if steps < 4 else 128, share=share)
    return MatrixBox(256, 2, 512, share=share)


FEWEST_FINE = 4
"""Numbers of a vector from which on three pieces a number are faster than the formula itself."""
FINE_OPERANDS = 20
"""Operands of rows that an item holds there, at most; each takes four registers."""
FINE_BLOCK, FINE_TILE, FINE_WARPS = 256, 128, 4
"""Work-items of a group there, at most; columns of a tile; and warps, at least, unless the first launch has fewer."""
FEW_SUMS, CROWDED, HEAVY_BLOCKS = 2, 16, 2
"""A warp has at most HEAVY_BLOCKS blocks there, or the compiler spills registers, where an operator keeps more than
FEW_SUMS numbers of a row, or more than one and their product with the steps exceeds CROWDED, or where products leave
more than FEW_TERMS numbers of the row.
"""
FINE_REGISTERS = {256: 128, 128: 168}
"""Registers of an item where groups may be computed with them, at most, by work-items of a group: so that two groups
run at once, or three. The compiler would take up to 255, for tiles that are computed by the formula itself.
"""


def fine_pays(numbers: Sequence[int], pairs: int) -> bool:
    """Whether groups that are far apart are better computed again by three pieces a number. numbers: of each product's
    vectors.
    """
    return len(numbers) == 1 and numbers[0] >= FEWEST_FINE and pairs >= SOME_PAIRS


FEWEST_COLUMNS, FEWEST_OF_STEPS = 400, 256
"""Columns that a row must meet so that its operands pay, where they are of one step, and of more. An H200, 10⁶ rows and
300 columns, ms, normal points and a unit cube: logsumexp with D = 3 0.21, 0.12, by the formula 0.14; D = 10 0.36, 0.18,
and 0.29.
"""


def fewest_columns(steps: int) -> int:
    """How many columns many rows must meet so that their operands pay. steps: as above."""
    return FEWEST_COLUMNS if steps == 1 else FEWEST_OF_STEPS


FILTERED_COLUMNS, FILTERED_KEPT, FILTERED_MOST = 4096, 1024, 20
"""The same for a filter, how many more for each value that the operator keeps, and of how many of these. 10⁵ rows, ms:
the nearest of 3,000 columns, D = 3 0.135, by the formula 0.123; the ten nearest 1.22, 0.57; of 10,000 1.64, 1.09; of
30,000 2.10, 2.04.
"""
FILTER_SAMPLES = {11: 4, 15: 2}
"""The `sample` of a box, by the most values that an operator keeps; 1 for more values. A column that passes the bars
costs an item time with the square of the values, and fewer pass where more are looked at.
"""


def filter_box(
    steps: int, capacity: int, rows: int, columns: int, padded: Callable[[int], float] | None = None
) -> MatrixBox | None:  # fmt: skip
    """The same where products decide which columns are computed; None where there are too few pairs for them to be
    worth it. capacity: values that the operator keeps.
    """
    if rows * columns < MANY_PAIRS:
        return None
    if padded is not None:
        return replace(_clustered_box(padded), sample=0)
    if columns < FILTERED_COLUMNS + FILTERED_KEPT * min(capacity, FILTERED_MOST):
        return None
    if capacity > 1:
        sample = next((one for most, one in FILTER_SAMPLES.items() if capacity <= most), 1)
        return MatrixBox(256, 2, 512, groups=8, sample=sample)
    return MatrixBox(256, 2, 256, ahead=2, sample=16) if steps > 2 else MatrixBox(256, 2, 1024, ahead=8, sample=16)


STAGING = 19
"""Rows whose pairs with a column take as long as staging it."""
IDLE = 0.45
"""What rows that a group lacks cost of those that it has, where warps without rows wait for the others."""


def _clustered_box(padded: Callable[[int], float], idle: float = 1) -> MatrixBox:
    """The box for rows in clusters. idle: what rows that a group lacks cost."""
    block = suited(padded, (256, 128, 64, 32), idle)
    return MatrixBox(block, 2, 512 if block > 64 else 128)


def suited(padded: Callable[[int], float], sizes: Sequence[int], idle: float = 1) -> int:
    """Of some rows a group as many as suit the clusters, least work in all. idle: what rows that a group lacks cost."""
    least = (1 - idle) * padded(sizes[-1])
    return min(sizes, key=lambda rows: least + padded(rows) * (idle + STAGING / rows))


MATRIX_CPU = MatrixBox(64, 1, 32, 2, unroll=1, ahead=2, sample=4, groups=8, merge_block=32)
"""Where a group's items read operands for themselves: to be right, not fast."""
_SAMPLE_GPU = MatrixBox(256, 2, 256, groups=8)


def sample_box(box: MatrixBox, facts: Facts) -> MatrixBox:
    """The box for the look at some columns before a launch with `box`; it keeps two numbers a row, not lists."""
    if facts.kind == "cpu":
        return box
    return replace(_SAMPLE_GPU, sample=box.sample, block=min(_SAMPLE_GPU.block, facts.max_group_size))


@dataclass(frozen=True)
class MatrixLongBox:
    """For pairs of long vectors whose inner products matrix instructions compute. block: work-items per group, a
    multiple of 32. rows: blocks of 16 rows per warp. columns: blocks of 8 columns per warp. across: warps side by side
    along the columns, a power of two. groups, tiles, merge_block: as in a PairBox.
    """

    block: int
    rows: int
    columns: int
    across: int
    groups: int = 40
    tiles: int = 8
    merge_block: int = 128

    @property
    def tile(self) -> int:
        """Columns that a group computes at once."""
        return 8 * self.columns * self.across


L = TypeVar("L", bound=MatrixLongBox)


def narrower(box: L) -> L | None:
    """Warps of half the columns; where they have one block of columns, of half the rows."""
    if box.columns > 1:
        return replace(box, columns=box.columns // 2)
    return replace(box, rows=box.rows // 2) if box.rows > 1 else None


def within_registers(box: L) -> L:
    """The box whose blocks of pairs an item holds where it has two products of every pair."""
    return replace(box, columns=16 // box.rows) if box.rows * box.columns > 16 else box


@dataclass(frozen=True)
class MatrixWeightedBox(MatrixLongBox):
    """The same where long weights are multiplied by scalars of the pairs; warps never share rows. numbers: of every row
    that a group computes, in blocks of 8. chains: of these blocks that are multiplied side by side. registers: as in a
    MatrixWideBox. longest: as in a WideBox.
    """

    numbers: int = 8
    chains: int = 4
    registers: int = 0
    longest: int = 8192


@dataclass(frozen=True)
class MatrixChainedBox(MatrixWeightedBox):
    """The same where the scalars are made of inner products of long vectors. depth: steps of 16 coordinates that are
    brought to local memory at once.
    """

    depth: int = 4


MATRIX_LONG = MatrixLongBox(128, 4, 8, 2)
"""Tiles of 128 rows and 128 columns."""
_LONG_CLUSTERED = {128: MATRIX_LONG, **{16 * n: replace(MATRIX_LONG, block=64, rows=n) for n in (4, 2, 1)}}
"""By rows of a group."""


def matrix_long_box(padded: Callable[[int], float] | None = None, heavy: bool = False) -> MatrixLongBox:
    """The box for inner products of long vectors. padded: as above. heavy: whether much text is left per pair: for half
    the columns it stays in the cache of instructions.
    """
    box = MATRIX_LONG if padded is None else _LONG_CLUSTERED[suited(padded, list(_LONG_CLUSTERED))]
    return replace(box, columns=box.columns // 2) if heavy else box


MATRIX_LONG_CPU = MatrixLongBox(32, 1, 1, 1, groups=8, tiles=2, merge_block=32)
"""Where a group's items read operands for themselves: to be right, not fast."""


@dataclass(frozen=True)
class MatrixNearestBox(MatrixLongBox):
    """The same where the nearest columns are listed. spare: how many more a list has than are wanted. sample: one tile
    of so many is looked at beforehand, for bars; 0 for none.
    """

    spare: int = 2
    sample: int = 8


MATRIX_NEAREST = MatrixNearestBox(128, 2, 8, 2, groups=8)
_NEAREST_CLUSTERED = {
    64: MATRIX_NEAREST, 32: replace(MATRIX_NEAREST, rows=1), 16: replace(MATRIX_NEAREST, block=64, rows=1),
}  # fmt: skip
"""By rows of a group."""
FEW_KEPT, FEW_ROWS = 12, 32
"""Of more values kept tiles have registers for so many rows of blocks, if some are in doubt."""
SAMPLES, LISTED = (2, 4, 8, 16, 32), 50
"""Of how many tiles one is sampled for thresholds; and how many products take as long as a column that passes (E in
schemes/pairs/matrix/thresholds): 28 were measured for D = 50 and 300, and for few columns more pass than are wanted.
"""
MATRIX_NEAREST_CPU = MatrixNearestBox(32, 1, 1, 1, groups=8, tiles=2, merge_block=32, sample=3)
"""Where a group's items read operands for themselves: to be right, not fast."""


def matrix_nearest_box(
    capacity: int, columns: float, pairs: float, padded: Callable[[int], float] | None = None
) -> MatrixNearestBox | None:  # fmt: skip
    """The box for lists of the nearest columns, from so many pairs on that they are worth their launches. capacity:
    columns of a list; a single one needs no bars. columns: that a row meets. pairs: of the whole problem. padded: as
    above.
    """
    if pairs < max(1, MANY_PAIRS):
        return None
    sizes = [rows for rows in _NEAREST_CLUSTERED if capacity <= FEW_KEPT or rows <= FEW_ROWS]
    box = MATRIX_NEAREST if padded is None else _NEAREST_CLUSTERED[suited(padded, sizes)]
    if capacity == 1:
        return replace(box, sample=0)
    sample = min(math.sqrt(columns / (capacity * LISTED)), columns / (box.tile * box.tiles))
    return replace(box, sample=min(SAMPLES, key=lambda one: abs(math.log(sample / one))))


MATRIX_CHAINED = MatrixChainedBox(128, 2, 4, 1)
CHAINED_MOST, CHAINED_FEW, CHAINED_SIDE_BY_SIDE = 13, 3, 8
"""Blocks of numbers that registers hold; beside which there are some for twice the rows; and for four chains."""
_CHAINED_CLUSTERED = {
    128: MATRIX_CHAINED, 64: replace(MATRIX_CHAINED, block=64), 32: replace(MATRIX_CHAINED, block=64, rows=1),
    16: replace(MATRIX_CHAINED, block=32, rows=1),
}  # fmt: skip
"""By rows of a group."""
MATRIX_CHAINED_CPU = MatrixChainedBox(
    32, 1, 1, 1, groups=8, tiles=2, merge_block=32, depth=1, numbers=2, chains=1, longest=64
)


def matrix_chained_box(numbers: int, padded: Callable[[int], float] | None = None) -> MatrixChainedBox:
    """The box for products of long vectors and so many numbers of the column. padded: as above."""
    box = MATRIX_CHAINED if padded is None else _CHAINED_CLUSTERED[suited(padded, list(_CHAINED_CLUSTERED))]
    blocks = -(-numbers // 8)
    each = -(-blocks // -(-blocks // CHAINED_MOST))
    if padded is None and each <= CHAINED_FEW:
        return replace(box, rows=4, numbers=each, chains=2)
    return replace(box, numbers=each, chains=4 if each <= CHAINED_SIDE_BY_SIDE else 2)


MATRIX_WEIGHTED = MatrixWeightedBox(128, 2, 4, 1)
MATRIX_WEIGHTED_CPU = MatrixWeightedBox(
    32, 1, 1, 1, groups=8, tiles=2, merge_block=32, numbers=2, chains=1, longest=64
)  # fmt: skip
"""Where a group's items read operands for themselves: to be right, not fast."""
WEIGHTED_TERMS, WEIGHTED_STEPS = 12, 6
"""Numbers that are kept of every row beside which a warp has registers for two blocks of rows; and instructions beside
which local memory has room for the operands of eight blocks of columns.
"""


def matrix_weighted_box(
    numbers: int, terms: int, padded: Callable[[int], float] | None = None, heavy: bool = False
) -> MatrixWeightedBox:  # fmt: skip
    """The box for scalars, of any formula, and so many numbers of the column. terms: numbers kept per row. padded,
    heavy: as for inner products of long vectors.
    """
    like = matrix_chained_box(numbers, padded)
    rows = min(like.rows, 2) if terms <= WEIGHTED_TERMS else 1
    columns = MATRIX_WEIGHTED.columns * (2 if like.numbers <= CHAINED_FEW and not heavy else 1)
    box = replace(MATRIX_WEIGHTED, block=like.block, rows=rows, columns=columns)
    return replace(box, numbers=like.numbers, chains=like.chains)


def matrix_again_box(rows: int, blocks: int, terms: int, steps: int = 0) -> MatrixWeightedBox:
    """The same for groups of so many rows and blocks of numbers. terms: as above. steps: instructions of the products
    that make the scalars of 16 rows and 8 columns, if any do.
    """
    each = 2 if rows % 32 == 0 and terms <= WEIGHTED_TERMS and blocks <= CHAINED_SIDE_BY_SIDE else 1
    columns, chains = (8, 2) if blocks <= CHAINED_FEW else (4, 4 if blocks <= CHAINED_SIDE_BY_SIDE else 2)
    columns = min(columns, 4) if steps > WEIGHTED_STEPS else columns
    return replace(
        MATRIX_WEIGHTED, block=2 * rows // each, rows=each, columns=columns, numbers=blocks, chains=chains
    )
