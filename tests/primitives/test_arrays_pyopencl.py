"""Arrays of pyopencl: we use them in place, wait for their commands and release them; and arrays that we refuse."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array  # makes cl.array
import pyopencl.tools  # makes cl.tools
import pytest
from support.oracles import PRIME, assert_same
from support.plain_primitives import ADD, DOUBLE, TOTAL

import clmapreduce as cm

pytestmark = pytest.mark.drawn


def test_pyopencl_arrays_are_used_in_place(queue: cl.CommandQueue, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, (5, 13)).astype(np.float32)
    theirs = cl.array.to_device(queue, x)
    assert_same(DOUBLE(theirs, mode=mode).to_numpy(), 2 * x)
    device_array = cm.array(theirs)
    assert (device_array.shape, device_array.dtype) == (x.shape, x.dtype)
    DOUBLE(device_array, mode=mode, out=device_array)
    device_array.event.wait()
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
    cm.array(cl.array.zeros(queue, 5, np.float32)).to_numpy()  # another one: contexts without other references go
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
            result = DOUBLE(view, mode=mode)
        except cm.ClMapReduceError as error:
            assert "offset" in str(error)
        else:
            assert_same(result.to_numpy(), 2 * expected.astype(np.float32))


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
    """In a part of a buffer, or of a pool: we could not wait for commands on the whole, or know when it is freed."""
    whole = cl.array.to_device(queue, np.arange(4096, dtype=np.float32))
    part = cl.array.Array(queue, (1024,), np.float32, data=whole.base_data.get_sub_region(4096, 4096))
    pool = cl.tools.MemoryPool(cl.tools.ImmediateAllocator(queue))
    for theirs in (part, cl.array.to_device(queue, np.ones(8, np.float32), allocator=pool)):
        with pytest.raises(cm.DeviceError, match="in place"):
            cm.array(theirs)
    assert float(cm.Reduce("sum")(part.copy())) == np.arange(1024, 2048).sum()


def test_threads_that_meet_a_context_first_share_ours(queue: cl.CommandQueue) -> None:
    theirs = [cl.array.to_device(queue, np.arange(8, dtype=np.float32)) for _ in range(6)]
    barrier, contexts = threading.Barrier(6), []

    def wrap(x: Any) -> None:
        barrier.wait()
        contexts.append(cm.array(x).context)

    threads = [threading.Thread(target=wrap, args=(x,)) for x in theirs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(contexts) == 6 and len(set(contexts)) == 1


def test_pyopencl_arrays_of_dtypes_that_no_kernel_holds(queue: cl.CommandQueue) -> None:
    theirs = cl.array.to_device(queue, np.zeros(4, np.dtype([("v", [("x", "f4")])])))
    with pytest.raises(cm.DTypeError, match="'v'"):
        cm.array(theirs)
