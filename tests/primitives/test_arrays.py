"""Arrays on their way in and out: layouts, byte orders, other libraries, out= in every form, and user events."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array  # makes cl.array
import pyopencl.tools  # makes cl.tools
import pytest
from support.oracles import PLAIN, PRIME, assert_same, into_poison, values

import clmapreduce as cm

pytestmark = pytest.mark.drawn

DOUBLE = cm.Map(lambda x: x + x)
ADD = cm.Map(lambda x, y: x + y)
TOTAL = cm.Reduce("sum")
PREFIX = cm.Scan("sum")


class OnlyDLPack:
    """A CPU array of a library that NumPy does not know."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._values.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self._values.__dlpack_device__()


def readonly(x: np.ndarray) -> np.ndarray:
    made = x.copy()
    made.flags.writeable = False
    return made


def misaligned(x: np.ndarray) -> np.ndarray:
    """A copy of `x` one byte past every alignment."""
    raw = np.empty(x.nbytes + 1, np.uint8)
    made = raw[1:].view(x.dtype).reshape(x.shape)
    made[...] = x
    assert not made.flags.aligned
    return made


# -------------------------------------------------------------------------------------------------------- DeviceArray
@pytest.mark.parametrize("dtype", [*PLAIN, np.dtype([("a", "u1"), ("b", "f8")], align=True)], ids=str)
def test_a_round_trip_keeps_every_byte(dtype: np.dtype, context: cm.Context, rng: np.random.Generator) -> None:
    for shape in ((), (1,), (0,), (3, 0, 2), (17,), (5, 7, 11), PRIME):
        x = values(rng, dtype, shape)
        held = cm.array(x, context)
        assert (held.shape, held.dtype, held.ndim, held.size, held.nbytes) == (x.shape, x.dtype, x.ndim, x.size, x.nbytes)
        assert_same(held.to_numpy(), x)
        assert_same(np.asarray(held), x)


def test_records_are_packed_for_the_device(context: cm.Context, rng: np.random.Generator) -> None:
    x = values(rng, np.dtype([("a", "u1"), ("b", "f8"), ("c", ">i2")]), 17)
    assert_same(cm.array(x, context).to_numpy(), x.astype([("a", "u1"), ("b", "f8"), ("c", "i2")]))


def test_a_device_array_behaves_like_an_array(context: cm.Context) -> None:
    held = cm.array([[1, 2, 3], [4, 5, 6]], context)
    assert len(held) == 2
    assert [row.tolist() for row in held] == [[1, 2, 3], [4, 5, 6]]
    assert "DeviceArray" in repr(held)
    assert held.event is not None
    one = cm.array(2.0, context) if context.device.fp64 else cm.array(np.float32(2), context)
    assert (float(one), int(one), bool(one), complex(one)) == (2.0, 2, True, 2 + 0j)
    with pytest.raises(TypeError, match="0-d"):
        len(one)
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(held, copy=False)
    assert np.asarray(held, dtype=np.float32).dtype == np.float32
    assert_same(np.add(held, 1), np.arange(2, 8).reshape(2, 3), "NumPy's own functions take it")


def test_copies_have_memory_of_their_own(context: cm.Context) -> None:
    for copied in (copy.copy, copy.deepcopy):
        held = cm.array(np.arange(6, dtype=np.float32).reshape(2, 3), context)
        other = copied(held)
        cm.Map(lambda x: x + 1)(held, out=held)
        del held
        taken = [cm.array(np.full((2, 3), 9, np.float32), context) for _ in range(3)]  # what was given back
        assert_same(other.to_numpy(), np.arange(6, dtype=np.float32).reshape(2, 3))
        del taken
    assert copy.copy(cm.array(np.ones((0, 3), np.float32), context)).shape == (0, 3)
    with pytest.raises(TypeError, match="to_numpy"):
        pickle.dumps(other)


