"""Plans of chains: arrays are written before they are read, kernels are shared, and their text keeps the rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.kernel_rules import assert_rules
from support.line_chains import (
    LAST,
    LENGTH,
    LOW,
    ONE,
    POWERS,
    SCAN,
    SUM,
    TOP,
    assert_arrays_are_parameters,
    assert_room,
    assert_sound,
    plan_of,
)
from support.plans import FACTS, INTEL, MATRIX, MODES, PAIR, SECOND, SEQUENTIAL, chain_of, source_of

import clmapreduce as cm
from clmapreduce.domain.line import NARROW_LIMIT, Line
from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Plan

EVERY = pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
BOTH = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


# ------------------------------------------------------------------------------------------------------------ the plan
FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "map": (lambda x: (x + 1, x * 2), ("f4",)),
    "dot": (lambda x, y: SUM(x * y), ("f4", "f4")),
    "softmax": (lambda x: cm.math.exp(x - TOP(x)) / SUM(cm.math.exp(x - TOP(x))), ("f4",)),
    "variance": (lambda x: (SUM((x - SUM(x) / 9) ** 2), SUM(x), TOP(x), LOW(x)), ("f4",)),
    "place": (lambda x: (cm.Reduce("argmin")(x), SUM(x), cm.Reduce("any")(x > 1)), ("f4",)),
    "scans": (lambda x: (SCAN(x) / TOP(SCAN(x)), cm.Scan(SECOND, exclusive=True)(x)), ("f4",)),
    "powers": (lambda x: (SUM(POWERS(LOW(x)) * x), POWERS(LOW(x)) + x), ("f4",)),
    "ordered": (lambda x: (LAST(x), SUM(x), LAST(x * LAST(x))), ("f4",)),
    "records": (lambda r: (cm.Reduce(MATRIX)(r), cm.Scan(MATRIX)(r)), (PAIR,)),
    "constants": (lambda x, s: (x * s, s + 1, SUM(x) * s), ("f4", ONE)),
    "bools": (lambda x: (cm.Scan("any")(x > TOP(x) - 1), cm.Reduce("all")(x > 0)), ("f4",)),
    "integers": (lambda n: (SUM(n) // 3, n % TOP(n), cm.Scan("product")(n)), ("i2",)),
    "guard": (lambda x: (cm.guard(SCAN(x) > SUM(x), SCAN(x)), cm.guard(SUM(x) > 1, SUM(x))), ("f4",)),
    "partials": (lambda x: cm.Partials("sum")(x / TOP(x)), ("f4",)),
}
CASES = pytest.mark.parametrize(("function", "inputs"), FUNCTIONS.values(), ids=FUNCTIONS)


@CASES
@BOTH
@EVERY
@pytest.mark.parametrize("length", [1, 1000, 100_003, NARROW_LIMIT])
def test_plans_are_sound(
    function: Callable[..., Any], inputs: tuple[Any, ...], mode: ComputeMode, facts: Facts, length: int
) -> None:
    chain = chain_of(function, *inputs, fp64=facts.fp64)
    plan = chain.plan(Line(length), mode, facts, True)
    outputs = {f"out{k}" for k in range(len(chain.outputs))} or {"out0"}
    assert_sound(plan, {f"in{k}" for k in range(len(inputs))}, outputs)
    assert_room(plan, chain, length)
    assert len(plan.stages) <= chain.launches or chain.program.partials is not None
    assert plan.narrow is (length < NARROW_LIMIT) or chain.program.partials is not None


@CASES
def test_strict_plans_are_one_item_a_launch(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    chain = chain_of(function, *inputs)
    for stage in chain.plan(Line(10_000), SEQUENTIAL, INTEL, True, strict=True).stages:
        assert stage.group_size == 1
        if stage.spec.kernel != "cmr_upsweep":
            assert stage.groups == 1 and stage.spec.context().get("lanes", 1) == 1


@CASES
@BOTH
def test_the_text_of_every_link_keeps_the_rules(
    function: Callable[..., Any], inputs: tuple[Any, ...], mode: ComputeMode
) -> None:
    for facts in FACTS.values():
        for length in (100, LENGTH):
            plan = chain_of(function, *inputs, fp64=facts.fp64).plan(Line(length), mode, facts, True)
            for stage in plan.stages:
                source = source_of(stage)
                assert_rules(f"{stage.spec.kernel} of {length}", stage, source, facts, mode)
                assert_arrays_are_parameters(source)


@CASES
@BOTH
def test_lengths_share_kernels(function: Callable[..., Any], inputs: tuple[Any, ...], mode: ComputeMode) -> None:
    chain = chain_of(function, *inputs)
    one, two = (chain.plan(Line(length), mode, INTEL, True) for length in (LENGTH, LENGTH + 12_345))
    assert [stage.spec for stage in one.stages] == [stage.spec for stage in two.stages]


@CASES
@BOTH
def test_two_plans_of_one_chain_share_kernels(
    function: Callable[..., Any], inputs: tuple[Any, ...], mode: ComputeMode
) -> None:
    chain = chain_of(function, *inputs)
    one, two = (chain.plan(Line(LENGTH), mode, INTEL, True) for _ in range(2))
    assert [stage.spec for stage in one.stages] == [stage.spec for stage in two.stages]
    assert one.scratch == two.scratch
    assert [source_of(stage) for stage in one.stages] == [source_of(stage) for stage in two.stages]


def test_two_chains_of_one_function_share_kernels() -> None:
    """A formula traced again is the same kernel; of another formula a merge only knows the operator."""
    one, two = (plan_of(FUNCTIONS["softmax"][0], "f4") for _ in range(2))
    assert [stage.spec for stage in one.stages] == [stage.spec for stage in two.stages]


def test_indices_are_as_wide_as_the_line_also_behind_constants() -> None:
    """A link of constants in front is one element long, but strides are passed to the links of the line."""
    chain = chain_of(lambda x, s: (x + s, s * 2), ("f4", Access.STRIDED, 2), ONE)
    for length, narrow in ((NARROW_LIMIT - 1, True), (NARROW_LIMIT, False)):
        plan = chain.plan(Line(length), SEQUENTIAL, INTEL, True)
        assert plan.narrow is narrow
        assert plan.stages[-1].spec.context()["narrow"] is narrow


def test_links_of_one_kind_stay_distinct() -> None:
    plan = plan_of(lambda x: x / TOP(x - TOP(x)), "f4")
    reduces = [stage.spec for stage in plan.stages if stage.spec.kernel == "cmr_reduce"]
    assert len(reduces) == len(set(reduces)) == 2


def test_scratch_of_two_links_is_two_arrays() -> None:
    plan = plan_of(lambda x: x / TOP(x - TOP(x)), "f4")
    assert sorted(plan.scratch) == ["scalar0", "scalar1", "scratch0_0", "scratch0_1"]


def test_a_chain_of_one_link_is_that_links_plan() -> None:
    plan = plan_of(lambda x: SUM(x), "f4")
    assert list(plan.scratch) == ["scratch0"] and "compute units busy" in plan.why


def test_a_chain_says_why_it_is_one() -> None:
    plan = plan_of(lambda x: x / SUM(x), "f4")
    assert plan.why.startswith("a chain of 3 launches, cut where")
    assert plan.scope is Scope.DEVICE


def test_streaming_is_for_what_is_written_along_the_line() -> None:
    chain = chain_of(lambda x: x / SUM(x), "f4")
    for streaming in (True, False):
        texts = [source_of(stage) for stage in chain.plan(Line(LENGTH), SEQUENTIAL, INTEL, streaming).stages]
        assert ["CMR_STREAM(" in text[text.index("__kernel ") :] for text in texts] == [False, False, streaming]


def test_launches_are_counted_before_a_length_is_known() -> None:
    for function, inputs in FUNCTIONS.values():
        chain = chain_of(function, *inputs)
        if chain.program.partials is None:
            plan = chain.plan(Line(LENGTH), SEQUENTIAL, INTEL, True)
            merged_in_place = sum(link.powers is not None or link.ones for link in chain.links)
            assert chain.launches - merged_in_place <= len(plan.stages) <= chain.launches


# ---------------------------------------------------------------------------------------------------------- the checks
def test_the_check_of_arrays_notices_what_it_must() -> None:
    good = "__kernel void f(int *in0, int *out1) { out1[0] = in0[0]; p0_out3 = 1; }"
    assert_arrays_are_parameters(good)
    for bad in (good.replace("= in0", "= in1"), good.replace("out1[0]", "out2[0]"), good.replace("in0[0]", "1")):
        with pytest.raises(AssertionError):
            assert_arrays_are_parameters(bad)


def test_the_check_of_soundness_notices_a_stage_that_comes_too_early() -> None:
    plan = plan_of(lambda x: x / SUM(x), "f4")
    backwards = Plan(plan.stages[::-1], plan.scratch, plan.mode, plan.scope, plan.narrow, plan.why)
    assert_sound(plan, {"in0"}, {"out0"})
    with pytest.raises(AssertionError):
        assert_sound(backwards, {"in0"}, {"out0"})
