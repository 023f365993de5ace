"""What the array standard's namespace has beside NumPy's functions, and single bools as subscripts, beside NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.array_oracle import assert_as_numpy

import clmapreduce as cm

Pair = tuple[Any, Any]


@pytest.fixture
def pair(context: cm.Context, rng: np.random.Generator) -> Pair:
    values = rng.standard_normal((2, 3, 4)).astype(np.float32)
    return cm.array(values, context), values


@pytest.mark.parametrize("k", [-(10**30), -5, -1, 0, 1, 2, 7])
def test_diagonals_and_triangles(k: int, context: cm.Context, pair: Pair) -> None:
    x, values = pair
    xp = x.__array_namespace__()
    for dtype in (None, "f4", "i1", "?", "f2", "c8"):
        assert_as_numpy(xp.eye(3, 4, k=k, dtype=dtype, context=context), np.eye(3, 4, k=max(-9, k), dtype=dtype or float))
    assert_as_numpy(xp.eye(31, context=context), np.eye(31))
    assert_as_numpy(xp.eye(0, 4, k=k, context=context), np.eye(0, 4))
    assert_as_numpy(np.tril(x, k), np.tril(values, max(-9, k)))
    assert_as_numpy(xp.triu(x, k=k), np.triu(values, max(-9, k)))


@pytest.mark.parametrize("indexing", ["xy", "ij"])
@pytest.mark.parametrize("lengths", [(3,), (3, 2), (3, 2, 4), (1, 0, 5)], ids=str)
def test_coordinates_of_grids(lengths: tuple[int, ...], indexing: Any, context: cm.Context) -> None:
    vectors = [np.arange(length) + 10.0 * k for k, length in enumerate(lengths)]
    xp = cm.zeros(1, context=context).__array_namespace__()
    grid = xp.meshgrid(*(cm.array(v, context) for v in vectors), indexing=indexing)
    for one, other in zip(grid, np.meshgrid(*vectors, indexing=indexing), strict=True):
        assert_as_numpy(one, other)


def test_repeats_tiles_and_rolls(pair: Pair) -> None:
    x, values = pair
    for axis in (None, 0, 1, 2, -1):
        for count in (0, 1, 3):
            assert_as_numpy(np.repeat(x, count, axis=axis), np.repeat(values, count, axis=axis))
        for shift in (-5, 0, 1, 29):
            assert_as_numpy(np.roll(x, shift, axis=axis), np.roll(values, shift, axis=axis))
    assert_as_numpy(np.repeat(x, [1, 0, 2], axis=1), np.repeat(values, [1, 0, 2], axis=1))
    assert_as_numpy(np.roll(x, (1, 2), axis=(0, 2)), np.roll(values, (1, 2), axis=(0, 2)))
    for counts in (2, (2, 3), (2, 1, 1, 3), (0, 2), ()):
        assert_as_numpy(np.tile(x, counts), np.tile(values, counts))
    for axis in (0, 1, -1):
        parts = x.__array_namespace__().unstack(x, axis=axis)
        for one, other in zip(parts, np.moveaxis(values, axis, 0), strict=True):
            assert_as_numpy(one, other)


def test_prefixes_with_a_first_value(pair: Pair) -> None:
    x, values = pair
    xp = x.__array_namespace__()
    whole = np.rint(values * 3)
    ours = cm.array(whole, x.context)
    for axis in (0, 1, -1):
        first = np.zeros_like(whole.take([0], axis))
        expected = np.concatenate([first, whole.cumsum(axis)], axis)
        assert_as_numpy(xp.cumulative_sum(ours, axis=axis, include_initial=True), expected)
        expected = np.concatenate([first + 1, whole.cumprod(axis)], axis)
        assert_as_numpy(xp.cumulative_prod(ours, axis=axis, include_initial=True), expected)
    none = cm.array(np.zeros(0, np.uint8), x.context)
    assert_as_numpy(xp.cumulative_sum(none, include_initial=True), np.zeros(1, np.uint64))


@pytest.mark.parametrize("key", [True, False, np.True_, (True, ...), (slice(None), True), (..., False), (None, True)], ids=str)
def test_single_bools_are_new_axes(key: Any, pair: Pair) -> None:
    x, values = pair
    assert_as_numpy(x[key], values[key])
    if isinstance(key, bool):
        assert_as_numpy(x[cm.array(np.array(key), x.context)], values[key])
    x[key] = 7
    values[key] = 7
    assert_as_numpy(x, values)


def test_limits_kinds_and_devices(context: cm.Context) -> None:
    with context:
        x = cm.zeros(3, "f4")
        xp = x.__array_namespace__()
        info = xp.__array_namespace_info__()
        assert x.device is context.device and info.default_device() is context.device
        assert context.device in info.devices()
        for name, dtype in info.dtypes().items():
            assert cm.zeros(2, dtype).dtype == np.dtype(name)
        wide = context.device.fp64
        assert ("float64" in info.dtypes(kind="real floating")) == wide
        assert info.default_dtypes()["real floating"] == cm.zeros(1).dtype == (np.float64 if wide else np.float32)
    assert (xp.finfo(x).eps, xp.finfo(np.complex128).max) == (2.0**-23, np.finfo(float).max)
    assert (xp.iinfo(np.int8).min, xp.iinfo("u2").max) == (-128, 65535)
    assert xp.isdtype(np.int8, "integral") and not xp.isdtype("f4", ("bool", np.dtype("f8")))


def test_arrays_on_a_named_device(context: cm.Context) -> None:
    with context:
        x = cm.array(np.arange(5, dtype=np.float32))
        xp = x.__array_namespace__()
        assert x.to_device(x.device) is x
        for device in cm.devices():
            made = [
                xp.zeros(3, dtype=xp.float32, device=device), xp.eye(2, dtype=xp.int8, device=device),
                xp.asarray([1, 2], device=device), xp.full_like(x, 2, device=device), x.to_device(device),
            ]  # fmt: skip
            assert all(array.device is device for array in made)
            assert_as_numpy(made[-1], np.arange(5, dtype=np.float32))
            assert_as_numpy(made[-1] + made[-2], np.arange(5, dtype=np.float32) + 2)


WRONG: dict[str, Callable[[Any, Any], Any]] = {
    "a bool beside an integer": lambda x, xp: x[True, 0],
    "a bool beside places": lambda x, xp: x[True, [0, 1]],
    "fewer than no repeats": lambda x, xp: np.repeat(x, -1),
    "repeats of another length": lambda x, xp: np.repeat(x, [1, 2], axis=1),
    "a matrix of length -1": lambda x, xp: xp.eye(-1),
    "a diagonal between two": lambda x, xp: xp.eye(2, k=0.5),
    "two shifts without axes": lambda x, xp: np.roll(x, (1, 2)),
    "two shifts along one axis": lambda x, xp: np.roll(x, (1, 2), axis=0),
    "a triangle of a vector": lambda x, xp: np.tril(x[0, 0]),
    "a grid of matrices": lambda x, xp: xp.meshgrid(x),
    "unknown indexing": lambda x, xp: xp.meshgrid(x.ravel(), indexing="yx"),
    "no axis": lambda x, xp: xp.unstack(x.sum()),
    "limits of no floats": lambda x, xp: xp.finfo(np.int32),
    "limits of no integers": lambda x, xp: xp.iinfo("f4"),
    "an unknown kind": lambda x, xp: xp.isdtype(np.float32, "flot"),
    "an unknown device": lambda x, xp: xp.zeros(3, device="no such device"),
    "a device and a context": lambda x, xp: xp.zeros(3, device=x.device, context=x.context),
    "a stream": lambda x, xp: x.to_device(x.device, stream=1),
    "several axes, none named": lambda x, xp: xp.cumulative_sum(x),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_input_is_refused(wrong: str, pair: Pair) -> None:
    x, _ = pair
    with pytest.raises(cm.ClMapReduceError):
        WRONG[wrong](x, x.__array_namespace__())