def test_other_shapes_and_dtypes_of_the_same_memory(context: cm.Context) -> None:
    x = np.arange(6, dtype=np.float32)
    held = cm.array(x, context)
    for shape in ((2, 3), [3, 2], (-1,), (2, -1), (-1, 3, 1)):
        assert_same(held.reshape(shape).to_numpy(), x.reshape(shape))
    assert held.reshape(3, -1).shape == (3, 2)
    assert cm.array(x[:0], context).reshape(-1, 3).shape == (0, 3)
    assert_same(held.view("i4").to_numpy(), x.view("i4"))
    for wrong in ((4,), (-2, -3), (-1, -1), (6.0,), (None,), ("6",), (4, -1), (0, -1)):
        with pytest.raises(cm.ShapeError):
            held.reshape(wrong)
    for dtype in (">f4", "S4", "M8[s]", np.dtype([("a", "i1"), ("b", "<i2"), ("c", "i1")]), object):
        with pytest.raises(cm.DTypeError):
            held.view(dtype)
    with pytest.raises(cm.DTypeError, match="list"):
        held.to_numpy([0])  # type: ignore[arg-type]


def test_reading_into_an_array(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.standard_normal((5, 7)).astype(np.float32)
    held = cm.array(x, context)
    out = np.full((5, 7), np.nan, np.float32)
    assert held.to_numpy(out) is out
    assert_same(out, x)
    strided = np.full((7, 10), np.nan, np.float32).T[::2]
    assert held.to_numpy(strided) is strided
    assert_same(strided, x)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros((7, 5), np.float32), cm.ShapeError), (np.zeros(34, np.float32), cm.ShapeError), (np.zeros((5, 7), np.int32), cm.DTypeError),
        (readonly(np.zeros((5, 7), np.float32)), cm.ShapeError),
    ],
    ids=["shape", "too small", "dtype", "read-only"],
)  # fmt: skip
def test_reading_into_an_array_that_does_not_fit(out: np.ndarray, error: type, context: cm.Context) -> None:
    before = out.tobytes()
    with pytest.raises(error):
        cm.array(np.ones((5, 7), np.float32), context).to_numpy(out)
    assert out.tobytes() == before


def test_arrays_of_their_own_context_are_returned(context: cm.Context) -> None:
    held = cm.array(np.arange(5), context)
    assert cm.array(held) is held
    assert cm.array(held, context) is held
    other = cm.Context(context.device)
    moved = cm.array(held, other)
    assert moved.context is other
    assert_same(moved.to_numpy(), np.arange(5))


def test_arrays_of_different_contexts_do_not_mix(context: cm.Context) -> None:
    here, there = cm.array(np.ones(5, np.float32), context), cm.array(np.ones(5, np.float32), cm.Context(context.device))
    for call in (
        lambda: ADD(here, there),
        lambda: ADD(here, 1, context=there.context),
        lambda: ADD(here, 1, out=there),
        lambda: ADD(np.ones(5, np.float32), 1, context=context, out=there),
        lambda: TOTAL(here, context=there.context),
    ):
        with pytest.raises((cm.DeviceError, cm.ShapeError), match=r"context|lives on"):
            call()


def test_results_outlive_their_inputs(context: cm.Context, rng: np.random.Generator) -> None:
    """Buffers return to the arena when their arrays die, and are handed out again only when nobody reads them."""
    x = rng.integers(-100, 100, PRIME).astype(np.int32)
    results = []
    for k in range(12):
        held = cm.array(x + k, context)
        step = DOUBLE(held)
        del held
        results.append(PREFIX(step))
        del step
        if k % 4 == 0:
            gc.collect()
    for k, result in enumerate(results):
        assert_same(result.to_numpy(), np.cumsum(2 * (x + k), dtype=np.int64))


# -------------------------------------------------------------------------------------------------------------- layouts
LAYOUTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "every second": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "Fortran": np.asfortranarray,
    "transposed": lambda x: np.ascontiguousarray(x.T).T,
    "broadcast": lambda x: np.broadcast_to(x[:1], x.shape),
    "byte-swapped": lambda x: x.astype(x.dtype.newbyteorder("S")),
    "read-only": readonly,
    "misaligned": misaligned,
    "sliced": lambda x: np.pad(x, 3)[3:-3, 3:-3],
}


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


