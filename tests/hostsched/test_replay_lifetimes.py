"""Threads that share a Replay, and the buffers, arrays and events that it keeps alive until the end."""

from __future__ import annotations

import gc
import threading
import weakref

import numpy as np
import pyopencl as cl
from support.replayed_launches import COUNT, NBYTES, axpb, diamond, full, take

from hostsched import Device, FillJob, JobGraph, MapJob, Queue, ReadJob, Replay, WriteJob


def test_threads_may_share_a_replay(queue: Queue) -> None:
    replay = Replay(queue, [axpb(queue, "x", "y", "scale", 1), axpb(queue, "y", "z", 2, "add")])
    wrong: list[int] = []

    def work(number: int) -> None:
        out = np.zeros(COUNT, np.float32)
        x, y, z = take(queue, 3)
        for at in range(40):
            JobGraph([WriteJob(x, full(at))]).submit(queue)
            replay.submit({"x": x, "y": y, "z": z, "scale": np.float32(number), "add": np.int32(number)})
            JobGraph([ReadJob(z, out)]).submit(queue).wait()
            if not (out == 2 * (number * at + 1) + number).all():
                wrong.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_buffers_returned_in_flight_are_not_handed_out(fresh_queue: Queue) -> None:
    queue = fresh_queue
    gate = cl.UserEvent(queue.context)
    x, y, z = take(queue, 3)
    out = np.zeros(COUNT, np.float32)
    JobGraph([WriteJob(x, full(1))]).submit(queue).wait()
    Replay(queue, [axpb(queue, "x", "y", 2, 1), axpb(queue, "y", "z", 2, 1)]).submit({"x": x, "y": y, "z": z}, [gate])
    JobGraph([ReadJob(z, out)]).submit(queue)
    for buffer in (x, y, z):
        queue.arena.give(buffer)
    fresh = take(queue, 3)
    assert not {x, y, z} & set(fresh)
    JobGraph([FillJob(buffer, b"\xff", NBYTES) for buffer in fresh]).submit(queue)
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    np.testing.assert_array_equal(out, full(7))
    assert {x, y, z} == set(take(queue, 3))


def test_everything_dropped_right_after_submit_is_kept_alive_until_the_end(queue: Queue) -> None:
    gate = cl.UserEvent(queue.context)
    x, y = np.arange(COUNT, dtype=np.float32), np.zeros(COUNT, np.float32)
    arena = queue.arena
    slots = {"x": arena.borrow(x, writable=False), "between": arena.take(NBYTES), "y": arena.borrow(y, writable=True)}
    Replay(queue, [axpb(queue, "x", "between", 2, 1), axpb(queue, "between", "y", 1, 1)]).submit(slots, [gate])
    JobGraph([MapJob(slots["y"])]).submit(queue)
    expected, result, arrays = 2 * x + 2, np.ndarray(COUNT, np.float32, y.data), [weakref.ref(x), weakref.ref(y)]
    del slots, x, y
    gc.collect()
    assert all(array() is not None for array in arrays)
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    np.testing.assert_array_equal(result, expected)
    del result
    gc.collect()
    assert all(array() is None for array in arrays)


def test_a_profiling_queue_notes_every_launch(device: Device) -> None:
    queue = Queue(device, profile=True)
    slots = dict(zip(("x", "left", "right", "out"), take(queue, 4), strict=True))
    submission = Replay(queue, diamond(queue)).submit(slots)
    submission.wait()
    assert [(event, label) for event, label, _ in queue.log] == list(
        zip(submission.events, ("cmr_axpb", "cmr_axpb", "cmr_join"), strict=True)
    )
