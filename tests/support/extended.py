"""Numbers in two floats for tests: random and hostile ones, their exact values, errors beside these."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

import clmapreduce as cm

DTYPES = {"dd": cm.dd, "df": cm.df}


def unit(dtype: np.dtype) -> Fraction:
    """u, half the distance between 1 and the next float: what one rounding may lose, relative to the result."""
    return Fraction(1, 2 ** (np.finfo(dtype[0]).nmant + 1))


def numbers(rng: np.random.Generator, count: int, dtype: np.dtype = cm.dd, powers: int = 40) -> Any:
    """Random numbers of all magnitudes; the second words are anything up to half a unit of the first, some of them that
    half, some 0, some far below.
    """
    word = dtype[0].type
    x = np.zeros(count, dtype)
    x["hi"] = rng.standard_normal(count) * 2.0 ** rng.integers(-powers, powers + 1, count)
    x["hi"][rng.random(count) < 0.1] = 2.0 ** rng.integers(-4, 5)
    share = rng.uniform(-0.49, 0.49, count) * 2.0 ** (-rng.integers(0, 20, count) * (rng.random(count) < 0.3))
    share[rng.random(count) < 0.1] = 0.25
    share[rng.random(count) < 0.2] = 0
    # below a power of two floats lie twice as dense
    x["lo"] = np.spacing(np.nextafter(np.abs(x["hi"]), word(0))) * share.astype(word)
    return x


def worst(result: Any, exact: Iterable[Fraction], bound: Fraction) -> float:
    """The greatest relative error, in parts of the bound. Asserts that none is above it."""
    most = Fraction(0)
    for value, true in zip(cm.exact(result).ravel(), exact, strict=True):
        lost = abs(value - true)
        assert lost <= bound * abs(true), (value, true, float(lost / abs(true)) if true else "0 is exact")
        most = max(most, lost / (bound * abs(true)) if lost else most)
    return float(most)


def opposed(rng: np.random.Generator, a: Any) -> Any:
    """Numbers as `numbers` makes them, of which some are nearly -a: almost all digits of the sum cancel."""
    b = numbers(rng, len(a), a.dtype)
    near = rng.random(len(a)) < 0.4
    b["hi"][near], b["lo"][near] = -a["hi"][near], a["lo"][near] * 0.5
    beside = near & (rng.random(len(a)) < 0.5)
    b["hi"][beside] = -np.nextafter(a["hi"][beside], a.dtype[0].type(np.inf))
    opposite = near & (rng.random(len(a)) < 0.2)
    b["lo"][opposite] = -a["lo"][opposite]
    return b
