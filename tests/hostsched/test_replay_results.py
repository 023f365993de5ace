"""A Replay gives the results that its launches give one by one, in the order of all commands on their buffers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyopencl as cl
import pytest
from support.replayed_launches import COUNT, NBYTES, axpb, diamond, full, join, take

from hostsched import Device, FillJob, JobGraph, KernelJob, Queue, ReadJob, Replay, WriteJob


# ------------------------------------------------------------------------------------------------------------- results
@pytest.mark.parametrize("launches", [1, 2, 3, 4])
def test_chains_on_changing_buffers(queue: Queue, launches: int) -> None:
    names = [f"b{at}" for at in range(launches + 1)]
    replay = Replay(queue, (axpb(queue, one, other, 2, 1) for one, other in pairwise(names)))
    outs = [np.zeros(COUNT, np.float32) for _ in range(6)]
    x = np.arange(COUNT, dtype=np.float32) % 100
    for at, out in enumerate(outs):
        slots = dict(zip(names, take(queue, launches + 1), strict=True))
        JobGraph([WriteJob(slots[names[0]], x + at)]).submit(queue)
        submission = replay.submit(slots)
        assert len(submission.events) == launches and submission.done is submission.events[-1]
        JobGraph([ReadJob(slots[names[-1]], out)]).submit(queue)
    queue.finish()
    for at, out in enumerate(outs):
        expected = x + at
        for _ in range(launches):
            expected = 2 * expected + 1
        np.testing.assert_array_equal(out, expected)


def test_a_diamond_replayed_on_the_same_buffers(queue: Queue) -> None:
    """Each round overwrites what the round before reads: an out-of-order queue needs every wait."""
    replay = Replay(queue, diamond(queue))
    slots = dict(zip(("x", "left", "right", "out"), take(queue, 4), strict=True))
    outs = [np.zeros(COUNT, np.float32) for _ in range(10)]
    values = [full(at) for at in range(10)]
    for value, out in zip(values, outs, strict=True):
        JobGraph([WriteJob(slots["x"], value)]).submit(queue)
        replay.submit(slots)
        JobGraph([ReadJob(slots["out"], out)]).submit(queue)
    queue.finish()
    for at, out in enumerate(outs):
        np.testing.assert_array_equal(out, full(1000 * (2 * at + 1) + 3 * at + 2))


@pytest.mark.parametrize("binding", [(0, 1, 1, 2), (0, 0, 0, 0), (0, 1, 0, 1), (0, 1, 2, 0), (0, 1, 2, 1)])
def test_one_buffer_in_two_slots(queue: Queue, binding: tuple[int, ...]) -> None:
    """Slots that share a buffer give what the launches give one by one."""
    launches = [
        axpb(queue, "a", "b", 2, 1),
        axpb(queue, "a", "c", 1, 5),
        join(queue, "b", "c", "d"),
        axpb(queue, "d", "b"),
    ]
    owned_buffers = [full(at) for at in range(3)]
    buffers = take(queue, 3)
    outs = [np.zeros(COUNT, np.float32) for _ in range(3)]
    JobGraph([WriteJob(buffer, value) for buffer, value in zip(buffers, owned_buffers, strict=True)]).submit(queue)
    replay = Replay(queue, launches)
    for _ in range(3):
        replay.submit({name: buffers[at] for name, at in zip("abcd", binding, strict=True)})
    JobGraph([ReadJob(buffer, out) for buffer, out in zip(buffers, outs, strict=True)]).submit(queue).wait()
    a, b, c, d = binding
    for _ in range(3):
        owned_buffers[b] = 2 * owned_buffers[a] + 1
        owned_buffers[c] = owned_buffers[a] + 5
        owned_buffers[d] = 1000 * owned_buffers[b] + owned_buffers[c]
        owned_buffers[b] = owned_buffers[d].copy()
    for out, expected in zip(outs, owned_buffers, strict=True):
        np.testing.assert_array_equal(out, expected.astype(np.float32))


def test_scalars_that_change_from_call_to_call(queue: Queue) -> None:
    replay = Replay(queue, [axpb(queue, "x", "y", "scale", 3), axpb(queue, "y", "z", 2, "add")])
    x, *rest = take(queue, 11)
    outs = [np.zeros(COUNT, np.float32) for _ in range(5)]
    JobGraph([WriteJob(x, full(7))]).submit(queue)
    for at, out in enumerate(outs):
        y, z = rest[2 * at : 2 * at + 2]
        replay.submit({"x": x, "y": y, "z": z, "scale": np.float32(at), "add": np.int32(-at), "unknown": None})  # type: ignore[dict-item]
        JobGraph([ReadJob(z, out)]).submit(queue)
    queue.finish()
    for at, out in enumerate(outs):
        np.testing.assert_array_equal(out, full(2 * (7 * at + 3) - at))


def test_kernels_shared_with_a_job_graph_do_not_disturb_each_other(queue: Queue) -> None:
    launch = axpb(queue, "x", "y", 2, 1)
    one, other = Replay(queue, [launch]), Replay(queue, [axpb(queue, "x", "y", 5, 5)])
    x, *targets = take(queue, 10)
    JobGraph([WriteJob(x, full(3))]).submit(queue)
    for at, y in enumerate(targets):
        if at % 3 == 2:
            args = (x, y, np.float32(10), np.int32(-1))
            JobGraph([KernelJob(launch.kernel, COUNT, 1, args, (x,), (y,))]).submit(queue)
        else:
            (one, other)[at % 3].submit({"x": x, "y": y})
    outs = [np.zeros(COUNT, np.float32) for _ in targets]
    JobGraph([ReadJob(y, out) for y, out in zip(targets, outs, strict=True)]).submit(queue).wait()
    for at, out in enumerate(outs):
        np.testing.assert_array_equal(out, full((7, 20, 29)[at % 3]))


# ---------------------------------------------------------------------------------------------------------------- order
def test_reads_and_writes_interleave_with_job_graphs(queue: Queue) -> None:
    """Read after write, write after read and write after write, both ways, with nothing waited for in between."""
    replay = Replay(queue, diamond(queue))
    x, left, right, out = take(queue, 4)
    slots = {"x": x, "left": left, "right": right, "out": out}
    first, second, third = (np.zeros(COUNT, np.float32) for _ in range(3))
    gate = cl.UserEvent(queue.context)
    values = [full(1), full(2)]
    end = JobGraph([WriteJob(x, values[0]), FillJob(out, b"\0", NBYTES), ReadJob(left, third)]).submit(queue, [gate])
    submissions = [
        replay.submit(slots),  # reads x, overwrites out, overwrites the unread rest of left
        JobGraph([ReadJob(out, first), WriteJob(x, values[1]), FillJob(right, b"\0", NBYTES)]).submit(queue),
        replay.submit(slots),
        JobGraph([ReadJob(out, second)]).submit(queue),
    ]
    assert all(event.command_execution_status > 0 for one in [end, *submissions] for event in one.events)
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    np.testing.assert_array_equal(first, full(3005))
    np.testing.assert_array_equal(second, full(5008))


def test_what_one_queue_replays_another_queue_of_the_device_reads(device: Device) -> None:
    one, other = Queue(device), Queue(device)
    replays = [Replay(queue, [axpb(queue, "x", "y", 1, 1)]) for queue in (one, other)]
    a, b = take(one, 2)
    out = np.zeros(COUNT, np.float32)
    JobGraph([WriteJob(a, full(0))]).submit(one)
    for at in range(10):
        replays[at % 2].submit({"x": a, "y": b} if at % 2 == 0 else {"x": b, "y": a})
    JobGraph([ReadJob(a, out)]).submit(other).wait()
    np.testing.assert_array_equal(out, full(10))


def test_wait_for_holds_every_launch_back(queue: Queue) -> None:
    gate = cl.UserEvent(queue.context)
    x, left, right, out = take(queue, 4)
    result = np.zeros(COUNT, np.float32)
    JobGraph([WriteJob(x, full(1))]).submit(queue).wait()
    end = Replay(queue, diamond(queue)).submit({"x": x, "left": left, "right": right, "out": out}, [gate])
    last = JobGraph([ReadJob(out, result)]).submit(queue, [end])
    assert all(event.command_execution_status > 0 for event in (*end.events, *last.events))
    gate.set_status(cl.command_execution_status.COMPLETE)
    last.wait()
    np.testing.assert_array_equal(result, full(3005))


def test_zero_groups_and_no_launches_give_events(queue: Queue) -> None:
    x, y, z = take(queue, 3)
    out = np.zeros(COUNT, np.float32)
    JobGraph([WriteJob(x, full(4)), FillJob(y, b"\0", NBYTES)]).submit(queue)
    replay = Replay(queue, [axpb(queue, "x", "y", 1, 1, count=0), axpb(queue, "y", "z", 1, 2)])
    submission = replay.submit({"x": x, "y": y, "z": z})
    JobGraph([ReadJob(z, out)]).submit(queue).wait()
    assert len(submission.events) == 2
    np.testing.assert_array_equal(out, full(2))
    Replay(queue, []).submit({}, [queue.marker()]).wait()
