"""Which mode a call runs in when the caller leaves it open."""

from __future__ import annotations

from clmapreduce.modes import ComputeMode, parse_mode
from clmapreduce.plan import Facts


def choose_mode(word: str, facts: Facts) -> ComputeMode:
    """The compute mode for a `mode=` word: on CPUs one work-item walks a tile with explicit vectors, elsewhere groups
    work side by side.
    """
    mode = parse_mode(word)
    if mode is not None:
        return mode
    return ComputeMode.SEQUENTIAL if facts.kind == "cpu" else ComputeMode.PARALLEL
