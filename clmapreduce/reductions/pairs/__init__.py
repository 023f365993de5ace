"""The reductions over pairs (i, j), by KeOps' names. To add one: a file here and its line below."""

from __future__ import annotations

from clmapreduce.reductions.pairs.base import PairBound, PairOptions, PairOutput, PairReduction
from clmapreduce.reductions.pairs.extremum import EXTREMA
from clmapreduce.reductions.pairs.kmin import LEAST_K
from clmapreduce.reductions.pairs.logsumexp import EXPONENTIAL
from clmapreduce.reductions.pairs.sum import PairProduct, PairSum

PAIR_REDUCTIONS: dict[str, PairReduction] = {
    reduction.name: reduction for reduction in (PairSum(), PairProduct(), *EXTREMA, *LEAST_K, *EXPONENTIAL)
}

__all__ = ["PAIR_REDUCTIONS", "PairBound", "PairOptions", "PairOutput", "PairReduction"]
