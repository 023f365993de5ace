"""Matrix units on every device: where a device has none, kernels for them run as the vocabulary spells them, in boxes
that are quick to build.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clmapreduce.domain.dense import Pairwise
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.planning import pairs as planned
from clmapreduce.schemes import tuning_matrix
from clmapreduce.schemes.pairs.matrix.choose import choose_matrix
from clmapreduce.schemes.pairs.rows import PairProblem
from clmapreduce.schemes.tuning_matrix import (
    MATRIX_CHAINED_CPU,
    MATRIX_CPU,
    MATRIX_LONG_CPU,
    MATRIX_NEAREST_CPU,
    MATRIX_WEIGHTED_CPU,
    MATRIX_WIDE_CPU,
    MatrixBox,
    MatrixChainedBox,
    MatrixLongBox,
    MatrixNearestBox,
    MatrixWeightedBox,
    MatrixWideBox,
)

SMALL = {
    MatrixBox: MATRIX_CPU, MatrixWideBox: MATRIX_WIDE_CPU, MatrixLongBox: MATRIX_LONG_CPU,
    MatrixChainedBox: MATRIX_CHAINED_CPU, MatrixWeightedBox: MATRIX_WEIGHTED_CPU,
    MatrixNearestBox: MATRIX_NEAREST_CPU, type(None): None,
}  # fmt: skip


def units_everywhere(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every device has them, and no problem is too small; the boxes that will be chosen, as they are."""
    found: list[Any] = []

    def choose(layout: PairProblem, domain: Pairwise, mode: ComputeMode, facts: Facts) -> Any:
        box = choose_matrix(layout, domain, mode, replace(facts, matrix_units=True))
        found.append(box if facts.kind != "cpu" else SMALL[type(box)])
        return found[-1]

    monkeypatch.setattr(planned, "choose_matrix", choose)
    monkeypatch.setattr(tuning_matrix, "MANY_PAIRS", 0)
    return found
