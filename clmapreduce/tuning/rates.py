"""How fast devices were, on disk beside measured launch boxes: what a context of different devices begins with."""

from __future__ import annotations

from clmapreduce.device.context import Context
from clmapreduce.device.runtime import recall, remember
from clmapreduce.device.tuned import key_of_device

NEWS = 1.25
"""A rate is written again once it has changed by so much."""


def known_rate(context: Context, *call: str) -> float | None:
    """The weight by second that a device did in a call of this kind; None where no process has noted one."""
    data = recall("rate", *key_of_device(context.device), *call)
    try:
        rate = 0.0 if data is None else float(data)
    except ValueError:
        return None
    return rate if 0 < rate < float("inf") else None


def note_rate(rate: float, context: Context, *call: str) -> None:
    """Notes a rate for later processes, unless one that is close is noted."""
    before = known_rate(context, *call)
    if rate > 0 and (before is None or not 1 / NEWS < rate / before < NEWS):
        remember(f"{rate:.6g}".encode(), "rate", *key_of_device(context.device), *call)
