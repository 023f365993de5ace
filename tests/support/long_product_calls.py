"""Calls by the scheme for products of long vectors, and kernels of one product."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_LONG_CPU, MatrixLongBox
from clmapreduce.vector import Vector
from support.long_vectors import F, squares


def box_of(context: cm.Context, **more: Any) -> MatrixLongBox:
    box = MATRIX_LONG_CPU if context.facts.kind == "cpu" else MatrixLongBox(128, 2, 4, 2)
    return replace(box, **more)


def run(
    call: PairCall, arrays: Any, context: cm.Context, box: MatrixLongBox | None = None, ranges: Any = None
) -> Any:  # fmt: skip
    """The results of the scheme."""
    prepared = prepare_pairs(call, arrays, Options("parallel", context), box or box_of(context), ranges)
    assert isinstance(prepared, Prepared)
    templates = [stage.spec.template for stage in prepared.executable.plan.stages]
    assert "kernel/matrix/pairwise_matrix_long" in templates
    return prepared.run()[0]


BOXES = [MatrixLongBox(32, 2, 2, 1, groups=8, tiles=1), MatrixLongBox(128, 1, 1, 2, groups=8, tiles=2)]


def kernels(name: str, x: Vector, y: Vector) -> Vector:
    """Formulas of one distance, or of one inner product."""
    square = F["SqDist"](x, y)
    if name == "Laplacian":
        return F["Exp"](-F["Sqrt"](square))
    if name == "inverse multiquadric":
        return F["Rsqrt"](square + 1)
    return F["Exp"](-square) * square if name == "several" else (x | y)


def dense(name: str, x: Any, y: Any) -> Any:
    square = squares(x, y)
    if name == "Laplacian":
        return np.exp(-np.sqrt(square))
    if name == "inverse multiquadric":
        return 1 / np.sqrt(square + 1)
    return np.exp(-square) * square if name == "several" else x.astype("f8") @ y.astype("f8").T
