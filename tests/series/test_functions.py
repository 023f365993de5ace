"""cm.series' functions beside mpmath: within a unit of the last digit asked for, over the whole domain."""

from __future__ import annotations

from typing import Any

import mpmath
import numpy as np
import pytest
from support.extended import DTYPES
from support.oracles import assert_same, into_poison
from support.series_points import FUNCTIONS, UNIT, errors, points

import clmapreduce as cm

DIGITS = (16, 32, 60)


def lacks(device: Any) -> bool:
    return not device.fp64


def check(name: str, operands: list[Any], digits: int, **how: Any) -> None:
    results = getattr(cm.series, name)(*operands, digits=digits, **how)
    with mpmath.workdps(2 * digits + 90):
        off = errors(name, operands, results, digits)
    worst = int(np.argmax(off))
    assert off[worst] <= UNIT.get(digits, 1), (name, digits, [x[worst] for x in operands], off[worst])


@pytest.mark.drawn(whole=["name"], unless=lambda params: lacks(params["context"]))
@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_digits_are_right(name: str, digits: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if lacks(context.device):
        pytest.skip("needs float64")
    check(name, points(name, rng, 33), digits, context=context, mode=mode)


@pytest.mark.sweep
@pytest.mark.parametrize("digits", DIGITS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_digits_of_10000_points_are_right(
    name: str, digits: int, context: cm.Context, rng: np.random.Generator
) -> None:
    if lacks(context.device):
        pytest.skip("needs float64")
    check(name, points(name, rng, 10_000), digits, context=context)


def in_words(x: np.ndarray, dtype: Any, rng: np.random.Generator) -> np.ndarray:
    """The numbers with lower words of their own."""
    words = np.zeros(x.shape, dtype)
    part = x.astype(dtype[0])
    for name in dtype.names:
        words[name] = part
        part = (part * rng.uniform(-0.4, 0.4, x.shape) * np.finfo(dtype[0]).eps).astype(dtype[0])
    return words


def moderate(operands: list[np.ndarray]) -> list[np.ndarray]:
    """Points and values that four words of float32 have room for."""
    within = np.all([(np.abs(x) < 25) & (np.abs(x) > 1e-4) for x in operands], axis=0)
    return [x[within] for x in operands]


@pytest.mark.drawn(whole=["name"], unless=lambda params: lacks(params["context"]))
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_arguments_in_words(name: str, dtype: str, context: cm.Context, rng: np.random.Generator) -> None:
    dtype = DTYPES[dtype]
    if dtype[0] == np.float64 and lacks(context.device):
        pytest.skip("needs float64")
    narrow = dtype[0] == np.float32
    operands = points(name, rng, 200 if narrow else 24)
    if name == "power":  # negative numbers have powers of whole exponents only
        operands[0] = abs(operands[0])
    operands = [in_words(x, dtype, rng) for x in (moderate(operands) if narrow else operands)]
    first = operands[0][dtype.names[0]]
    inside = {"asin": abs(first) < 0.999, "acos": abs(first) < 0.999, "atanh": abs(first) < 0.999}
    inside |= {"acosh": first > 1.001, "log1p": first > -0.999, "zeta": abs(first - 1) > 1e-3}
    operands = [x[inside.get(name, np.ones(first.shape, bool))] for x in operands]
    results = getattr(cm.series, name)(*operands, context=context)
    assert results.dtype == dtype
    digits = {(2, 4): 14, (4, 4): 28, (2, 8): 31, (4, 8): 60}[len(dtype.names), dtype[0].itemsize]
    with mpmath.workdps(210):
        off = errors(name, operands, results, digits)
        if narrow:  # beside magnitudes that its words can hold, and not next to zeros
            size = abs(results[dtype.names[0]].astype(float))
            off = off[(size > 1e-6) & (size < 1e25)]
    assert off.max(initial=0) <= 1, (name, off.max())


NEXT_TO_ZEROS = {
    "bessel_j0": lambda: [mpmath.besseljzero(0, k) for k in (1, 2, 3, 10, 40)],
    "lgamma": lambda: [
        mpmath.findroot(lambda x: mpmath.log(abs(mpmath.gamma(x))), at) for at in (-2.457, -2.7477, -3.1436, -10.0000003)
    ],
    "sin": lambda: [k * mpmath.pi for k in (1, 3, 355, 10**20)],
    "log": lambda: [mpmath.mpf(1) + mpmath.mpf(2) ** -52],
    "zeta": lambda: [mpmath.mpf(-2) + mpmath.mpf(2) ** -51, mpmath.mpf(-20) - mpmath.mpf(2) ** -48],
}


@pytest.mark.drawn(whole=["name"], unless=lambda params: lacks(params["context"]))
@pytest.mark.parametrize(("digits", "dtype"), [(16, np.dtype("f8")), (31, cm.dd), (60, cm.qd)])
@pytest.mark.parametrize("name", NEXT_TO_ZEROS)
def test_digits_next_to_zeros_are_right(name: str, digits: int, dtype: Any, context: cm.Context) -> None:
    """The numbers nearest to zeros of the function: relative errors count there too."""
    if lacks(context.device):
        pytest.skip("needs float64")
    with mpmath.workdps(150):
        zeros = NEXT_TO_ZEROS[name]()
        x = cm.extended(zeros, dtype) if dtype.names else np.array([float(zero) for zero in zeros])
    check(name, [x], digits, context=context)


@pytest.mark.parametrize("name", ["exp", "zeta", "log1p"])
def test_shapes_places_and_outputs(name: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    dtype = np.dtype("f8" if context.device.fp64 else "f4")
    function = getattr(cm.series, name)
    for shape in ((), (1,), (2, 3), (31,), (33,), 0):
        x = np.asarray(rng.uniform(1.5, 3, shape), dtype)
        result = function(x, context=context, mode=mode)
        assert np.shape(result) == x.shape and result.dtype == dtype
        on_device = function(cm.array(x, context), mode=mode)
        assert isinstance(on_device, cm.DeviceArray)
        assert_same(on_device, result)
        assert_same(into_poison(lambda out, x=x: function(x, context=context, mode=mode, out=out), shape, dtype), result)
    x = np.asarray(rng.uniform(1.5, 3, (6, 8)), dtype)
    assert_same(function(x[::2, 1::3], context=context, mode=mode), function(x, context=context, mode=mode)[::2, 1::3])


def test_two_arguments_broadcast(context: cm.Context, mode: str) -> None:
    x, y = np.float32([[1], [2], [3]]), np.float32([0, 1, 2, -1])
    expected = np.power(x, y)
    for a, b in ((x, y), (cm.array(x, context), y), (x, cm.array(y, context))):
        np.testing.assert_array_max_ulp(np.asarray(cm.series.power(a, b, context=context, mode=mode)), expected, 1)
    with pytest.raises(cm.ShapeError, match="do not broadcast"):
        cm.series.power(np.ones(3), np.ones(4), context=context)
