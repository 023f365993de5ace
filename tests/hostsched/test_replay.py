"""A Replay gives what a JobGraph of the same launches gives: the same waits, notes in the buffers, results, errors."""

from __future__ import annotations

import contextlib
import gc
import threading
import weakref
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostsched import (
    Buffer,
    Device,
    FillJob,
    JobGraph,
    KernelJob,
    Launch,
    LaunchError,
    MapJob,
    Queue,
    ReadJob,
    Replay,
    WriteJob,
    build,
)

SOURCE = """
__kernel void cmr_axpb(__global const float* x, __global float* y, float scale, int add)
{
    size_t i = get_global_id(0);
    y[i] = scale * x[i] + add;
}

__kernel void cmr_join(__global const float* x, __global const float* y, __global float* z)
{
    size_t i = get_global_id(0);
    z[i] = 1000 * x[i] + y[i];
}
"""
COUNT = 20_000
NBYTES = 4 * COUNT


# ------------------------------------------------------------------------------------------ the waits, without a device
@dataclass(eq=False)
class FakeEvent:
    def get_info(self, _name: object) -> int:
        return 3  # submitted


@dataclass
class FakePace:
    seconds: float = 1.0


@dataclass(eq=False)
class FakeKernel:
    name: str = "cmr_fake"
    pace: FakePace = field(default_factory=lambda: FakePace())

    def twin(self, constants: tuple[Any, ...]) -> FakeKernel:
        return FakeKernel()


class FakeLock(contextlib.AbstractContextManager["FakeLock"]):
    """Knows whether it is held."""

    depth = 0

    def __enter__(self) -> FakeLock:
        self.depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        self.depth -= 1


class FakeQueue:
    """Notes the waits of each command, in order, and insists on the lock."""

    has_failed = False

    def __init__(self) -> None:
        self.space: Any = object()
        self.enqueued: list[tuple[FakeEvent, list[FakeEvent]]] = []
        self.lock = FakeLock()
        self.flushes = 0

    def check_kernel(self, kernel: FakeKernel, arguments: int, group_size: int) -> None: ...

    def admit(self, wait_for: Iterable[FakeEvent]) -> list[FakeEvent]:
        return list(wait_for)

    def launch(self, kernel: Any, groups: int, size: int, args: Any, waits: Sequence[FakeEvent]) -> FakeEvent:
        assert self.lock.depth
        event = FakeEvent()
        self.enqueued.append((event, list(waits)))
        return event

    def launch_checked(
        self, kernel: Any, groups: int, size: int, buffers: Any, scalars: Any, waits: Any, owned: Any
    ) -> FakeEvent:
        return self.launch(kernel, groups, size, (), waits)

    def flush(self) -> None:
        self.flushes += 1


class World:
    """A queue, buffers, and submissions on them; numbered, so that two worlds can be compared."""

    def __init__(self, buffers: int) -> None:
        self.queue: Any = FakeQueue()
        self.buffers: list[Any] = [Buffer(None, 256, self.queue.space) for _ in range(buffers)]  # type: ignore[arg-type]
        self.gates = [FakeEvent(), FakeEvent()]
        self.terminal: list[list[FakeEvent]] = []

    def seen(self) -> Any:
        number = {id(event): at for at, (event, _) in enumerate(self.queue.enqueued)}
        number |= {id(gate): -1 - at for at, gate in enumerate(self.gates)}
        waits = [sorted(number[id(wait)] for wait in waits) for _, waits in self.queue.enqueued]
        notes = [
            (number.get(id(buffer.last_write)), sorted(number[id(event)] for event in buffer.readers))
            for buffer in self.buffers
        ]
        return waits, notes, [[number[id(event)] for event in events] for events in self.terminal], self.queue.flushes


TOUCHES = st.tuples(st.lists(st.sampled_from("abcd"), max_size=3), st.lists(st.sampled_from("abcd"), max_size=2))
PIPELINES = st.lists(st.lists(TOUCHES, min_size=1, max_size=5), min_size=1, max_size=3)
BINDINGS = st.lists(st.integers(0, 5), min_size=4, max_size=4)  # of slots to buffers: some name a buffer twice
CALLS = st.lists(st.tuples(st.integers(0, 2), BINDINGS, st.booleans(), st.booleans()), min_size=1, max_size=6)


