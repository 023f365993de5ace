"""Launches of one kernel that differ in grid or offset do not run side by side where the driver cannot take that."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hostsched import Device
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
    assert versions.waits(128, True, ()) == [second]
    assert versions.waits(64, False, ()) == []  # nothing was launched in between


def test_events_that_have_ended_are_not_kept() -> None:
    versions = Versions()
    for _ in range(1000):
        assert versions.waits(64, False, ()) in ((), [])
        versions.note(_Event(0))
    assert len(versions._events) <= 16


def test_only_pocl_needs_it(device: Device) -> None:
    assert (versions_of(device.facts) is None) == (device.vendor != "pocl")
    assert versions_of(replace(device.facts, vendor="intel")) is None
