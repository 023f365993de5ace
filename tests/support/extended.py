"""Numbers in two floats for tests: random and hostile ones, their exact values, errors beside these."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

import clmapreduce as cm

DTYPES = {"dd": cm.dd, "df": cm.df, "qd": cm.qd, "qf": cm.qf}


def unit(dtype: np.dtype) -> Fraction:
    """u, half the distance between 1 and the next float: what one rounding may lose, relative to the result."""
    return Fraction(1, 2 ** (np.finfo(dtype[0]).nmant + 1))


def numbers(rng: np.random.Generator, count: int, dtype: np.dtype = cm.dd, powers: int = 40) -> Any:
    """Random numbers of all magnitudes; each word is anything up to half a unit of the one before, some of them that
    half, some 0, some far below.
    """
    x = np.zeros(count, dtype)
    word = rng.standard_normal(count) * 2.0 ** rng.integers(-powers, powers + 1, count)
    word[rng.random(count) < 0.1] = 2.0 ** rng.integers(-4, 5)
    for name in dtype.names:
        x[name] = word
        share = rng.uniform(-0.49, 0.49, count) * 2.0 ** (-rng.integers(0, 20, count) * (rng.random(count) < 0.3))
        share[rng.random(count) < 0.1] = 0.25
        share[rng.random(count) < 0.2] = 0
        # below a power of two floats lie twice as dense
        word = np.spacing(np.nextafter(np.abs(x[name]), dtype[0].type(0))) * share
    return x


def opposed(rng: np.random.Generator, a: Any) -> Any:
    """Numbers as `numbers` makes them, of which some are nearly -a: almost all digits of the sum cancel."""
    b = numbers(rng, len(a), a.dtype)
    first, *others = a.dtype.names
    near = rng.random(len(a)) < 0.4
    b[first][near] = -a[first][near]
    for name in others:
        b[name][near] = a[name][near] * 0.5
    beside = near & (rng.random(len(a)) < 0.5)
    b[first][beside] = -np.nextafter(a[first][beside], a.dtype[0].type(np.inf))
    for name in others:
        opposite = near & (rng.random(len(a)) < 0.4)
        b[name][opposite] = -a[name][opposite]
    return b


def worst(result: Any, exact: Iterable[Fraction], bound: Fraction, sizes: Iterable[Fraction] | None = None) -> float:
    """The greatest error, in parts of the bound, relative to the exact values or to `sizes`. Asserts that none is above
    it.
    """
    most, exact = Fraction(0), list(exact)
    for value, true, size in zip(np.ravel(cm.exact(result)), exact, sizes or exact, strict=True):
        error = abs(value - true)
        assert error <= bound * abs(size), (value, true, float(error / abs(size)) if size else "0 is exact")
        most = max(most, error / (bound * abs(size)) if error else most)
    return float(most)
