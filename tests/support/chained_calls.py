"""Calls by the scheme for long vectors with long weights and for gradients, and how far gradients may be off."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_CHAINED, MATRIX_CHAINED_CPU, MatrixChainedBox
from clmapreduce.vector import Variable, Vector
from support.long_vectors import TERM_ERROR, F

SIZE = 20
"""Of the weights of most tests: each kernel text is built once."""


def box_of(context: cm.Context, **more: Any) -> MatrixChainedBox:
    box = MATRIX_CHAINED_CPU if context.facts.kind == "cpu" else replace(MATRIX_CHAINED, numbers=3)
    return replace(box, **more)


def prepared(
    call: PairCall, arrays: Any, context: cm.Context, box: MatrixChainedBox | None = None, ranges: Any = None
) -> Prepared[Any]:  # fmt: skip
    """A call by the scheme."""
    call_by_scheme = prepare_pairs(call, arrays, Options("parallel", context), box or box_of(context), ranges)
    assert isinstance(call_by_scheme, Prepared)
    templates = [stage.spec.template for stage in call_by_scheme.executable.plan.stages]
    assert "kernel/matrix/pairwise_matrix_chained" in templates and "kernel/pairs/pairwise_wide" in templates
    return call_by_scheme


def run(
    call: PairCall, arrays: Any, context: cm.Context, box: MatrixChainedBox | None = None, ranges: Any = None
) -> Any:  # fmt: skip
    """The results of the scheme."""
    return prepared(call, arrays, context, box, ranges).run()[0]


def slope(dim: int, by: int = 0) -> tuple[Vector, tuple[Variable, ...]]:
    """The gradient of exp(-|x - y|²) b by x (0) or y (1); the sum is over the other one."""
    x, y = Variable(0, dim, 0), Variable(1, dim, 1)
    b = Variable(2, 1, 1 - by)
    g = Variable(3, 1, by)
    return F["Grad"](F["Exp"](-F["SqDist"](x, y)) * b, (x, y)[by], g), (x, y, b, g)


def assert_slopes(
    actual: Any, rows: Any, columns: Any, factors: Any, case: Any = "", least: float = 0.0
) -> None:  # fmt: skip
    """Every gradient, as a vector, within what its terms may be off by. factors: of every pair's difference. least:
    what the device may take for 0.
    """
    difference = rows.astype("f8")[:, None] - columns.astype("f8")
    expected = np.einsum("ij,ijd->id", factors, difference)
    exponent = np.square(difference).sum(-1)
    off = (np.abs(factors) * np.sqrt(exponent) * (1 + exponent)).sum(1) * TERM_ERROR
    off += 2.0**-122 * np.sqrt(exponent).sum(1)  # exponentials below 2^-126 may be 0
    off += 4 * least * rows.shape[1] ** 0.5 * (1 + np.abs(factors)).sum(1)
    assert actual.shape == expected.shape
    error = np.linalg.norm(actual - expected, axis=1)
    assert np.all(error <= off), (case, np.nanmax(error / off))


BOXES = [
    MatrixChainedBox(32, 2, 1, 1, groups=8, tiles=1, depth=2, numbers=1, chains=1, longest=32),
    MatrixChainedBox(64, 1, 2, 1, groups=8, tiles=2, depth=3, numbers=3, chains=2, longest=64),
]
