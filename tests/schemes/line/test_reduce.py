"""The plan of a reduce: shares that cover the line, with bounds on chains and counters, then one merge."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plans import (
    FACTS,
    INTEL,
    MATRIX,
    MODES,
    PAIR,
    PARALLEL,
    SECOND,
    SEQUENTIAL,
    assert_covered,
    bound_of,
    formula_of,
    reduce_plan,
    sizes,
    source_of,
)

from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.formula.formula import Access, Formula
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Stage
from clmapreduce.reductions import NAMED
from clmapreduce.reductions.text import OperatorText
from clmapreduce.schemes.common.boxes import launch_box
from clmapreduce.schemes.line.reduce import GROUP_TILES, ONCE, SHORT, box_name, talks

PLAIN, WIDE, BYTE = (formula_of(lambda x: x, code) for code in ("f4", "f8", "u1"))
DEAR = formula_of(lambda x: (x + 1) * (x - 2) / (x * x + 3) - x * 5 + x * x, "f4")
RECORD = formula_of(lambda r: r, PAIR)
LENGTHS = [0, 1, 16, 127, 128, 129, 511, 512, 513, 100_003, NARROW_LIMIT - 1, NARROW_LIMIT, 2**31, 2**36 + 5]
EVERY = pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
BOTH = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


def numbers(stage: Stage) -> dict[str, int]:
    return {name: value for name, value in stage.spec.context().items() if isinstance(value, int)}


@EVERY
@BOTH
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("op", ["sum", "argmin", SECOND], ids=["sum", "argmin", "second"])
def test_every_value_is_folded_once(facts: Facts, mode: ComputeMode, length: int, op: Any) -> None:
    plan = reduce_plan(op, PLAIN, length, mode, facts)
    assert_covered(plan.stages[0])
    first, last = plan.stages[0], plan.stages[-1]
    if first.groups == 1:
        assert plan.stages == (first,) and first.writes == ("out0",)
        assert not plan.scratch
    elif talks(mode, facts) and length * max(1, PLAIN.operations) <= ONCE:
        assert plan.stages == (first,) and first.whole and first.writes == ("out0", "scratch0", "done0")
        assert sizes(first)[-1] == first.groups, "every group's accumulator is merged"
        assert plan.scratch == {"scratch0": first.groups * bound_of(op, PLAIN, facts).layout.itemsize}
        assert len(plan.tables["done0"]) == 1 and not plan.tables["done0"].values.any()
    else:
        assert plan.stages == (first, last)
        assert first.writes == last.reads == ("scratch0",)
        assert last.writes == ("out0",)
        assert sizes(last) == [first.groups], "every group's accumulator is merged"
        assert plan.scratch == {"scratch0": first.groups * bound_of(op, PLAIN, facts).layout.itemsize}


@EVERY
@BOTH
@pytest.mark.parametrize("formula", [PLAIN, DEAR], ids=["plain", "dear"])
def test_a_short_line_is_one_launch(formula: Formula, facts: Facts, mode: ComputeMode) -> None:
    """Shorter, where an element takes several operations, but not below 16,384 on CPUs."""
    stage = reduce_plan("maximum", formula, 10**8, mode, facts).stages[0]
    n = numbers(stage)
    tile = n["block"] * n["lanes"] * n["unroll"] * n["streams"]
    most = launch_box("extremum", mode, facts).alone
    most = max(GROUP_TILES * tile, most // formula.operations, min(most, SHORT))
    short, longer = (reduce_plan("maximum", formula, most + extra, mode, facts) for extra in (0, 1))
    assert len(short.stages) == 1 and short.scope is (Scope.ITEM if mode is SEQUENTIAL else Scope.GROUP)
    assert longer.stages[0].groups > 1 and longer.scope is Scope.DEVICE
    assert len(longer.stages) == (1 if talks(mode, facts) else 2)


@EVERY
@BOTH
@pytest.mark.parametrize("op", [SECOND, MATRIX], ids=lambda op: op.name)
def test_operators_whose_order_matters_get_no_lanes(facts: Facts, mode: ComputeMode, op: Any) -> None:
    formula = RECORD if op is MATRIX else PLAIN
    for length in (3, 10**6):
        for stage in reduce_plan(op, formula, length, mode, facts).stages[:1]:
            assert numbers(stage)["lanes"] == 1
            assert stage.spec.context()["ordered"] is True
            source = source_of(stage)
            alone, warps = "span_begin" in source, "of_warp" in source
            assert alone or warps or mode is SEQUENTIAL, "each item or warp walks a stretch of its own"
            assert warps == (mode is PARALLEL and facts.exchange_width > 1)


@EVERY
@BOTH
@pytest.mark.parametrize("name", NAMED)
def test_named_operators_stride_and_use_lanes(facts: Facts, mode: ComputeMode, name: str) -> None:
    stage = reduce_plan(name, PLAIN, 10**6, mode, facts).stages[0]
    n = numbers(stage)
    assert n["lanes"] == min(16, {"cpu": 64 if mode is SEQUENTIAL else 16, "gpu": 16}[facts.kind] // 4)
    assert stage.spec.context()["ordered"] is False


@pytest.mark.parametrize(("op", "code", "lanes"), [
    ("sum", "u1", 8), ("sum", "i2", 8), ("maximum", "u1", 16), ("maximum", "i2", 8), ("any", "?", 16), ("sum", "i4", 2),
    ("argmax", "i2", 8), ("maximum", "f4", 4),
])  # fmt: skip
def test_short_numbers_fill_vectors_in_memory_on_gpus(op: str, code: str, lanes: int) -> None:
    """What is computed of one may take 64 bytes; sums have 8 bytes a number."""
    (stage, *_) = reduce_plan(op, formula_of(lambda x: x.astype("i8") if op == "sum" else x, code), 10**6, PARALLEL, FACTS["nvidia"]).stages
    assert numbers(stage)["lanes"] == lanes


def test_places_of_short_numbers_have_the_lanes_of_what_is_computed() -> None:
    formula = formula_of(lambda x: x.astype("f4"), "i2")
    assert numbers(reduce_plan("argmax", formula, 10**6, PARALLEL, FACTS["nvidia"]).stages[0])["lanes"] == 4
    assert numbers(reduce_plan("maximum", formula, 10**6, PARALLEL, FACTS["nvidia"]).stages[0])["lanes"] == 8


@EVERY
@BOTH
@pytest.mark.parametrize("length", [10**4, 10**6, 10**8, 2**31 - 1, 2**34])
def test_no_accumulator_absorbs_a_longer_chain_than_its_operator_allows(
    facts: Facts, mode: ComputeMode, length: int
) -> None:
    operator = bound_of("sum", PLAIN, facts, "compensated")
    assert operator.chain == 4096
    stage = reduce_plan("sum", PLAIN, length, mode, facts, accumulate="compensated").stages[0]
    n = numbers(stage)
    accumulators = n["block"] * n["lanes"] * n["streams"]
    share = sizes(stage)[1]
    assert min(share, length) / accumulators <= operator.chain + n["unroll"], "a share is whole tiles: one more at most"


def test_a_plain_float32_sum_on_a_device_without_float64_is_compensated() -> None:
    assert bound_of("sum", PLAIN, FACTS["small"]).chain == 4096
    plan = reduce_plan("sum", PLAIN, 10**8, PARALLEL, FACTS["small"])
    assert plan.stages[0].groups > FACTS["small"].compute_units * 6, "more groups, so that chains stay short"
    assert all("double" not in source_of(stage) for stage in plan.stages)


@EVERY
@BOTH
@pytest.mark.parametrize("formula", [PLAIN, WIDE, BYTE], ids=["f4", "f8", "u1"])
@pytest.mark.parametrize("length", [10**6, 2**31, 2**40, 2**46, 2**52])
def test_locates_counter_of_blocks_never_overflows(
    facts: Facts, mode: ComputeMode, formula: Formula, length: int
) -> None:
    if formula is WIDE and not facts.fp64:
        return
    operator = bound_of("argmax", formula, facts)
    limit = OperatorText(operator).block_limit
    stage = reduce_plan("argmax", formula, length, mode, facts).stages[0]
    n = numbers(stage)
    share = sizes(stage)[1]
    blocks = share // (n["block"] * n["lanes"] * n["unroll"] * n["streams"])
    assert blocks <= limit
    strict = reduce_plan("argmax", formula, length, SEQUENTIAL, facts, tiles=1).stages[0]
    assert sizes(strict)[1] // numbers(strict)["unroll"] <= limit


def test_the_strictly_sequential_run_is_one_item_one_lane_one_stretch() -> None:
    for facts in FACTS.values():
        for op in ("sum", "argmin", SECOND):
            plan = reduce_plan(op, PLAIN, 10**7 + 3, SEQUENTIAL, facts, tiles=1)
            (stage,) = plan.stages
            n = numbers(stage)
            assert (stage.groups, stage.group_size) == (1, 1)
            assert (n["lanes"], n["unroll"], n["streams"]) == (1, 1, 1)
            assert plan.scope is Scope.ITEM
            assert_covered(stage)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_the_host_may_merge(mode: ComputeMode) -> None:
    plan = reduce_plan("sum", PLAIN, 10**7, mode, INTEL, on_host=True)
    (stage,) = plan.stages
    assert plan.finish_on_host and stage.writes == ("out0",)
    assert plan.scratch == {"out0": 8 * stage.groups}
    short = reduce_plan("sum", PLAIN, 10, mode, INTEL, on_host=True)
    assert not short.finish_on_host, "one group finishes itself"


def test_boxes_are_chosen_by_operator_and_inputs() -> None:
    two = formula_of(lambda x, y: x * y, "f4", "f4")
    products = formula_of(lambda x, s: x * s, "f4", ("f4", Access.ARGUMENT))
    assert box_name(bound_of("sum", PLAIN, INTEL), PLAIN) == "reduce"
    assert box_name(bound_of("sum", two, INTEL), two) == "reduce2"
    assert box_name(bound_of("sum", products, INTEL), products) == "reduce", "a number is no stream"
    assert box_name(bound_of("argmin", two, INTEL), two) == "locate"
    assert box_name(bound_of("logsumexp", two, INTEL), two) == "logsumexp"


@given(st.integers(0, 2**40), st.integers(1, 500), st.sampled_from(["sum", "argmax", "logsumexp"]))
@settings(deadline=None, max_examples=60)
def test_any_length_on_any_number_of_compute_units_is_covered(length: int, units: int, op: str) -> None:
    for mode in MODES:
        assert_covered(reduce_plan(op, PLAIN, length, mode, replace(INTEL, compute_units=units)).stages[0])


def test_groups_are_no_larger_than_local_memory_allows() -> None:
    tight = replace(FACTS["nvidia"], local_memory=2048)
    plan = reduce_plan(MATRIX, RECORD, 10**6, PARALLEL, tight)
    itemsize = bound_of(MATRIX, RECORD, tight).layout.itemsize
    for stage in plan.stages:
        assert stage.group_size * itemsize <= 1024


@pytest.mark.parametrize("name", ["reduce", "reduce2", "extremum", "locate"])
def test_one_item_of_a_gpu_takes_no_long_line_alone(name: str) -> None:
    """It reads a number at a time, each of which it waits for."""
    assert launch_box(name, SEQUENTIAL, FACTS["nvidia"]).alone <= SHORT < launch_box(name, SEQUENTIAL, INTEL).alone
