"""Which sort of a line: by buckets that fit a cache, or by digits of all keys."""

from __future__ import annotations

from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.schemes.line.sorting.bucket_boxes import bucket_box
from clmapreduce.schemes.line.sorting.bucket_sort import plan_bucket_sort
from clmapreduce.schemes.line.sorting.radix_sort import plan_radix_sort
from clmapreduce.schemes.line.sorting.sort_problem import SortProblem


def plan_sort(problem: SortProblem, mode: ComputeMode, facts: Facts, streaming: bool = False) -> Plan:
    """The plan of a sort. streaming: outputs start where a whole vector may be stored past the caches."""
    box = bucket_box(problem, mode, facts)
    if box is None:
        return plan_radix_sort(problem, mode, facts, streaming=streaming)
    return plan_bucket_sort(problem, facts, box, streaming)
