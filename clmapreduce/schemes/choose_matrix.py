"""Where matrix instructions compute pairs: on devices that have them, for pairs whose products are worth it."""

from __future__ import annotations

from clmapreduce.domain.pairwise import Pairwise
from clmapreduce.domain.sparse import BlockSparse
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.schemes.matrix_text import Slots
from clmapreduce.schemes.pairwise import PairLayout
from clmapreduce.schemes.pairwise_matrix import factoring_of
from clmapreduce.schemes.pairwise_matrix_long import product_of
from clmapreduce.schemes.pairwise_matrix_wide import wide_factoring_of
from clmapreduce.tuning import MATRIX_LONG, MATRIX_WIDE, MatrixBox, MatrixLongBox, matrix_box
from clmapreduce.vector.pair import Pair

MOST_NUMBERS = 8
"""Numbers per row: more of them cost more than the exponents that they share."""
FILTERED = 6
"""Operations per pair from which on a filter in front of them is worth it."""


def choose_matrix(
    layout: PairLayout, domain: Pairwise, mode: ComputeMode, facts: Facts
) -> MatrixBox | MatrixLongBox | None:  # fmt: skip
    """The box, where the device multiplies matrices and a scheme that does suits the pair."""
    if not facts.matrix_units or mode is ComputeMode.SEQUENTIAL or not domain.columns:
        return None
    if layout.pair.expansion is not None:
        return MATRIX_WIDE if wide_factoring_of(layout, domain, mode) is not None else None
    if layout.pair.contractions:
        return MATRIX_LONG if product_of(layout, domain, mode, facts) is not None else None
    return _of_few_numbers(layout, domain, mode)


def _of_few_numbers(layout: PairLayout, domain: Pairwise, mode: ComputeMode) -> MatrixBox | None:
    pair, bound = layout.pair, layout.bound
    numbers = bound.width + bound.weights
    if numbers > MOST_NUMBERS or (bound.side and pair.cost < FILTERED):
        return None
    factoring = factoring_of(layout, mode)
    if factoring is None:
        return None
    work = Pair(pair.inputs, factoring.values, pair.width, bilinear=factoring.products).cost
    steps = sum(Slots(len(product.rows)).steps for product in factoring.products)
    together = domain.typical[0] if isinstance(domain, BlockSparse) else float("inf")
    return matrix_box(steps, work, domain.rows * domain.batch, domain.columns, together)
