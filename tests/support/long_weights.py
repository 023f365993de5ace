"""Sums of exponentials of distances times long weights, by kernels with matrix instructions on every device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.schemes.pairs.matrix.wide_boxes import MATRIX_WIDE_CPU, MATRIX_WIDE_FEW, MatrixWideBox

EPS = float(np.finfo("f4").eps)


def run(
    call: PairCall, arrays: Any, context: cm.Context, ranges: Any = None, beside: bool = False, **changes: int
) -> Any:
    """The results of the scheme. changes: of its box."""
    cpu, few = context.facts.kind == "cpu", MATRIX_WIDE_FEW[3]
    if beside and cpu:
        pytest.skip("pieces are kept on CPUs in either case")
    box = MATRIX_WIDE_CPU if cpu else few if beside else MatrixWideBox(128, 2, 32)
    box = replace(box, **changes)
    prepared = prepare_pairs(call, arrays, Options("parallel", context), box, ranges)
    assert isinstance(prepared, Prepared)
    names = [stage.spec.template for stage in prepared.executable.plan.stages]
    assert names[:2] == ["kernel/matrix/pairwise_matrix_pack", "kernel/matrix/pairwise_matrix_wide"]
    return prepared.run()[0]


def exponents(x: Any, y: Any) -> Any:
    return -np.square(x.astype("f8")[..., :, None, :] - y.astype("f8")[..., None, :, :]).sum(-1)


def assert_products(result: Any, exponent: Any, weights: Any, label: Any = "") -> None:
    """Every number within what its terms may be off by."""
    terms, weights = np.exp(exponent), weights.astype("f8")
    with np.errstate(invalid="ignore"):
        off = np.where(terms > 0, terms * (3e-6 + 8 * EPS * np.abs(exponent)), 0) @ np.abs(weights)
    expected = terms @ weights
    assert result.shape == expected.shape
    assert np.all(np.abs(result - expected) <= off + 1e-37), (label, np.max(np.abs(result - expected) / (off + 1e-37)))


def points(rng: np.random.Generator, count: int, dim: int) -> Any:
    return (rng.random((count, dim)) / dim**0.5).astype("f4")
