"""Where matrix instructions compute pairs: on devices that have them, for pairs whose products are worth it."""

from __future__ import annotations

from dataclasses import replace

from clmapreduce.domain.dense import Pairwise
from clmapreduce.lowering.pair import Pair
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.schemes.pairs.matrix.chained import chained_products_of
from clmapreduce.schemes.pairs.matrix.exponentials import wide_factoring_of
from clmapreduce.schemes.pairs.matrix.few import factoring_of
from clmapreduce.schemes.pairs.matrix.nearest import lists_fit
from clmapreduce.schemes.pairs.matrix.parts.halves import OperandPieces
from clmapreduce.schemes.pairs.matrix.parts.operands import DEPTH
from clmapreduce.schemes.pairs.matrix.parts.pack import ALIGNED, products_of
from clmapreduce.schemes.pairs.matrix.parts.ranking import nearest_of
from clmapreduce.schemes.pairs.matrix.weighted import suits_weights
from clmapreduce.schemes.pairs.rows import PairProblem
from clmapreduce.schemes.pairs.tiles import choose_tiles
from clmapreduce.schemes.tuning_matrix import (
    MatrixBox,
    MatrixChainedBox,
    MatrixLongBox,
    MatrixNearestBox,
    MatrixWeightedBox,
    MatrixWideBox,
    filter_box,
    matrix_box,
    matrix_chained_box,
    matrix_long_box,
    matrix_nearest_box,
    matrix_weighted_box,
    matrix_wide_box,
)

WEIGHTED_MOST = 24
"""Numbers of a row, or of a column, that registers and local memory have room for beside weights."""
FILTERED = 6
"""Operations per pair from which on a filter in front of them is worth it."""
LONG, CHAINED, WEIGHTED = 7, 5, 13
"""Numbers of a vector that is better taken as a long one; beside products of long vectors; beside formulas that are no
products.
"""
DIFFERENCES = 64
"""Columns from which on gradients may be made of sums of numbers: these are exact as vectors, but with few columns a
coordinate's differences may all be small beside its numbers.
"""
SHORT = 512
"""Columns of an interval of blocks below which it is not, unless it is one: stages that lie apart are packed by every
group again.
"""


def choose_matrix(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> MatrixBox | MatrixLongBox | None:  # fmt: skip
    """The box, where the device multiplies matrices and a scheme that does suits the pair."""
    if not facts.matrix_units or mode is ComputeMode.SEQUENTIAL or not domain.columns:
        return None
    wide = layout.wide or layout
    torn = layout.wide is not None and domain.interval < SHORT
    if wide.pair.expansion is not None and wide.pair.expansion.size >= LONG and not torn:
        found = wide_box_of(layout, domain, mode)
        if found is not None:
            return found
    if wide.pair.expansion is not None and wide.pair.expansion.size >= CHAINED:
        chained = chained_box_of(layout, domain, mode, facts)
        if chained is not None:
            return chained
    if wide.pair.expansion is not None and wide.pair.expansion.size >= WEIGHTED:
        weighted = weighted_box_of(layout, domain, mode)
        if weighted is not None:
            return weighted
    if layout.pair.expansion is not None:
        return None
    if layout.pair.contractions:
        return nearest_box_of(layout, domain, mode, facts) or long_box_of(layout, domain, mode, facts)
    return _of_few_numbers(layout, domain, mode)


def wide_box_of(layout: PairProblem, domain: Pairwise, mode: ComputeMode) -> MatrixWideBox | None:
    """The box for weights of however many numbers, where the scheme suits."""
    wide = layout.wide or layout
    if wide.pair.expansion is None or wide_factoring_of(wide, mode) is None:
        return None
    return matrix_wide_box(wide.pair.expansion.size, domain.padded())


def long_box_of(layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> MatrixLongBox | None:
    """The box for long vectors, where the scheme suits."""
    if not products_of(layout, mode, facts):
        return None
    return matrix_long_box(domain.padded(ALIGNED))


def nearest_box_of(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> MatrixNearestBox | None:  # fmt: skip
    """The box for the K best of many products of long vectors, where the scheme suits: work-items, columns that 32 bits
    count, tiles for what is in doubt, a centre that local memory holds, lists that memory does, and pairs enough.
    """
    bound = layout.bound
    if mode is ComputeMode.SEQUENTIAL or layout.few or not domain.narrow:
        return None
    fallback = choose_tiles(layout.pair, bound, mode, facts, redo=True)
    found = nearest_of(layout.pair, bound) if fallback is not None else None
    if found is None or 4 * (found.product.size + DEPTH) > facts.local_memory:
        return None
    box = matrix_nearest_box(bound.kept, domain.typical[1], domain.pairs, domain.padded(ALIGNED))
    return box if box is not None and lists_fit(layout, domain, box) else None


def chained_box_of(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> MatrixChainedBox | None:  # fmt: skip
    """The box for long vectors and weights of however many numbers, where the scheme suits."""
    wide = layout.wide or layout
    expansion = wide.pair.expansion
    if expansion is None or not chained_products_of(wide, mode, facts):
        return None
    if expansion.rows and domain.typical[1] < DIFFERENCES:
        return None
    return matrix_chained_box(expansion.size, domain.padded(ALIGNED))


def weighted_box_of(layout: PairProblem, domain: Pairwise, mode: ComputeMode) -> MatrixWeightedBox | None:
    """The box for any scalars and weights of however many numbers, where the scheme suits."""
    wide = layout.wide or layout
    if wide.pair.expansion is None or not suits_weights(wide, mode):
        return None
    terms = replace(wide.pair, expansion=None).terms
    if max(len(terms.rows), len(terms.columns)) > WEIGHTED_MOST:
        return None
    return matrix_weighted_box(wide.pair.expansion.size, len(terms.rows), domain.padded(ALIGNED))


def _of_few_numbers(layout: PairProblem, domain: Pairwise, mode: ComputeMode) -> MatrixBox | None:
    pair, bound = layout.pair, layout.bound
    factoring = factoring_of(layout, mode)
    if factoring is None or (bound.side and pair.cost < FILTERED):
        return None
    steps = sum(OperandPieces(len(product.rows)).steps for product in factoring.products)
    rows, columns = domain.rows * domain.batch, domain.columns
    padded = domain.padded()
    if bound.side:
        return filter_box(steps, bound.kept, rows, columns, padded)
    left = Pair(pair.inputs, factoring.values, pair.width, bilinear=factoring.products)
    return matrix_box(steps, left.cost, len(left.terms.rows), rows, columns, padded)
