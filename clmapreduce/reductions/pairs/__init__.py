"""The reductions over pairs (i, j), by KeOps' names. To add one: a file here and its line below."""

from __future__ import annotations

from clmapreduce.checks import quoted
from clmapreduce.errors import ModeError
from clmapreduce.reductions.pairs.base import PairBound, PairOptions, PairOutput, PairReduction
from clmapreduce.reductions.pairs.extremum import EXTREMA
from clmapreduce.reductions.pairs.kmin import LEAST_K
from clmapreduce.reductions.pairs.logsumexp import EXPONENTIAL, LOG_BESIDE_SOFTMAX
from clmapreduce.reductions.pairs.moments import MOMENTS
from clmapreduce.reductions.pairs.sum import SUMS
from clmapreduce.reductions.pairs.truth import TRUTHS
from clmapreduce.reductions.pairs.user import PairOperator
from clmapreduce.reductions.user import Operator

PAIR_REDUCTIONS: dict[str, PairReduction] = {
    reduction.name: reduction for reduction in (*SUMS, *MOMENTS, *TRUTHS, *EXTREMA, *LEAST_K, *EXPONENTIAL)
}


def pair_reduction(reduction: str | Operator) -> PairReduction:
    """The reduction for a name, or for a user's operator. Raises ModeError for an unknown name."""
    if isinstance(reduction, Operator):
        return PairOperator(reduction)
    if not isinstance(reduction, str) or reduction not in PAIR_REDUCTIONS:
        raise ModeError(
            f"reduction {quoted(reduction)} is unknown; use one of {', '.join(PAIR_REDUCTIONS)}, or a cm.Operator"
        )
    return PAIR_REDUCTIONS[reduction]


def spec_of(reduction: PairReduction) -> str | Operator:
    """What `pair_reduction` makes this reduction of, anywhere: its name, or the user's operator."""
    return reduction.operator if isinstance(reduction, PairOperator) else reduction.name


__all__ = [
    "LOG_BESIDE_SOFTMAX", "PAIR_REDUCTIONS", "PairBound", "PairOptions", "PairOutput", "PairReduction",
    "pair_reduction", "spec_of",
]  # fmt: skip
