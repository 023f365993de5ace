"""Chains: which launches a long line takes, in which order, over which arrays; and that together they are the program."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_rules import assert_rules
from support.plans import FACTS, INTEL, MATRIX, MODES, PAIR, SECOND, SEQUENTIAL, chain_of, dtypes_of, source_of
from support.random_programs import Known, Written, accumulators, finished, prefixes, values_of, written

import clmapreduce as cm
from clmapreduce.domain.line import NARROW_LIMIT, Line
from clmapreduce.formula.formula import Access, Formula
from clmapreduce.formula.node import components
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Layout, Plan
from clmapreduce.program.step import Kind
from clmapreduce.reductions.together import BoundTogether
from clmapreduce.schemes.line.chain import Chain, Link

SUM, TOP, LOW = cm.Reduce("sum"), cm.Reduce("maximum"), cm.Reduce("minimum")
LAST, SCAN, POWERS = cm.Reduce(SECOND), cm.Scan("sum"), cm.Unfold("product")
ONE = ("f4", Access.ARGUMENT)
EVERY = pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
BOTH = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
LENGTH = 10**6


def told(link: Link) -> str:
    steps = ", ".join(step.told.split("(")[0] + ":" + step.bound.__class__.__name__[5:].lower() for step in link.steps)
    made = f"{steps} of powers" if link.powers is not None else steps
    return made or ("ones" if link.ones else "map")


def links(function: Callable[..., Any], *inputs: Any) -> list[str]:
    return [told(link) for link in chain_of(function, *inputs).links]


def stored(function: Callable[..., Any], *inputs: Any) -> list[str]:
    """The names of the arrays between launches."""
    return [kept.given.name for kept in chain_of(function, *inputs).stored.values()]


def plan_of(function: Callable[..., Any], *inputs: Any, length: int = LENGTH, mode: ComputeMode = SEQUENTIAL) -> Plan:
    return chain_of(function, *inputs).plan(Line(length), mode, INTEL, True)


# ------------------------------------------------------------------------------------------------------ order of links
def test_a_map_is_one_link() -> None:
    assert links(lambda x: x + 1, "f4") == ["map"]


def test_elementwise_parts_are_no_links_of_their_own() -> None:
    assert links(lambda x: SUM(x * x + 1) * 2, "f4") == ["Reduce:sum"]


def test_reduces_of_one_line_share_a_link() -> None:
    assert links(lambda x, y: (SUM(x), TOP(x * y), cm.Reduce("argmin")(y)), "f4", "f4") == [
        "Reduce:sum, Reduce:extremum, Reduce:argument"
    ]


def test_a_reduce_comes_as_early_as_it_can() -> None:
    """The minimum is asked for after the scan, but waits for nothing."""
    assert links(lambda x: (SCAN(x / TOP(x)), LOW(x)), "f4") == ["Reduce:extremum, Reduce:extremum", "Scan:sum"]


def test_what_keeps_an_order_goes_apart() -> None:
    assert links(lambda x: (LAST(x), SUM(x), TOP(x)), "f4") == ["Reduce:sum, Reduce:extremum", "Reduce:user"]


def test_two_that_keep_an_order_go_one_by_one() -> None:
    other = cm.Reduce(cm.Operator(lambda a, b: b, 0, commutative=False, check=False, name="other"))
    assert links(lambda x: (LAST(x), other(x)), "f4") == ["Reduce:user", "Reduce:user"]


def test_an_iteration_is_a_link_per_round_and_a_map() -> None:
    def iterated(x: Any) -> Any:
        for _ in range(5):
            x = x / TOP(x)
        return x

    assert links(iterated, "f4") == ["Reduce:extremum"] * 5 + ["map"]
    assert stored(iterated, "f4") == [f"scalar{k}" for k in range(5)], "no vector is ever stored"


def test_a_projection_is_a_reduce_and_a_map() -> None:
    assert links(lambda b, c: c * SUM(b * c) / SUM(c * c), "f4", "f4") == ["Reduce:sum, Reduce:sum", "map"]


def test_partials_end_a_chain() -> None:
    chain = chain_of(lambda x: cm.Partials("sum")(x / TOP(x)), "f4")
    assert [told(link) for link in chain.links] == ["Reduce:extremum", "Partials:sum"]


def test_constants_beside_vectors_are_a_link_in_front() -> None:
    chain = chain_of(lambda x, s: (x + 1, s * 2), "f4", ONE)
    assert [told(link) for link in chain.links] == ["ones", "map"]
    assert chain.links[0].layout is not None and chain.links[0].layout.targets == ("out1",)
    first, second = chain.plan(Line(LENGTH), SEQUENTIAL, INTEL, True).stages
    assert first.groups == 1 and second.groups > 1


def test_a_constant_of_a_reduced_value_is_no_link() -> None:
    assert links(lambda x, s: (SUM(x) * s, TOP(x) + 1), "f4", ONE) == ["Reduce:sum, Reduce:extremum"]


# ------------------------------------------------------------------------------------------------------------- unfolds
def test_an_unfold_that_is_reduced_is_reduced_where_it_is_made() -> None:
    assert links(lambda s: SUM(POWERS(s, 9) * 2), ONE) == ["Reduce:sum of powers"]
    assert stored(lambda s: SUM(POWERS(s, 9) * 2), ONE) == []


def test_several_reduces_of_one_unfold_share_its_walk() -> None:
    assert links(lambda s: (SUM(POWERS(s, 9)), TOP(POWERS(s, 9))), ONE) == ["Reduce:sum, Reduce:extremum of powers"]


def test_an_unfold_that_is_an_output_too_is_made_again_not_stored_between() -> None:
    def function(s: Any) -> Any:
        return SUM(POWERS(s, 9)), POWERS(s, 9)

    assert links(function, ONE) == ["Reduce:sum of powers", "Unfold:product"]
    assert stored(function, ONE) == []


def test_a_reduce_that_keeps_an_order_meets_stored_powers() -> None:
    assert links(lambda s: LAST(POWERS(s, 9)), ONE) == ["Unfold:product", "Reduce:user"]
    assert stored(lambda s: LAST(POWERS(s, 9)), ONE) == ["vector0"]


def test_an_unfold_of_a_reduced_value_waits_for_it() -> None:
    assert links(lambda x: SUM(POWERS(LOW(x)) * x), "f4") == ["Reduce:extremum", "Reduce:sum of powers"]


def test_a_reduce_of_two_unfolds_needs_one_of_them_stored() -> None:
    def function(s: Any, t: Any) -> Any:
        return SUM(POWERS(s, 9) * POWERS(t))

    assert links(function, ONE, ONE) == ["Unfold:product", "Reduce:sum of powers"]
    assert stored(function, ONE, ONE) == ["vector0"]


# --------------------------------------------------------------------------------------------------- what is in memory
def test_a_scan_that_ends_the_pipeline_carries_the_outputs() -> None:
    assert links(lambda x: (SCAN(x) * 2, x + 1), "f4") == ["Scan:sum"]
    assert stored(lambda x: SCAN(x) * 2, "f4") == []
    chain = chain_of(lambda x: (SCAN(x) * 2, x + 1), "f4")
    layout = chain.links[0].layout
    assert layout is not None and layout.tail is not None
    assert layout.targets == ("out0", "out1") and layout.sources == ("in0",)


def test_a_scan_that_is_the_output_needs_no_tail() -> None:
    layout = chain_of(lambda x: SCAN(x), "f4").links[0].layout
    assert layout is not None and layout.tail is None


def test_a_scan_is_stored_for_a_later_link() -> None:
    assert links(lambda x: TOP(SCAN(x)), "f4") == ["Scan:sum", "Reduce:extremum"]
    assert stored(lambda x: TOP(SCAN(x)), "f4") == ["vector0"]


def test_a_stored_scan_is_read_by_all_that_need_it() -> None:
    def function(x: Any) -> Any:
        total = SCAN(x)
        return total / TOP(total), LAST(total)

    assert links(function, "f4") == ["Scan:sum", "Reduce:extremum", "Reduce:user", "map"]
    assert [name[:-1] for name in sorted(stored(function, "f4"))] == ["scalar", "vector"]


def test_the_last_of_two_scans_is_not_stored() -> None:
    assert stored(lambda x: (cm.Scan("maximum")(x), SCAN(x)), "f4") == ["vector0"]
    assert links(lambda x: (cm.Scan("maximum")(x), SCAN(x)), "f4") == ["Scan:extremum", "Scan:sum"]


def test_one_value_is_computed_once_behind_the_reduce_that_completes_it() -> None:
    """dot / square is one number, stored as such: nobody divides per index."""
    chain = chain_of(lambda b, c: c * (SUM(b * c) / SUM(c * c)), "f4", "f4")
    first, second = chain.links
    assert [kept.given.dtype for kept in chain.stored.values()] == [np.dtype("f4")]
    assert first.layout is not None and first.layout.tail is not None and second.layout is not None
    assert any(node.dtype for node in first.layout.tail.formula.nodes)
    names = [getattr(node, "function", None) and node.function.name for node in second.layout.formula.nodes]  # type: ignore[attr-defined]
    assert "divide" not in names and names.count("multiply") == 1


def test_a_value_made_of_two_links_is_stored_by_the_later_one() -> None:
    chain = chain_of(lambda x: x * (SUM(x) + TOP(x - SUM(x))), "f4")
    assert [told(link) for link in chain.links] == ["Reduce:sum", "Reduce:extremum", "map"]
    plan = chain.plan(Line(LENGTH), SEQUENTIAL, INTEL, True)
    assert [stage.writes for stage in plan.stages if "scalar" in stage.writes[0]] == [("scalar1",), ("scalar0",)]
    assert "scalar1" not in plan.stages[-1].reads, "the map reads the sum of both, nothing else"


def test_records_between_links_keep_their_layout() -> None:
    chain = chain_of(lambda r: SUM(cm.Scan(MATRIX)(r)["a"]), PAIR)
    (kept,) = chain.stored.values()
    assert kept.given.dtype == PAIR
    plan = chain.plan(Line(1000), SEQUENTIAL, INTEL, True)
    assert plan.scratch["vector0"] == 1000 * PAIR.itemsize


@pytest.mark.parametrize(("function", "code"), [(SUM, "f4"), (cm.Reduce(MATRIX), PAIR)], ids=["number", "record"])
def test_an_output_that_is_a_reduce_itself_has_no_tail(function: Any, code: Any) -> None:
    (link,) = chain_of(function, code).links
    assert link.layout is not None and link.layout.tail is None


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


def assert_sound(plan: Plan, given: set[str], outputs: set[str]) -> None:
    """Arrays are written before they are read, by stages that do not read them, and each output once."""
    known = set(given)
    writers: Counter[str] = Counter()
    for stage in plan.stages:
        named = [a for a in stage.arguments if isinstance(a, str)]
        assert len(set(named)) == len(named), f"{stage.spec.kernel} is given an array twice"
        assert set(named) == {*stage.reads, *stage.writes}, stage.spec.kernel
        if stage.spec.kernel != "cmr_upsweep":  # which builds its levels in place
            assert not set(stage.reads) & set(stage.writes), stage.spec.kernel
        assert set(stage.reads) <= known | set(plan.scratch if stage.spec.kernel == "cmr_scan" else ()), (
            stage.spec.kernel
        )
        writers.update(stage.writes)
        known |= set(stage.writes)
    assert known <= {*given, *outputs, *plan.scratch}
    assert outputs <= set(writers)
    if not any(stage.spec.kernel == "cmr_upsweep" for stage in plan.stages):
        assert all(count == 1 for count in writers.values()), writers


def assert_room(plan: Plan, chain: Chain, length: int) -> None:
    """Every array between launches is as large as what is written to it; nothing is reserved that nobody uses."""
    sizes = {s.given.name: s.given.dtype.itemsize * (length if s.per_index else 1) for s in chain.stored.values()}
    for name, nbytes in plan.scratch.items():
        if name in sizes:
            assert nbytes == sizes.pop(name), name
    if len(chain.links) > 1:
        assert not sizes, "all of them are there"
    for stage, after in zip(plan.stages, plan.stages[1:], strict=False):
        for name in set(stage.writes) & set(after.reads) & {n for n in plan.scratch if n.startswith("scratch")}:
            bound = stage.spec.context()["into" if stage.spec.kernel == "cmr_unfold" else "op"].bound
            assert plan.scratch[name] == bound.layout.itemsize * stage.groups, name
    used = {name for stage in plan.stages for name in (*stage.reads, *stage.writes)}
    assert set(plan.scratch) <= used


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
    assert len(plan.stages) <= chain.launches or chain.program.kept is not None
    assert plan.narrow is (length < NARROW_LIMIT) or chain.program.kept is not None


@CASES
def test_strict_plans_are_one_item_a_launch(function: Callable[..., Any], inputs: tuple[Any, ...]) -> None:
    chain = chain_of(function, *inputs)
    for stage in chain.plan(Line(10_000), SEQUENTIAL, INTEL, True, strict=True).stages:
        assert stage.group_size == 1
        if stage.spec.kernel != "cmr_upsweep":
            assert stage.groups == 1 and dict(stage.spec.key).get("lanes", 1) == 1


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


def assert_arrays_are_parameters(source: str) -> None:
    """The kernel names no array but its own, and every one of its own."""
    head, body = source[source.index("__kernel ") :].split("{", 1)
    array = re.compile(r"\b(?:in|out|scalar|vector)\d+\b|\bparts\b")
    assert set(array.findall(head)) == set(array.findall(body))


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


def test_two_chains_share_nothing_but_merges() -> None:
    """A formula traced again is another kernel, whatever its text; a merge only knows its operator."""
    one, two = (plan_of(FUNCTIONS["softmax"][0], "f4") for _ in range(2))
    both = {stage.spec for stage in one.stages} & {stage.spec for stage in two.stages}
    assert {spec.kernel for spec in both} == {"cmr_merge"}


def test_indices_are_as_wide_as_the_line_also_behind_constants() -> None:
    """A link of constants in front is one element long, but strides are passed to the links of the line."""
    chain = chain_of(lambda x, s: (x + s, s * 2), ("f4", Access.STRIDED, 2), ONE)
    for length, narrow in ((NARROW_LIMIT - 1, True), (NARROW_LIMIT, False)):
        plan = chain.plan(Line(length), SEQUENTIAL, INTEL, True)
        assert plan.narrow is narrow
        assert dict(plan.stages[-1].spec.key)["narrow"] is narrow


def test_links_alike_in_kind_are_told_apart() -> None:
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
        if chain.program.kept is None:
            plan = chain.plan(Line(LENGTH), SEQUENTIAL, INTEL, True)
            merged_in_place = sum(link.powers is not None or link.ones for link in chain.links)
            assert chain.launches - merged_in_place <= len(plan.stages) <= chain.launches


def test_hundreds_of_links_are_found_in_no_time() -> None:
    def iterated(x: Any) -> Any:
        for _ in range(150):
            x = x / TOP(x)
        return x

    assert len(chain_of(iterated, "f4").links) == 151


# ------------------------------------------------------------------------------------------- random programs, in NumPy
def run(chain: Chain, given: dict[str, Any], length: int) -> dict[str, Any]:
    """Every array after the links have run, one after the other, on nothing but what their layouts name."""
    arrays = dict(given)
    for link in chain.links:
        assert link.layout is not None
        arrays |= ran(link, link.layout, arrays, length)
    return arrays


def read(formula: Formula, arrays: dict[str, Any]) -> Known:
    return {n: arrays[i.name] for i in formula.inputs for n in components(i.value).values()}


def ran(link: Link, layout: Layout, arrays: dict[str, Any], length: int) -> dict[str, Any]:
    """What a link stores, by name."""
    formula, known = layout.formula, read(layout.formula, arrays)
    if link.kind is None:
        found = [value[""] for value in values_of(formula.outputs, known, 1 if link.ones else length)]
        return {name: f[0] if link.ones else f for name, f in zip(layout.targets, found, strict=True)}
    if link.kind is Kind.REDUCE:
        assert link.bound is not None
        if link.powers is not None:
            assert link.base is not None
            powers = link.powers.bound
            elements = prefixes(powers, link.base.formula.outputs, read(link.base.formula, arrays), length, False)
            known |= {node: elements[leaf].astype(node.dtype) for leaf, node in link.powers.results.items()}
        *_, last = accumulators(link.bound, formula.outputs, known, length)
        results, count = finished(link.bound, last), 1
    else:
        (step,) = link.steps
        results, count = prefixes(step.bound, formula.outputs, known, length, step.exclusive), length
    if layout.tail is None:
        (name,) = layout.targets
        return {name: results[""]}
    known = read(layout.tail.formula, arrays) | {node: results[leaf] for leaf, node in layout.tail.results.items()}
    found = [value[""] for value in values_of(layout.tail.formula.outputs, known, count)]
    return {name: f[0] if link.kind is Kind.REDUCE else f for name, f in zip(layout.targets, found, strict=True)}


@given(written())
@settings(deadline=None, max_examples=200)
def test_link_by_link_is_the_whole_program(made: Written) -> None:
    chain = Chain(made.program, dtypes_of(made.program))
    arrays = run(chain, made.given, made.length)
    for k, wanted in enumerate(made.wanted):
        np.testing.assert_array_equal(arrays[f"out{k}"], wanted)
    assert set(arrays) == {*made.given, *(f"out{k}" for k in range(len(made.wanted))), *names(chain)}


def names(chain: Chain) -> list[str]:
    found = [kept.given.name for kept in chain.stored.values()]
    assert len(set(found)) == len(found)
    return found


@given(written(), st.sampled_from(sorted(FACTS)), st.sampled_from(MODES), st.sampled_from([1, 700, 50_001]))
@settings(deadline=None, max_examples=150)
def test_plans_of_random_programs_are_sound(made: Written, name: str, mode: ComputeMode, length: int) -> None:
    chain = Chain(made.program, dtypes_of(made.program))
    plan = chain.plan(Line(length), mode, FACTS[name], True)
    assert_sound(plan, set(made.given), {f"out{k}" for k in range(len(made.wanted))})
    assert_room(plan, chain, length)
    longer = chain.plan(Line(length), mode, FACTS[name], True)
    assert [stage.spec for stage in plan.stages] == [stage.spec for stage in longer.stages]


@given(written())
@settings(deadline=None, max_examples=150)
def test_links_obey_the_order_of_what_they_need(made: Written) -> None:
    """Reduces in one link wait for nothing of each other, and what keeps an order shares with nobody."""
    chain = Chain(made.program, dtypes_of(made.program))
    for link in chain.links:
        if link.kind is not Kind.REDUCE:
            assert len(link.steps) <= 1
        if len(link.steps) > 1:
            assert isinstance(link.bound, BoundTogether)
            assert all(step.bound.commutative for step in link.steps)
    done = [id(step) for link in chain.links for step in link.steps]
    assert len(set(done)) == len(done)
    fused = {id(link.powers) for link in chain.links if link.powers is not None}
    assert {id(step) for step in made.program.steps} <= {*done, *fused}


@given(written(), st.sampled_from(["pocl", "nvidia", "small"]), st.sampled_from(MODES))
@settings(deadline=None, max_examples=25)
def test_texts_of_random_programs_keep_the_rules(made: Written, name: str, mode: ComputeMode) -> None:
    chain = Chain(made.program, dtypes_of(made.program))
    for stage in chain.plan(Line(LENGTH), mode, FACTS[name], True).stages:
        source = source_of(stage)
        assert_rules(stage.spec.kernel, stage, source, FACTS[name], mode)
        assert_arrays_are_parameters(source)


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
