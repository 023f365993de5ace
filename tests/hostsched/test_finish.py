"""Waits for everything: commands that are few are looked at one by one, others by a marker."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from support.driver_faults import error_of

from hostsched import KernelJob, LaunchError, Queue
from hostsched.driver import opencl
from hostsched.driver.waiting import ended
from hostsched.queue.commands import _FEW

Axpb = Callable[[Queue], Callable[..., KernelJob]]
DONE = cl.command_execution_status.COMPLETE
COUNTS = (1, 2, 5, _FEW - 1, _FEW, _FEW + 1, 3 * _FEW)


def later(gate: cl.UserEvent) -> threading.Timer:
    timer = threading.Timer(0.05, gate.set_status, [DONE])
    timer.start()
    return timer


@pytest.fixture
def markers(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The markers that are set."""
    plain, seen = opencl.marker, list[Any]()

    def noting(*args: Any) -> Any:
        seen.append(plain(*args))
        return seen[-1]

    monkeypatch.setattr(opencl, "marker", noting)
    return seen


@pytest.mark.parametrize("count", COUNTS)
def test_whichever_command_ends_last(count: int, queue: Queue, markers: list[Any], rng: np.random.Generator) -> None:
    """Twice: what ended in the first wait does not count in the second."""
    for _ in range(2):
        queue.finish()
        del markers[:]
        gate, slow = cl.UserEvent(queue.context), int(rng.integers(count))
        buffers = [queue.arena.take(64) for _ in range(count)]
        events = [queue.fill(buffer, b"\1", 64, [gate] if at == slow else ()) for at, buffer in enumerate(buffers)]
        timer = later(gate)
        queue.finish()
        assert all(map(ended, events))
        assert len(markers) == (count >= _FEW)
        timer.join()


def test_a_command_whose_caller_was_interrupted(
    axpb: Axpb, queue: Queue, markers: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody knows its event."""
    gate, plain, lost = cl.UserEvent(queue.context), opencl.enqueue_kernel, list[cl.Event]()
    buffers = [queue.arena.take(256) for _ in range(2)]
    job = axpb(queue)(*buffers, 64)

    def interrupted(*args: Any) -> cl.Event:
        lost.append(plain(*args))
        raise KeyboardInterrupt

    queue.finish()
    with monkeypatch.context() as patch:
        patch.setattr(opencl, "enqueue_kernel", interrupted)
        with pytest.raises(KeyboardInterrupt):
            queue.launch(job.kernel, job.groups, job.group_size, job.args, [gate])
    timer = later(gate)
    queue.finish()
    assert ended(lost[0]) and markers
    timer.join()
    del markers[:]
    queue.finish()
    assert len(markers) == 0


def test_a_refused_command_is_none(axpb: Axpb, queue: Queue, markers: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    job = axpb(queue)(*[queue.arena.take(256) for _ in range(2)], 64)

    def refused(*_: Any) -> cl.Event:
        raise error_of("lost device", "clEnqueueNDRangeKernel")

    queue.finish()
    with monkeypatch.context() as patch:
        patch.setattr(opencl, "enqueue_kernel", refused)
        with pytest.raises(LaunchError):
            queue.launch(job.kernel, job.groups, job.group_size, job.args)
    queue.finish()
    assert len(markers) == 0
