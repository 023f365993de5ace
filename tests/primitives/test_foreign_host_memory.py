"""pyopencl's arrays over memory of the host."""

from __future__ import annotations

import gc
import time
import weakref
from typing import Any

import numpy as np
import pyopencl as cl
import pyopencl.array  # makes cl.array
import pytest
from support.oracles import assert_same

import clmapreduce as cm

DOUBLE = cm.Map(lambda x: x + x)


def over_host_memory(queue: cl.CommandQueue, memory: np.ndarray[Any, Any]) -> Any:
    access = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    buffer = cl.Buffer(queue.context, access, hostbuf=memory)
    return cl.array.Array(queue, memory.shape, memory.dtype, data=buffer)


@pytest.mark.parametrize("offset", [0, 1, 4])
def test_a_pyopencl_array_over_host_memory_may_lie_anywhere(queue: cl.CommandQueue, offset: int, mode: str) -> None:
    """Vectors stored past the caches must be aligned, or the process dies."""
    length = 1 << 20
    memory = np.zeros(length + 32, np.float32)
    start = -memory.ctypes.data // 4 % 16 + offset
    x = np.arange(length, dtype=np.float32)
    device_array = cm.array(over_host_memory(queue, memory[start : start + length]))
    for primitive, expected in ((DOUBLE, x + x), (cm.Scan("maximum"), x)):
        assert_same(primitive(x, context=device_array.context, mode=mode, out=device_array).to_numpy(), expected)


def test_host_memory_lives_as_long_as_the_array_over_it(queue: cl.CommandQueue) -> None:
    memory = np.arange(1 << 16, dtype=np.float32)
    lives = weakref.ref(memory)
    device_array = cm.array(over_host_memory(queue, memory))
    del memory
    gc.collect()
    assert lives() is not None
    assert_same(DOUBLE(device_array).to_numpy(), 2 * np.arange(1 << 16, dtype=np.float32))
    device_array.context.wait()
    del device_array
    for _ in range(500):  # a driver may hold a buffer a little longer than its last kernel runs
        cm.array(cl.array.to_device(queue, np.zeros(3, np.float32)))  # frees buffers without other references
        gc.collect()
        if lives() is None:
            return
        time.sleep(0.01)
    raise AssertionError("the memory is still referenced")
