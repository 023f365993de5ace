"""Whether calls are streamed, and how much room they have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from clmapreduce.device.array import DeviceArray
from clmapreduce.device.context import Context
from clmapreduce.device.runtime import translated

SPARE = 8
"""An eighth of the room stays free for accumulators, and for what the arena rounds up."""


def may_stream(context: Context, cut: Sequence[Any], targets: Any) -> bool:
    """Whether a call on some arrays that would be cut is streamed where it has no room, or shared by several devices
    where it is long: not if one of them, or of its targets (None, one or a tuple), lives on the device, nor if the
    device reads host memory in place and there is no limit.
    """
    if not on_host(cut, targets):
        return False
    with translated():
        return not context.facts.lends_memory or context.queue.arena.least_limit is not None


def on_host(cut: Sequence[Any], targets: Any) -> bool:
    """Whether arrays and targets (None, one or a tuple) of a call are host arrays."""
    targets = targets if isinstance(targets, tuple) else (targets,)
    return all(isinstance(v, np.ndarray) for v in cut) and not any(isinstance(t, DeviceArray) for t in targets)


def room_of(context: Context) -> tuple[int, int]:
    """(bytes that are left of device memory, those of them that a call may use); of several devices, the least."""
    with translated():
        room = min(worker.queue.arena.room for worker in context.workers)
    return room, room - room // SPARE
