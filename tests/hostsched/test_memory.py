"""The arena: sizes, reuse only after the last use, limits before any driver call, and a device that stays usable."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pyopencl as cl
import pytest

from hostsched import Device, FillJob, JobGraph, OutOfDeviceMemory, Queue, ReadJob, devices, new_context
from hostsched.memory.arena import size_class


@pytest.mark.parametrize(
    ("nbytes", "size"),
    [
        (0, 256),
        (1, 256),
        (256, 256),
        (257, 512),
        (1000, 1024),
        (2**20 - 1, 2**20),
        (2**20, 2**20),
        (2**20 + 1, 2**20 + 2**17),
        (2**21 - 1, 2**21),
        (2**21 + 1, 2**21 + 2**18),
        (3 * 2**30, 3 * 2**30),
    ],
)
def test_size_classes(nbytes: int, size: int) -> None:
    assert size_class(nbytes) == size


def test_size_classes_grow_and_waste_at_most_an_eighth_above_a_mebibyte() -> None:
    sizes = [size_class(nbytes) for nbytes in range(2**20, 2**23, 1009)]
    assert sizes == sorted(sizes)
    assert all(nbytes <= size <= nbytes * 1.125 for nbytes, size in zip(range(2**20, 2**23, 1009), sizes, strict=True))


def test_returned_memory_is_handed_out_again(fresh_queue: Queue) -> None:
    arena = fresh_queue.arena
    first = arena.take(1000)
    assert first.nbytes == 1024 and arena.reserved_bytes == 1024
    arena.give(first)
    assert arena.idle_bytes == 1024
    assert arena.take(600) is first
    second = arena.take(600)
    assert second is not first
    assert arena.idle_bytes == 0 and arena.reserved_bytes == 2048


def test_memory_in_use_is_not_handed_out(fresh_queue: Queue) -> None:
    gate = cl.UserEvent(fresh_queue.context)
    arena = fresh_queue.arena
    target, source = arena.take(64), arena.take(64)
    out = np.zeros(64, np.uint8)
    event = JobGraph([FillJob(target, b"\x01", 64), ReadJob(source, out)]).submit(fresh_queue, [gate])
    arena.give(target)
    arena.give(source)
    others = {arena.take(64), arena.take(64)}
    assert not others & {target, source}
    gate.set_status(cl.command_execution_status.COMPLETE)
    event.wait()
    again = {arena.take(64), arena.take(64)}
    assert again == {target, source}
    assert all(buffer.last_write is None and not buffer.readers for buffer in again)


def test_an_old_buffer_is_found_behind_many_busy_ones(fresh_queue: Queue) -> None:
    gate = cl.UserEvent(fresh_queue.context)
    arena = fresh_queue.arena
    free, busy = arena.take(64), [arena.take(64) for _ in range(50)]
    event = JobGraph([FillJob(buffer, b"\0", 64) for buffer in busy]).submit(fresh_queue, [gate])
    arena.give(free)
    for buffer in busy:
        arena.give(buffer)
    assert arena.take(64) is free
    gate.set_status(cl.command_execution_status.COMPLETE)
    event.wait()


def test_trim_frees_what_is_idle_and_not_in_use(fresh_queue: Queue) -> None:
    gate = cl.UserEvent(fresh_queue.context)
    arena = fresh_queue.arena
    idle, busy = arena.take(4096), arena.take(512)
    event = JobGraph([FillJob(busy, b"\0", 512)]).submit(fresh_queue, [gate])
    arena.give(idle)
    arena.give(busy)
    del idle, busy
    assert arena.trim() == 4096
    assert arena.reserved_bytes == 512
    gate.set_status(cl.command_execution_status.COMPLETE)
    event.wait()
    assert arena.trim() == 512 and arena.reserved_bytes == 0 and arena.idle_bytes == 0


def test_a_dropped_buffer_is_freed(fresh_queue: Queue) -> None:
    buffer = fresh_queue.arena.take(5000)
    assert fresh_queue.arena.reserved_bytes == 8192
    del buffer
    gc.collect()
    assert fresh_queue.arena.reserved_bytes == 0


def test_giving_back_twice_is_refused_and_foreign_buffers_are_left_alone(queue: Queue, fresh_queue: Queue) -> None:
    buffer = queue.arena.take(64)
    fresh_queue.arena.give(buffer)
    assert fresh_queue.arena.idle_bytes == 0
    queue.arena.give(buffer)
    with pytest.raises(ValueError, match="twice"):
        queue.arena.give(buffer)
    loan = queue.arena.borrow(np.zeros(64), writable=True)
    queue.arena.give(loan)
    queue.arena.give(loan)


def test_give_may_come_from_the_garbage_collector(fresh_queue: Queue) -> None:
    arena = fresh_queue.arena

    class Holder:
        def __init__(self) -> None:
            self.buffer = arena.take(64)
            self.itself = self  # only the collector can free it

        def __del__(self) -> None:
            arena.give(self.buffer)

    for _ in range(1000):
        Holder()
    gc.collect()
    assert arena.reserved_bytes == arena.idle_bytes > 0
    arena.trim()
    assert arena.reserved_bytes == arena.idle_bytes == 0


def test_threads_never_share_a_buffer(queue: Queue) -> None:
    buffers_in_use: set[int] = set()
    clashes: list[int] = []

    def work() -> None:
        for _ in range(300):
            buffer = queue.arena.take(64)
            if id(buffer) in buffers_in_use:
                clashes.append(id(buffer))
            buffers_in_use.add(id(buffer))
            buffers_in_use.discard(id(buffer))
            queue.arena.give(buffer)

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not clashes


def test_limits_are_checked_before_the_driver_is_called(fresh_queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    arena, facts = fresh_queue.arena, fresh_queue.facts
    with pytest.raises(OutOfDeviceMemory, match="largest allocation") as error:
        arena.take(facts.max_allocation + 1)
    assert str(facts.max_allocation + 1) in str(error.value) and facts.name in str(error.value)
    monkeypatch.setenv("CLMR_MEMORY_LIMIT", "1M")
    with pytest.raises(MemoryError, match="CLMR_MEMORY_LIMIT is 1048576 bytes"):
        arena.take(2**20 + 1)
    first = arena.take(2**19)
    arena.give(first)
    del first
    whole = arena.take(2**20)  # the idle half is freed to make room
    assert arena.reserved_bytes == whole.nbytes == 2**20
    with pytest.raises(OutOfDeviceMemory):
        arena.take(1)
    monkeypatch.delenv("CLMR_MEMORY_LIMIT")
    out = np.zeros(64, np.uint8)
    JobGraph([FillJob(arena.take(1), b"\x05", 64), FillJob(whole, b"\x06", 64), ReadJob(whole, out)]).submit(
        fresh_queue
    ).wait()
    assert (out == 6).all()
    with pytest.raises(ValueError, match="0 or more"):
        arena.take(-1)


def test_a_request_just_below_the_largest_allocation_is_not_rounded_above_it(fresh_queue: Queue) -> None:
    largest = fresh_queue.facts.max_allocation
    if size_class(largest) == largest:
        largest -= 1
    messages = []
    try:
        fresh_queue.arena.take(largest)
    except OutOfDeviceMemory as error:
        messages.append(str(error))
    assert not messages or "largest allocation" not in messages[0]


def test_running_out_of_host_memory_is_an_error_and_not_the_end(device: Device, child: Callable[..., str]) -> None:
    """PoCL creates a buffer that does not fit and aborts on its first use; the check comes first."""
    if device.kind != "cpu":
        pytest.skip("its memory is not the host's")
    code = f"""
