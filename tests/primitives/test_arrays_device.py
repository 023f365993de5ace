"""Device arrays: round trips, copies, other shapes and dtypes, contexts, lifetimes; and calls that wait for events."""

from __future__ import annotations

import copy
import gc
import pickle
import threading

import numpy as np
import pyopencl as cl
import pytest
from numpy.lib.stride_tricks import as_strided
from support.array_layouts import readonly
from support.oracles import PLAIN, PRIME, assert_same, values
from support.plain_primitives import ADD, DOUBLE, PREFIX, TOTAL

import clmapreduce as cm

pytestmark = pytest.mark.drawn


# -------------------------------------------------------------------------------------------------------- DeviceArray
@pytest.mark.parametrize("dtype", [*PLAIN, np.dtype([("a", "u1"), ("b", "f8")], align=True)], ids=str)
def test_a_round_trip_keeps_every_byte(dtype: np.dtype, context: cm.Context, rng: np.random.Generator) -> None:
    for shape in ((), (1,), (0,), (3, 0, 2), (17,), (5, 7, 11), PRIME):
        x = values(rng, dtype, shape)
        device_array = cm.array(x, context)
        assert (device_array.shape, device_array.dtype, device_array.ndim, device_array.size, device_array.nbytes) == (x.shape, x.dtype, x.ndim, x.size, x.nbytes)
        assert_same(device_array.to_numpy(), x)
        assert_same(np.asarray(device_array), x)


def test_records_are_packed_for_the_device(context: cm.Context, rng: np.random.Generator) -> None:
    x = values(rng, np.dtype([("a", "u1"), ("b", "f8"), ("c", ">i2")]), 17)
    assert_same(cm.array(x, context).to_numpy(), x.astype([("a", "u1"), ("b", "f8"), ("c", "i2")]))


def test_a_device_array_behaves_like_an_array(context: cm.Context) -> None:
    device_array = cm.array([[1, 2, 3], [4, 5, 6]], context)
    assert len(device_array) == 2
    assert [row.tolist() for row in device_array] == [[1, 2, 3], [4, 5, 6]]
    assert "DeviceArray" in repr(device_array)
    assert device_array.event is not None
    one = cm.array(2.0, context) if context.device.fp64 else cm.array(np.float32(2), context)
    assert (float(one), int(one), bool(one), complex(one)) == (2.0, 2, True, 2 + 0j)
    with pytest.raises(TypeError, match="0-d"):
        len(one)
    with pytest.raises(ValueError, match="without a copy"):
        np.asarray(device_array, copy=False)
    assert np.asarray(device_array, dtype=np.float32).dtype == np.float32
    assert_same(np.add(device_array, 1), np.arange(2, 8).reshape(2, 3), "NumPy's own functions take it")


def test_copies_have_memory_of_their_own(context: cm.Context) -> None:
    for copy_of in (copy.copy, copy.deepcopy):
        device_array = cm.array(np.arange(6, dtype=np.float32).reshape(2, 3), context)
        other = copy_of(device_array)
        cm.Map(lambda x: x + 1)(device_array, out=device_array)
        del device_array
        others = [cm.array(np.full((2, 3), 9, np.float32), context) for _ in range(3)]  # may reuse the memory of `device_array`
        assert_same(other.to_numpy(), np.arange(6, dtype=np.float32).reshape(2, 3))
        del others
    assert copy.copy(cm.array(np.ones((0, 3), np.float32), context)).shape == (0, 3)
    with pytest.raises(TypeError, match="to_numpy"):
        pickle.dumps(other)


def test_other_shapes_and_dtypes_of_the_same_memory(context: cm.Context) -> None:
    x = np.arange(6, dtype=np.float32)
    device_array = cm.array(x, context)
    for shape in ((2, 3), [3, 2], (-1,), (2, -1), (-1, 3, 1)):
        assert_same(device_array.reshape(shape).to_numpy(), x.reshape(shape))
    assert device_array.reshape(3, -1).shape == (3, 2)
    assert cm.array(x[:0], context).reshape(-1, 3).shape == (0, 3)
    assert_same(device_array.view("i4").to_numpy(), x.view("i4"))
    for wrong in ((4,), (-2, -3), (-1, -1), (6.0,), (None,), ("6",), (4, -1), (0, -1)):
        with pytest.raises(cm.ShapeError):
            device_array.reshape(wrong)
    for dtype in (">f4", "S4", "M8[s]", np.dtype([("a", "i1"), ("b", "<i2"), ("c", "i1")]), object):
        with pytest.raises(cm.DTypeError):
            device_array.view(dtype)
    with pytest.raises(cm.DTypeError, match="list"):
        device_array.to_numpy([0])  # type: ignore[arg-type]


def test_reading_into_an_array(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.standard_normal((5, 7)).astype(np.float32)
    device_array = cm.array(x, context)
    out = np.full((5, 7), np.nan, np.float32)
    assert device_array.to_numpy(out) is out
    assert_same(out, x)
    view = np.full((7, 10), np.nan, np.float32).T[::2]
    assert device_array.to_numpy(view) is view
    assert_same(view, x)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros((7, 5), np.float32), cm.ShapeError), (np.zeros(34, np.float32), cm.ShapeError), (np.zeros((5, 7), np.int32), cm.DTypeError),
        (readonly(np.zeros((5, 7), np.float32)), cm.ShapeError),
        (as_strided(np.zeros((5, 1), np.float32), (5, 7), (4, 0)), cm.ShapeError),
    ],
    ids=["shape", "too small", "dtype", "read-only", "repeated"],
)  # fmt: skip
def test_reading_into_an_array_that_does_not_fit(out: np.ndarray, error: type, context: cm.Context) -> None:
    before = out.tobytes()
    with pytest.raises(error):
        cm.array(np.ones((5, 7), np.float32), context).to_numpy(out)
    assert out.tobytes() == before


def test_arrays_of_their_own_context_are_returned(context: cm.Context) -> None:
    device_array = cm.array(np.arange(5), context)
    assert cm.array(device_array) is device_array
    assert cm.array(device_array, context) is device_array
    other = cm.Context(context.device)
    there = cm.array(device_array, other)
    assert there.context is other
    assert_same(there.to_numpy(), np.arange(5))


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
    """Buffers return to the arena when their arrays die, and serve another array only when no command reads them."""
    x = rng.integers(-100, 100, PRIME).astype(np.int32)
    results = []
    for k in range(12):
        device_array = cm.array(x + k, context)
        step = DOUBLE(device_array)
        del device_array
        results.append(PREFIX(step))
        del step
        if k % 4 == 0:
            gc.collect()
    for k, result in enumerate(results):
        assert_same(result.to_numpy(), np.cumsum(2 * (x + k), dtype=np.int64))


# --------------------------------------------------------------------------------------------------------------- events
def test_wait_for_a_user_event(context: cm.Context, mode: str) -> None:
    gate = cl.UserEvent(context.queue.context)
    x = cm.array(np.ones(257, np.float32), context)
    double = DOUBLE(x, mode=mode, wait_for=[gate])
    total = TOTAL(double, mode=mode)
    assert double.event.command_execution_status > cl.command_execution_status.COMPLETE
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
    device_array = cm.array(np.zeros(PRIME, np.float32), context)
    for _ in range(20):
        x = np.ones(PRIME, np.float32)
        result = ADD(device_array, x, mode=mode)
        partials = cm.Partials("sum")(x, context=context, mode=mode)
        x[:] = np.nan
        assert_same(result.to_numpy(), np.ones(PRIME, np.float32))
        assert partials.prefix(PRIME) == PRIME


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
