"""Matrix units on every device: where a device has none, kernels for them run as the vocabulary spells them, in boxes
that are quick to build.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from clmapreduce.schemes.pairs.matrix import boxes as matrix_boxes
from clmapreduce.schemes.pairs.matrix.boxes import (
    MATRIX_CHAINED_CPU,
    MATRIX_CPU,
    MATRIX_LONG_CPU,
    MATRIX_NEAREST_CPU,
    MATRIX_WEIGHTED_CPU,
    MatrixBox,
    MatrixChainedBox,
    MatrixLongBox,
    MatrixNearestBox,
    MatrixWeightedBox,
)
from clmapreduce.schemes.pairs.matrix.scheme import MatrixScheme
from clmapreduce.schemes.pairs.matrix.wide_boxes import MATRIX_WIDE_CPU, MatrixWideBox

SMALL = {
    MatrixBox: MATRIX_CPU, MatrixWideBox: MATRIX_WIDE_CPU, MatrixLongBox: MATRIX_LONG_CPU,
    MatrixChainedBox: MATRIX_CHAINED_CPU, MatrixWeightedBox: MATRIX_WEIGHTED_CPU,
    MatrixNearestBox: MATRIX_NEAREST_CPU,
}  # fmt: skip


def units_everywhere(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every device has them, and no problem is too small; returns the list of the boxes that the calls choose."""
    boxes: list[Any] = []
    default = MatrixScheme.default

    def with_units(scheme: MatrixScheme[Any]) -> Any:
        box = default(replace(scheme, facts=replace(scheme.facts, matrix_units=True)))
        if box is not None:
            boxes.append(box if scheme.facts.kind != "cpu" else _small(box))
        return box and boxes[-1]

    monkeypatch.setattr(MatrixScheme, "default", with_units)
    for name in ("MANY_PAIRS", "FILTERED_COLUMNS", "FILTERED_KEPT"):
        monkeypatch.setattr(matrix_boxes, name, 0)
    return boxes


def _small(box: Any) -> Any:
    """Groups that give up are computed again the same way."""
    small = SMALL[type(box)]
    return replace(small, fine=1) if getattr(box, "fine", 0) else small
