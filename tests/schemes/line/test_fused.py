"""Whole pipelines in one launch: who walks which line, with how many lanes, and what a group shares."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_rules import assert_rules, kernel_of
from support.plans import (
    FACTS,
    INTEL,
    MATRIX,
    MODES,
    PAIR,
    PARALLEL,
    SECOND,
    SEQUENTIAL,
    dtypes_of,
    pipeline_plan,
    program_of,
    share_of,
    sizes,
    source_of,
)
from support.random_programs import RandomProgram, random_programs

import clmapreduce as cm
from cl_templates.loader import _lookup
from clmapreduce.domain.line import NARROW_LIMIT, Lines
from clmapreduce.errors import DeviceMemoryError
from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan, Stage
from clmapreduce.schemes.common.boxes import LaunchBox, launch_box
from clmapreduce.schemes.line.fused import FIXED, plan_fused
from clmapreduce.schemes.line.fused_line import Fused
from clmapreduce.schemes.line.walks import Manner, View

SUM, TOP, SCAN = cm.Reduce("sum"), cm.Reduce("maximum"), cm.Scan("sum")
LAST, POWERS = cm.Reduce(SECOND), cm.Unfold("product")
ITEM, GROUP = Scope.ITEM, Scope.GROUP
ONE, LINE, ROW = ("f4", Access.ARGUMENT), ("f4", Access.LINE), ("f4", Access.ROW)
EVERY = pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
BOTH = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
SCOPES = pytest.mark.parametrize("scope", [ITEM, GROUP], ids=lambda scope: scope.name)

FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "map": (lambda x: x + 1, ("f4",)),
    "dot": (lambda x, y: SUM(x * y), ("f4", "f4")),
    "projection": (lambda b, c: c * SUM(b * c) / SUM(c * c), ("f4", LINE)),
    "softmax": (lambda x: cm.math.exp(x - TOP(x)) / SUM(cm.math.exp(x - TOP(x))), ("f4",)),
    "scans": (lambda x: (SCAN(x) / TOP(SCAN(x)), cm.Scan(SECOND, exclusive=True)(x)), ("f4",)),
    "ordered": (lambda x: (LAST(x), SUM(x)), ("f4",)),
    "powers": (lambda x: (SUM(POWERS(TOP(x)) * x), POWERS(TOP(x))), ("f4",)),
    "places": (lambda x, r: (cm.Reduce("argmin")(x), r * 2, x * r), ("f4", ROW)),
    "records": (lambda r: (cm.Reduce(MATRIX)(r), cm.Scan(MATRIX)(r)), (PAIR,)),
    "guard": (lambda x: (cm.guard(x > SUM(x), x), cm.guard(TOP(x) > 1, TOP(x))), ("f4",)),
    "integers": (lambda n: (n // TOP(n), SUM(n), cm.Scan("any")(n > 3)), ("i2",)),
}  # fmt: skip
CASES = pytest.mark.parametrize(("function", "inputs"), FUNCTIONS.values(), ids=FUNCTIONS)


def fused_of(function: Callable[..., Any], *inputs: Any, fp64: bool = True) -> Fused:
    program = program_of(function, *inputs, fp64=fp64)
    return Fused(program, dtypes_of(program))


def box_of(scope: Scope, mode: ComputeMode, facts: Facts) -> LaunchBox:
    return launch_box("fused_rows" if scope is ITEM else "fused_group", mode, facts)


def plan_of(fused_kernel: Fused, rows: int, length: int, scope: Scope, mode: ComputeMode, facts: Facts = INTEL) -> Plan:
    return plan_fused(fused_kernel, Lines(rows, length), scope, mode, facts, box_of(scope, mode, facts), "a test")


def stage_of(fused_kernel: Fused, rows: int, length: int, scope: Scope, mode: ComputeMode, facts: Facts = INTEL) -> Stage:
    (stage,) = plan_of(fused_kernel, rows, length, scope, mode, facts).stages
    return stage


def numbers(stage: Stage) -> Mapping[str, Any]:
    return stage.spec.context()


# ------------------------------------------------------------------------------------------------------ the whole plan
@CASES
@SCOPES
@BOTH
def test_one_launch_without_scratch(
    function: Callable[..., Any], inputs: tuple[Any, ...], scope: Scope, mode: ComputeMode
) -> None:
    fused_kernel = fused_of(function, *inputs)
    plan = plan_of(fused_kernel, 1, 1000, scope, mode)
    (stage,) = plan.stages
    assert not plan.scratch and plan.scope is scope and plan.mode is mode
    assert stage.writes == tuple(f"out{k}" for k in range(len(fused_kernel.outputs)))
    assert stage.arguments[: -len(sizes(stage))] == (*stage.reads, *stage.writes)
    assert stage.groups == 1


@CASES
@SCOPES
@BOTH
def test_texts_keep_the_rules(
    function: Callable[..., Any], inputs: tuple[Any, ...], scope: Scope, mode: ComputeMode
) -> None:
    for facts in FACTS.values():
        fused_kernel = fused_of(function, *inputs, fp64=facts.fp64)
        for rows, length in ((1, 1000), (10_000, 5), (1000, 65)):
            stage = stage_of(fused_kernel, rows, length, scope, mode, facts)
            assert_rules(f"{rows} of {length}", stage, source_of(stage), facts, mode)


@given(random_programs(), st.sampled_from([ITEM, GROUP]), st.sampled_from(MODES), st.sampled_from(["pocl", "nvidia", "small"]))
@settings(deadline=None, max_examples=20)
def test_texts_of_random_programs_keep_the_rules(case: RandomProgram, scope: Scope, mode: ComputeMode, name: str) -> None:
    fused_kernel = Fused(case.program, dtypes_of(case.program))
    stage = stage_of(fused_kernel, 100, case.length, scope, mode, FACTS[name])
    assert_rules(stage.spec.kernel, stage, source_of(stage), FACTS[name], mode)


def test_inputs_that_nothing_needs_are_left_out() -> None:
    stage = stage_of(fused_of(lambda x, y, s: y * 2, "f4", "f4", ONE), 1, 100, GROUP, PARALLEL)
    assert stage.reads == ("in1",)
    assert "in0" not in source_of(stage) and "in2" not in source_of(stage)


# -------------------------------------------------------------------------------------------------------- fixed lengths
@pytest.mark.parametrize("length", [1, 3, FIXED - 1, FIXED])
def test_short_lengths_are_written_into_the_kernel(length: int) -> None:
    fused_kernel = fused_of(lambda x: x / SUM(x), "f4")
    stage = stage_of(fused_kernel, 77, length, ITEM, SEQUENTIAL)
    assert sizes(stage) == [77, sizes(stage)[-1]]
    assert f"const idx n = {length};" in source_of(stage)
    assert stage.spec != stage_of(fused_kernel, 77, length + 1, ITEM, SEQUENTIAL).spec


@pytest.mark.parametrize("length", [0, FIXED + 1, 1000])
def test_other_lengths_are_arguments(length: int) -> None:
    fused_kernel = fused_of(lambda x: x / SUM(x), "f4")
    stage = stage_of(fused_kernel, 77, length, ITEM, SEQUENTIAL)
    assert sizes(stage)[:2] == [length, 77]
    assert "const idx n," in source_of(stage)
    if length:
        assert stage.spec == stage_of(fused_kernel, 78, 12_345, ITEM, SEQUENTIAL).spec


@pytest.mark.parametrize("length", [5, 32, 39, 40, 47, 1000, 1007])
def test_long_lines_are_walked_in_vectors(length: int) -> None:
    """Where few elements are left over; and never where something runs along the line, or places are asked for."""
    stage = stage_of(fused_of(lambda x: x / SUM(x), "f4"), 77, length, ITEM, SEQUENTIAL)
    assert (stage.spec.lanes, stage.spec.along) == ((1, 8) if length in (32, 40, 1000, 1007) else (8, 1))
    for function in (lambda x: cm.Scan("sum")(x) - x, lambda x: x * cm.Reduce("argmax")(x)):
        assert stage_of(fused_of(function, "f4"), 77, length, ITEM, SEQUENTIAL).spec.along == 1


@SCOPES
@BOTH
def test_kernels_are_shared_between_plans_and_counts_of_lines(scope: Scope, mode: ComputeMode) -> None:
    fused_kernel = fused_of(lambda x: x / SUM(x), "f4")
    one, two, more = (stage_of(fused_kernel, rows, 5, scope, mode).spec for rows in (100, 100, 100_000))
    assert one == two == more
    assert one == stage_of(fused_of(lambda x: x / SUM(x), "f4"), 100, 5, scope, mode).spec, "traced again"
    assert one != stage_of(fused_of(lambda x: x - SUM(x), "f4"), 100, 5, scope, mode).spec


# ---------------------------------------------------------------------------------------------------------------- lanes
@pytest.mark.parametrize(("code", "widest"), [("f4", 8), ("f8", 8), ("i1", 8), ("u1", 8)])
def test_lines_side_by_side_fill_a_vector_of_the_widest_number(code: str, widest: int) -> None:
    """Sums accumulate in eight bytes."""
    stage = stage_of(fused_of(lambda x: x * SUM(x), code), 1000, 5, ITEM, SEQUENTIAL)
    assert numbers(stage)["lanes"] == box_of(ITEM, SEQUENTIAL, INTEL).bytes // widest


@pytest.mark.parametrize(("code", "lanes"), [("f4", 16), ("i2", 16), ("f8", 8)])
def test_narrow_operators_leave_more_lanes(code: str, lanes: int) -> None:
    stage = stage_of(fused_of(lambda x: x - TOP(x), code), 1000, 5, ITEM, SEQUENTIAL)
    assert numbers(stage)["lanes"] == lanes


ALONE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "records": (lambda r: cm.Reduce(MATRIX)(r), (PAIR,)),
    "complex numbers": (lambda z: SUM(z), ("c8",)),
    "strides": (lambda x: SUM(x), (("f4", Access.STRIDED, 2),)),
}


@pytest.mark.parametrize("name", ALONE)
def test_what_has_no_lanes_goes_line_by_line(name: str) -> None:
    function, inputs = ALONE[name]
    fused_kernel = fused_of(function, *inputs)
    assert not fused_kernel.vectorisable
    assert numbers(stage_of(fused_kernel, 1000, 5, ITEM, SEQUENTIAL))["lanes"] == 1


def test_only_several_lines_of_items_in_order_go_side_by_side() -> None:
    fused_kernel = fused_of(lambda x: x - TOP(x), "f4")
    assert numbers(stage_of(fused_kernel, 1000, 5, ITEM, SEQUENTIAL))["lanes"] > 1
    for rows, scope, mode in (
        (1, ITEM, SEQUENTIAL),
        (1000, GROUP, SEQUENTIAL),
        (1000, ITEM, PARALLEL),
        (9, GROUP, PARALLEL),
    ):
        assert numbers(stage_of(fused_kernel, rows, 5, scope, mode))["lanes"] == 1, (rows, scope, mode)


def test_what_keeps_an_order_may_still_go_side_by_side() -> None:
    """A line stays in one lane, so nothing is reordered."""
    assert numbers(stage_of(fused_of(lambda x: LAST(x) + x, "f4"), 1000, 5, ITEM, SEQUENTIAL))["lanes"] > 1


def test_side_by_side_every_line_is_walked_with_lanes_or_alone() -> None:
    text = kernel_of(source_of(stage_of(fused_of(lambda x: x - TOP(x), "f4"), 1000, 5, ITEM, SEQUENTIAL)))
    assert text.index("for (; row + 16 <= last; row += 16)") < text.index("for (; row < last; row++)")


# ------------------------------------------------------------------------------------------------- who walks which line
@EVERY
@BOTH
@SCOPES
@pytest.mark.parametrize(("rows", "length"), [
    (1, 5), (2, 5), (15, 3), (16, 3), (17, 3), (1000, 100), (100_003, 7), (7, NARROW_LIMIT // 7),
    (NARROW_LIMIT - 1, 1), (NARROW_LIMIT, 1), (2**16, 2**15 - 17), (2**16, 2**15), (2**33 + 1, 3), (3, 2**40), (5, 0),
])  # fmt: skip
def test_every_line_is_in_one_groups_share(
    facts: Facts, mode: ComputeMode, scope: Scope, rows: int, length: int
) -> None:
    """As the kernel's text computes it, in the kernel's own index type."""
    fused_kernel = fused_of(lambda x: x - TOP(x), "f4")
    plan = plan_of(fused_kernel, rows, length, scope, mode, facts)
    (stage,) = plan.stages
    source = source_of(stage).replace("(rows - first)", "(n - first)")
    assert plan.narrow is (rows * max(length, 1) < NARROW_LIMIT)
    assert ("typedef int idx;" in source) is plan.narrow
    share = sizes(stage)[-1]
    for g in {0, min(1, stage.groups - 1), stage.groups // 2, max(0, stage.groups - 2), stage.groups - 1}:
        begin, end = share_of(source, g, rows, share)
        assert begin == g * share and begin < end
        assert end == (rows if g == stage.groups - 1 else begin + share)
    assert stage.groups * share < (2**31 if plan.narrow else 2**63), "no product overflows"
    cap = facts.compute_units * max(1, box_of(scope, mode, facts).groups)
    assert stage.groups <= cap
    if scope is ITEM:
        assert share % (stage.group_size * numbers(stage)["lanes"]) == 0, "items get equal numbers of lines"


def test_few_lines_are_as_many_groups() -> None:
    fused_kernel = fused_of(lambda x: x - SCAN(x), "f4")
    for facts in FACTS.values():
        stage = stage_of(fused_kernel, 30, 1000, GROUP, PARALLEL, facts)
        assert (stage.groups, sizes(stage)[-1]) == (30, 1)


def test_items_in_parallel_stride_over_the_groups_lines() -> None:
    text = kernel_of(
        source_of(stage_of(fused_of(lambda x: x - TOP(x), "f4"), 1000, 5, ITEM, PARALLEL, FACTS["nvidia"]))
    )
    assert re.search(r"for \(idx row = first \+ \(idx\)get_local_id\(0\); row < last; row \+= 128\)", text)


# ----------------------------------------------------------------------------------------------------- what is shared
@CASES
def test_items_share_nothing(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    for facts in FACTS.values():
        text = source_of(stage_of(fused_of(function, *inputs, fp64=facts.fp64), 1000, 5, ITEM, PARALLEL, facts))
        assert "barrier" not in text and "__local" not in text and "shfl" not in text


@EVERY
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_a_group_takes_half_of_local_memory_at_most(facts: Facts, steps: int) -> None:
    fused_kernel = fused_of(lambda x: sum(SUM(x + k) for k in range(steps)), "f4", fp64=facts.fp64)
    for memory in (1 << 10, 1 << 12, 1 << 16):
        stage = stage_of(fused_kernel, 1, 1000, GROUP, PARALLEL, replace(facts, local_memory=memory))
        local_bytes = stage.spec.local_bytes
        assert local_bytes == 8 * steps * stage.group_size
        assert local_bytes <= memory // 2 or stage.group_size == 1


def test_too_many_accumulators_for_one_item_are_refused() -> None:
    fused_kernel = fused_of(lambda x: sum(SUM(x + k) for k in range(40)), "f4")
    with pytest.raises(DeviceMemoryError, match=r"320 bytes of local memory, the device has 256"):
        stage_of(fused_kernel, 1, 1000, GROUP, PARALLEL, replace(INTEL, local_memory=256))
    stage_of(fused_kernel, 1, 1000, ITEM, SEQUENTIAL, replace(INTEL, local_memory=256))


@EVERY
def test_a_group_is_no_larger_than_the_device_allows(facts: Facts) -> None:
    for scope in (ITEM, GROUP):
        stage = stage_of(fused_of(lambda x: x - TOP(x), "f4"), 10, 1000, scope, PARALLEL, facts)
        assert stage.group_size <= facts.max_group_size


# --------------------------------------------------------------------------------------------------------------- walks
def view_of(function: Callable[..., Any], *inputs: Any, parallel: bool = True, lanes: int = 1) -> View:
    return fused_of(function, *inputs).view(lanes, Manner(parallel, True))


WALKS: list[tuple[Callable[..., Any], list[bool]]] = [
    (lambda x: x + 1, [False]),
    (lambda x: SUM(x), [False]),
    (lambda x: x / SUM(x), [False, False]),
    (lambda x: SCAN(x), [True]),
    (lambda x: LAST(x), [True]),
    (lambda x: (LAST(x), SUM(x)), [True]),
    (lambda x: x / TOP(SCAN(x)), [True, False]),
    (lambda x: SCAN(x - TOP(x)), [False, True]),
    (lambda x: POWERS(SUM(x)), [False, True]),
    (lambda x: SUM(x * LAST(x)), [True, False]),
]


@pytest.mark.parametrize(("function", "sync"), WALKS)
def test_items_go_in_step_only_where_one_needs_what_another_has(function: Callable[..., Any], sync: list[bool]) -> None:
    assert [walk.sync for walk in view_of(function, "f4").phases] == sync
    assert not any(walk.sync for walk in view_of(function, "f4", parallel=False).phases)


@pytest.mark.parametrize(("function", "sync"), WALKS)
def test_past_the_end_of_a_line_in_step_nothing_is_kept(function: Callable[..., Any], sync: list[bool]) -> None:
    for walk in view_of(function, "f4").phases:
        assert any(segment.live for segment in walk.segments) is walk.sync
        stores = [segment for segment in walk.segments if re.search(r"^out\d+\[", segment.text, re.M)]
        assert all(segment.live is walk.sync for segment in stores)


def test_a_scan_is_a_turn_between_statements() -> None:
    (walk,) = view_of(lambda x: SCAN(x * 2) + 1, "f4").phases
    assert [segment.scan for segment in walk.segments if segment.scan or segment.live] == [False, True, False]
    assert next(segment.names for segment in walk.segments if segment.scan)[:4] == ("p0_a0", "p0_a0_x", "p0_a0_before", "p0_a0_upto")


def test_every_walk_of_a_scan_begins_again() -> None:
    first, second = view_of(lambda x: SCAN(x) / TOP(SCAN(x)), "f4").phases
    assert "double p0_a0_total = " in first.before and "double p1_a0_total = " in second.before


def test_reduces_that_keep_an_order_are_not_combined_at_the_end() -> None:
    (walk,) = view_of(lambda x: (LAST(x), SUM(x)), "f4").phases
    assert [name for _, name, _ in walk.combined] == ["p0_a1"]
    (walk,) = view_of(lambda x: (LAST(x), SUM(x)), "f4", parallel=False).phases
    assert len(walk.combined) == 2, "one item has met all values in order"


def test_one_value_for_the_line_is_computed_before_the_loop() -> None:
    first, second = view_of(lambda x: x * (1 / SUM(x)), "f4").phases
    body = "\n".join(segment.text for segment in second.segments)
    assert "/" in first.after + second.before
    assert "/" not in body


def test_values_for_the_line_are_stored_by_the_leader() -> None:
    view = view_of(lambda x: (SUM(x), x), "f4")
    assert view.leader.count("out0[row]") == 1 and "out1" not in view.leader
    assert "out0" not in "".join(s.text for walk in view.phases for s in walk.segments)


@pytest.mark.parametrize("lanes", [1, 4, 16])
def test_every_lane_stores_to_its_own_line(lanes: int) -> None:
    (walk,) = view_of(lambda x: x + 1, "f4", parallel=False, lanes=lanes).phases
    store_rows = _lookup.get_template("kernel/line/fused_group.cl.mako").get_def("store_rows")
    modes = {"compute_mode": "seq", "row_mode": "seq"}
    text = "".join(segment.text for segment in walk.segments)
    text += "".join(store_rows.render_unicode(s.store, lanes, **modes) for s in walk.segments if s.store is not None)
    places = re.findall(r"out0\[(.*?)\] =", text)
    rows = [eval(p, {"__builtins__": {}}, {"row_begin": 700, "n": 7, "i": 3}) for p in places]
    assert rows == [700 + lane * 7 + 3 for lane in range(lanes)]


def test_names_of_steps_are_their_own() -> None:
    fused_kernel = fused_of(FUNCTIONS["scans"][0], "f4")
    assert len(set(fused_kernel.names.values())) == len(fused_kernel.program.steps)
    assert len({name for _, name in fused_kernel.scratch(True)}) == len(fused_kernel.program.steps)


def test_dtypes_are_all_that_is_computed_with() -> None:
    fused_kernel = fused_of(lambda x: x / SUM(x.astype("i2")), "f4")
    assert set(fused_kernel.dtypes) == {np.dtype(code) for code in ("f4", "i2", "i8", "f8")}


def test_pipelines_of_the_catalogue_plan_as_here() -> None:
    plan = pipeline_plan(lambda x: x - TOP(x), 5, SEQUENTIAL, INTEL, ITEM, "f4", rows=100)
    assert plan.stages[0].groups == stage_of(fused_of(lambda x: x - TOP(x), "f4"), 100, 5, ITEM, SEQUENTIAL).groups