import resource
import numpy as np, psutil
from hostsched import FillJob, JobGraph, OutOfDeviceMemory, Queue, ReadJob, devices
queue = Queue(devices()[{devices().index(device)}])
out = np.zeros(1 << 20, np.uint8)
limit = psutil.Process().memory_info().vms + (1 << 30)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    queue.arena.take(3 << 29)
except OutOfDeviceMemory as error:
    print("the host has" in str(error))
a = queue.arena.take(1 << 20)
JobGraph([FillJob(a, b"\\x03", 1 << 20), ReadJob(a, out)]).submit(queue).wait()
print((out == 3).all())
"""
    assert child(code).split() == ["True", "True"]


def test_memory_that_was_taken_but_not_touched_counts(device: Device, child: Callable[..., str]) -> None:
    """Each of two buffers of 60 % of the free memory looks possible until data are written to them."""
    if device.kind != "cpu":
        pytest.skip("its memory is not the host's")
    code = f"""
import hostsched.memory.arena
from hostsched import OutOfDeviceMemory, Queue, devices
hostsched.memory.arena.host_headroom = lambda: 1 << 28
queue = Queue(devices()[{devices().index(device)}])
first = queue.arena.take(160 << 20)
try:
    queue.arena.take(160 << 20)
except OutOfDeviceMemory as error:
    print("the host has" in str(error))
"""
    assert child(code) == "True"


def test_borrow_refuses_what_it_cannot_lend(queue: Queue) -> None:
    array = np.zeros((8, 8))
    for wrong in (array[:, ::2], array.T, np.zeros(0)):
        if wrong.flags.c_contiguous and wrong.nbytes:
            continue
        with pytest.raises(ValueError, match="C-contiguous"):
            queue.arena.borrow(wrong, writable=False)
    array.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        queue.arena.borrow(array, writable=True)
    assert queue.arena.borrow(array, writable=False).host is array


def test_a_callers_own_buffer(queue: Queue, fresh_queue: Queue) -> None:
    array, out = np.arange(16, dtype=np.float32), np.zeros(16, np.float32)
    foreign = cl.Buffer(queue.context, cl.mem_flags.COPY_HOST_PTR, hostbuf=array)
    JobGraph([ReadJob(queue.arena.from_cl(foreign, 64), out)]).submit(queue).wait()
    np.testing.assert_array_equal(out, array)
    with pytest.raises(ValueError, match="another context"):
        fresh_queue.arena.from_cl(foreign, 64)
    with pytest.raises(ValueError, match="has 64 bytes"):
        queue.arena.from_cl(foreign, 65)


def test_an_arena_has_a_limit_room_and_a_peak(device: Device) -> None:
    queue = Queue(device, context=new_context(device))
    arena = queue.arena
    whole = arena.room
    assert arena.limit is None and arena.reserved_bytes == arena.peak_bytes == 0 < whole
    arena.limit = 2**20
    assert arena.room == 2**20
    in_use, idle = arena.take(2**18), arena.take(2**19)
    arena.give(idle)
    del idle
    assert arena.room == 2**20 - 2**18, "what is idle can be handed out"
    with pytest.raises(OutOfDeviceMemory, match="memory_limit is 1048576 bytes"):
        arena.take(2**20)
    arena.take(2**19)
    assert arena.peak_bytes == 2**18 + 2**19 and in_use.nbytes == arena.rounded(2**18 - 1)


def test_contexts_that_nobody_uses_do_not_add_up(device: Device) -> None:
    """Python frees them late, and a GPU's driver may take a gigabyte for each."""
    gc.disable()
    try:
        made = []
        for _ in range(8):
            queue = Queue(device, context=new_context(device))
            buffer = queue.arena.take(1000)
            made.append(weakref.ref(queue.space))
            del queue, buffer
        assert sum(space() is not None for space in made) <= 4
    finally:
        gc.enable()
