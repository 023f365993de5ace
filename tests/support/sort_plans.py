"""Plans of radix sorts: of every kind of keys, with and without what goes along."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from clmapreduce.dtypes import INT64
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts, Plan
from clmapreduce.schemes.line.sorting.line_sort import plan_sort
from clmapreduce.schemes.line.sorting.radix_keys import RadixKeys
from clmapreduce.schemes.line.sorting.sort_problem import SortProblem


def every_sort_plan(facts: Facts, mode: ComputeMode, length: int) -> Iterator[tuple[str, Plan]]:
    """Sorts of a short line, whose words go straight to memory, and of one whose words wait for each other."""
    word, wide = np.dtype("u4"), np.dtype("u8")
    for size in (length, 1 << 24):
        for code in ("?", "u1", "f2", "i4", "f4", "f8", "i8"):
            plain = SortProblem(RadixKeys(np.dtype(code), descending=code == "i4"), size)
            yield f"sort {size} of {code}", plan_sort(plain, mode, facts, streaming=size > length)
        order = SortProblem(RadixKeys(np.dtype("f4"), ties=True), size, False, word, INT64, counts_up=True)
        yield f"order {size}", plan_sort(order, mode, facts)
        pairs = SortProblem(RadixKeys(np.dtype("f8"), ties=True, in_place=True), size, True, wide)
        yield f"pairs {size}", plan_sort(pairs, mode, facts, streaming=size > length)
    by_row = SortProblem(RadixKeys(word), length, False, wide, INT64, bits=5)
    yield "by five bits", plan_sort(by_row, mode, facts)
