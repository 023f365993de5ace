"""The plan of stored partials, run here on lists, so that each entry shows which values it merged."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plans import FACTS, INTEL, MODES, PARALLEL, SECOND, SEQUENTIAL, formula_of, sizes, source_of, upsweep_plan

from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan

PLAIN = formula_of(lambda x: x, "f4")
EVERY = pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
BOTH = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


def tile_of(plan: Plan) -> int:
    return int(plan.stages[0].spec.context()["tile"])


def run(plan: Plan, length: int) -> list[Any]:
    """What cmr_upsweep does, level by level, on lists of indices instead of numbers."""
    parts: list[Any] = [None] * (length + 1)
    tile = tile_of(plan)
    for level, stage in enumerate(plan.stages):
        count, stride = sizes(stage)
        assert stage.groups * tile >= count
        for group in range(stage.groups):
            begin = group * tile
            local: list[list[int]] = []
            for j in range(tile):
                inside = begin + j < count
                local.append(([begin + j + 1] if level == 0 else parts[(begin + j + 1) * stride]) if inside else [])
            d = 1
            while d < tile:
                for j in range(tile // (2 * d)):
                    local[2 * d * j + 2 * d - 1] = local[2 * d * j + d - 1] + local[2 * d * j + 2 * d - 1]
                d *= 2
            for j in range(tile):
                if begin + j < count:
                    parts[(begin + j + 1) * stride] = local[j]
    parts[0] = []
    return parts


@given(st.integers(0, 700), st.sampled_from([1, 2, 4, 8, 16]))
@settings(deadline=None, max_examples=80)
def test_entry_i_is_the_merge_of_what_lies_behind_its_lowest_bit(length: int, unroll: int) -> None:
    plan = upsweep_plan(SECOND, PLAIN, length, SEQUENTIAL, INTEL, unroll=unroll)
    for i, entry in enumerate(run(plan, length)):
        assert entry == list(range(i - (i & -i) + 1, i + 1)), i


@EVERY
@BOTH
@pytest.mark.parametrize("length", [0, 1, 1023, 1024, 1025, 10**6, 2**20, 2**20 + 1, NARROW_LIMIT, 2**35])
def test_levels_shrink_by_the_tile_until_one_entry_is_left(facts: Facts, mode: ComputeMode, length: int) -> None:
    plan = upsweep_plan("sum", PLAIN, length, mode, facts)
    tile = tile_of(plan)
    assert tile & (tile - 1) == 0 and tile >= 2
    count, stride = length, 1
    for level, stage in enumerate(plan.stages):
        assert sizes(stage) == [count, stride]
        assert stage.reads == (("in0",) if level == 0 else ("out0",))
        assert stage.writes == ("out0",)
        assert stage.groups == max(1, -(-count // tile))
        count, stride = count // tile, stride * tile
    assert count <= 1, "nothing is left to merge"
    assert plan.scope is (Scope.DEVICE if plan.stages[0].groups > 1 else Scope.GROUP)
    assert len(plan.stages) < 8


def test_the_strictly_sequential_run_ends_too() -> None:
    plan = upsweep_plan("sum", PLAIN, 1000, SEQUENTIAL, INTEL, tiles=1)
    assert all(stage.group_size == 1 for stage in plan.stages)
    assert run(plan, 1000)[1000] == list(range(1000 - 8 + 1, 1001))


def test_all_levels_but_the_first_share_a_kernel() -> None:
    plan = upsweep_plan("sum", PLAIN, 10**9, PARALLEL, FACTS["nvidia"])
    assert len(plan.stages) > 2
    assert len({stage.spec for stage in plan.stages}) == 2


@EVERY
def test_the_tile_fits_local_memory(facts: Facts) -> None:
    plan = upsweep_plan("sum", PLAIN, 10**6, PARALLEL, facts)
    itemsize = 8 if facts.fp64 else 4
    assert tile_of(plan) * itemsize <= facts.local_memory // 2 or tile_of(plan) == 2 * plan.stages[0].group_size


def test_entries_are_counted_with_the_one_in_front() -> None:
    """length + 1 entries: so the narrow limit comes one element earlier."""
    for length, narrow in ((NARROW_LIMIT - 2, True), (NARROW_LIMIT - 1, False)):
        plan = upsweep_plan("sum", PLAIN, length, SEQUENTIAL, INTEL)
        assert plan.narrow is narrow
        assert f"typedef {'int' if narrow else 'long'} idx;" in source_of(plan.stages[0])