@settings(max_examples=400, deadline=None)
@given(pipelines=PIPELINES, calls=CALLS)
def test_waits_and_notes_are_those_of_job_graphs(pipelines: Any, calls: Any) -> None:
    kernel: Any = FakeKernel()
    ours, theirs = World(6), World(6)
    launches = [
        [
            Launch(kernel, 1, 1, (), tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes)))
            for reads, writes in touches
        ]
        for touches in pipelines
    ]
    replays = [Replay(ours.queue, pipeline) for pipeline in launches]
    for chosen, binding, gated, as_graph in calls:
        chosen %= len(pipelines)
        for world, replayed in ((ours, not as_graph), (theirs, False)):
            slots = {name: world.buffers[at] for name, at in zip("abcd", binding, strict=True)}
            graph = JobGraph(
                KernelJob(kernel, 1, 1, (), tuple(slots[n] for n in one.reads), tuple(slots[n] for n in one.writes))
                for one in launches[chosen]
            )
            wait_for = world.gates if gated else ()
            done = replays[chosen].submit(slots, wait_for) if replayed else graph.submit(world.queue, wait_for)
            world.terminal.append(list(done.terminal))
    assert ours.seen() == theirs.seen()
    for _, waits in ours.queue.enqueued:
        assert len(set(map(id, waits))) == len(waits), "a wait is there twice"


# ------------------------------------------------------------------------------------------------------------- results
def axpb(
    queue: Queue, source: str, target: str, scale: float | str = 1, add: int | str = 0, count: int = COUNT
) -> Launch:
    scalars = (
        scale if isinstance(scale, str) else np.float32(scale),
        add if isinstance(add, str) else np.int32(add),
    )
    return Launch(build(queue, SOURCE).kernel("cmr_axpb"), count, 1, (source, target, *scalars), (source,), (target,))


def join(queue: Queue, one: str, other: str, target: str) -> Launch:
    return Launch(build(queue, SOURCE).kernel("cmr_join"), COUNT, 1, (one, other, target), (one, other), (target,))


def diamond(queue: Queue) -> list[Launch]:
    """out = 1000 * (2x + 1) + (3x + 2)"""
    return [axpb(queue, "x", "left", 2, 1), axpb(queue, "x", "right", 3, 2), join(queue, "left", "right", "out")]


def take(queue: Queue, count: int) -> list[Buffer]:
    return [queue.arena.take(NBYTES) for _ in range(count)]


def full(value: float) -> np.ndarray:
    return np.full(COUNT, value, np.float32)


def jobs(launches: Sequence[Launch], slots: dict[str, Any]) -> list[KernelJob]:
    """The same launches for a JobGraph."""
    return [
        KernelJob(
            one.kernel,
            one.groups,
            one.group_size,
            tuple(slots[arg] if isinstance(arg, str) else arg for arg in one.args),
            tuple(slots[name] for name in one.reads),
            tuple(slots[name] for name in one.writes),
        )
        for one in launches
    ]


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
    held = [full(at) for at in range(3)]
    buffers = take(queue, 3)
    outs = [np.zeros(COUNT, np.float32) for _ in range(3)]
    JobGraph([WriteJob(buffer, value) for buffer, value in zip(buffers, held, strict=True)]).submit(queue)
    replay = Replay(queue, launches)
    for _ in range(3):
        replay.submit({name: buffers[at] for name, at in zip("abcd", binding, strict=True)})
    JobGraph([ReadJob(buffer, out) for buffer, out in zip(buffers, outs, strict=True)]).submit(queue).wait()
    a, b, c, d = binding
    for _ in range(3):
        held[b] = 2 * held[a] + 1
        held[c] = held[a] + 5
        held[d] = 1000 * held[b] + held[c]
        held[b] = held[d].copy()
    for out, expected in zip(outs, held, strict=True):
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
    held = JobGraph([WriteJob(x, values[0]), FillJob(out, b"\0", NBYTES), ReadJob(left, third)]).submit(queue, [gate])
    submitted = [
        replay.submit(slots),  # reads x, overwrites out, overwrites what is still to be read of left
        JobGraph([ReadJob(out, first), WriteJob(x, values[1]), FillJob(right, b"\0", NBYTES)]).submit(queue),
        replay.submit(slots),
        JobGraph([ReadJob(out, second)]).submit(queue),
    ]
    assert all(event.command_execution_status > 0 for one in [held, *submitted] for event in one.events)
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
    held = Replay(queue, diamond(queue)).submit({"x": x, "left": left, "right": right, "out": out}, [gate])
    last = JobGraph([ReadJob(out, result)]).submit(queue, [held])
    assert all(event.command_execution_status > 0 for event in (*held.events, *last.events))
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


