"""Arrays of other libraries on their way to a device: DLPack, buffers, Arrow, scipy.sparse."""

from __future__ import annotations

import array
import ctypes
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from support.oracles import assert_same, values

import clmapreduce as cm

pytestmark = pytest.mark.drawn


@pytest.mark.parametrize("shape", [(), (0,), (1,), (33,), (4, 5), (100_003,)])
@pytest.mark.parametrize("dtype", ["?", "u1", "i4", "f4", "c8"])
def test_from_dlpack(shape: Any, dtype: str, context: cm.Context, rng: np.random.Generator) -> None:
    x = values(rng, dtype, shape)
    ours = cm.from_dlpack(x, context=context)
    assert ours.context is context
    assert_same(ours.to_numpy(), x)
    steps = np.repeat(x[..., None], 2, axis=-1)[..., 1]
    assert_same(cm.from_dlpack(steps, context=context).to_numpy(), x)
    assert_same(ours.__array_namespace__().from_dlpack(ours).to_numpy(), x)


def test_from_dlpack_of_our_own_arrays(context: cm.Context) -> None:
    x = cm.array(np.arange(5), context)
    assert cm.from_dlpack(x) is x and cm.from_dlpack(x, copy=False, context=context) is x
    copy = cm.from_dlpack(x, copy=True)
    copy[0] = 9
    assert x.tolist() == [0, 1, 2, 3, 4]
    other = cm.Context(context.device)
    moved = cm.from_dlpack(x, context=other)
    assert moved.context is other and moved.tolist() == x.tolist()
    with pytest.raises(cm.ExportError, match="copied"):
        cm.from_dlpack(x, copy=False, context=other)


def test_from_dlpack_refuses(context: cm.Context) -> None:
    with pytest.raises(cm.ExportError, match="leave out copy=False"):
        cm.from_dlpack(np.arange(6)[::2], copy=False, context=context)
    for nothing in ([1, 2], 3, None, "text", b"bytes"):
        with pytest.raises(cm.ArgumentError, match="no __dlpack__"):
            cm.from_dlpack(nothing, context=context)
    with pytest.raises(cm.DTypeError, match="DLPack"):
        cm.from_dlpack(np.zeros(3, [("a", "f4")]), context=context)
    with pytest.raises(cm.DTypeError, match="masked"):
        cm.from_dlpack(np.ma.masked_array([1, 2], [True, False]), context=context)


BUFFERS = {
    "memoryview": (memoryview(np.arange(6, dtype="i2").reshape(2, 3)), np.arange(6, dtype="i2").reshape(2, 3)),
    "with steps": (memoryview(np.arange(9, dtype="f4"))[::2], np.arange(0, 9, 2, dtype="f4")),
    "array.array": (array.array("d", [1.5, -2.5]), np.array([1.5, -2.5])),
    "bytearray": (bytearray(b"\x01\xff"), np.array([1, 255], np.uint8)),
    "cast": (memoryview(b"\x01\x00\x00\x00\x02\x00\x00\x00").cast("i"), np.array([1, 2], np.intc)),
    "ctypes": ((ctypes.c_float * 3)(1, 2, 3), np.array([1, 2, 3], np.float32)),
    "empty": (memoryview(b""), np.array([], np.uint8)),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_buffers(name: str, context: cm.Context) -> None:
    buffer, expected = BUFFERS[name]
    assert_same(cm.array(buffer, context).to_numpy(), expected)
    assert_same(cm.Map(lambda x: x + x)(buffer, context=context), expected + expected)


class OfArrow:
    """An array that says, as Arrow's do, how many of its elements are null. as_method: as Polars', whose count is one."""

    def __init__(self, numbers: list[float], nulls: int, as_method: bool) -> None:
        self._numbers = np.array(numbers)
        self.null_count = (lambda: nulls) if as_method else nulls

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise NotImplementedError

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self._numbers


@pytest.mark.parametrize("as_method", [False, True])
def test_nulls_are_refused(as_method: bool, context: cm.Context) -> None:
    assert cm.array(OfArrow([1, 2], 0, as_method), context).tolist() == [1, 2]
    for call in (lambda x: cm.array(x, context), lambda x: cm.Reduce("sum")(x, context=context)):
        with pytest.raises(cm.DTypeError, match="fill_null"):
            call(OfArrow([1, np.nan], 1, as_method))


def test_arrow(context: cm.Context, rng: np.random.Generator) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    for dtype in ("i1", "u4", "i8", "f4", "f8"):
        x = values(rng, dtype, 1001)
        assert_same(cm.array(pyarrow.array(x), context).to_numpy(), x)
        assert_same(cm.array(pyarrow.array(x)[3:], context).to_numpy(), x[3:])
        assert_same(cm.array(pyarrow.chunked_array([x[:10], x[10:]]), context).to_numpy(), x)
        assert_same(cm.array(memoryview(pyarrow.py_buffer(x)).cast("B"), context).to_numpy(), x.view(np.uint8))
        assert_same(cm.from_dlpack(pyarrow.array(x), context=context).to_numpy(), x)
    truths = pyarrow.array([True, False, True])
    assert cm.array(truths, context).tolist() == [True, False, True]
    with pytest.raises(cm.DTypeError, match="fill_null"):
        cm.array(pyarrow.array([1, None, 3]), context)
    assert cm.array(pyarrow.array([1, None, 3]).fill_null(0), context).tolist() == [1, 0, 3]


@pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
@pytest.mark.parametrize("family", ["array", "matrix"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 0), (0, 3), (31, 33), (400, 300)])
def test_scipys_sparse_matrices_and_arrays(
    kind: str, family: str, shape: tuple[int, int], context: cm.Context, rng: np.random.Generator
) -> None:
    dense = ((rng.random(shape) < 0.1) * rng.integers(1, 9, shape)).astype(np.float32)
    sparse = getattr(scipy.sparse, f"{kind}_{family}")(dense)
    x = rng.integers(-5, 5, shape[1]).astype(np.float32)
    assert_same(cm.spmv(sparse, x, context=context), dense @ x)
    mask, expected = cm.Ranges.from_mask(sparse), cm.Ranges.from_mask(dense != 0)
    assert mask.pairs == np.count_nonzero(dense)
    for own, other in zip(mask.arrays(), expected.arrays(), strict=True):
        assert_same(own, other)
