"""Transposition on the device."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import assert_same, values

import clmapreduce as cm
from clmapreduce.primitives.transpose import transposed


@pytest.mark.parametrize(
    "shape", [(0, 4), (1, 7), (7, 1), (3, 5), (257, 1025), (2, 3, 33, 10), (4, 1, 6), (1, 9, 2)], ids=str
)
@pytest.mark.parametrize("code", ["f4", "f8", "i2"])
def test_the_last_axes_are_exchanged(
    shape: tuple[int, ...], code: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    if code == "f8" and not context.device.fp64:
        pytest.skip("no float64")
    x = values(rng, code, shape)
    assert_same(transposed(cm.array(x, context), mode).to_numpy(), np.swapaxes(x, -1, -2))
