"""Zeros, infinities, NaN, overflow and the least numbers: what IEEE and C say of each function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import special

import clmapreduce as cm

INF, NAN, LARGEST, LEAST = np.inf, np.nan, np.finfo("f8").max, 5e-324
X = np.array([
    0.0, -0.0, 1, -1, INF, -INF, NAN, 2, -2, -3.5, 0.5, LEAST, -LEAST, 2.3e-308, 1e-310, LARGEST, -LARGEST, 710.4, -710.4,
    -745, 709.9, 175.5, 1000, -1000, 1e300, -1e300, 171.6, -180.5, 1e17, -1e17, 3, -260.3,
])  # fmt: skip
TWINS: dict[str, Callable[..., Any]] = {
    **{name: getattr(np, name) for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "asinh": np.arcsinh, "acosh": np.arccosh,
    "atanh": np.arctanh, "sqrt": np.sqrt, "cbrt": np.cbrt, "erf": special.erf, "erfc": special.erfc,
    "gamma": special.gamma,
}  # fmt: skip
EXPECTED = {
    "zeta": {0.0: -0.5, 1: INF, INF: 1, -INF: NAN, NAN: NAN, -2: 0, 171.6: 1, LARGEST: 1, -LARGEST: 0, -1: -1 / 12},
    "lgamma": {2.559983e305: 1.7976929043077148e308, 2.559984e305: INF, 0.0: INF, 1: 0, 2: 0, -1: INF, INF: INF, -INF: INF, NAN: NAN, LARGEST: INF, -LARGEST: INF},
    "bessel_j0": {0.0: 1, INF: 0, -INF: 0, NAN: NAN, LEAST: 1},
}


def leading(result: Any) -> np.ndarray:
    """The first words. Of infinities, NaN and zeros the others are 0."""
    values = result.to_numpy()
    if not values.dtype.names:
        return values
    first, *others = (values[name] for name in values.dtype.names)
    for word in others:
        assert (word[~np.isfinite(first) | (first == 0)] == 0).all()
        assert np.isfinite(word).all()
    return first


def assert_like(result: np.ndarray, expected: np.ndarray, where: Any) -> None:
    same = (result == expected) & (np.signbit(result) == np.signbit(expected)) | np.isnan(result) & np.isnan(expected)
    with np.errstate(all="ignore"):
        near = (expected != 0) & np.isfinite(expected) & (abs(result - expected) <= 1e-12 * abs(expected) + LEAST)
    wrong = ~(same | near)
    assert not wrong.any(), list(zip(np.broadcast_to(where, wrong.shape)[wrong], result[wrong], expected[wrong], strict=True))


@pytest.mark.drawn(whole=["name"], unless=lambda params: not params["context"].fp64)
@pytest.mark.parametrize("digits", [16, 31, 60])
@pytest.mark.parametrize("name", [*TWINS, *EXPECTED])
def test_special_values(name: str, digits: int, context: cm.Context, mode: str) -> None:
    """On a device nothing is refused: outside the domain there is NaN."""
    if not context.device.fp64:
        pytest.skip("needs float64")
    x = X
    with np.errstate(all="ignore"):
        if name in EXPECTED:
            x, expected = (np.array(list(values), float) for values in (EXPECTED[name], EXPECTED[name].values()))
        else:
            expected = TWINS[name](X)
    result = leading(getattr(cm.series, name)(cm.array(x, context), digits=digits, mode=mode))
    assert_like(result, expected, x)


@pytest.mark.drawn(unless=lambda params: not params["context"].fp64)
@pytest.mark.parametrize("digits", [16, 60])
def test_special_powers(digits: int, context: cm.Context, mode: str) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    y = np.array([0.0, -0.0, 1, -1, INF, -INF, NAN, 2, 3, -3, 0.5, -0.5, 1e300, -1e300, 1e17 + 2, 2000, -2000.5])[:, None]
    with np.errstate(all="ignore"):
        expected = np.power(X, y)
    result = leading(cm.series.power(cm.array(X, context), cm.array(y, context), digits=digits, mode=mode))
    assert_like(result, expected, X)


@pytest.mark.drawn(unless=lambda params: not params["context"].fp64)
@pytest.mark.parametrize("name", ["log", "sqrt"])
def test_special_complex_values(name: str, context: cm.Context, mode: str) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    parts = [0.0, -0.0, 1, -2.5, INF, -INF, NAN, 1e300, -1e300, 1e-300, LARGEST, LEAST]
    z = np.array([complex(a, b) for a in parts for b in parts])
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
    result = getattr(cm.series, name)(z, context=context, mode=mode)
    assert_like(result.real, expected.real, z)
    assert_like(result.imag, expected.imag, z)
