"""Waits derived from reads and writes, against a brute-force oracle. Buffers and events are plain fakes: no device."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostsched.jobs import graph
from hostsched.jobs.graph import JobGraph, derive_waits, record


@dataclass(eq=False)
class FakeEvent:
    status: int = 3

    def get_info(self, _name: object) -> int:
        return self.status


@dataclass(eq=False)
class FakeBuffer:
    last_write: FakeEvent | None = None
    readers: list[FakeEvent] = field(default_factory=list)


@dataclass
class FakeJob:
    reads: Sequence[FakeBuffer]
    writes: Sequence[FakeBuffer]
    seconds: float = 0.0

    def enqueue(self, queue: FakeQueue, waits: Sequence[FakeEvent]) -> FakeEvent:
        event = FakeEvent()
        queue.log.append((event, tuple(waits)))
        return event


class FakeQueue:
    """Records its commands, in order."""

    has_failed = False

    def __init__(self) -> None:
        self.log: list[tuple[FakeEvent, tuple[FakeEvent, ...]]] = []
        self.lock = contextlib.nullcontext()
        self.flushes = 0

    def admit(self, wait_for: Iterable[FakeEvent]) -> list[FakeEvent]:
        return list(wait_for)

    def marker(self, waits: Sequence[FakeEvent] = ()) -> FakeEvent:
        return FakeJob((), ()).enqueue(self, waits)

    def flush(self) -> None:
        self.flushes += 1


# one job: the numbers of the buffers it reads and of those it writes
TOUCHES = st.tuples(st.sets(st.integers(0, 4), max_size=3), st.sets(st.integers(0, 4), max_size=2))


def conflict(one: tuple[set[int], set[int]], other: tuple[set[int], set[int]]) -> bool:
    """Whether two jobs may not be swapped: one writes what the other touches."""
    return bool(one[1] & (other[0] | other[1]) or other[1] & one[0])


def submit(touches: Sequence[tuple[set[int], set[int]]], cuts: Sequence[int] = ()) -> tuple[FakeQueue, Any]:
    """The jobs as graphs, cut at `cuts`, on one queue and one set of buffers; with the last Submission."""
    buffers = [FakeBuffer() for _ in range(5)]
    jobs = [
        FakeJob([buffers[i] for i in sorted(reads)], [buffers[i] for i in sorted(writes)]) for reads, writes in touches
    ]
    queue: Any = FakeQueue()
    last = None
    edges = [0, *sorted(cuts), len(jobs)]
    for begin, end in pairwise(edges):
        if end > begin:
            last = JobGraph(jobs[begin:end]).submit(queue)
    return queue, last


@settings(max_examples=300, deadline=None)
@given(touches=st.lists(TOUCHES, min_size=1, max_size=12), data=st.data())
def test_every_conflict_is_ordered_and_nothing_else_waits(
    touches: list[tuple[set[int], set[int]]], data: st.DataObject
) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(touches)), max_size=3))
    queue, _ = submit(touches, cuts)
    number = {id(event): at for at, (event, _) in enumerate(queue.log)}
    before: list[set[int]] = []
    for at, (_, waits) in enumerate(queue.log):
        direct = [number[id(wait)] for wait in waits]
        assert len(set(direct)) == len(direct), "a wait is there twice"
        assert all(conflict(touches[other], touches[at]) for other in direct), "a wait without a reason"
        before.append(set(direct).union(*(before[other] for other in direct)))
    for at in range(len(touches)):
        conflicts = {other for other in range(at) if conflict(touches[other], touches[at])}
        assert conflicts <= before[at]


@settings(max_examples=100, deadline=None)
@given(touches=st.lists(TOUCHES, min_size=1, max_size=10))
def test_terminal_events_cover_the_whole_graph(touches: list[tuple[set[int], set[int]]]) -> None:
    queue, last = submit(touches)
    waits = {id(event): waits for event, waits in queue.log}
    waits_of_all = {id(wait) for _, waits in queue.log for wait in waits}
    assert [id(event) for event in last.terminal] == [
        id(event) for event, _ in queue.log if id(event) not in waits_of_all
    ]
    events_reached: set[int] = set()
    front = [id(event) for event in last.terminal]
    while front:
        at = front.pop()
        events_reached.add(at)
        front += [id(wait) for wait in waits[at]]
    assert len(events_reached) == len(touches)


def test_events_of_wait_for_reach_every_job_through_the_first_ones() -> None:
    a, b, c = FakeBuffer(), FakeBuffer(), FakeBuffer()
    queue: Any = FakeQueue()
    gate = FakeEvent()
    jobs = [FakeJob((), (a,)), FakeJob((a,), (b,)), FakeJob((), (c,)), FakeJob((a, c), (b,))]
    JobGraph(jobs).submit(queue, [gate])
    assert [gate in waits for _, waits in queue.log] == [True, False, True, False]


def test_one_job_is_done_with_its_own_event_and_no_marker() -> None:
    queue: Any = FakeQueue()
    event = JobGraph([FakeJob((), (FakeBuffer(),))]).submit(queue)
    assert event.done is queue.log[0][0] and len(queue.log) == 1 and queue.flushes == 1


def test_several_terminal_jobs_are_done_with_one_marker_on_them() -> None:
    queue: Any = FakeQueue()
    submission = JobGraph([FakeJob((), (FakeBuffer(),)) for _ in range(3)]).submit(queue)
    assert submission.done is submission.done
    marker, waits = queue.log[3]
    assert marker is submission.done and list(waits) == list(submission.events)


def test_an_empty_graph_gives_an_event_after_what_it_waits_for() -> None:
    queue: Any = FakeQueue()
    gate = FakeEvent()
    submission = JobGraph([]).submit(queue, [gate])
    assert submission.events == [submission.done] and queue.log == [(submission.done, (gate,))]


def test_a_graph_may_be_submitted_again_and_waits_for_its_first_run() -> None:
    a, b = FakeBuffer(), FakeBuffer()
    graph = JobGraph([FakeJob((), (a,)), FakeJob((a,), (b,))])
    queue: Any = FakeQueue()
    first, second = graph.submit(queue), graph.submit(queue)
    assert queue.log[2][1] == (first.events[1],)  # it overwrites what the first run's second job reads
    assert set(map(id, queue.log[3][1])) == {id(second.events[0]), id(first.events[1])}


def test_readers_that_have_ended_are_forgotten_and_running_ones_are_not() -> None:
    buffer = FakeBuffer()
    running = [FakeEvent() for _ in range(3)]
    for event in [*running, *(FakeEvent(0) for _ in range(1000)), FakeEvent(-5)]:
        record(FakeJob((buffer,), ()), event)
    assert len(buffer.readers) <= 17
    waits = derive_waits(FakeJob((), (buffer,)))
    assert all(id(event) in waits for event in running)


@pytest.mark.parametrize("order", ["none ends", "the oldest end", "all but the oldest end"])
def test_readers_far_ahead_of_the_device_take_no_longer(monkeypatch: pytest.MonkeyPatch, order: str) -> None:
    """Each looks at a few others, however many are on their way."""
    looks: list[Any] = []
    plain = graph.ended
    monkeypatch.setattr(graph, "ended", lambda event: (looks.append(event), plain(event))[1])
    buffer, count = FakeBuffer(), 4000
    events = [FakeEvent() for _ in range(count)]
    for n, event in enumerate(events):
        record(FakeJob((buffer,), ()), event)
        if order == "the oldest end" and n >= 100:
            events[n - 100].status = 0
        if order == "all but the oldest end" and n:
            events[n].status = 0
    assert len(looks) <= 4 * count
    running = [event for event in events if event.status]
    assert set(map(id, running)) <= set(map(id, buffer.readers))
    assert len(buffer.readers) <= max(2 * len(running), 33)


def test_once_a_command_has_failed_its_readers_delay_no_others() -> None:
    """But for a job that reads what the same command was to write."""
    queue: Any = FakeQueue()
    x, y = FakeBuffer(), FakeBuffer()
    failure = JobGraph([FakeJob((x,), (y,))]).submit(queue).events[0]
    failure.status = -5
    queue.has_failed = True
    JobGraph([FakeJob((), (x,))]).submit(queue)
    assert queue.log[-1][1] == ()
    before = x.last_write
    record(FakeJob((x,), ()), failure)
    JobGraph([FakeJob((), (x,))]).submit(queue)
    assert queue.log[-1][1] == (before,), "the reader may have failed before the last write ended"
    record(FakeJob((x,), (y,)), failure)
    JobGraph([FakeJob((y,), (x,))]).submit(queue)
    assert queue.log[-1][1] == (failure,)
