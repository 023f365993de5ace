"""The record of a build, for logs and for reports of where time went."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["COMPILED", "DRIVERS", "LOADED", "BuildRecord"]

COMPILED = "compiled from source"
LOADED = "loaded from the cache on disk"
DRIVERS = "built by the driver, which has a cache of its own"


class BuildRecord(NamedTuple):
    """One build. origin: COMPILED, LOADED or DRIVERS. began: its start in seconds, by `time.perf_counter`. seconds: its
    duration.
    """

    name: str
    origin: str
    began: float
    seconds: float
