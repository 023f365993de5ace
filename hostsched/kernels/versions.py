"""Orders launches for which PoCL compiles one kernel several times.

PoCL (3.0 to 7.1) compiles a kernel again for a larger grid, and for a global offset that is not 0. It counts the
commands that use each version, and takes the count off the version used last, whichever one a command ran. With two
versions at once counts go below 0: Debian's builds end the process ("pocl_release_dlhandle_cache: Assertion
`found->ref_count > 0'"), and others may unload code that runs. So a launch waits for those of the same kernel that
differ in grid or offset. Events of one context are no use in another one: there, kernels are built with an option that
tells their context from others, and are other kernels for PoCL (see hostsched/compiler/build).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hostsched.device.device import DeviceFacts
from hostsched.driver.waiting import ended

__all__ = ["Versions", "versions_of"]

_SWEEP = 16


class Versions:
    """The launches of one kernel that are on their way. The queue's lock guards it."""

    __slots__ = ("_alike", "_events", "_others")

    def __init__(self) -> None:
        self._alike: tuple[int, bool] = (0, False)
        self._events: list[Any] = []
        self._others: list[Any] = []

    def waits(self, items: int, shifted: bool, waits: Sequence[Any]) -> Sequence[Any]:
        """What a launch of so many work-items must wait for. shifted: its global offset is not 0. Launches that are
        alike wait each for those that differ: they may be in several queues, or in one that keeps no order.
        """
        alike = (items, shifted)
        if alike != self._alike:
            self._others += self._events
            self._alike, self._events = alike, []
        if not self._others:
            return waits
        self._others = [event for event in self._others if not ended(event)]
        return [*waits, *self._others]

    def note(self, event: Any) -> None:
        """Notes the event of the launch that `waits` was asked for."""
        if len(self._events) >= _SWEEP:
            self._events = [event for event in self._events if not ended(event)]
        self._events.append(event)


def versions_of(facts: DeviceFacts) -> Versions | None:
    """A new one where the driver needs it, else None."""
    return Versions() if facts.traits.counts_versions else None
