"""Whether there is memory for a test of large arrays."""

from __future__ import annotations

import psutil
import pytest

import clmapreduce as cm

SHARE = 0.8  # of the host's available memory


def needs(context: cm.Context, largest: int, total: int) -> None:
    """Skips where one array of `largest` bytes, or all of `total`, do not fit."""
    facts, free = context.queue.facts, psutil.virtual_memory().available
    room = int(free * SHARE)
    if largest > facts.max_allocation:
        pytest.skip(f"{context.device.name} gives {facts.max_allocation} bytes at once, {largest} are needed")
    if total > facts.global_memory * SHARE:
        pytest.skip(f"{context.device.name} has {facts.global_memory} bytes, {total} are needed")
    if total > room:
        pytest.skip(f"{room} bytes of the host's memory are free for this, {total} are needed")
