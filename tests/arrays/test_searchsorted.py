"""searchsorted beside NumPy's."""

from __future__ import annotations

import numpy as np
import pytest

import clmapreduce as cm

pytestmark = pytest.mark.drawn

DTYPES = [np.dtype(code) for code in ("?", "i1", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")]
LENGTHS = (1, 2, 3, 7, 8, 9, 1000, 4099)


def few_values(rng: np.random.Generator, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    """Values of which many are equal; of floats infinities and NaN of both signs among them."""
    if dtype.kind == "b":
        return rng.random(shape) < 0.5
    values = rng.integers(0 if dtype.kind == "u" else -40, 41, shape).astype(dtype)
    if dtype.kind == "f":
        special = rng.choice([np.inf, -np.inf, np.nan, -np.nan, -0.0, 0.0], shape).astype(dtype)
        values = np.where(rng.random(shape) < 0.2, special, values / dtype.type(4))
    return values


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_places_are_numpys(
    dtype: np.dtype, side: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    for length in LENGTHS:
        line = np.sort(few_values(rng, dtype, (length,)))
        values = few_values(rng, dtype, (3, 41))
        expected = np.searchsorted(line, values, side)  # type: ignore[call-overload]
        result = cm.searchsorted(line, values, side=side, context=context, mode=mode)
        assert isinstance(result, np.ndarray) and result.dtype == np.int64
        np.testing.assert_array_equal(result, expected, err_msg=f"{length} elements")


@pytest.mark.parametrize("pair", ["i1 i8", "u1 f4", "f4 f8", "i4 u4", "f2 i2", "? i4"])
def test_values_of_another_dtype(pair: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    one, other = map(np.dtype, pair.split())
    line, values = np.sort(few_values(rng, one, (100,))), few_values(rng, other, (50,))
    result = cm.searchsorted(line, values, context=context, mode=mode)
    np.testing.assert_array_equal(result, np.searchsorted(line, values))


def test_integers_of_64_bits_are_compared_exactly(context: cm.Context, mode: str) -> None:
    """NumPy compares int64 with uint64 as float64."""
    line = np.array([0, 2**53, 2**53 + 1, 2**53 + 2, 2**64 - 1], np.uint64)
    values = np.array([-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 1], np.int64)
    for side, expected in (("left", [0, 0, 0, 1, 1, 2, 3, 4]), ("right", [0, 0, 1, 1, 2, 3, 4, 4])):
        result = cm.searchsorted(line, values, side=side, context=context, mode=mode)
        np.testing.assert_array_equal(result, expected)


def test_arrays_on_a_device(context: cm.Context, rng: np.random.Generator) -> None:
    """The function, NumPy's, the method; a sorter; single values; lines and values without elements."""
    line = rng.standard_normal(501).astype(np.float32)
    order, values = np.argsort(line), rng.standard_normal((4, 5)).astype(np.float32)
    ordered = line[order]
    x, v = cm.array(ordered, context), cm.array(values, context)
    expected = np.searchsorted(ordered, values)
    for result in (cm.searchsorted(x, values), cm.searchsorted(ordered, v), np.searchsorted(x, v), x.searchsorted(v)):
        assert isinstance(result, cm.DeviceArray)
        np.testing.assert_array_equal(result.to_numpy(), expected)
    unordered = cm.array(line, context)
    np.testing.assert_array_equal(cm.searchsorted(unordered, v, sorter=order).to_numpy(), expected)
    np.testing.assert_array_equal(np.searchsorted(unordered, v, sorter=unordered.argsort()).to_numpy(), expected)
    assert int(x.searchsorted(0.25, side="right")) == np.searchsorted(ordered, 0.25, side="right")
    assert cm.searchsorted(ordered, [], context=context).shape == (0,)
    assert cm.searchsorted(x[:0], v).tolist() == np.zeros((4, 5)).tolist()


def test_wrong_input(context: cm.Context) -> None:
    x = cm.array(np.arange(4.0, dtype=np.float32), context)
    with pytest.raises(cm.ShapeError, match=r"shape \(2, 2\); give an array with one axis"):
        cm.searchsorted(x.reshape(2, 2), x)
    with pytest.raises(cm.ShapeError, match=r"sorter has shape \(3,\), the sorted line \(4,\)"):
        cm.searchsorted(x, x, sorter=np.arange(3))
    with pytest.raises(cm.PlaceError):
        cm.searchsorted(x, x, sorter=np.arange(1, 5))
    with pytest.raises(cm.DTypeError, match="complex64"):
        cm.searchsorted(np.ones(3, np.complex64), x)
    with pytest.raises(cm.DTypeError, match="integers, not float64"):
        cm.searchsorted(x, x, sorter=np.arange(4.0))
    with pytest.raises(cm.ModeError, match="side"):
        cm.searchsorted(x, x, side="middle")
    for line in (x, x[:0]):
        with pytest.raises(cm.ModeError, match="'fast' is unknown"):
            cm.searchsorted(line, x, mode="fast")