def test_only_what_was_asked_for_is_written(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
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


def test_float16_where_there_is_some(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = (rng.integers(-8, 8, 1025) / 4).astype(np.float16)
    if not context.device.fp16:
        for call in (lambda: DOUBLE(x, context=context, mode=mode), lambda: TOTAL(x, context=context, mode=mode)):
            with pytest.raises(cm.DTypeError, match="float16"):
                call()
        return
    assert_same(DOUBLE(x, context=context, mode=mode), x + x)
    assert_same(TOTAL(x, context=context, mode=mode), np.float16(x.astype(np.float64).sum()))
    assert_same(cm.Reduce("argmin")(x, context=context, mode=mode), np.int64(np.argmin(x)))


# ----------------------------------------------------------------------------------------------------------------- out=
def test_out_may_be_wider(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(-100, 100, 257).astype(np.int16)
    for dtype in ("i4", "f8", ">i8", "c16"):
        got = into_poison(lambda out: DOUBLE(x, context=context, out=out), 257, dtype)
        np.testing.assert_array_equal(got, 2 * x)


def test_out_may_be_an_input(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (1, 17, 1025, PRIME):
        x = rng.integers(-100, 100, length)
        for primitive, expected in ((DOUBLE, 2 * x), (PREFIX, np.cumsum(x))):
            same = x.copy()
            assert primitive(same, context=context, mode=mode, out=same) is same
            assert_same(same, expected, (primitive, length))
            held = cm.array(x, context)
            assert primitive(held, mode=mode, out=held) is held
            assert_same(held.to_numpy(), expected, (primitive, length))
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
    held = cm.array(np.array(3), context)
    assert ADD(held, held, mode=mode, out=held) is held
    assert int(held) == 6
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
    got = compare(memory, context=context, mode=mode, out=memory.view(np.int32))
    assert_same(got, (x * 3).astype(np.int32))


def test_out_of_0_dimensions(context: cm.Context, mode: str) -> None:
    out = np.array(np.nan, np.float32)
    assert TOTAL(np.ones(1025, np.float32), context=context, mode=mode, out=out) is out
    assert out == 1025
    held = cm.array(np.array(np.nan, np.float32), context)
    assert TOTAL(np.ones(1025, np.float32), context=context, mode=mode, out=held) is held
    assert float(held) == 1025
    inside = np.full(3, np.nan, np.float32)
    TOTAL(np.ones(9, np.float32), context=context, mode=mode, out=inside[1:2].reshape(()))
    assert inside[1] == 9


def test_device_out_for_host_inputs_and_host_out_for_device_inputs(
    context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    x = rng.integers(-9, 9, 1025).astype(np.float32)
    held = cm.array(np.zeros(1025, np.float32), context)
    assert DOUBLE(x, context=context, mode=mode, out=held) is held
    assert_same(held.to_numpy(), 2 * x)
    out = np.full(1025, np.nan, np.float32)
    assert DOUBLE(held, mode=mode, out=out) is out
    assert_same(out, 4 * x)


def test_empty_outputs(context: cm.Context, mode: str) -> None:
    out = np.zeros((0, 3), np.float32)
    assert DOUBLE(np.zeros((0, 3), np.float32), context=context, mode=mode, out=out) is out
    with pytest.raises(cm.ShapeError):
        DOUBLE(np.zeros((0, 3), np.float32), context=context, mode=mode, out=np.zeros((3, 0), np.float32))


# ------------------------------------------------------------------------------------------------ pyopencl.array.Array
def test_pyopencl_arrays_are_used_in_place(queue: cl.CommandQueue, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (5, 13)).astype(np.float32)
    theirs = cl.array.to_device(queue, x)
    assert_same(DOUBLE(theirs, mode=mode).to_numpy(), 2 * x)
    held = cm.array(theirs)
    assert (held.shape, held.dtype) == (x.shape, x.dtype)
    DOUBLE(held, mode=mode, out=held)
    held.event.wait()
    assert_same(theirs.get(), 2 * x, "our writes are theirs")
    theirs.fill(3)
    assert_same(cm.array(theirs).to_numpy(), np.full_like(x, 3), "their writes are ours")


def test_calls_on_one_pyopencl_array_wait_for_each_other(queue: cl.CommandQueue, mode: str) -> None:
    """Each call wraps the array again; the second must still see what the first one is writing."""
    theirs = cl.array.zeros(queue, PRIME, np.float32)
    gate = cl.UserEvent(theirs.context)
    increment = cm.Map(lambda x: x + 1)
    increment(theirs, mode=mode, out=cm.array(theirs), wait_for=[gate])
    total = TOTAL(theirs.reshape(-1, 1), mode=mode)
    assert total.event.command_execution_status > cl.command_execution_status.COMPLETE
    gate.set_status(cl.command_execution_status.COMPLETE)
    for _ in range(20):
        increment(theirs, mode=mode, out=cm.array(theirs))
    assert_same(TOTAL(theirs, mode=mode).to_numpy(), np.float32(21 * PRIME))
    assert float(total) == PRIME


def test_memory_of_pyopencl_arrays_is_let_go(queue: cl.CommandQueue) -> None:
    theirs = cl.array.zeros(queue, PRIME, np.float32)
    ours = weakref.ref(cm.array(theirs).buffer)
    assert float(TOTAL(theirs)) == 0
    assert ours() is not None, "kept for the next call"
    del theirs
    gc.collect()
    cm.array(cl.array.zeros(queue, 5, np.float32)).to_numpy()  # another one: what nobody else holds goes
    assert ours() is None


def test_mixed_with_host_arrays_and_numbers(queue: cl.CommandQueue, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, 257).astype(np.float32)
    theirs = cl.array.to_device(queue, x)
    assert_same(ADD(theirs, x, mode=mode).to_numpy(), 2 * x)
    assert_same(ADD(theirs, 2, mode=mode).to_numpy(), x + 2)
    assert_same(TOTAL(theirs, mode=mode).to_numpy(), x.sum())


def test_a_view_into_a_pyopencl_array(queue: cl.CommandQueue, mode: str) -> None:
    theirs = cl.array.to_device(queue, np.arange(4096, dtype=np.float32))
    for view, expected in ((theirs[1024:2048], np.arange(1024, 2048)), (theirs[3:20], np.arange(3, 20))):
        try:
            got = DOUBLE(view, mode=mode)
        except cm.ClMapReduceError as error:
            assert "offset" in str(error)
        else:
            assert_same(got.to_numpy(), 2 * expected.astype(np.float32))


def test_pyopencl_arrays_with_strides_are_refused(queue: cl.CommandQueue) -> None:
    theirs = cl.array.to_device(queue, np.arange(64, dtype=np.float32).reshape(8, 8))
    for view in (theirs[::2], theirs.T):
        with pytest.raises(cm.ShapeError, match="contiguous"):
            DOUBLE(view)


def test_pyopencl_arrays_of_another_context_are_refused(queue: cl.CommandQueue, context: cm.Context) -> None:
    theirs = cl.array.to_device(queue, np.arange(8, dtype=np.float32))
    with pytest.raises(cm.DeviceError, match="another OpenCL context"):
        cm.array(theirs, context)
    with pytest.raises(cm.DeviceError):
        DOUBLE(theirs, context=context)


def test_pyopencl_arrays_whose_memory_others_share(queue: cl.CommandQueue) -> None:
    """In a part of a buffer, or of a pool: nothing would wait for commands on the whole, or tell when it is let go."""
    whole = cl.array.to_device(queue, np.arange(4096, dtype=np.float32))
    part = cl.array.Array(queue, (1024,), np.float32, data=whole.base_data.get_sub_region(4096, 4096))
    pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue))
    for theirs in (part, cl.array.to_device(queue, np.ones(8, np.float32), allocator=pool)):
        with pytest.raises(cm.DeviceError, match="in place"):
            cm.array(theirs)
    assert float(cm.Reduce("sum")(part.copy())) == np.arange(1024, 2048).sum()


def test_threads_that_meet_a_context_first_share_ours(queue: cl.CommandQueue) -> None:
    theirs = [cl.array.to_device(queue, np.arange(8, dtype=np.float32)) for _ in range(6)]
    started, found = threading.Barrier(6), []

    def wrap(x: Any) -> None:
        started.wait()
        found.append(cm.array(x).context)

    threads = [threading.Thread(target=wrap, args=(x,)) for x in theirs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6 and len(set(found)) == 1


def test_pyopencl_arrays_of_dtypes_that_no_kernel_holds(queue: cl.CommandQueue) -> None:
    theirs = cl.array.to_device(queue, np.zeros(4, np.dtype([("v", [("x", "f4")])])))
    with pytest.raises(cm.DTypeError, match="'v'"):
        cm.array(theirs)


# --------------------------------------------------------------------------------------------------------------- events
def test_wait_for_a_user_event(context: cm.Context, mode: str) -> None:
    gate = cl.UserEvent(context.queue.context)
    x = cm.array(np.ones(257, np.float32), context)
    doubled = DOUBLE(x, mode=mode, wait_for=[gate])
    total = TOTAL(doubled, mode=mode)
    assert doubled.event.command_execution_status > cl.command_execution_status.COMPLETE
    assert total.event.command_execution_status > cl.command_execution_status.COMPLETE
    gate.set_status(cl.command_execution_status.COMPLETE)
    assert float(total) == 514


def test_host_results_wait_for_the_event(context: cm.Context, mode: str) -> None:
    gate = cl.UserEvent(context.queue.context)
    timer = threading.Timer(0.2, gate.set_status, [cl.command_execution_status.COMPLETE])
    timer.start()
    assert_same(DOUBLE(np.ones(17, np.float32), context=context, mode=mode, wait_for=[gate]), np.full(17, 2, np.float32))
    assert gate.command_execution_status == cl.command_execution_status.COMPLETE
    timer.join()


def test_wait_for_takes_device_arrays_and_done_events(context: cm.Context, mode: str) -> None:
    x = cm.array(np.ones(17, np.float32), context)
    y = DOUBLE(x, mode=mode)
    assert_same(ADD(x, 1, mode=mode, wait_for=[y, y.event]).to_numpy(), np.full(17, 2, np.float32))
    with pytest.raises(TypeError, match="wait_for"):
        DOUBLE(x, mode=mode, wait_for=["soon"])


def test_a_host_input_may_change_once_the_call_returned(context: cm.Context, mode: str) -> None:
    """A DeviceArray among the inputs makes the result one, not waited for; the NumPy input is the caller's again."""
    held = cm.array(np.zeros(PRIME, np.float32), context)
    for _ in range(20):
        x = np.ones(PRIME, np.float32)
        result = ADD(held, x, mode=mode)
        kept = cm.Partials("sum")(x, context=context, mode=mode)
        x[:] = np.nan
        assert_same(result.to_numpy(), np.ones(PRIME, np.float32))
        assert kept.prefix(PRIME) == PRIME


def test_a_chain_on_the_device_is_in_order(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Twenty jobs that read and write two arrays in turn: one missing wait on the out-of-order queue shows."""
    x = rng.integers(-9, 9, PRIME).astype(np.int32)
    first, second = cm.array(x, context), cm.array(np.zeros(PRIME, np.int32), context)
    step = cm.Map(lambda x: x * 3 + 1)
    expected = x
    for k in range(20):
        step(first if k % 2 == 0 else second, mode=mode, out=second if k % 2 == 0 else first)
        expected = expected * np.int32(3) + np.int32(1)
    assert_same(first.to_numpy(), expected)
