"""Commands do what they say, wait for what they must, and fail with our errors."""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pyopencl as cl
import pytest

from hostsched import (
    CopyJob,
    Device,
    FillJob,
    Job,
    JobGraph,
    KernelJob,
    MapJob,
    Queue,
    ReadJob,
    WriteJob,
    devices,
)
from hostsched.driver import beside
from hostsched.driver.beside import join_threads
from hostsched.driver.waiting import poll

Axpb = Callable[[Queue], Callable[..., KernelJob]]
Child = Callable[..., str]


@pytest.mark.parametrize("count", [1, 63, 64, 65, 4099])
def test_write_kernel_read(axpb: Axpb, queue: Queue, count: int) -> None:
    x, y = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
    a, b = queue.arena.take(x.nbytes), queue.arena.take(x.nbytes)
    submission = JobGraph([WriteJob(a, x), axpb(queue)(a, b, count, 3, 2), ReadJob(b, y)]).submit(queue)
    submission.wait()
    np.testing.assert_array_equal(y, 3 * x + 2)
    assert len(submission.events) == 3 and submission.done is submission.events[2]


def test_groups_of_several_items(axpb: Axpb, queue: Queue) -> None:
    x, y = np.arange(256, dtype=np.float32), np.zeros(256, np.float32)
    a, b = queue.arena.take(x.nbytes), queue.arena.take(x.nbytes)
    job = axpb(queue)
    group = min(64, job(a, b, 256).kernel.max_group_size)  # 32 on llvmpipe
    JobGraph([WriteJob(a, x), job(a, b, 256, group=group), ReadJob(b, y)]).submit(queue).wait()
    np.testing.assert_array_equal(y, x)


def test_fill_copy_and_offsets(queue: Queue) -> None:
    a, b = queue.arena.take(256), queue.arena.take(256)
    out, part = np.zeros(64, np.uint8), np.zeros(8, np.uint8)
    jobs: list[Job] = [
        FillJob(a, b"\x01\x02", 64),
        WriteJob(a, np.full(4, 9, np.uint8), offset=10),
        FillJob(b, b"\0", 64),
        CopyJob(a, b, 16, source_offset=8, target_offset=4),
        ReadJob(b, out),
        ReadJob(b, part, offset=2),
    ]
    JobGraph(jobs).submit(queue).wait()
    expected = np.zeros(64, np.uint8)
    expected[4:20] = [1, 2, 9, 9, 9, 9, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2]
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(part, expected[2:10])


