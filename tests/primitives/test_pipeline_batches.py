"""Pipelines over batches of lines, over lines of broadcast arrays, and over empty lines."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm

pytestmark = pytest.mark.drawn


def test_one_value_per_row_where_lines_have_one_element(context: cm.Context, mode: str) -> None:
    """Their shape, (rows, 1), is that of the lines."""
    how: Any = {"context": context, "mode": mode, "batch": True}
    base = np.arange(1.0, 4).reshape(3, 1)
    assert_same((cm.Unfold("product") >> cm.Map("x + 1"))(base, 1, **how), base + 1)
    assert_same((cm.Unfold("sum") >> cm.Reduce("sum"))(base, 1, **how), base[:, 0])
    assert_same((cm.Unfold("sum") >> cm.Reduce("sum"))(base, 2, **how), 3 * base[:, 0])
    assert_same(cm.fuse(lambda x: cm.Scan("sum")(x))(base, **how), base)
    assert_same(cm.fuse(lambda x: cm.Scan("sum")(x))(base, length=1, **how), base)
    pipeline = cm.Scan("sum") >> cm.Unfold("sum")
    for length in (1, 2):
        with pytest.raises(cm.ModeError, match="starts from one value"):
            pipeline(np.ones((3, length)), **how)


@pytest.mark.parametrize("shape", [(0, 5), (3, 0), (0, 0), (2, 0, 5), (2, 3, 0)])
def test_empty_batches_and_batches_of_empty_lines(shape: tuple[int, ...], context: cm.Context, mode: str) -> None:
    x = np.empty(shape, np.float32)
    how: Any = {"context": context, "mode": mode, "batch": True}
    both = cm.fuse(lambda v: (cm.Reduce("sum")(v), cm.Reduce("minimum")(v), v - cm.Reduce("maximum")(v)))
    for values in (x, cm.array(x, context)):
        total, least, rest = (np.asarray(each) for each in both(values, **how))
        assert_same(total, np.zeros(shape[:-1], np.float32))
        assert_same(least, np.full(shape[:-1], np.inf, np.float32))
        assert_same(rest, x)
        assert_same(np.asarray((cm.Scan("sum") >> cm.Map("x + 1"))(values, **how)), x)
    place = cm.Map("x") >> cm.Reduce("argmin")
    if shape[-1]:
        assert_same(place(x, **how), np.empty(shape[:-1], np.int64))
    else:
        with pytest.raises(cm.ShapeError, match=r"argmin.* of an empty line"):
            place(x, **how)


def test_empty_lines(context: cm.Context, mode: str) -> None:
    how: Any = {"context": context, "mode": mode}
    x = np.empty(0, np.float32)
    total, rest = cm.fuse(lambda v: (cm.Reduce("sum")(v) + 2, v - cm.Reduce("maximum")(v)))(x, **how)
    assert_same(total, np.float32(2))
    assert_same(rest, x)
    assert_same((cm.Scan("sum") >> cm.Reduce("product"))(x, **how), np.float32(1))
    assert_same((cm.Unfold("sum") >> cm.Reduce("sum"))(3, 0, **how), np.int64(0))
    assert_same((cm.Map("x") >> cm.Partials("sum"))(x, **how).prefix(), np.zeros(1, np.float32))
    device_array = cm.fuse(lambda v: cm.Reduce("any")(v))(cm.array(x, context), mode=mode)
    assert isinstance(device_array, cm.DeviceArray) and not bool(device_array)


FROM_MEAN = cm.fuse(lambda x, weight, shift: (x - cm.Reduce("sum")(x * weight)) * weight + shift)


@pytest.mark.parametrize(("rows", "length"), [(1, 3), (5, 64), (70, 65), (70, 1), (5, 300)])
def test_what_a_batch_broadcasts(
    rows: int, length: int, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """Lines of their own, lines that all rows share, one value per row, numbers; of integers, so that sums are exact."""

    def integers(*shape: int) -> np.ndarray:
        return rng.integers(-9, 9, shape)

    x = integers(2, rows, length)
    givens = [
        x,
        integers(length),
        integers(1, 1, length),
        integers(rows, 1),
        integers(2, 1, 1),
        integers(1, rows, length),
        integers(2, 1, length),
        3,
        np.int64(4),
    ]
    for weight in givens:
        shift: Any = [*givens, 2][int(rng.integers(len(givens) + 1))]
        result = FROM_MEAN(x, weight, shift, context=context, mode=mode, batch=True)
        expected = (x - (x * weight).sum(-1, keepdims=True)) * weight + shift
        assert_same(result, expected, (np.shape(weight), np.shape(shift)))
    device_array = FROM_MEAN(cm.array(x, context), cm.array(givens[3], context), givens[1], mode=mode, batch=True)
    assert isinstance(device_array, cm.DeviceArray)
    assert_same(device_array.to_numpy(), (x - (x * givens[3]).sum(-1, keepdims=True)) * givens[3] + givens[1])


@pytest.mark.parametrize("length", [5, 70, 20_001])
def test_one_line_of_broadcast_arrays(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Without batch all elements are one line, in C order of the broadcast shape; views are read where they lie."""
    x, column, number = rng.integers(-9, 9, (3, length)), rng.integers(-9, 9, (3, 1)), 2
    expected = (x - (x * column).sum()) * column + number
    assert_same(FROM_MEAN(x, column, number, context=context, mode=mode), expected)
    assert_same(FROM_MEAN(x[:, ::-1], column, number, context=context, mode=mode), expected[:, ::-1])
    wide = np.repeat(x, 2, axis=1)[:, ::2]
    assert_same(FROM_MEAN(wide, np.broadcast_to(column, x.shape), np.int64(2), context=context, mode=mode), expected)
    total = (cm.Map(lambda a, b: a * b) >> cm.Reduce("sum"))(column, x[0], context=context, mode=mode)
    assert_same(total, (column * x[0]).sum())
    with pytest.raises(cm.ShapeError, match=r"Scan\('sum'\) runs over one dimension.* batch=True .*reshape"):
        cm.fuse(lambda v: cm.Scan("sum")(v))(x, context=context, mode=mode)


@pytest.mark.parametrize("length", [6, 7, 8, 33, 48, 49, 64])
def test_rows_go_through_local_memory_and_back(
    context: cm.Context, mode: str, rng: np.random.Generator, length: int
) -> None:
    """Full groups of rows, and a last one that is not full; arrays of every kind beside those that are copied."""

    @cm.fuse(batch=True)
    def mix(x: Any, whole: Any, line: Any, scale: Any) -> Any:
        top = cm.Reduce("maximum")(x)
        return x + whole * line, top * scale, cm.Scan("sum")(whole), x > top - 1

    for rows in (2, 127, 128, 129, 1000):
        x, whole = rng.normal(size=(rows, length)).astype("f4"), rng.integers(-9, 9, (rows, length)).astype("i2")
        line, scale = rng.normal(size=length).astype("f4"), rng.normal(size=(rows, 1)).astype("f4")
        result = mix(x, whole, line, scale, mode=mode, context=context)
        top = x.max(-1)
        expected = (x + whole * line, top * scale[:, 0], np.cumsum(whole, -1), x > (top - 1)[:, None])
        for one, other in zip(result, expected, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-6)
