"""Sums of exponentials of distances, by kernels with matrix instructions on every device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.schemes.pairs.matrix.boxes import MATRIX_CPU, MatrixBox
from clmapreduce.vector import OPERATIONS, Variable, Vector

F = OPERATIONS
EPS = float(np.finfo("f4").eps)
TERM_ERROR = 3e-6
"""What a term may be off by: products, sixteen 2^-22 of an exponent; and a few roundings."""


def box_of(context: cm.Context, **more: Any) -> MatrixBox:
    box = MATRIX_CPU if context.facts.kind == "cpu" else MatrixBox(128, 2, 128)
    return replace(box, **more)


def run(call: PairCall, arrays: Any, context: cm.Context, ranges: Any = None, **more: Any) -> Any:
    """The results of the scheme."""
    prepared = prepare_pairs(call, arrays, Options("parallel", context), box_of(context, **more), ranges)
    assert isinstance(prepared, Prepared)
    assert any(stage.spec.template.startswith("kernel/matrix/pairwise_matrix") for stage in prepared.executable.plan.stages)
    return prepared.run()[0]


def gaussian(dim: int, axis: int = 1) -> tuple[Vector, tuple[Variable, ...]]:
    """exp(-|x - y|² · s) b with its variables."""
    x, y, s = Variable(0, dim, 0), Variable(1, dim, 1), Variable(2, 1, 2)
    b = Variable(3, 1, 1 if axis == 1 else 0)
    return F["Exp"](-F["SqDist"](x, y) * s) * b, (x, y, s, b)


def exponents(x: Any, y: Any, s: Any) -> Any:
    return -np.square(x.astype("f8")[..., :, None, :] - y.astype("f8")[..., None, :, :]).sum(-1) * float(s[0])


def assert_sums(result: Any, exponent: Any, weights: Any, label: Any = "") -> None:
    """Every row within what its terms may be off by."""
    terms = np.exp(exponent)
    with np.errstate(invalid="ignore"):
        off = np.where(terms > 0, terms * (TERM_ERROR + 8 * EPS * np.abs(exponent)), 0) @ np.abs(weights)
    expected = terms @ weights
    assert result.shape == expected.shape
    assert np.all(np.abs(result - expected) <= off + 1e-37), (label, np.max(np.abs(result - expected) / (off + 1e-37)))


def points(rng: np.random.Generator, count: int, dim: int, centre: float = 0.0, width: float = 1.0) -> Any:
    return (centre + width * rng.random((count, dim)) / dim**0.5).astype("f4")


def adversarial(rng: np.random.Generator, kind: str) -> tuple[Any, Any, Any]:
    """(rows, columns, scale) that a matrix of 16 bits might not bear."""
    x, y, s = points(rng, 70, 3), points(rng, 193, 3), np.ones(1, "f4")
    if kind == "far from the origin":
        return x + np.float32(1000), y + np.float32(1000), s
    if kind == "forty bandwidths wide":
        return 40 * x, 40 * y, s
    if kind == "two clusters":  # tiles that pass, and tiles that do not
        y[96:] += 30
        return x, y, s
    if kind == "beyond 16 bits":
        return 1e6 * x, 1e6 * y, s * np.float32(1e-12)
    if kind == "tiny":
        return np.float32(1e-6) * x, np.float32(1e-6) * y, s * np.float32(1e12)
    if kind == "denormals":
        return np.float32(1e-39) * x, np.float32(1e-39) * y, s
    if kind == "all the same":
        return np.repeat(x[:1], 70, 0), np.repeat(x[:1], 193, 0), s
    if kind == "rows the same":
        return np.repeat(x[:1], 70, 0), 1e5 * y, s * np.float32(1e-11)
    assert kind == "duplicates"
    y[:70] = x
    return x, y, s * np.float32(12)


KINDS = (
    "far from the origin", "forty bandwidths wide", "two clusters", "beyond 16 bits", "tiny", "denormals", "all the same",
    "rows the same", "duplicates",
)  # fmt: skip
