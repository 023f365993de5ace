"""Parts of arrays are arguments like arrays: of calls of every kind, and as `out`."""

from __future__ import annotations

import copy
import gc

import numpy as np
import pytest
from support.array_oracle import assert_as_numpy
from support.oracles import PRIME, assert_same

import clmapreduce as cm

pytestmark = pytest.mark.drawn
SQUARES = cm.Map(lambda a, b: a * a + b)
LINE = cm.Map(lambda a: a * 2) >> cm.Reduce("sum")


def halves(rng: np.random.Generator, context: cm.Context, length: int = PRIME, dtype: str = "i4") -> tuple[np.ndarray, cm.DeviceArray]:
    """An array (length,) and the same numbers in the middle of a longer one on the device."""
    whole = rng.integers(-50, 50, length + 10).astype(dtype)
    first = int(rng.integers(1, 9))
    return whole[first : first + length], cm.array(whole, context)[first : first + length]


@pytest.mark.parametrize("length", [1, 2, 17, 1000, PRIME])
@pytest.mark.parametrize("dtype", ["i4", "f4", "i1", "i8"])
def test_primitives_read_parts(length: int, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a, x = halves(rng, context, length, dtype)
    b, y = halves(rng, context, length, dtype)
    assert x.first and x.memory is not y.memory
    assert_as_numpy(SQUARES(x, y, mode=mode), (a * a + b).astype(dtype))
    assert_as_numpy(SQUARES(x, y[0], mode=mode), (a * a + b[0]).astype(dtype))
    total = a.astype("f8" if dtype == "f4" else "i8").sum()
    assert float(cm.Reduce("sum")(x, mode=mode)) == total
    assert int(cm.Reduce("argmax")(x, mode=mode)) == int(a.argmax())
    assert_same(cm.Scan("sum")(x, mode=mode).to_numpy(), np.cumsum(a, dtype=dtype if dtype == "f4" else "i8"))
    assert float(LINE(x, mode=mode)) == (2 * a.astype(dtype)).astype("f8" if dtype == "f4" else "i8").sum()
    partials = cm.Partials("sum")(x, mode=mode)
    assert partials.prefix(length) == total


def test_batches_of_parts(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for rows, length in ((1, 1), (3, 5), (40, 33), (700, 3), (5, 3000)):
        a, x = halves(rng, context, rows * length)
        a, x = a.reshape(rows, length), x.reshape(rows, length)
        from_minimum = cm.fuse(lambda v: v - cm.Reduce("minimum")(v), batch=True)
        assert_as_numpy(from_minimum(x, mode=mode), a - a.min(1, keepdims=True), case=(rows, length))
        pipeline = cm.fuse(lambda v, w, s: (v * w + s) * 2, batch=True)
        line, each = x[rows // 2], x.reshape(-1)[1 : rows + 1].reshape(rows, 1) if rows * length > rows else x[:, :1]
        expected = (a * a[rows // 2] + each.to_numpy()) * 2
        assert_as_numpy(pipeline(x, line, each, mode=mode), expected, case=(rows, length))


def test_parts_as_out(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a = rng.integers(-9, 9, PRIME)
    x = cm.array(a, context)
    part = x[3:-2]
    cm.Map(lambda v: v + 1)(part, mode=mode, out=part)
    a[3:-2] += 1
    assert_as_numpy(x, a)
    cm.Map(lambda v: v - 1)(x[1:-4], mode=mode, out=part)
    a[3:-2] = a[1:-4] - 1
    assert_as_numpy(x, a)
    cm.Reduce("sum")(x, mode=mode, out=x[5])
    a[5] = a.sum()
    assert_as_numpy(x, a)
    cm.Map(lambda v: cm.guard(v > 0, v * 2))(part, mode=mode, out=part)
    a[3:-2] = np.where(a[3:-2] > 0, a[3:-2] * 2, a[3:-2])
    assert_as_numpy(x, a)


def test_compiled_calls_on_parts(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a, x = halves(rng, context)
    call = LINE.compile([(PRIME,)], "i4", mode=mode, context=context)
    assert int(call(x)) == 2 * a.sum()
    target = cm.array(np.zeros(3, np.int64), context)
    call(x, out=target[1])
    assert target.tolist() == [0, 2 * a.sum(), 0]
    x[0] = 100  # the copy that the last call read is old now
    assert int(call(x)) == 2 * (a.sum() - a[0] + 100)


def test_segments_and_pairs_read_parts(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    a, x = halves(rng, context, 1000)
    ends = np.sort(rng.integers(0, 1000, 30))
    offsets = np.concatenate([[0], ends, [1000]]).astype(np.int64)
    there = cm.array(np.concatenate([[7], offsets]), context)[1:]
    expected = np.add.reduceat(np.append(a, 0), offsets[:-1]) * (np.diff(offsets) > 0)
    for _ in range(2):
        assert_same(cm.segmented_reduce(x, there, mode=mode).to_numpy(), expected.astype(np.int64))
    points = cm.array(rng.standard_normal((41, 3)).astype(np.float32), context)
    rows, columns = points[1:17], points[17:]
    out = cm.array(np.zeros((17, 1), np.float32), context)
    distance = ((cm.Vi(rows) - cm.Vj(columns)) ** 2).sum(-1)
    p, q = rows.to_numpy().astype(np.float64), columns.to_numpy().astype(np.float64)
    exact = ((p[:, None] - q) ** 2).sum(-1).sum(1, keepdims=True)
    for _ in range(2):
        np.testing.assert_allclose(distance.sum(1, mode=mode).to_numpy(), exact, rtol=1e-5)
    distance.sum(1, mode=mode, out=out[1:])
    np.testing.assert_allclose(out[1:].to_numpy(), exact, rtol=1e-5)
    assert float(out[0, 0]) == 0


def test_parts_outlive_their_base(context: cm.Context) -> None:
    part = cm.array(np.arange(100), context)[10:20]
    inner = part[3:]
    del part
    gc.collect()
    others = [cm.array(np.full(100, -1), context) for _ in range(4)]  # memory that was given back
    assert inner.tolist() == list(range(13, 20))
    assert copy.copy(inner).tolist() == list(range(13, 20))
    assert copy.copy(inner).memory is not inner.memory
    del others


def test_parts_seen_as_other_dtypes(context: cm.Context) -> None:
    a = np.arange(12, dtype=np.float32)
    x = cm.array(a, context)
    assert_as_numpy(x[3:7].view("i4"), a[3:7].view("i4"))
    assert_as_numpy(x[3:7].view("u1"), a[3:7].view("u1"))
    assert_as_numpy(x[2:6].view("c8"), a[2:6].view("c8"))
    assert_as_numpy(x[2:6].view("c8").reshape(2, 1), a[2:6].view("c8").reshape(2, 1))
    with pytest.raises(cm.ShapeError):
        x[3:7].view("c8")
    assert x[3:].reshape(3, 3)[1].tolist() == [6, 7, 8]
    assert x[5:6].item() == 5.0 and x[3:7].item(2) == 5.0 and x.reshape(3, 4).item(1, 1) == 5.0
    out = np.empty((3,), np.float32)
    assert x[4:7].to_numpy(out) is out and out.tolist() == [4, 5, 6]
