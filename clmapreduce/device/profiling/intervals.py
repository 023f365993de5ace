"""Stretches of time: how much several of them cover together, and what lies between them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise

Interval = tuple[int, int]
"""Begin and end, in any unit."""


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """What the intervals cover, as intervals that do not touch, in order; empty ones cover nothing."""
    covered: list[Interval] = []
    for begin, end in sorted(interval for interval in intervals if interval[1] > interval[0]):
        if covered and begin <= covered[-1][1]:
            covered[-1] = covered[-1][0], max(end, covered[-1][1])
        else:
            covered.append((begin, end))
    return covered


def length(covered: Iterable[Interval]) -> int:
    """Of intervals that do not overlap, together."""
    return sum(end - begin for begin, end in covered)


def gaps(covered: list[Interval]) -> list[Interval]:
    """What lies between the intervals of a `union`."""
    return [(end, begin) for (_, end), (begin, _) in pairwise(covered)]
