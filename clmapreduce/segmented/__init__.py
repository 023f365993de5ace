"""Segments: reductions of stretches of an array, of runs of equal keys, and of a sparse matrix's rows."""

from clmapreduce.segmented.reduce import SegmentPlan, segmented_reduce

__all__ = ["SegmentPlan", "segmented_reduce"]
