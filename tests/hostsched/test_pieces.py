"""Long launches go out in pieces that give the results of one launch, and pieces not launched yet can be dropped."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from hostsched import Buffer, Cancelled, JobGraph, KernelJob, Launch, Queue, ReadJob, Replay, build, following
from hostsched.driver import opencl
from hostsched.jobs.pieces import AT_ONCE, GROWTH, PIECE, in_pieces, is_long
from hostsched.kernels.pace import Pace, share_among
from hostsched.queue.backlog import Backlog

GROUPS, SIZE = 100_003, 4
ENORMOUS = 1e15
"""Operations that take days at any device's pace: how long a launch really takes plays no part."""

SOURCE = """
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void cmr_count(__global int *seen)
{
    seen[(get_group_id(0) + get_global_offset(0) / 4) * 4 + get_local_id(0)] += 1;
}
"""


NUMBERS = """
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void cmr_numbers(__global ulong *out)
{
    out[get_group_id(0) * 4 + get_local_id(0)] = get_group_id(0) + get_global_offset(0) / 4 + get_global_offset(1)
        + (get_global_offset(2) << 30);
    if (get_local_id(0) == 0) out[get_group_id(0) * 4] = get_global_offset(0);
}
"""


@pytest.mark.parametrize("first", [0, 1, (1 << 29) - 3, (1 << 29) - 2, (1 << 29) + 5, (1 << 30) - 2, (1 << 31) + 5, 3 << 31])
@pytest.mark.parametrize("short", [False, True])
def test_groups_know_their_numbers_behind_any_others(first: int, short: bool, queue: Queue) -> None:
    """Where kernels see a global offset as an int, too."""
    if queue.facts.traits.short_offsets and not short:
        pytest.skip("kernels of this driver see an offset as an int")
    queue.short_offsets = short
    kernel = build(queue, NUMBERS).kernel("cmr_numbers")
    target, out = queue.arena.take(96), np.zeros((3, 4), np.uint64)
    job = KernelJob(kernel, 3, SIZE, (target,), (), (target,), first=first)
    JobGraph([job, ReadJob(target, out.view(np.uint8))]).submit(queue).wait()
    assert (out[:, 1:] == first + np.arange(3)[:, None]).all()
    assert (out[:, 0] == (0 if short and (first + 3) * SIZE > 1 << 31 else first * SIZE)).all()


def counting(queue: Queue, counter: Buffer, work: float = ENORMOUS) -> KernelJob:
    """Counts every work-item of a launch."""
    kernel = build(queue, SOURCE).kernel("cmr_count")
    kernel.pace.__init__(queue.facts)  # type: ignore[misc]  # as before any launch
    return KernelJob(kernel, GROUPS, SIZE, (counter,), (counter,), (counter,), work)


def zero_buffer(queue: Queue) -> tuple[Buffer, np.ndarray]:
    counter = queue.arena.take(4 * GROUPS * SIZE)
    queue.wait(queue.fill(counter, b"\0\0\0\0", 4 * GROUPS * SIZE))
    return counter, np.full(GROUPS * SIZE, -1, np.int32)


def test_every_group_runs_once(queue: Queue) -> None:
    counter, out = zero_buffer(queue)
    before = len(counter.readers)
    JobGraph([counting(queue, counter), ReadJob(counter, out.view(np.uint8))]).submit(queue).wait()
    assert before == 0 and (out == 1).all()


def test_a_replay_goes_out_in_pieces_too(queue: Queue) -> None:
    counter, out = zero_buffer(queue)
    job = counting(queue, counter)
    replay = Replay(queue, [Launch(job.kernel, GROUPS, SIZE, ("seen",), ("seen",), ("seen",), ENORMOUS)])
    reports: list[tuple[float, float]] = []
    with following(lambda work, total: reports.append((work, total))):
        replay.submit({"seen": counter})
    JobGraph([ReadJob(counter, out.view(np.uint8))]).submit(queue).wait()
    assert (out == 1).all() and len(reports) > 2


