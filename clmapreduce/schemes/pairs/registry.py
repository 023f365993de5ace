"""The schemes for pairs, and which of them computes a problem."""

from __future__ import annotations

from typing import Any, TypeAlias

from clmapreduce.domain.dense import Pairwise
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.schemes.pairs.boxes import Box
from clmapreduce.schemes.pairs.long_values import LongValues
from clmapreduce.schemes.pairs.matrix.chained import Chained
from clmapreduce.schemes.pairs.matrix.exponentials import Exponentials
from clmapreduce.schemes.pairs.matrix.few import FewNumbers
from clmapreduce.schemes.pairs.matrix.long_products import LongProducts
from clmapreduce.schemes.pairs.matrix.nearest import NearestColumns
from clmapreduce.schemes.pairs.matrix.scheme import MatrixScheme
from clmapreduce.schemes.pairs.matrix.weighted.scheme import Weighted
from clmapreduce.schemes.pairs.problem import PairProblem
from clmapreduce.schemes.pairs.quick_rows import QuickRows
from clmapreduce.schemes.pairs.rows import Rows
from clmapreduce.schemes.pairs.scheme import PairScheme
from clmapreduce.schemes.pairs.shared_rows import SharedRows
from clmapreduce.schemes.pairs.tiles import Tiles

AnyScheme: TypeAlias = "type[PairScheme[Any]]"
MATRIX: tuple[type[MatrixScheme[Any]], ...] = (
    Exponentials, Chained, Weighted, NearestColumns, FewNumbers, LongProducts,
)  # fmt: skip
PORTABLE: tuple[AnyScheme, ...] = (LongValues, SharedRows, Tiles, QuickRows, Rows)
SCHEMES: tuple[AnyScheme, ...] = (*MATRIX, *PORTABLE)
"""In the order in which they are asked. Rows compute what the others do not."""
BOX_TYPES: dict[str, type[Any]] = {scheme.box_type.__name__: scheme.box_type for scheme in SCHEMES}


def choose(
    layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts, box: Box | None = None
) -> tuple[PairScheme[Any], Box]:  # fmt: skip
    """The first scheme that has a default box, and the box; for another box, the scheme that it belongs to. Raises
    ValueError where that does not suit the problem.
    """
    schemes = [kind(layout, domain, mode, facts) for kind in SCHEMES]
    if box is None:
        return next((scheme, own) for scheme in schemes if (own := scheme.default()) is not None)
    for scheme in schemes:
        if scheme.box_type is type(box) and scheme.suits:
            return scheme, box
    raise ValueError(f"no scheme with a {type(box).__name__} computes these pairs")
