"""Plans of runs of equal keys, and of the places of segments' elements."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clmapreduce.domain.marked import marked
from clmapreduce.domain.segments import Segments
from clmapreduce.dtypes import INT32, INT64, DType
from clmapreduce.formula.formula import Access, Formula, Input, symbol
from clmapreduce.formula.functions import cast
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.reductions import operator
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.segments.places import plan_expand
from clmapreduce.schemes.segments.run_ends import plan_marks
from clmapreduce.schemes.segments.runs import RunsProblem

KEY = np.dtype([("a", "f4"), ("b", "i8")], align=True)


def changes_of(dtype: DType) -> Formula:
    """1 where a key differs from the next one."""
    one = Input("in0", dtype, symbol("key", dtype, True))
    two = Input("in1", dtype, symbol("next", dtype, True), Access.GATHERED, ahead=1)
    field = (lambda value: value["b"]) if dtype.names else (lambda value: value)
    return Formula((one, two), (cast(field(one.value) != field(two.value), INT32),))


def every_key_plan(facts: Facts, mode: ComputeMode, length: int) -> Iterator[tuple[str, Plan]]:
    """Runs of several kinds of keys, expansions of several kinds of offsets."""
    bound_operator = operator("sum").bind(INT32, "auto", facts.fp64)
    boxes = launch_box("runs", mode, facts), launch_box("reduce", mode, facts)
    for dtype, last, whole_tiles in ((INT32, False, False), (np.dtype("f2"), True, False), (KEY, True, True)):
        problem = RunsProblem(changes_of(dtype), bound_operator, length, mode, *boxes)
        counting, writing = problem.plan_counts(facts), problem.plan_runs(last, whole_tiles, facts)
        label = f"runs of {dtype.name}{' padded' if whole_tiles else ''}"
        yield f"count {label}", counting
        yield label, writing
        if mode is ComputeMode.PARALLEL:
            for keeps in (False, True):
                line, base = marked(length + 1, 4096), launch_box("bases", mode, facts)
                yield f"mark {label}", plan_marks(changes_of(dtype), line, last, keeps, mode, facts, base)
    box = launch_box("prefix", mode, facts)
    for offsets, sources, places in ((INT32, INT32, INT32), (INT32, INT64, INT64), (INT64, INT64, INT32)):
        plan = plan_expand(Segments(length, 1000), offsets, sources, places, mode, facts, box)
        yield f"expand {offsets}, {sources} to {places}", plan