def test_progress_grows_to_its_total(queue: Queue) -> None:
    counter, _ = zero_buffer(queue)
    reports: list[tuple[float, float]] = []
    with following(lambda work, total: reports.append((work, total))):
        JobGraph([counting(queue, counter)]).submit(queue).wait()
    work = [d for d, _ in reports]
    assert len(work) > 2 and work == sorted(work) and 0 < work[0] < ENORMOUS
    assert {total for _, total in reports} == {ENORMOUS} and reports[-1][0] == ENORMOUS


@pytest.mark.parametrize("how", ["cancel", "exception"])
def test_what_is_not_launched_is_dropped(queue: Queue, how: str) -> None:
    class Enough(Exception): ...

    def stop(work: float, total: float) -> None:
        if how == "exception":
            raise Enough
        queue.cancel()

    counter, out = zero_buffer(queue)
    with pytest.raises(Cancelled if how == "cancel" else Enough), following(stop):
        JobGraph([counting(queue, counter)]).submit(queue)
    JobGraph([ReadJob(counter, out.view(np.uint8))]).submit(queue).wait()  # after what was launched
    assert 0 < out.sum() < GROUPS * SIZE and set(np.unique(out)) == {0, 1}
    fresh, out = zero_buffer(queue)
    JobGraph([counting(queue, fresh), ReadJob(fresh, out.view(np.uint8))]).submit(queue).wait()
    assert (out == 1).all()


def test_a_cancellation_before_a_call_does_not_touch_it(queue: Queue) -> None:
    queue.cancel()
    counter, out = zero_buffer(queue)
    JobGraph([counting(queue, counter), ReadJob(counter, out.view(np.uint8))]).submit(queue).wait()
    assert (out == 1).all()


def test_short_launches_are_one_command(queue: Queue) -> None:
    counter, _ = zero_buffer(queue)
    submission = JobGraph([counting(queue, counter, work=10.0)]).submit(queue)
    submission.wait()
    assert queue.backlog.seconds == 0 and len(submission.events) == 1


