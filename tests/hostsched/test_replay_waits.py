"""A Replay orders commands, its own and later ones, as a JobGraph of the same launches does; no device is needed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from hostsched import Buffer, JobGraph, KernelJob, Launch, Replay


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
        self.log: list[tuple[FakeEvent, list[FakeEvent]]] = []
        self.lock = FakeLock()
        self.flushes = 0
        self.short_offsets = False

    def check_kernel(self, kernel: FakeKernel, arguments: int, group_size: int) -> None: ...

    def admit(self, wait_for: Iterable[FakeEvent]) -> list[FakeEvent]:
        return list(wait_for)

    def launch(self, kernel: Any, groups: int, size: int, args: Any, waits: Sequence[FakeEvent], first: int = 0) -> FakeEvent:
        assert self.lock.depth
        event = FakeEvent()
        self.log.append((event, list(waits)))
        return event

    def launch_checked(self, kernel: Any, grid: Any, buffers: Any, scalars: Any, waits: Any, owned: Any) -> FakeEvent:
        return self.launch(kernel, grid.groups, grid.group_size, (), waits)

    def flush(self) -> None:
        self.flushes += 1


class World:
    """A queue, buffers, and submissions on them; numbered, so that two worlds can be compared."""

    def __init__(self, buffers: int) -> None:
        self.queue: Any = FakeQueue()
        self.buffers: list[Any] = [Buffer(None, 256, self.queue.space) for _ in range(buffers)]  # type: ignore[arg-type]
        self.gates = [FakeEvent(), FakeEvent()]
        self.terminal: list[list[FakeEvent]] = []

    def record(self) -> Any:
        """What each command follows, directly or not; by buffer the last writer, and the readers since with what they
        follow; the submissions' last commands.
        """
        number = {id(event): at for at, (event, _) in enumerate(self.queue.log)}
        number |= {id(gate): -1 - at for at, gate in enumerate(self.gates)}
        earlier: dict[int, set[int]] = {-1: {-1}, -2: {-2}}
        for at, (_, waits) in enumerate(self.queue.log):
            earlier[at] = {at}.union(*(earlier[number[id(wait)]] for wait in waits))
        notes = [
            (number.get(id(buffer.last_write)), set().union(*(earlier[number[id(event)]] for event in buffer.readers)))
            for buffer in self.buffers
        ]
        return earlier, notes, [[number[id(event)] for event in events] for events in self.terminal], self.queue.flushes


TOUCHES = st.tuples(st.lists(st.sampled_from("abcd"), max_size=3), st.lists(st.sampled_from("abcd"), max_size=2))
PIPELINES = st.lists(st.lists(TOUCHES, min_size=1, max_size=5), min_size=1, max_size=3)
BINDINGS = st.lists(st.integers(0, 5), min_size=4, max_size=4)  # of slots to buffers: some name a buffer twice
CALLS = st.lists(st.tuples(st.integers(0, 2), BINDINGS, st.booleans(), st.booleans()), min_size=1, max_size=6)


@settings(max_examples=400, deadline=None)
@given(pipelines=PIPELINES, calls=CALLS)
def test_commands_follow_those_that_they_follow_in_job_graphs(pipelines: Any, calls: Any) -> None:
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
    for choice, binding, with_gate, as_graph in calls:
        choice %= len(pipelines)
        for world, by_replay in ((ours, not as_graph), (theirs, False)):
            slots = {name: world.buffers[at] for name, at in zip("abcd", binding, strict=True)}
            graph = JobGraph(
                KernelJob(kernel, 1, 1, (), tuple(slots[n] for n in one.reads), tuple(slots[n] for n in one.writes))
                for one in launches[choice]
            )
            wait_for = world.gates if with_gate else ()
            event = replays[choice].submit(slots, wait_for) if by_replay else graph.submit(world.queue, wait_for)
            world.terminal.append(list(event.terminal))
    assert ours.record() == theirs.record()
    for _, waits in ours.queue.log:
        assert len(set(map(id, waits))) == len(waits), "a wait is there twice"


def test_no_launch_waits_for_what_another_wait_includes() -> None:
    """A chain of launches that read the same slots: each waits for the one before it, and slots have one reader."""
    world, kernel = World(5), FakeKernel()
    names, one_kernel = "abcde", cast(Any, kernel)
    launches = [Launch(one_kernel, 1, 1, (), tuple({"a", "b", one} - {other}), (other,)) for one, other in pairwise(names)]
    replay = Replay(world.queue, launches)
    slots = dict(zip(names, world.buffers, strict=True))
    slots["a"].last_write = world.gates[0]
    replay.submit(slots)
    events = [event for event, _ in world.queue.log]
    assert [waits for _, waits in world.queue.log] == [[world.gates[0]], *([event] for event in events[:-1])]
    assert slots["a"].readers == slots["b"].readers == events[-1:]
