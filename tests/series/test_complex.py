"""Complex arguments beside mpmath: each part right to the digits asked for; of powers, beside the magnitude."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from support.series_points import error, exactly, spread

import clmapreduce as cm
from clmapreduce.series.functions.catalogue import COMPLEX


def points(rng: np.random.Generator, n: int) -> np.ndarray:
    """Of size 1, on the unit circle and next to it, of all orders, and where exponentials are large."""
    off = 1e-9 * rng.normal(size=n) * (rng.random(n) < 0.5)
    parts = [
        rng.normal(size=n) + 1j * rng.normal(size=n),
        np.exp(1j * rng.uniform(0, 6.3, n)) * (1 + off),
        spread(rng, n, 1e-12, 1e2) + 1j * spread(rng, n, 1e-12, 1e2),
        rng.uniform(-300, 300, n) + 1j * rng.uniform(-300, 300, n),
        rng.normal(size=n) * np.repeat([1, 1j], (n + 1) // 2)[:n],
    ]
    return np.concatenate(parts)


def worst(name: str, operands: list[np.ndarray], result: Any, digits: int) -> float:
    function = getattr(mpmath, name)
    re, im = (result.real, result.imag) if isinstance(result, np.ndarray) else result
    errors = [0.0]
    for *z, real, imag in zip(*operands, exactly(re), exactly(im), strict=True):
        value = function(*(mpmath.mpc(part.real, part.imag) for part in z))
        for part, expected in ((real, mpmath.re(value)), (imag, mpmath.im(value))):
            if 1e-230 < abs(expected) < 1e300:
                beside = abs(value) if name == "power" else expected
                errors.append(error(beside, beside + (part - expected), digits))
            elif expected == 0:
                assert part == 0
    return max(errors)


@pytest.mark.drawn(whole=["name"], unless=lambda params: not params["context"].fp64)
@pytest.mark.parametrize("digits", [16, 31, 60])
@pytest.mark.parametrize("name", COMPLEX)
def test_parts_are_right(name: str, digits: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    z = points(rng, 12)
    operands = [z]
    if name == "power":
        other = rng.permutation(z)
        operands = [z, other / (1 + abs(other) / 8)]
    result = getattr(cm.series, name)(*operands, digits=digits, context=context, mode=mode)
    if digits == 16:
        assert result.dtype == np.complex128
    else:
        assert [part.dtype for part in result] == [cm.dd if digits == 31 else cm.qd] * 2
    with mpmath.workdps(150):
        assert worst(name, operands, result, digits) <= (0.501 if digits == 16 else 1)


@pytest.mark.sweep
@pytest.mark.parametrize("digits", [16, 31, 60])
@pytest.mark.parametrize("name", COMPLEX)
def test_parts_at_10000_points_are_right(name: str, digits: int, context: cm.Context, rng: np.random.Generator) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    z = points(rng, 2000)
    operands = [z, rng.permutation(z) / (1 + abs(z) / 8)] if name == "power" else [z]
    result = getattr(cm.series, name)(*operands, digits=digits, context=context)
    with mpmath.workdps(150):
        assert worst(name, operands, result, digits) <= (0.501 if digits == 16 else 1)


def test_dtypes_and_places(context: cm.Context, mode: str) -> None:
    z = np.array([[1 + 2j, -0.5j, 3]], np.complex64)
    expected = np.exp(z.astype(complex))
    for value in (z, cm.array(z, context)):
        result = cm.series.exp(value, context=context, mode=mode)
        assert isinstance(result, cm.DeviceArray) == isinstance(value, cm.DeviceArray)
        assert result.dtype == np.complex64
        np.testing.assert_allclose(np.asarray(result), expected, rtol=2e-7)
    out = np.full(z.shape, 7, np.complex64)
    assert cm.series.exp(z, context=context, mode=mode, out=out) is out and (out == np.asarray(result)).all()
    assert cm.series.exp(z[:, :0], context=context).shape == (1, 0)
    re, im = cm.series.exp(z, dtype=cm.df, context=context, mode=mode)
    assert re.dtype == im.dtype == cm.df
    parts = [cm.exact(part, float).astype(float) for part in (re, im)]
    np.testing.assert_allclose(parts[0] + 1j * parts[1], expected, rtol=1e-13)
    if context.device.fp64:
        assert cm.series.sqrt(-4 + 0j, context=context) == 2j
        assert cm.series.sqrt(z, dtype="c16", context=context).dtype == np.complex128
        assert cm.series.power(2.0, 1j, context=context) == pytest.approx(2**1j, rel=1e-15)


def test_what_complex_functions_refuse(context: cm.Context) -> None:
    if not context.device.fp64:
        pytest.skip("needs float64")
    with pytest.raises(cm.DTypeError, match="a complex number meets"):
        cm.series.power(np.zeros(1, cm.dd), 1j, context=context)
    with pytest.raises(cm.ShapeError, match="out holds 1"):
        cm.series.exp(np.ones(3, complex), digits=20, context=context, out=np.zeros(3, cm.dd))
    with pytest.raises(cm.ArgumentError, match="digits is 99"):
        cm.series.exp(1j, digits=99, context=context)
    with pytest.raises(cm.DTypeError, match="real numbers"):
        cm.series.exp(1j, 5, context=context)