def test_a_whole_launch_is_one_command_and_counts(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a graph and by a replay: it is waited for as others are, and goes out at once."""
    launches = []
    enqueue = opencl.enqueue_kernel
    monkeypatch.setattr(opencl, "enqueue_kernel", lambda *args: (launches.append(args), enqueue(*args))[1])
    for by_replay in (False, True):
        counter, out = zero_buffer(queue)
        job = replace(counting(queue, counter), whole=True)
        assert job.seconds > AT_ONCE and not is_long(job)
        del launches[:]
        if by_replay:
            launch = Launch(job.kernel, job.groups, job.group_size, ("c",), ("c",), ("c",), job.work, True)
            Replay(queue, [launch]).submit({"c": counter})
        else:
            JobGraph([job]).submit(queue)
        assert len(launches) == 1 and queue.backlog.seconds > 0
        JobGraph([ReadJob(counter, out.view(np.uint8))]).submit(queue).wait()
        assert (out == 1).all()


class _Clockwork:
    """A queue and a launch whose groups take a known time each, on a clock of their own."""

    whole = False

    def __init__(self, groups: int, seconds: float, estimate: float, clock: list[float]) -> None:
        self.groups, self.work = groups, 1.0 * groups
        self._seconds, self._clock, self._ends = seconds, clock, 0.0
        self.pieces: list[int] = []

        class Facts:
            kind, compute_units = "cpu", 2

        self.facts = Facts()
        self.pace = Pace(self.facts)  # type: ignore[arg-type]
        self.pace.seconds = estimate
        import contextlib

        self.lock = contextlib.nullcontext()

    @property
    def seconds(self) -> float:
        return self.work * self.pace.seconds

    def enqueue_piece(self, queue: object, first: int, groups: int, waits: object) -> float:
        assert first == sum(self.pieces)
        self.pieces.append(groups)
        self._ends = max(self._ends, self._clock[0]) + groups * self._seconds
        return self._ends

    def flush(self) -> None: ...

    def settle(self, event: float) -> None: ...

    def wait(self, event: float) -> None:
        self._clock[0] = max(self._clock[0], event)

    def joined(self, events: list[float]) -> float:
        return events[-1]


@pytest.mark.parametrize("wrong", [0.01, 0.3, 1.0, 10.0, 1000.0])
def test_pieces_take_about_the_time_they_should(wrong: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the first estimate is off by."""
    clock, each = [0.0], 1e-4
    monkeypatch.setattr("hostsched.jobs.pieces.time.perf_counter", lambda: clock[0])
    job = _Clockwork(100_000, each, each * wrong, clock)
    in_pieces(job, job, [], lambda event: None, lambda: False)  # type: ignore[arg-type]
    took = [piece * each for piece in job.pieces]
    assert sum(job.pieces) == job.groups
    assert sum(0.5 * PIECE <= piece <= 1.6 * PIECE for piece in took) >= len(took) - 8
    assert all(after <= (GROWTH + 1) * before for before, after in zip(job.pieces, job.pieces[1:], strict=False))
    assert max(took) <= max(1.6 * PIECE, 0.01 / wrong) and AT_ONCE >= PIECE


def test_calls_that_do_not_wait_leave_a_bounded_backlog(
    queue: Queue, axpb: Callable[[Queue], Callable[..., KernelJob]]
) -> None:
    """Work on its way is counted in the pace's seconds, so that an interrupted caller waits for little."""
    from hostsched.queue.backlog import LONGEST

    counter, out = zero_buffer(queue)
    job = counting(queue, counter)
    part = KernelJob(job.kernel, GROUPS, SIZE, (counter,), (counter,), (counter,), 0.05 / job.kernel.pace.seconds)
    for _ in range(40):
        JobGraph([part]).submit(queue)
        assert queue.backlog.seconds <= LONGEST + 0.05
    JobGraph([ReadJob(counter, out.view(np.uint8))]).submit(queue).wait()
    assert (out == 40).all()


def test_launches_that_are_short_alone_go_out_as_one(fresh_queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are: a replay of them is no graph, and a graph's are not looked at one by one."""
    queue = fresh_queue  # after a failed command replays are graphs
    counter, out = zero_buffer(queue)
    job = counting(queue, counter)
    work = 0.6 * AT_ONCE / job.kernel.pace.seconds
    with monkeypatch.context() as only:
        only.setattr("hostsched.jobs.replay.JobGraph", lambda jobs: pytest.fail("no replay"))
        only.setattr("hostsched.jobs.graph._Order.enqueue_long", lambda order, jobs: pytest.fail("in pieces"))
        launch = Launch(job.kernel, GROUPS, SIZE, ("seen",), ("seen",), ("seen",), work)
        Replay(queue, [launch] * 3).submit({"seen": counter})
        part = KernelJob(job.kernel, GROUPS, SIZE, (counter,), (counter,), (counter,), work)
        JobGraph([part] * 3).submit(queue)
    JobGraph([ReadJob(counter, out.view(np.uint8))]).submit(queue).wait()
    assert (out == 6).all()


def test_kernels_learn_their_pace_from_what_was_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two entries waited for in a row, the second ran alone between their ends."""
    clock, took = [1.0], []
    monkeypatch.setattr("hostsched.queue.backlog.time.perf_counter", lambda: clock[0])
    monkeypatch.setattr("hostsched.queue.backlog.ended", lambda event: event == "ended")

    def settle(event: str) -> None:
        clock[0] += 0.25

    backlog = Backlog(contextlib.nullcontext())
    for event in ("runs", "runs", "runs", "ended", "runs", "runs", "runs", "runs"):
        backlog.add(event, 0.1, took.append, settle)
    assert took == [0.25, 0.25, 0.25], "of the second, the third and the last but two"
    assert backlog.seconds == pytest.approx(0.2)


def test_a_measured_time_is_shared_among_launches() -> None:
    class Facts:
        kind, compute_units = "gpu", 100

    first, second = Pace(Facts()), Pace(Facts())  # type: ignore[arg-type]
    share_among([(first, 3e9), (second, 1e9)], 0.004)
    assert first.measured and second.measured
    np.testing.assert_allclose([first.seconds * 3e9, second.seconds * 1e9], [0.003, 0.001])
    share_among([], 1.0)
