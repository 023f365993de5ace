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
    """Whether a call on some arrays that would be cut is streamed where it has no room: not if one of them, or of its
    targets (None, one or a tuple), lives on the device, nor if the device reads host memory in place and nobody set a
    limit.
    """
    targets = targets if isinstance(targets, tuple) else (targets,)
    if not all(isinstance(v, np.ndarray) for v in cut) or any(isinstance(t, DeviceArray) for t in targets):
        return False
    with translated():
        return not context.facts.lends_memory or context.queue.arena.least_limit is not None


def room_of(context: Context) -> tuple[int, int]:
    """(bytes that are left of device memory, those of them that a call may use)."""
    with translated():
        room = context.queue.arena.room
    return room, room - room // SPARE
