"""The plan of a scan in two passes: totals of the same shares first, then every share behind the totals before it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.plans import (
    FACTS,
    MATRIX,
    MODES,
    PAIR,
    SECOND,
    SEQUENTIAL,
    assert_covered,
    bound_of,
    formula_of,
    scan_plan,
    sizes,
    source_of,
)

from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts

PLAIN, WHOLE = formula_of(lambda x: x, "f4"), formula_of(lambda n: n, "i2")
RECORD = formula_of(lambda r: r, PAIR)
TWO_PASSES = {name: replace(facts, groups_progress=False) for name, facts in FACTS.items()}
EVERY = pytest.mark.parametrize("facts", TWO_PASSES.values(), ids=TWO_PASSES)
BOTH = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


@EVERY
@BOTH
@pytest.mark.parametrize("length", [1, 17, 4096, 100_003, NARROW_LIMIT - 1, NARROW_LIMIT, 2**33 + 1])
@pytest.mark.parametrize("op", ["sum", "argmin", SECOND], ids=["sum", "argmin", "second"])
def test_both_passes_cut_the_line_alike(facts: Facts, mode: ComputeMode, length: int, op: Any) -> None:
    plan = scan_plan(op, PLAIN, length, mode, facts)
    for stage in plan.stages:
        assert_covered(stage)
    last = plan.stages[-1]
    assert last.writes == ("out0",) and "scratch0" in last.reads
    if len(plan.stages) == 2:
        first = plan.stages[0]
        assert (first.groups, sizes(first)) == (last.groups, sizes(last)), "totals of the same shares"
        assert first.writes == ("scratch0",)
        assert plan.scope is Scope.DEVICE
    else:
        assert last.groups == 1 and plan.scope is Scope.GROUP


@EVERY
@BOTH
def test_scratch_holds_one_wide_accumulator_per_group(facts: Facts, mode: ComputeMode) -> None:
    plan = scan_plan("sum", PLAIN, 10**7, mode, facts)
    itemsize = 8 if facts.fp64 else 4
    assert plan.scratch == {"scratch0": plan.stages[-1].groups * itemsize}


@EVERY
@BOTH
def test_a_scans_lanes_are_as_many_as_its_widest_number_allows(facts: Facts, mode: ComputeMode) -> None:
    bytes_ = 64 if facts.kind == "cpu" and mode is SEQUENTIAL else 16
    for op, formula, widest in (("sum", PLAIN, 4), ("sum", WHOLE, 8), (SECOND, PLAIN, 4)):
        stage = scan_plan(op, formula, 10**6, mode, facts).stages[-1]
        assert stage.spec.context()["lanes"] == bytes_ // widest
    for op, formula in (("argmin", PLAIN), (MATRIX, RECORD)):
        stage = scan_plan(op, formula, 10**6, mode, facts).stages[-1]
        assert stage.spec.context()["lanes"] == 1


def test_the_first_pass_never_gives_lanes_to_what_has_an_order() -> None:
    for facts in TWO_PASSES.values():
        for mode in MODES:
            first = scan_plan(SECOND, PLAIN, 10**6, mode, facts).stages[0]
            assert first.spec.context()["lanes"] == 1


def test_a_device_without_float64_scans_in_float32() -> None:
    plan = scan_plan("sum", PLAIN, 10**6, SEQUENTIAL, FACTS["small"])
    assert all("double" not in source_of(stage) for stage in plan.stages)
    assert bound_of("sum", PLAIN, FACTS["small"], "fast").components[0].dtype.itemsize == 4


def test_the_strictly_sequential_scan_is_one_item_and_one_launch() -> None:
    (stage,) = scan_plan("sum", PLAIN, 10**6, SEQUENTIAL, FACTS["intel"], tiles=1).stages
    assert (stage.groups, stage.group_size) == (1, 1)
    assert stage.spec.context()["lanes"] == 1


def test_exclusive_and_inclusive_are_two_kernels() -> None:
    inclusive, exclusive = (
        scan_plan("sum", PLAIN, 1000, SEQUENTIAL, FACTS["intel"], exclusive=e) for e in (False, True)
    )
    assert source_of(inclusive.stages[-1]) != source_of(exclusive.stages[-1])
    assert inclusive.stages[-1].spec != exclusive.stages[-1].spec
