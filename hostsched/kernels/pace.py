"""How long a launch takes, estimated from its operations.

The plan says how many operations a launch has, roughly; the pace says how many seconds one of them takes. Until a long
launch of a kernel is measured, the pace is a cautious figure for the kind of device.
"""

from __future__ import annotations

from collections.abc import Sequence

from hostsched.device.device import DeviceFacts

__all__ = ["Pace", "share_among"]

_OPERATIONS = {"cpu": 1e9, "gpu": 1e10}
"""Operations per second and compute unit, on the slow side: exponentials and poor cache use included (two Zen 4 cores
compute 1e9 to 1e10 each, an H200 4e10 per multiprocessor).
"""


class Pace:
    """The pace of one kernel. `seconds` per operation; `measured` once a piece of a launch was timed."""

    __slots__ = ("measured", "seconds")

    def __init__(self, facts: DeviceFacts) -> None:
        self.seconds = 1 / (_OPERATIONS.get(facts.kind, 1e9) * max(1, facts.compute_units))
        self.measured = False

    def note(self, operations: float, seconds: float) -> None:
        """Takes in that `operations` took `seconds`. Half of the former figure stays, so that one slow piece on a busy
        machine decides little.
        """
        if operations <= 0 or seconds <= 0:
            return
        rate = seconds / operations
        self.seconds = (self.seconds + rate) / 2 if self.measured else rate
        self.measured = True


def share_among(launches: Sequence[tuple[Pace, float]], seconds: float) -> None:
    """Takes in that launches, each a pace and its operations, took some seconds together."""
    estimate = sum(pace.seconds * operations for pace, operations in launches)
    for pace, operations in launches:
        if estimate > 0:
            pace.note(operations, pace.seconds * operations * seconds / estimate)
