"""Launch boxes of bucket sorts: numbers only."""

from __future__ import annotations

from dataclasses import dataclass

from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts
from clmapreduce.schemes.line.sorting.sort_problem import SortProblem


@dataclass(frozen=True)
class BucketBox:
    """bytes: of the words and values of a bucket, about. most: buckets at most, a power of two. drawn: words of the
    sample for each bucket. codes: bits of a code at most. bits: of a digit within a bucket at most. groups: that carry
    words to buckets, items: that sort buckets, per compute unit. A line has at least as many keys as the sample.
    """

    bytes: int
    most: int
    drawn: int
    codes: int
    bits: int
    groups: int
    items: int


# Processor time of a key on 2 shared cores of an EPYC (L2 of 1 MiB each, 2026-11-27), Intel's runtime, least of five:
# 2^24 float32 took 4.85, 4.65 and 4.75 ns with buckets of 32, 64 and 128 KiB, float64 5.72, 5.70 and 5.76; by digits
# of all keys 5.04 and 15.1. 2^18 float32 took 6.95 (5.74 by digits), 2^19 6.44 (6.31), 2^20 6.08 (8.23); 2^16 float64
# took 16.6 (17.5), 2^17 12.8 (18.7).
_BOX = BucketBox(bytes=1 << 16, most=2048, drawn=16, codes=16, bits=11, groups=2, items=16)
_FROM = {4: 1 << 19, 8: 1 << 16}
"""Keys from which on buckets take less time than digits of all keys, by the bytes of a key."""


def bucket_box(problem: SortProblem, mode: ComputeMode, facts: Facts) -> BucketBox | None:
    """The box for a problem; None where buckets take longer than digits of all keys."""
    least = _FROM.get(problem.keys.number.itemsize)
    in_caches = mode is ComputeMode.SEQUENTIAL and facts.kind == "cpu"
    return _BOX if in_caches and least is not None and problem.bits is None and problem.length >= least else None
