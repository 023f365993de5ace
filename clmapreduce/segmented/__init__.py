"""Segments: reductions of stretches of an array, of runs of equal keys, and of a sparse matrix's rows."""

from clmapreduce.segmented.keys import KeyPlan, reduce_by_key, run_lengths
from clmapreduce.segmented.reduce import SegmentPlan, segmented_reduce
from clmapreduce.segmented.spmv import SpmvPlan, spmv

__all__ = ["KeyPlan", "SegmentPlan", "SpmvPlan", "reduce_by_key", "run_lengths", "segmented_reduce", "spmv"]
