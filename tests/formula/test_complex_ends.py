"""The complex exponential at infinities and NaN, as C and NumPy have it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

ENDS = (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 800.0, -800.0)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_exponentials_at_their_ends(dtype: Any, context: cm.Context, mode: str) -> None:
    if np.dtype(dtype).itemsize == 16 and not context.device.fp64:
        pytest.skip("no float64 here")
    z = np.array([complex(a, b) for a in ENDS for b in ENDS]).astype(dtype)
    result = cm.Map(lambda z: cm.math.exp(z))(z, context=context, mode=mode)
    with np.errstate(all="ignore"):
        expected = np.exp(z)
    for part in ("real", "imag"):
        np.testing.assert_allclose(getattr(result, part), getattr(expected, part), rtol=1e-5, err_msg=part)
