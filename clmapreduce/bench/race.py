"""Alternating calls of ours and of peers: ratios within a round are stable although times on a busy machine vary."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from clmapreduce.device.context import Context

Call = Callable[[], Any]
MOST, LEAST = 31, 3
"""Rounds of a race that is limited by time."""
OWN_CORES = 0.85
"""The share of the cores that a call must have had for its round to count."""


@dataclass(frozen=True)
class Case:
    """One row: our call on resident arrays, its bytes, peers by name, and the error of a result with its limit.

    Peers wait for their own devices. what, size: for readers.
    """

    name: str
    ours: Call
    nbytes: int
    peers: dict[str, Call]
    error: Callable[[Any], float]
    limit: float
    what: str = ""
    size: str = ""

    def check(self) -> str:
        """The error of a fresh result, or a shout."""
        error = self.error(self.ours())
        return f"{error:.0e}" if error <= self.limit else f"WRONG ({error:.0e} > {self.limit:.0e})"


@dataclass
class Timing:
    """Seconds of each round: ours, and peers by name. quiet: whether ours had the cores of a CPU in these rounds."""

    ours: list[float] = field(default_factory=list)
    peers: dict[str, list[float]] = field(default_factory=dict)
    quiet: bool = True

    @property
    def seconds(self) -> float:
        """The median of ours."""
        return statistics.median(self.ours)

    def peer_seconds(self, name: str) -> float:
        """The median of a peer."""
        return statistics.median(self.peers[name])

    def ratio(self, name: str) -> float:
        """The median over rounds of a peer's time by ours."""
        return statistics.median(theirs / ours for theirs, ours in zip(self.peers[name], self.ours, strict=True))


def race(case: Case, context: Context, rounds: int = MOST, seconds: float = float("inf")) -> Timing:
    """So many rounds of the case, or fewer when the time is over, never fewer than LEAST. On a CPU, rounds in which
    ours had to share the cores are left out, if enough others come in five times as many.
    """
    case.ours()
    context.wait()
    for peer in case.peers.values():
        peer()
    until = time.perf_counter() + seconds
    own, all_ = _empty(case), _empty(case)
    while len(own.ours) < rounds and len(all_.ours) < 5 * rounds:
        if time.perf_counter() >= until and len(all_.ours) >= LEAST:
            break
        _round(case, context, own, all_)
    if len(own.ours) >= min(LEAST, rounds):
        return own
    all_.quiet = False
    return all_


def _empty(case: Case) -> Timing:
    return Timing(peers={name: [] for name in case.peers})


def _round(case: Case, context: Context, own: Timing, all_: Timing) -> None:
    """One call of each, noted in `all_`, and in `own` where ours had the cores."""
    processor, start = time.process_time(), time.perf_counter()
    case.ours()
    context.wait()
    ours = time.perf_counter() - start
    share = (time.process_time() - processor) / ours / (os.cpu_count() or 1)
    theirs = {}
    for name, peer in case.peers.items():
        start = time.perf_counter()
        peer()
        theirs[name] = time.perf_counter() - start
    for timing in (all_, own) if share > OWN_CORES or context.device.kind != "cpu" else (all_,):
        timing.ours.append(ours)
        for name, seconds in theirs.items():
            timing.peers[name].append(seconds)
