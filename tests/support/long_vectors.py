"""Pairs of long vectors: points, a Gaussian of their distances, and how far its sums may be off."""

from __future__ import annotations

from typing import Any

import numpy as np

from clmapreduce.vector import OPERATIONS, Variable, Vector

F = OPERATIONS
DIM = 37
"""Of most tests: each kernel text is built once; the last step has five coordinates."""
TERM_ERROR = 3e-6
"""What a term may be off by, and an exponent relative to itself."""


def points(rng: np.random.Generator, count: int, dim: int = DIM) -> Any:
    """Points whose distances are about 1."""
    return (rng.normal(size=(count, dim)) / (2 * dim) ** 0.5).astype("f4")


def squares(x: Any, y: Any) -> Any:
    with np.errstate(invalid="ignore"):
        return np.square(x.astype("f8")[..., :, None, :] - y.astype("f8")[..., None, :, :]).sum(-1)


def gaussian(dim: int, size: int = 1, axis: int = 1) -> tuple[Vector, tuple[Variable, ...]]:
    """exp(-|x - y|² · s) b with its variables; b is on the side of the sum."""
    x, y, s = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, 1, 2)
    b = Variable(3, size, 1 if axis == 1 else 0)
    return F["Exp"](-F["SqDist"](x, y) * s) * b, (x, y, s, b)


def assert_sums(actual: Any, exponent: Any, weights: Any, case: Any = "") -> None:
    """Every number within what its terms may be off by."""
    terms = np.exp(exponent)
    with np.errstate(invalid="ignore"):
        off = np.where(terms > 0, terms * TERM_ERROR * (1 + np.abs(exponent)), 0) @ np.abs(weights)
    expected = terms @ weights
    assert actual.shape == expected.shape
    assert np.all(np.abs(actual - expected) <= off + 1e-37), (case, np.nanmax(np.abs(actual - expected) / (off + 1e-37)))
