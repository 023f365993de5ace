"""Segments: reductions of stretches of an array, of runs of equal keys, and of a sparse matrix's rows."""

from clmapreduce.segmented.reduce import segmented_reduce

__all__ = ["segmented_reduce"]
