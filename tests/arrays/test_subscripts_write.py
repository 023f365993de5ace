"""x[key] = value beside NumPy: drawn keys and values; what lies outside stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.array_oracle import assert_as_numpy, drawn_values
from support.oracles import PLAIN, PRIME, values
from support.subscripts import drawn_key, on_device

import clmapreduce as cm

pytestmark = pytest.mark.drawn


def has_twice(a: np.ndarray, key: Any) -> bool:
    """Whether a subscript names an element several times, so that the value that is stored is open."""
    places = np.arange(a.size).reshape(a.shape)[key]
    return len(np.unique(places)) < places.size


@pytest.mark.parametrize("arrays", [False, True], ids=["basic", "places"])
@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5), (2, 3, 1, 4), (0, 3)], ids=str)
def test_drawn_assignments(shape: tuple[int, ...], arrays: bool, context: cm.Context, rng: np.random.Generator) -> None:
    a = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape)
    x = cm.array(a, context)
    for _ in range(30):
        key = drawn_key(rng, shape, arrays)
        try:
            part = a[key]
        except IndexError:
            with pytest.raises(cm.PlaceError):
                x[key] = 1
            continue
        if has_twice(a, key):
            continue
        value: Any = rng.integers(-99, 99, part.shape)
        if part.ndim and rng.random() < 0.5:
            value = value[..., :1] if rng.random() < 0.5 else value[0] if part.shape[0] else value
        if np.ndim(value) == 0:
            value = int(value)
        a[key] = value
        x[on_device(rng, key, context)] = cm.array(value, context) if rng.random() < 0.5 else value
        assert_as_numpy(x, a, case=key)


def test_places_outside_where_nothing_is_stored(context: cm.Context) -> None:
    """As in NumPy, which looks at places beside an empty slice, and not at those that broadcast to no place."""
    a = np.zeros((4, 3), "f4")
    x = cm.array(a, context)
    nowhere, outside = np.zeros(0, np.int64), np.array([3])
    for key in ((slice(0, 0), outside), (slice(0, 0), cm.array(outside, context))):
        with pytest.raises(cm.PlaceError):
            x[key] = 1
        with pytest.raises(cm.PlaceError):
            x[key]
    with pytest.raises(IndexError):
        a[:0, outside] = 1
    for places in ((nowhere, outside), (cm.array(nowhere, context), outside)):
        x[places] = 1
        assert x[places].shape == a[nowhere, outside].shape
    a[nowhere, outside] = 1


@pytest.mark.parametrize("dtype", PLAIN, ids=str)
def test_values_are_converted(dtype: np.dtype, context: cm.Context, rng: np.random.Generator) -> None:
    a = values(rng, dtype, (6, 5))
    x = cm.array(a, context)
    for source in (np.dtype("i1"), np.dtype("f4"), np.dtype("?"), dtype):
        value = drawn_values(rng, np.int8, 5).clip(0, 1).astype(source)
        for key in (slice(1, 3), (slice(None), slice(None, None, -1)), [4, 0]):
            a[key] = value
            x[key] = cm.array(value, context)
            assert_as_numpy(x, a, case=(source, key))
    x[0], a[0] = 1, 1
    x[1:4, 2], a[1:4, 2] = True, True
    assert_as_numpy(x, a)


def test_numbers_that_do_not_fit(context: cm.Context) -> None:
    x = cm.array(np.zeros(4, np.uint8), context)
    for value in (300, -1, 1j, "1", None, [1, 2, 3], np.zeros((2, 4)), np.zeros((4, 1))):
        with pytest.raises(cm.ClMapReduceError):
            x[:] = value
    with pytest.raises(cm.PlaceError):
        x[4] = 1
    with pytest.raises(cm.PlaceError):
        x[[0, 4]] = 1
    np.testing.assert_array_equal(x.to_numpy(), 0)
    x[1:3] = 2.7
    x[None, 3:] = np.ones((1, 1, 1), np.int64)
    np.testing.assert_array_equal(x.to_numpy(), [0, 2, 2, 1])


def test_masks(context: cm.Context, rng: np.random.Generator) -> None:
    a = rng.standard_normal((PRIME // 7, 7)).astype(np.float32)
    x = cm.array(a, context)
    x[x < 0], a[a < 0] = 0, 0
    assert_as_numpy(x, a)
    x[a > 1] = np.float64(0.5)
    a[a > 1] = 0.5
    assert_as_numpy(x, a)
    mask = a == 0
    numbers = rng.standard_normal(mask.sum()).astype(np.float32)
    a[mask] = numbers
    x[mask] = cm.array(numbers, context)
    assert_as_numpy(x, a)
    part, own = x[3:9], a[3:9]
    part[part > 0.25], own[own > 0.25] = -1, -1
    assert_as_numpy(x, a, case="a part")
    rows = rng.random(len(a)) < 0.2
    a[rows] = 3
    x[rows] = 3
    assert_as_numpy(x, a)
    x[np.zeros(a.shape, bool)] = cm.array(np.zeros(0, np.float32), context)
    assert_as_numpy(x, a)


def test_an_array_assigned_to_itself(context: cm.Context, rng: np.random.Generator) -> None:
    a = rng.integers(-99, 99, PRIME)
    x = cm.array(a, context)
    x[1:] = x[:-1]
    a[1:] = a[:-1].copy()
    assert_as_numpy(x, a)
    x[::-1] = x
    a = a[::-1].copy()
    assert_as_numpy(x, a)
    x[2:5] += 1
    a[2:5] += 1
    x[::3] *= 2
    a[::3] *= 2
    x[...] = x
    assert_as_numpy(x, a)


def test_fill(context: cm.Context) -> None:
    x = cm.array(np.zeros((3, 5), np.int16), context)
    x.fill(7)
    x[1].fill(-2)
    x[2, 1:3].fill(cm.array(4, context))
    expected = np.full((3, 5), 7, np.int16)
    expected[1], expected[2, 1:3] = -2, 4
    assert_as_numpy(x, expected)


def test_a_place_named_twice_holds_one_of_its_values(context: cm.Context, rng: np.random.Generator) -> None:
    x = cm.array(np.full(5, -1), context)
    places = rng.integers(0, 4, 1000)
    x[places] = np.arange(1000)
    for place in range(4):
        assert int(x[place]) in np.flatnonzero(places == place)
    assert int(x[4]) == -1
