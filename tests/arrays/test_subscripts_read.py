"""x[key] beside NumPy: drawn keys of every kind, views and copies, places outside."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.array_oracle import assert_as_numpy, drawn_values
from support.oracles import PLAIN, PRIME, values
from support.subscripts import drawn_key, on_device

import clmapreduce as cm

pytestmark = pytest.mark.drawn
RECORD = np.dtype([("a", "u1"), ("b", "f4"), ("c", "f8", (2,))], align=True)



@pytest.mark.parametrize("arrays", [False, True], ids=["basic", "places"])
@pytest.mark.parametrize("shape", [(7,), (5, 6), (3, 4, 5), (2, 3, 1, 4), (0, 3), (4, 0, 2)], ids=str)
def test_drawn_subscripts(shape: tuple[int, ...], arrays: bool, context: cm.Context, rng: np.random.Generator) -> None:
    a = np.arange(np.prod(shape, dtype=int), dtype=np.int32).reshape(shape)
    x = cm.array(a, context)
    for _ in range(40):
        key = drawn_key(rng, shape, arrays)
        try:
            expected = a[key]
        except IndexError:
            with pytest.raises(cm.PlaceError):
                x[key]
            continue
        assert_as_numpy(x[on_device(rng, key, context)], expected, case=key)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (2, 0, 3), (1, 1)], ids=str)
def test_new_axes_and_whole_ones(shape: tuple[int, ...], context: cm.Context) -> None:
    """Every key of up to four parts, of which some leave nothing out; of views as well."""
    a = np.arange(2 * np.prod((3, *shape), dtype=int)).reshape(2, 3, *shape)[1]
    x = cm.array(a, context)
    views = ((x, a), (x[1:], a[1:]), (x[2], a[2]))
    for (view, exact), parts in itertools.product(views, range(5)):
        for key in itertools.product((None, slice(None), slice(0, None), ...), repeat=parts):
            try:
                expected = exact[key]
            except IndexError:
                with pytest.raises(cm.PlaceError):
                    view[key]
                continue
            assert_as_numpy(view[key], expected, case=key)


@pytest.mark.parametrize("dtype", [*PLAIN, np.dtype(np.float16), RECORD], ids=str)
def test_every_dtype_is_copied_bit_for_bit(dtype: np.dtype, context: cm.Context, rng: np.random.Generator) -> None:
    if dtype == np.complex128 and not context.facts.fp64:
        pytest.skip("numbers of 16 bytes are moved as two float64")
    a = values(rng, dtype, (6, 7)) if dtype != RECORD else values(rng, RECORD, 42).reshape(6, 7)
    x = cm.array(a, context)
    for key in ((slice(None), slice(1, None, 2)), (slice(None, None, -1),), ([4, -1, 0],), (a["a"] > 9 if dtype == RECORD else a > 0,)):
        result, expected = x[key].to_numpy(), np.ascontiguousarray(a[key])
        for name in dtype.names or (...,):  # the bytes between fields are arbitrary
            assert result[name].tobytes() == expected[name].tobytes(), key
    np.testing.assert_array_equal(x.T.to_numpy(), a.T)


def test_fields_of_records(context: cm.Context, rng: np.random.Generator) -> None:
    a = values(rng, RECORD, 5)
    x = cm.array(a, context)
    for name in ("a", "b"):
        assert_as_numpy(x[name], a[name])
    assert_as_numpy(x[2:4]["b"], a[2:4]["b"])
    with pytest.raises(cm.PlaceError, match="field"):
        x["d"]


def test_ranges_share_memory_and_others_do_not(context: cm.Context) -> None:
    x = cm.array(np.zeros((6, 4), np.float32), context)
    ranges = (x[2], x[1:5], x[3, 1:3], x[..., :], x[None, 2:3], x[5, 3], x.reshape(-1)[7:9], x.ravel(), x[0:1, 2:], x[2:2])
    others = (x[::2], x[:, 1], x[:, 1:3], x[::-1], x[[0, 1]], x[x == 0], x.T, x.copy(), x[:, ::2], x[2] + 0)
    assert all(part.memory is x.memory for part in ranges)
    assert not any(part.memory is x.memory for part in others)
    x[...] = 3
    assert all((part.to_numpy() == 3).all() for part in ranges)
    assert all((part.to_numpy() == 0).all() for part in others)


def test_places_outside_of_the_array(context: cm.Context) -> None:
    x = cm.array(np.zeros((3, 4)), context)
    for key in (3, -4, (0, 4), (0, 0, 0), [0, 3], [[-4]], cm.array([3], context), cm.array(np.array([200], np.uint8), context), (slice(None), [9]), np.ones(4, bool), np.ones((4, 3), bool), (..., ...), 1.0, "a", slice(0, 1.5)):
        with pytest.raises((cm.PlaceError, cm.ShapeError)):
            x[key]
    with pytest.raises(IndexError):
        x[7]
    with pytest.raises(cm.PlaceError, match="broadcast"):
        x[[0, 1], [0, 1, 2]]


def test_long_arrays(context: cm.Context, rng: np.random.Generator) -> None:
    a = rng.integers(-1000, 1000, (PRIME // 13, 13)).astype(np.int16)
    x = cm.array(a, context)
    places = rng.integers(-len(a), len(a), PRIME)
    assert_as_numpy(x[places], a[places])
    assert_as_numpy(x[x > 500], a[a > 500])
    assert_as_numpy(x[5::7, ::-2], a[5::7, ::-2])
    assert_as_numpy(x[cm.array(places, context), 3], a[places, 3])
    assert_as_numpy(x[a[:, 0] > 0], a[a[:, 0] > 0])


@pytest.mark.parametrize("dtype", [*PLAIN, np.dtype(np.float16), RECORD], ids=str)
@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("shape", [(1,), (PRIME,), (13, 17), (0,), (3, 0)], ids=str)
def test_a_mask_of_the_whole_array(
    shape: tuple[int, ...], share: float, dtype: np.dtype, context: cm.Context, rng: np.random.Generator
) -> None:
    """Also of views that begin further on, and by views of masks."""
    if dtype == np.complex128 and not context.facts.fp64:
        pytest.skip("numbers of 16 bytes are moved as two float64")
    count = int(np.prod(shape))
    a, mask = values(rng, dtype, 2 * count + 1), rng.random(2 * count + 1) < share
    x, m = cm.array(a, context), cm.array(mask, context)
    for first, other in ((0, 0), (count, 1), (1, count)):
        part, wanted = slice(first, first + count), slice(other, other + count)
        result = x[part].reshape(shape)[m[wanted].reshape(shape)]
        expected = a[part].reshape(shape)[mask[wanted].reshape(shape)]
        assert result.dtype == dtype and result.shape == expected.shape
        for name in dtype.names or [...]:  # what lies between fields is not copied
            assert result.to_numpy()[name].tobytes() == expected[name].tobytes()


def test_what_a_mask_leaves_is_an_array_of_its_own(context: cm.Context) -> None:
    x = cm.array(np.arange(6.0, dtype="f4"), context)
    kept = x[x > 2]
    kept += 1
    np.testing.assert_array_equal(x, np.arange(6.0))
    np.testing.assert_array_equal(kept, [4, 5, 6])
    with pytest.raises(cm.PlaceError, match="does not fit"):
        x[cm.array(np.ones(5, bool), context)]


def test_iteration_gives_rows(context: cm.Context, rng: np.random.Generator) -> None:
    a = drawn_values(rng, np.int32, (3, 4))
    x = cm.array(a, context)
    rows = list(x)
    assert len(x) == len(rows) == 3
    for row, expected in zip(rows, a, strict=True):
        assert_as_numpy(row, expected)
    assert [int(number) for number in x[1]] == a[1].tolist()
    with pytest.raises(cm.ArgumentError):
        iter(x[0, 0])


def test_an_ellipsis_of_no_axes_keeps_arrays_apart(context: cm.Context) -> None:
    """As in NumPy: where other subscripts stand between arrays, the arrays' axes come first."""
    a = np.arange(60).reshape(3, 4, 5)
    x = cm.array(a, context)
    mask, places = np.array([True, False, True, True]), np.array([0, 1, -1])
    for key in (
        (slice(None), mask, ..., places), (..., mask, places), (slice(None), mask, places, ...),
        (slice(None, 0, -1), mask, ..., places), (places, ..., slice(None), places), (1, ..., places, places),
    ):  # fmt: skip
        assert_as_numpy(x[key], a[key], case=key)