# --------------------------------------------------------------------------------------------------------------- errors
def test_what_cannot_run_is_refused_when_made(queue: Queue, fresh_queue: Queue) -> None:
    good = axpb(queue, "x", "y")
    scalars = good.args[2:]
    with pytest.raises(ValueError, match="built for another context"):
        Replay(fresh_queue, [good])
    with pytest.raises(ValueError, match="takes 4 arguments, 3 were given"):
        Replay(queue, [good._replace(args=good.args[:3])])
    with pytest.raises(ValueError, match="groups of at most"):
        Replay(queue, [good._replace(group_size=good.kernel.max_group_size + 1)])
    with pytest.raises(TypeError, match=r"argument 2 .* is a float"):
        Replay(queue, [good._replace(args=("x", "y", 1.0, np.int32(0)))])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"argument 0 .* slot 'x'.* neither in reads nor in writes"):
        Replay(queue, [good, good._replace(args=("x", "z", *scalars), reads=(), writes=("z",))])
    with pytest.raises(LaunchError, match=r"cmr_axpb.*INVALID_ARG_SIZE"):
        Replay(queue, [good._replace(args=("x", "y", np.float64(1), np.int32(0)))])


def test_wrong_values_are_refused_before_anything_is_enqueued(queue: Queue, fresh_queue: Queue) -> None:
    replay = Replay(queue, [axpb(queue, "x", "y"), axpb(queue, "y", "z", "scale")])
    x, y, z = take(queue, 3)
    good: dict[str, Any] = {"x": x, "y": y, "z": z, "scale": np.float32(1)}
    for name in good:
        with pytest.raises(ValueError, match=f"slot '{name}' was given nothing"):
            replay.submit({other: value for other, value in good.items() if other != name})
    with pytest.raises(ValueError, match=r"slot 'z' .* another context"):
        replay.submit(good | {"z": fresh_queue.arena.take(NBYTES)})
    for wrong in (np.float32(1), np.zeros(3), x.cl):
        with pytest.raises(TypeError, match="slot 'z' is read or written: pass a Buffer"):
            replay.submit(good | {"z": wrong})
    for wrong in (1.0, x):
        with pytest.raises(TypeError, match="slot 'scale' is neither read nor written: pass a NumPy scalar"):
            replay.submit(good | {"scale": wrong})
    with pytest.raises(TypeError, match="wait_for holds a str"):
        replay.submit(good, ["soon"])
    assert y.last_write is None and not x.readers


def test_launches_before_a_refused_one_are_noted(fresh_queue: Queue) -> None:
    queue = fresh_queue  # where a command has failed before, replays go another way
    replay = Replay(queue, [axpb(queue, "x", "y", 2, 1), axpb(queue, "y", "z", "scale")])
    x, y, z = take(queue, 3)
    out = np.zeros(COUNT, np.float32)
    JobGraph([WriteJob(x, full(3))]).submit(queue)
    with pytest.raises(LaunchError, match=r"cmr_axpb.*INVALID_ARG_SIZE"):
        replay.submit({"x": x, "y": y, "z": z, "scale": np.float64(1)})
    assert len(x.readers) == 1 and y.last_write is z.last_write is x.readers[0]
    JobGraph([ReadJob(y, out)]).submit(queue).wait()
    np.testing.assert_array_equal(out, full(7))


# ------------------------------------------------------------------------------------------------- threads and lifetimes
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


def test_buffers_given_back_in_flight_are_not_handed_out(fresh_queue: Queue) -> None:
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
    expected, seen, arrays = 2 * x + 2, np.ndarray(COUNT, np.float32, y.data), [weakref.ref(x), weakref.ref(y)]
    del slots, x, y
    gc.collect()
    assert all(array() is not None for array in arrays)
    gate.set_status(cl.command_execution_status.COMPLETE)
    queue.finish()
    np.testing.assert_array_equal(seen, expected)
    del seen
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
