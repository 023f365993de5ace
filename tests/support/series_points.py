"""Points of the domains of functions, and how far results are from mpmath's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np

import clmapreduce as cm

Rng = np.random.Generator
UNIT = {16: 0.501}
"""Of a result's last digit; at 16 digits of float64's last place, where the nearest float is half a unit off."""


def spread(rng: Rng, n: int, low: float, high: float) -> np.ndarray:
    """Numbers of either sign with magnitudes of every order."""
    return np.exp(rng.uniform(np.log(low), np.log(high), n)) * rng.choice([-1.0, 1.0], n)


def _near(rng: Rng, n: int, center: float, low: float, high: float) -> np.ndarray:
    return center + spread(rng, n, low, high)


def _exponential(rng: Rng, n: int) -> list[np.ndarray]:
    u = rng.uniform
    return [u(-715, 715, n), u(-2, 2, n), spread(rng, n, 1e-30, 1e5), u(-40, 40, n)]


def _turning(rng: Rng, n: int) -> list[np.ndarray]:
    quarters = np.rint(rng.uniform(-1e6, 1e6, n)) * np.pi / 2
    return [spread(rng, n, 1e-20, 1e300), rng.uniform(-10, 10, n), quarters, spread(rng, n, 0.1, 1e6)]


def _between_ones(rng: Rng, n: int) -> list[np.ndarray]:
    edges = 1 - np.abs(spread(rng, n, 1e-16, 0.1))
    return [rng.uniform(-1, 1, 2 * n), spread(rng, n, 1e-30, 1), edges * rng.choice([-1.0, 1.0], n)]


def _everywhere(rng: Rng, n: int) -> list[np.ndarray]:
    return [rng.uniform(-3, 3, n), spread(rng, 3 * n, 1e-280, 1e300)]


def _positive(rng: Rng, n: int) -> list[np.ndarray]:
    return [np.abs(spread(rng, 2 * n, 1e-280, 1e300)), rng.uniform(0, 3, n), _near(rng, n, 1, 1e-15, 0.5)]


POINTS: dict[str, Callable[[Rng, int], list[np.ndarray]]] = {
    **dict.fromkeys(("exp", "expm1", "sinh", "cosh"), _exponential),
    **dict.fromkeys(("sin", "cos", "tan"), _turning),
    **dict.fromkeys(("asin", "acos", "atanh"), _between_ones),
    **dict.fromkeys(("atan", "asinh", "cbrt"), _everywhere),
    **dict.fromkeys(("log", "sqrt"), _positive),
    "log1p": lambda rng, n: [*_positive(rng, n)[:2], spread(rng, n, 1e-20, 0.99)],
    "tanh": lambda rng, n: [rng.uniform(-3, 3, 2 * n), spread(rng, 2 * n, 1e-30, 800)],
    "acosh": lambda rng, n: [1 + np.abs(spread(rng, 2 * n, 1e-15, 5)), np.abs(spread(rng, 2 * n, 1, 1e300))],
    "erf": lambda rng, n: [rng.uniform(-7, 7, 2 * n), spread(rng, 2 * n, 1e-30, 10)],
    "erfc": lambda rng, n: [rng.uniform(-7, 26, 2 * n), spread(rng, n, 1e-30, 10), rng.uniform(0.9, 1.1, n)],
    "gamma": lambda rng, n: [rng.uniform(-20, 175, 2 * n), spread(rng, n, 1e-30, 1e3), rng.uniform(-150, 0, n)],
    "lgamma": lambda rng, n: [
        rng.uniform(-20, 20, n), np.abs(spread(rng, n, 1e-30, 1e306)), _near(rng, n, 1, 1e-12, 0.9),
        _near(rng, n, 2, 1e-12, 0.9),
    ],
    "zeta": lambda rng, n: [
        rng.uniform(-5, 20, n), _near(rng, n, 1, 1e-12, 2), rng.uniform(-270, 0, n), rng.uniform(0, 200, n)
    ],
    "bessel_j0": lambda rng, n: [rng.uniform(-100, 100, 2 * n), spread(rng, n, 1e-10, 1e10), rng.uniform(-8, 8, n)],
}  # fmt: skip


def points(name: str, rng: Rng, n: int) -> list[np.ndarray]:
    """About n arguments of a function in float64, one array for each of its operands."""
    part = n // 4 + 1
    if name == "power":
        x = [np.abs(spread(rng, 2 * part, 1e-5, 1e5)), rng.uniform(0.9, 1.1, part), rng.uniform(-9, 9, part)]
        y = [rng.uniform(-80, 80, 2 * part), spread(rng, part, 1, 3e3), np.rint(rng.uniform(-30, 30, part))]
        return [np.concatenate(x)[:n], np.concatenate(y)[:n]]
    return [rng.permutation(np.concatenate(POINTS[name](rng, part)))[:n]]


FUNCTIONS = (*POINTS, "power")


def truth(name: str) -> Callable[..., Any]:
    """mpmath's function, real where ours is."""
    own: dict[str, Callable[..., Any]] = {
        "cbrt": lambda x: mpmath.sign(x) * mpmath.cbrt(abs(x)),
        "bessel_j0": lambda x: mpmath.besselj(0, x),
        "lgamma": lambda x: mpmath.log(abs(mpmath.gamma(x))) if x < 0 else mpmath.loggamma(x),
    }
    return own.get(name) or getattr(mpmath, name)


def exactly(values: Any) -> list[Any]:
    """The numbers of an array as mpmath's."""
    values = np.atleast_1d(values)
    return list(cm.exact(values, mpmath.mpf)) if values.dtype.names else [mpmath.mpf(float(v)) for v in values]


def errors(name: str, operands: list[Any], results: Any, digits: int) -> np.ndarray:
    """How far results are off, in units of the last of so many digits. Beyond the range they are to be infinite. Those
    whose last word would be below the normal numbers count as right.
    """
    function, distances = truth(name), []
    words = results.dtype.names
    largest = float(np.finfo(results.dtype[0] if words else results.dtype).max)
    low = 1e-300 if digits <= 16 else 1e-230
    for *x, result in zip(*map(exactly, operands), exactly(results), strict=True):
        value = function(*x)
        if abs(value) > largest:
            infinite = mpmath.isinf(result) and (result > 0) == (value > 0)
            distances.append(0.0 if infinite or abs(value) < 1.001 * largest else float("inf"))
        else:
            distances.append(error(value, result, digits) if abs(value) > low else 0.0)
    return np.array(distances)


def error(value: Any, result: Any, digits: int) -> float:
    """How far a result is from a value, in units of the last of so many digits."""
    if mpmath.isnan(result):
        return float("inf")
    if value == 0:
        return 0.0 if result == 0 else float("inf")
    if digits == 16:
        return float(abs(result - value) / mpmath.mpf(2) ** (mpmath.floor(mpmath.log(abs(value), 2)) - 52))
    return float(abs(result - value) / mpmath.mpf(10) ** (mpmath.floor(mpmath.log10(abs(value))) - digits + 1))
