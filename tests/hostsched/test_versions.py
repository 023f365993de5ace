"""Launches of one kernel that differ in grid or offset do not run side by side where the driver cannot take that."""

from __future__ import annotations

import gc
from dataclasses import replace
from typing import Any

import hostsched
from hostsched import Device, Queue
from hostsched.compiler.build import build
from hostsched.kernels.versions import Versions, versions_of


class _Event:
    """An event by its status."""

    def __init__(self, status: int) -> None:
        self._status = status

    def get_info(self, _name: object) -> int:
        return self._status


def test_a_launch_waits_for_those_that_differ() -> None:
    versions, first, second, past = Versions(), _Event(1), _Event(2), _Event(0)
    before: list[Any] = [object()]
    assert versions.waits(64, False, before) == before
    versions.note(first)
    assert versions.waits(64, False, ()) == ()  # alike
    versions.note(past)
    assert versions.waits(128, False, before) == [*before, first]
    versions.note(second)
    assert versions.waits(128, False, ()) == [first]  # in another queue, perhaps
    assert versions.waits(128, True, ()) == [first, second]
    assert versions.waits(64, False, ()) == [first, second]  # nothing was launched in between


def test_events_that_have_ended_are_not_kept() -> None:
    versions = Versions()
    for _ in range(1000):
        assert versions.waits(64, False, ()) in ((), [])
        versions.note(_Event(0))
    assert len(versions._events) <= 16


def test_only_pocl_needs_it(device: Device) -> None:
    assert (versions_of(device.facts) is None) == (device.vendor != "pocl")
    assert versions_of(replace(device.facts, vendor="intel")) is None


def test_contexts_have_numbers_of_their_own(device: Device) -> None:
    """The least that are free, so that a driver's cache serves later contexts."""
    first, second = (Queue(device, context=hostsched.new_context(device)) for _ in range(2))
    taken = {Queue(device).space.number, second.space.number}
    assert first.space.number not in taken and len(taken) == 2
    number = first.space.number
    del first
    gc.collect()
    later = Queue(device, context=hostsched.new_context(device)).space.number
    assert later <= number and later not in taken


SOURCE = """__kernel void spin(__global float *x) {
    float v = x[get_global_id(0) % 1024];
    for (int k = 0; k < 20000; k++) v = v * 0.5f + 1;
    x[get_global_id(0) % 1024] = v;
}"""


def test_launches_of_one_kernel_in_several_queues_and_contexts(device: Device) -> None:
    """Of other grids and offsets: PoCL's Debian builds ended the process."""
    queues = [Queue(device, context=hostsched.new_context(device)) for _ in range(2)]
    queues += [Queue(device, context=queues[0].context)]
    kernels = [build(queue, SOURCE).kernel("spin") for queue in queues]
    buffers = [queue.arena.take(4096) for queue in queues]
    for turn in range(40):
        for queue, kernel, buffer in zip(queues, kernels, buffers, strict=True):
            queue.launch(kernel, 64 + 8 * (turn % 5), 1, [buffer], first=turn % 3)
            queue.flush()
    for queue, buffer in zip(queues, buffers, strict=True):
        queue.finish()
        queue.arena.give(buffer)
