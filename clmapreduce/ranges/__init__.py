"""Ranges: which pairs a block-sparse reduction meets, from whatever says it."""

from clmapreduce.ranges.ranges import Ranges, as_ranges

__all__ = ["Ranges", "as_ranges"]
