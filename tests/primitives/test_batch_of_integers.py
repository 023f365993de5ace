"""Sums of whole numbers as floats, one per row: Intel's compiler (2026.2) crashed on these on CPUs without AVX-512."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm


@pytest.mark.parametrize("dtype", ["i8", "u8", "i4", "i2"])
@pytest.mark.parametrize("shape", [(1, 6), (7, 7), (8, 300), (101, 6)], ids=str)
def test_means_of_rows(
    shape: tuple[int, int], dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    if not context.device.facts.fp64:
        pytest.skip("no float64 here")
    x = rng.integers(0, 50, shape).astype(dtype)
    totals = cm.fuse(lambda row, count: cm.Reduce("sum")(row * np.float64(0.5)) / count, batch=True)
    assert_same(totals(x, 0.25, context=context, mode=mode), x.sum(1) * 2.0)  # exact: halves of small numbers
