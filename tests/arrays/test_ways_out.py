"""Arrays of a device that other libraries take: pyopencl's arrays in the same memory, and DLPack."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from support.oracles import PRIME, assert_same, values

import clmapreduce as cm

pytestmark = pytest.mark.drawn
DOUBLE = cm.Map(lambda x: x + x)
SHAPES = [(), (1,), (2,), (31,), (33,), (3, 5), (PRIME,), (100_003,)]


@pytest.fixture
def gate(context: cm.Context) -> Iterator[cl.UserEvent]:
    """An event that the test lets happen; at its end it has, whatever came before."""
    event = cl.UserEvent(context.queue.context)
    yield event
    open_gate(event)


def open_gate(event: cl.UserEvent) -> None:
    if event.command_execution_status != cl.command_execution_status.COMPLETE:
        event.set_status(cl.command_execution_status.COMPLETE)


def hold(array: Any) -> list[cl.Event]:
    """What runs later in the queue of a pyopencl array waits for these."""
    return [event for event in array.events if event.command_execution_status > cl.command_execution_status.COMPLETE]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", ["i1", "i4", "f4", "c8"])
def test_pyopencl_shares_the_memory(shape: Any, dtype: str, context: cm.Context, rng: np.random.Generator) -> None:
    x = values(rng, dtype, shape)
    ours = cm.array(x, context)
    theirs = ours.to_pyopencl()
    assert (theirs.shape, theirs.dtype, theirs.queue.device) == (x.shape, x.dtype, context.device.cl_device)
    assert_same(theirs.get(), x)
    new = values(rng, dtype, shape)
    theirs.set(new)
    theirs.queue.finish()  # OpenCL may still write when a blocking call has returned
    assert_same(ours.to_numpy(), new, "their writes are ours")
    ours[...] = x
    ours.event.wait()
    assert_same(theirs.get(), x, "our writes are theirs")


def test_pyopencl_arrays_of_nothing(context: cm.Context) -> None:
    theirs = cm.empty((0, 3), "f4", context=context).to_pyopencl()
    assert theirs.get().shape == (0, 3) and theirs.dtype == np.float32


@pytest.mark.parametrize("first", [1, 3, 16])
def test_pyopencl_shares_a_part(first: int, context: cm.Context, rng: np.random.Generator) -> None:
    x = values(rng, "i4", PRIME)
    whole = cm.array(x, context)
    part = whole[first : PRIME - 2].to_pyopencl()
    assert_same(part.get(), x[first : PRIME - 2])
    part.fill(np.int32(7))
    part.queue.finish()
    x[first : PRIME - 2] = 7
    assert_same(whole.to_numpy(), x)


def test_pyopencl_waits_for_earlier_calls(context: cm.Context, gate: cl.UserEvent, mode: str) -> None:
    """For a write to be read, and for a read before it writes. Where a queue keeps its order, an upload would wait for
    calls that wait for the gate: arrays come first.
    """
    ones, read = (cm.array(np.ones(PRIME, np.float32), context) for _ in range(2))
    theirs = DOUBLE(ones, mode=mode, wait_for=[gate]).to_pyopencl()
    doubled = DOUBLE(read, mode=mode, wait_for=[gate])
    over = read.to_pyopencl()
    assert hold(theirs) and hold(over)
    over.fill(np.float32(9))
    copied = theirs.copy()
    open_gate(gate)
    assert_same(copied.get(), np.full(PRIME, 2, np.float32))
    assert_same(over.get(), np.full(PRIME, 9, np.float32))
    assert_same(doubled.to_numpy(), np.full(PRIME, 2, np.float32))


def test_calls_on_what_pyopencl_shares_wait_for_each_other(context: cm.Context, gate: cl.UserEvent, mode: str) -> None:
    """The pyopencl array is our own one again, in its context."""
    ours = cm.array(np.ones(PRIME, np.float32), context)
    theirs = ours.to_pyopencl()
    again = cm.array(theirs)
    assert again.context is context and again.memory is ours.memory
    DOUBLE(ours, mode=mode, out=ours, wait_for=[gate])
    result = DOUBLE(theirs, mode=mode)
    assert not result.done() and result.context is context
    open_gate(gate)
    assert_same(result.to_numpy(), np.full(PRIME, 4, np.float32))


def test_the_memory_lives_as_long_as_either(context: cm.Context, rng: np.random.Generator) -> None:
    x = values(rng, "f4", PRIME)
    ours = cm.array(x, context)
    theirs = ours.to_pyopencl()[5:]
    del ours
    gc.collect()
    others = [cm.full(PRIME, 3, "f4", context=context) for _ in range(4)]  # would take the memory if it were free
    cm.wait(*others)
    assert_same(theirs.get(), x[5:])
    ours = cm.array(x, context)
    theirs = ours.to_pyopencl()
    del theirs
    gc.collect()
    assert_same(ours.to_numpy(), x)


def test_shared_memory_is_freed(context: cm.Context) -> None:
    """Once both have gone, when the next array is shared or where memory is short."""
    own = cm.Context(context.device, memory_limit="64M")
    for _ in range(20):
        cm.zeros(1 << 22, "f4", context=own).to_pyopencl()  # 16 MiB each
    own.wait()
    cm.zeros(1, "f4", context=own).to_pyopencl()
    gc.collect()
    assert own.queue.arena.reserved_bytes <= 1 << 20


def test_queues_of_pyopencl(context: cm.Context) -> None:
    x = cm.array(np.arange(5), context)
    queue = cl.CommandQueue(context.queue.context)
    assert x.to_pyopencl(queue).queue is queue
    assert x.to_pyopencl().queue == x.to_pyopencl().queue, "one queue for all"
    other = cl.Context([context.device.cl_device])  # held here: queues of Intel do not
    for wrong in (cl.CommandQueue(other), cl.CommandQueue(cl.Context([context.device.cl_device])), "fast", 0):
        with pytest.raises(cm.ArgumentError, match="of this context"):
            x.to_pyopencl(wrong)


# --------------------------------------------------------------------------------------------------------------- DLPack
@pytest.mark.parametrize("shape", [*SHAPES, (0,), (4, 0, 2)])
@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i8", "f4", "c8"])
def test_dlpack_gives_a_copy(shape: Any, dtype: str, context: cm.Context, rng: np.random.Generator) -> None:
    x = values(rng, dtype, shape)
    ours = cm.array(x, context)
    assert ours.__dlpack_device__() == (1, 0)
    theirs = np.from_dlpack(ours)
    assert_same(theirs, x)
    ours.fill(0)
    ours.result()
    assert_same(theirs, x, "a copy")
    del ours
    gc.collect()
    assert_same(theirs, x)


def test_dlpack_of_parts_and_floats_of_16_bits(context: cm.Context) -> None:
    x = np.arange(100, dtype=np.float16)
    assert_same(np.from_dlpack(cm.array(x, context)[3:50]), x[3:50])


def test_dlpack_with_the_standards_keywords(context: cm.Context) -> None:
    x = np.arange(5)
    ours = cm.array(x, context)
    assert_same(np.from_dlpack(ours, device="cpu", copy=True), x)
    assert_same(np.from_dlpack(ours, copy=None), x)
    for keywords, words in (
        ({"copy": False}, "copy"), ({"dl_device": (2, 0)}, "host memory"), ({"stream": 1}, "stream"),
    ):  # fmt: skip
        with pytest.raises(cm.ExportError, match=words):
            ours.__dlpack__(**keywords)
    with pytest.raises(BufferError):
        np.from_dlpack(ours, copy=False)


@pytest.mark.parametrize("dtype", [np.dtype([("a", "f4"), ("b", "i4")]), cm.df])
def test_dlpack_of_dtypes_that_it_does_not_know(dtype: Any, context: cm.Context) -> None:
    x = cm.array(np.zeros(3, dtype), context)
    with pytest.raises(cm.ExportError, match="DLPack has no dtype"):
        x.__dlpack__()


def test_there_is_no_cuda_array_interface(context: cm.Context) -> None:
    x = cm.array(np.arange(3), context)
    assert not hasattr(x, "__cuda_array_interface__")
    assert getattr(x, "__cuda_array_interface__", None) is None
    with pytest.raises(AttributeError, match="to_numpy"):
        _ = x.__cuda_array_interface__
