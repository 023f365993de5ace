"""Arrays on their way in and out: layouts, byte orders, other libraries, and out= in every form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.array_layouts import LAYOUTS
from support.oracles import PRIME, assert_same, into_poison, values
from support.plain_primitives import ADD, DOUBLE, PREFIX, TOTAL

import clmapreduce as cm

pytestmark = pytest.mark.drawn


class OnlyDLPack:
    """A CPU array of a library that NumPy does not know."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._values.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


# -------------------------------------------------------------------------------------------------------------- layouts
@pytest.mark.parametrize("layout", LAYOUTS)
def test_inputs_of_every_layout(layout: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for shape in ((3, 5), (33, 65)):
        x = rng.integers(-1000, 1000, shape).astype(np.float32)
        y = LAYOUTS[layout](x)
        before = y.copy()
        assert_same(ADD(y, y, context=context, mode=mode), y.astype(np.float32) * 2)
        assert_same(TOTAL(y, context=context, mode=mode), y.sum(dtype=np.float32))
        assert_same(PREFIX(y.reshape(-1), context=context, mode=mode), np.cumsum(y, dtype=np.float32))
        assert_same(cm.array(y, context).to_numpy(), y.astype(np.float32))
        assert_same(y, before, "inputs stay as they are")


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name not in ("broadcast", "read-only")])
def test_outputs_of_every_layout(layout: str, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for shape in ((3, 5), (33, 65)):
        x = rng.integers(-1000, 1000, shape).astype(np.float32)
        out = LAYOUTS[layout](np.full(shape, np.nan, np.float32))
        assert DOUBLE(x, context=context, mode=mode, out=out) is out
        assert_same(out.astype(np.float32), 2 * x)
        flat = LAYOUTS[layout](np.full((x.size, 1), np.nan, np.float32))[:, 0]
        assert PREFIX(x.reshape(-1), context=context, mode=mode, out=flat) is flat
        assert_same(flat.astype(np.float32), np.cumsum(x, dtype=np.float32))


def test_nothing_outside_of_out_is_written(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """The neighbours of out in memory stay as they are, whatever vectors the kernels store."""
    for length in (1, 15, 17, 63, 65, 1023, 1025, 4099):
        x = values(rng, "f4", length)
        for lead in (1, 3, 16):
            around = np.full(length + lead + 37, 7, np.float32)
            DOUBLE(x, context=context, mode=mode, out=around[lead : lead + length])
            assert_same(around[lead : lead + length], x + x)
            assert (around[:lead] == 7).all(), length
            assert (around[lead + length :] == 7).all(), length


def test_arraylikes(context: cm.Context) -> None:
    assert_same(DOUBLE([1, 2, 3], context=context), np.array([2, 4, 6]))
    assert_same(DOUBLE(((1.5, 2), (3, 4)), context=context), np.array([[3.0, 4], [6, 8]]))
    assert_same(TOTAL(range(10), context=context), np.int64(45))
    assert_same(DOUBLE(memoryview(b"\x01\x02"), context=context), np.array([2, 4], np.uint8))


def test_dlpack(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, 257).astype(np.float32)
    assert_same(DOUBLE(OnlyDLPack(x), context=context), 2 * x)
    assert_same(cm.array(OnlyDLPack(x), context).to_numpy(), x)


def test_float16(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = (rng.integers(-8, 8, 1025) / 4).astype(np.float16)
    assert_same(DOUBLE(x, context=context, mode=mode), x + x)
    assert_same(TOTAL(x, context=context, mode=mode), np.float16(x.astype(np.float64).sum()))
    assert_same(cm.Reduce("argmin")(x, context=context, mode=mode), np.int64(np.argmin(x)))


# ----------------------------------------------------------------------------------------------------------------- out=
def test_out_may_be_wider(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, 257).astype(np.int16)
    for dtype in ("i4", "f8", ">i8", "c16"):
        result = into_poison(lambda out: DOUBLE(x, context=context, out=out), 257, dtype)
        np.testing.assert_array_equal(result, 2 * x)


def test_out_may_be_an_input(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 17, 1025, PRIME):
        x = rng.integers(-100, 100, length)
        for primitive, expected in ((DOUBLE, 2 * x), (PREFIX, np.cumsum(x))):
            same = x.copy()
            assert primitive(same, context=context, mode=mode, out=same) is same
            assert_same(same, expected, (primitive, length))
            device_array = cm.array(x, context)
            assert primitive(device_array, mode=mode, out=device_array) is device_array
            assert_same(device_array.to_numpy(), expected, (primitive, length))
        both = x.copy()
        assert_same(ADD(both, both, context=context, mode=mode, out=both), 2 * x)


@pytest.mark.parametrize("shift", [-17, -1, 1, 5])
def test_out_may_overlap_an_input(shift: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (40, 1025, PRIME):
        for primitive, oracle in ((DOUBLE, lambda x: 2 * x), (PREFIX, np.cumsum)):
            memory = rng.integers(-100, 100, length + abs(shift))
            source, target = (memory[shift:], memory[:-shift]) if shift > 0 else (memory[:shift], memory[-shift:])
            expected = oracle(source.copy())
            assert primitive(source, context=context, mode=mode, out=target) is target
            assert_same(target, expected, (primitive, length))


def test_out_may_be_a_broadcast_input(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    row, table = rng.integers(-9, 9, 65), rng.integers(-9, 9, (33, 65))
    into = table.copy()
    assert_same(ADD(into[0], into, context=context, mode=mode, out=into), table[0] + table)
    into = table.copy()
    assert_same(ADD(into[:, :1], into, context=context, mode=mode, out=into), table[:, :1] + table)
    scalar = np.array(3.0, np.float32)
    assert_same(TOTAL(scalar, context=context, mode=mode, out=scalar), np.array(3.0, np.float32))
    device_array = cm.array(np.array(3), context)
    assert ADD(device_array, device_array, mode=mode, out=device_array) is device_array
    assert int(device_array) == 6
    single = cm.array(np.array([5]), context)
    assert_same(ADD(single, row, mode=mode).to_numpy(), row + 5)


def test_reversed_views_of_out_as_input(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, 1025)
    into = x.copy()
    assert_same(DOUBLE(into[::-1], context=context, mode=mode, out=into), 2 * x[::-1])
    table = rng.integers(-9, 9, (33, 33))
    into = table.copy()
    assert_same(ADD(into, into.T, context=context, mode=mode, out=into), table + table.T)


def test_a_view_of_other_dtype_as_out(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, 1025).astype(np.float32)
    memory = x.copy()
    compare = cm.Map(lambda x: (x * 3).astype("i4"))
    result = compare(memory, context=context, mode=mode, out=memory.view(np.int32))
    assert_same(result, (x * 3).astype(np.int32))


def test_out_of_0_dimensions(context: cm.Context, mode: str) -> None:
    out = np.array(np.nan, np.float32)
    assert TOTAL(np.ones(1025, np.float32), context=context, mode=mode, out=out) is out
    assert out == 1025
    device_array = cm.array(np.array(np.nan, np.float32), context)
    assert TOTAL(np.ones(1025, np.float32), context=context, mode=mode, out=device_array) is device_array
    assert float(device_array) == 1025
    inside = np.full(3, np.nan, np.float32)
    TOTAL(np.ones(9, np.float32), context=context, mode=mode, out=inside[1:2].reshape(()))
    assert inside[1] == 9


def test_device_out_for_host_inputs_and_host_out_for_device_inputs(
    context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    x = rng.integers(-9, 9, 1025).astype(np.float32)
    device_array = cm.array(np.zeros(1025, np.float32), context)
    assert DOUBLE(x, context=context, mode=mode, out=device_array) is device_array
    assert_same(device_array.to_numpy(), 2 * x)
    out = np.full(1025, np.nan, np.float32)
    assert DOUBLE(device_array, mode=mode, out=out) is out
    assert_same(out, 4 * x)


def test_empty_outputs(context: cm.Context, mode: str) -> None:
    out = np.zeros((0, 3), np.float32)
    assert DOUBLE(np.zeros((0, 3), np.float32), context=context, mode=mode, out=out) is out
    with pytest.raises(cm.ShapeError):
        DOUBLE(np.zeros((0, 3), np.float32), context=context, mode=mode, out=np.zeros((3, 0), np.float32))
