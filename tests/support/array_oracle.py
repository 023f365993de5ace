"""Results of arrays on a device beside NumPy's: shape, dtype and values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import clmapreduce as cm
from support.oracles import PLAIN, unit, values


def drawn_values(rng: np.random.Generator, dtype: Any, shape: Any) -> np.ndarray:
    """Random numbers of which some are 0, equal or small, so that comparisons and quotients meet every case."""
    dtype = np.dtype(dtype)
    if dtype.kind in "iu" and rng.random() < 0.7:
        low = -5 if dtype.kind == "i" else 0
        return np.asarray(rng.integers(low, 6, shape)).astype(dtype)
    if dtype.kind == "f" and rng.random() < 0.7:
        return np.asarray(rng.integers(-8, 9, shape) / 4).astype(dtype)
    return np.asarray(values(rng, dtype, shape)).astype(dtype)


def dtype_pairs(rng: np.random.Generator, count: int) -> Iterator[tuple[np.dtype, np.dtype]]:
    """Some pairs of dtypes, other ones in every run."""
    for _ in range(count):
        first, second = rng.choice(len(PLAIN), 2)
        yield PLAIN[first], PLAIN[second]


def assert_as_numpy(result: Any, expected: Any, units: float = 0.0, case: object = "", terms: Any = None) -> None:
    """Asserts that a DeviceArray has NumPy's shape, dtype and values; floats may be so many units in the last place off,
    of themselves, or of the magnitudes that were added up.
    """
    assert isinstance(result, cm.DeviceArray), (case, type(result))
    expected = np.asarray(expected)
    assert result.shape == expected.shape, (case, result.shape, expected.shape)
    assert result.dtype == expected.dtype, (case, result.dtype, expected.dtype)
    actual = result.to_numpy()
    if not units or expected.dtype.kind in "biu":
        np.testing.assert_array_equal(actual, expected, err_msg=str(case))
        return
    with np.errstate(all="ignore"):
        same = (actual == expected) | ((actual != actual) & (expected != expected))
        near = np.abs(actual - expected) <= 2 * units * unit(expected.real.dtype) * np.abs(expected if terms is None else terms) + 1e-37
    assert np.all(same | near), (case, actual[~(same | near)][:5], expected[~(same | near)][:5])


def outcome(call: Any) -> tuple[Any, type[Exception] | None]:
    """(result, None) of a call, or (None, its error)."""
    try:
        with np.errstate(all="ignore"):
            return call(), None
    except Exception as error:
        return None, type(error)