@pytest.mark.parametrize("pattern", [b"a", b"ab", b"abcd", b"abcdefgh", b"0123456789abcdef", b"0123456789abcdef" * 8])
def test_fills_of_every_width_and_in_pieces(queue: Queue, pattern: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hostsched.queue.commands._LONGEST_FILL", 1024)
    for count in (1, 3, 8, 2500):
        nbytes = count * len(pattern)
        a, out = queue.arena.take(nbytes + 1), np.zeros(nbytes + 1, np.uint8)
        queue.wait(queue.write(a, out))
        JobGraph([FillJob(a, pattern, nbytes), ReadJob(a, out)]).submit(queue).wait()
        assert out.tobytes() == pattern * count + b"\0"


def test_patterns_that_do_not_fit_are_refused(queue: Queue) -> None:
    a = queue.arena.take(64)
    for pattern, nbytes in ((b"", 0), (b"abc", 63), (b"ab", 63), (b"a" * 256, 256)):
        with pytest.raises(ValueError, match=r"pattern|were asked for"):
            queue.fill(a, pattern, nbytes)


def test_a_long_chain_in_any_order_gives_what_one_by_one_gives(axpb: Axpb, queue: Queue) -> None:
    """An out-of-order queue runs a chain wrongly as soon as one wait is missing."""
    count, rounds = 50_000, 20
    x, y = np.ones(count, np.float32), np.zeros(count, np.float32)
    a, b = queue.arena.take(x.nbytes), queue.arena.take(x.nbytes)
    job = axpb(queue)
    chain = [job(*((a, b) if at % 2 == 0 else (b, a)), count, 1, 1) for at in range(rounds)]
    jobs: list[Job] = [WriteJob(a, x), *chain, ReadJob(a, y)]
    JobGraph(jobs).submit(queue).wait()
    np.testing.assert_array_equal(y, np.full(count, 1 + rounds, np.float32))


def test_chains_across_submissions_and_queues_of_one_device(axpb: Axpb, device: Device) -> None:
    one, other = Queue(device), Queue(device)
    x, y = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    a, b = one.arena.take(x.nbytes), other.arena.take(x.nbytes)
    JobGraph([WriteJob(a, x)]).submit(one)
    for at in range(10):
        source, target = (a, b) if at % 2 == 0 else (b, a)
        JobGraph([axpb(one)(source, target, 1000, 1, 1)]).submit((one, other)[at % 2])
    JobGraph([ReadJob(a, y)]).submit(other).wait()
    np.testing.assert_array_equal(y, x + 10)


def test_a_dropped_queue_is_used_again_once_its_commands_have_ended(fresh_queue: Queue, device: Device) -> None:
    context = fresh_queue.context
    gate, idle, out = cl.UserEvent(context), fresh_queue.space.idle_queues, np.zeros(16, np.float32)
    first, other = Queue(device, context=context), Queue(device, context=context)
    a = first.arena.take(64)
    event = JobGraph([FillJob(a, np.float32(5).tobytes(), 64), ReadJob(a, out)]).submit(first, [gate]).done
    del first
    assert len(idle) == 1
    second = Queue(device, context=context)
    assert len(idle) == 1, "its commands had not ended"
    del other
    third = Queue(device, profile=True, context=context)
    assert len(idle) == 2, "it was made without a profile"
    poll(idle._idle[-1][2])
    fourth = Queue(device, context=context)
    assert len(idle) == 1
    gate.set_status(cl.command_execution_status.COMPLETE)
    second.wait(event)
    for queue in (second, third, fourth):
        queue.finish()
    assert (out == 5).all()


@pytest.mark.parametrize("seconds", [0.005, 0.05])
def test_other_threads_run_while_one_polls(device: Device, seconds: float) -> None:
    """For as long as it looks without a nap, and later."""
    gate = cl.UserEvent(Queue(device).context)
    timer = threading.Timer(seconds, gate.set_status, [cl.command_execution_status.COMPLETE])
    timer.start()
    assert poll(gate, spin_us=0) == cl.command_execution_status.COMPLETE
    timer.join()


def test_one_thread_waits_inside_a_driver_that_bears_no_more(device: Device) -> None:
    """The others return as soon as their own events have ended, and take its place once it comes back."""
    context = Queue(device).context
    gates = [cl.UserEvent(context) for _ in range(4)]
    waits = [threading.Thread(target=poll, args=(gate, 0, True, 30.0, True), daemon=True) for gate in gates]
    for wait in waits:
        wait.start()
    for gate, wait in reversed(list(zip(gates, waits, strict=True))):
        assert len(beside._running) <= 1
        gate.set_status(cl.command_execution_status.COMPLETE)
        wait.join(10)
        assert not wait.is_alive()


def test_waits_after_a_long_one_poll_shortly(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """On CPUs, where polling takes a core from the kernels; waits that end at once say nothing."""
    queue, clock, spins = Queue(device), [0.0], list[float]()
    monkeypatch.setattr("hostsched.queue.queue.time", SimpleNamespace(perf_counter=lambda: clock[0]))

    def took(seconds: float) -> float:
        """How long a wait that takes so long would poll, in us."""

        def poll(event: object, spin_us: float, *more: object) -> int:
            spins.append(spin_us)
            clock[0] += seconds
            return 0

        monkeypatch.setattr("hostsched.queue.queue.poll", poll)
        queue.settle(cl.UserEvent(queue.context))
        return spins[-1]

    long = took(1e-4)
    assert [took(1e-6), took(1e-4), took(1e-2)] == [long] * 3
    after = [took(seconds) for _ in range(16) for seconds in (1e-4, 1e-6, 1e-2)]
    short = after[0]
    assert short == long if device.kind != "cpu" else short < long
    assert after == [short] * 48
    assert took(1e-4) == took(1e-4) == long


def test_a_thread_waits_for_one_event_after_another(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many threads as there are waits at a time; a few of them stay."""
    monkeypatch.setattr(beside, "_idle", [])
    started: list[object] = []

    class Counted(beside._Waiter):
        def __init__(self) -> None:
            started.append(self)
            super().__init__()

    monkeypatch.setattr(beside, "_Waiter", Counted)
    context = Queue(device).context
    for most in (1, 8):
        for _ in range(5):
            gates = [cl.UserEvent(context) for _ in range(most)]
            waits = [threading.Thread(target=poll, args=(gate, 0, True), daemon=True) for gate in gates]
            for wait in waits:
                wait.start()
            for gate, wait in zip(gates, waits, strict=True):
                gate.set_status(cl.command_execution_status.COMPLETE)
                wait.join(10)
                assert not wait.is_alive()
            assert len(started) == 1 or most > 1
            assert len(beside._idle) <= beside._MOST_IDLE


def test_where_no_thread_starts_a_wait_polls(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at the end of an interpreter from Python 3.12 on."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    gate = cl.UserEvent(Queue(device).context)
    timer = threading.Timer(0.05, gate.set_status, [cl.command_execution_status.COMPLETE])
    timer.start()
    with monkeypatch.context() as patch:
        patch.setattr(beside, "_idle", [])
        patch.setattr(threading.Thread, "start", refuse)
        assert [poll(gate, 0, True, 30.0, alone) for alone in (False, True)] == [0, 0]
    timer.join()
    assert join_threads(1.0)


def test_queues_may_be_dropped_right_after_a_wait(
    child: Child, device: Device, same_drivers: dict[str, str]
) -> None:
    """Beside processes that keep the cores busy: a thread of the driver may still be ending the last command. Drivers of
    GPUs take milliseconds to make a queue, so that there are fewer turns.
    """
    turns = 2000 if device.kind == "cpu" else 100
    code = f"""
import numpy, hostsched
from hostsched import CopyJob, FillJob, JobGraph, Queue, ReadJob
device = next(one for one in hostsched.devices() if one.name == {device.name!r} and one.vendor == {device.vendor!r})
for _ in range({turns}):
    one, other = Queue(device), Queue(device)
    a, b, out = one.arena.take(4096), other.arena.take(4096), numpy.zeros(1024, numpy.uint32)
    for queue, source, target in ((one, a, b), (other, b, a)) * 4:
        JobGraph([FillJob(source, b"abcd", 4096), CopyJob(source, target, 4096)]).submit(queue)
    JobGraph([ReadJob(a, out)]).submit(other).wait()
    assert (out == int.from_bytes(b"abcd", "little")).all()
print("done")
"""
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(lambda _: child(code, **same_drivers), range(3))) == ["done"] * 3


def test_wait_for_holds_jobs_back(queue: Queue) -> None:
    gate = cl.UserEvent(queue.context)
    a, out = queue.arena.take(64), np.zeros(16, np.float32)
    event = JobGraph([FillJob(a, np.float32(5).tobytes(), 64)]).submit(queue, [gate])
    last = JobGraph([ReadJob(a, out)]).submit(queue, [event])
    assert last.done.command_execution_status > 0 and not out.any()
    gate.set_status(cl.command_execution_status.COMPLETE)
    last.wait()
    assert (out == 5).all()


def test_wait_for_takes_anything_with_an_event_and_skips_none(queue: Queue) -> None:
    class Result:
        def __init__(self, event: cl.Event | None) -> None:
            self.event = event

    event = queue.marker()
    assert queue.admit([event, Result(event), Result(None)]) == [event, event]
    with pytest.raises(TypeError, match="wait_for holds a str"):
        queue.admit(["soon"])


def test_events_of_another_context_are_waited_for_here(device: Device) -> None:
    one, other = Queue(device), Queue(device, context=cl.Context([device.cl_device]))
    out = np.zeros(16, np.float32)
    a = other.arena.take(64)
    first = JobGraph([FillJob(a, np.float32(2).tobytes(), 64), ReadJob(a, out)]).submit(other)
    assert one.admit([first]) == [] and (out == 2).all()


def test_borrowed_arrays_are_copied_where_the_driver_cannot_map(
    axpb: Axpb, queue: Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.facts = replace(queue.facts, maps_memory=False, host_pointers=False)
    monkeypatch.setattr(queue.arena, "_facts", queue.facts)
    monkeypatch.setattr(cl, "enqueue_map_buffer", lambda *_, **__: pytest.fail("a buffer was mapped"))
    assert not queue.facts.lends_memory
    x, y = np.arange(999, dtype=np.float32), np.zeros(999, np.float32)
    a, b = queue.arena.borrow(x, writable=False), queue.arena.borrow(y, writable=True)
    JobGraph([axpb(queue)(a, b, 999, 2, 1), MapJob(b)]).submit(queue).wait()
    np.testing.assert_array_equal(y, 2 * x + 1)


def test_borrowed_arrays_show_the_result_after_a_map(axpb: Axpb, queue: Queue) -> None:
    x, y = np.arange(1000, dtype=np.float32)[1:], np.zeros(1001, np.float32)[2:]
    a, b = queue.arena.borrow(x, writable=False), queue.arena.borrow(y, writable=True)
    JobGraph([axpb(queue)(a, b, 999, 2, 1), MapJob(b)]).submit(queue).wait()
    np.testing.assert_array_equal(y, 2 * x + 1)


def test_everything_dropped_right_after_submit_is_kept_alive_until_the_end(axpb: Axpb, queue: Queue) -> None:
    gate = cl.UserEvent(queue.context)
    x, y, z = np.arange(64, dtype=np.float32), np.zeros(64, np.float32), np.zeros(64, np.float32)
    a = queue.arena.take(256)
    loan = queue.arena.borrow(z, writable=True)
    jobs: list[Job] = [WriteJob(a, x), axpb(queue)(a, loan, 64), MapJob(loan), ReadJob(loan, y)]
    JobGraph(jobs).submit(queue, [gate])
    arrays = [weakref.ref(array) for array in (x, y, z)]
    expected, result = x.copy(), np.ndarray(64, np.float32, y.data)
    del jobs, a, loan, x, y, z
    gc.collect()
    assert all(array() is not None for array in arrays)
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    np.testing.assert_array_equal(result, expected)
    del result
    gc.collect()
    assert all(array() is None for array in arrays)


def test_dropping_a_submission_does_not_wait_for_it(queue: Queue) -> None:
    """pyopencl's own event of a copy blocks for ever when it is dropped before the command it waits for has ended."""
    gate = cl.UserEvent(queue.context)
    submission = JobGraph([WriteJob(queue.arena.take(64), np.zeros(4))]).submit(queue, [gate])
    del submission
    gc.collect()
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()


def test_sizes_of_zero_give_events(axpb: Axpb, queue: Queue) -> None:
    a, empty = queue.arena.take(0), np.zeros(0, np.float32)
    jobs: list[Job] = [
        WriteJob(a, empty),
        ReadJob(a, empty),
        CopyJob(a, a, 0),
        FillJob(a, b"\0", 0),
        axpb(queue)(a, a, 0),
    ]
    submission = JobGraph(jobs).submit(queue)
    submission.wait()
    assert len(submission.events) == 5


def test_an_empty_graph_gives_an_event(queue: Queue) -> None:
    JobGraph([]).submit(queue, [queue.marker()]).wait()


def test_finish_waits_for_everything(queue: Queue) -> None:
    a, out = queue.arena.take(64), np.zeros(16, np.float32)
    submission = JobGraph([FillJob(a, np.float32(5).tobytes(), 64), ReadJob(a, out)]).submit(queue)
    queue.finish()
    assert (out == 5).all() and submission.done.command_execution_status == 0


def test_threads_may_share_a_queue_and_a_kernel(axpb: Axpb, queue: Queue) -> None:
    job = axpb(queue)
    wrong: list[int] = []

    def work(number: int) -> None:
        x, y = np.full(64, number, np.float32), np.zeros(64, np.float32)
        for _ in range(40):
            a, b = queue.arena.take(256), queue.arena.take(256)
            JobGraph([WriteJob(a, x), job(a, b, 64, number, number), ReadJob(b, y)]).submit(queue).wait()
            if not (y == number * number + number).all():
                wrong.append(number)
            queue.arena.give(a)
            queue.arena.give(b)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_ctrl_c_gets_through_a_wait_that_would_never_end(device: Device, child: Callable[..., str]) -> None:
    code = f"""
import os, signal, threading
import pyopencl as cl
from hostsched import FillJob, JobGraph, Queue, devices
queue = Queue(devices()[{devices().index(device)}])
gate = cl.UserEvent(queue.context)
submission = JobGraph([FillJob(queue.arena.take(64), b"\\0", 64)]).submit(queue, [gate])
threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    submission.wait()
except KeyboardInterrupt:
    print("interrupted", flush=True)
os._exit(0)
"""
    assert child(code) == "interrupted"
