"""Phases: the fewest walks over a line, the steps in each walk, and the values that are one per line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from support.plans import program_of
from support.random_programs import RandomProgram, inputs_known, random_programs, results_of_step, values_of

import clmapreduce as cm
from clmapreduce.formula.formula import Access
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Literal, Node, Symbol, components, index, postorder
from clmapreduce.program.phases import Phase, constants, phases, running
from clmapreduce.program.step import Kind, Result

SUM, TOP, LOW = cm.Reduce("sum"), cm.Reduce("maximum"), cm.Reduce("minimum")
SCAN, POWERS = cm.Scan("sum"), cm.Unfold("product")
F4 = np.dtype("f4")


def labels_of(phase: Phase) -> tuple[list[str], list[str], tuple[int, ...]]:
    """(labels of running steps, labels of reduces, numbers of outputs) of a phase."""
    return [s.label for s in phase.running], [s.label for s in phase.reduces], phase.outputs


def walks(function: Callable[..., Any], *inputs: Any) -> list[tuple[list[str], list[str], tuple[int, ...]]]:
    return [labels_of(phase) for phase in phases(program_of(function, *inputs))]


def test_a_map_is_one_walk() -> None:
    assert walks(lambda x: x + 1, "f4") == [([], [], (0,))]


def test_reduces_that_wait_for_nothing_share_a_walk() -> None:
    assert walks(lambda x: (SUM(x), TOP(x), LOW(x * 2)), "f4") == [
        ([], ["Reduce('sum')", "Reduce('maximum')", "Reduce('minimum')"], ())
    ]


def test_what_waits_for_a_reduce_comes_a_walk_later() -> None:
    assert walks(lambda x: SUM(x - TOP(x)), "f4") == [([], ["Reduce('maximum')"], ()), ([], ["Reduce('sum')"], ())]


def test_a_late_reduce_does_not_hold_up_an_early_one() -> None:
    """sum waits for the maximum, the minimum does not: it comes in the first walk although it is written last."""
    assert walks(lambda x: (SUM(x - TOP(x)), LOW(x)), "f4") == [
        ([], ["Reduce('maximum')", "Reduce('minimum')"], ()),
        ([], ["Reduce('sum')"], ()),
    ]


def test_scans_run_along_in_the_walk_that_reduces_them() -> None:
    assert walks(lambda x: TOP(SCAN(SCAN(x))), "f4") == [(["Scan('sum')", "Scan('sum')"], ["Reduce('maximum')"], ())]


def test_a_scan_is_walked_again_where_its_values_are_needed_again() -> None:
    assert walks(lambda x: SCAN(x) / TOP(SCAN(x)), "f4") == [
        (["Scan('sum')"], ["Reduce('maximum')"], ()),
        (["Scan('sum')"], [], (0,)),
    ]


def test_a_scan_that_no_later_walk_needs_is_not_repeated() -> None:
    assert walks(lambda x: x / TOP(SCAN(x)), "f4")[1] == ([], [], (0,))


def test_an_unfold_runs_along_like_a_scan() -> None:
    assert walks(lambda x: SUM(POWERS(LOW(x)) * x), "f4") == [
        ([], ["Reduce('minimum')"], ()),
        (["Unfold('product')"], ["Reduce('sum')"], ()),
    ]


def test_outputs_that_are_one_value_need_no_walk_of_their_own() -> None:
    assert walks(lambda x: (SUM(x), SUM(x) * 2, TOP(x) - SUM(x)), "f4") == [
        ([], ["Reduce('sum')", "Reduce('maximum')"], ())
    ]


def test_outputs_along_the_line_are_stored_in_the_last_walk() -> None:
    assert walks(lambda x: (SUM(x), x / SUM(x), x + 1), "f4") == [([], ["Reduce('sum')"], ()), ([], [], (1, 2))]


def test_a_program_of_constants_walks_nowhere() -> None:
    assert walks(lambda s: (s + 1, 3), ("f4", Access.ARGUMENT)) == []


def test_hundreds_of_nested_steps_are_no_deeper_than_others() -> None:
    def scans(x: Any) -> Any:
        for _ in range(600):
            x = cm.Scan("maximum")(x)
        return x

    (phase,) = phases(program_of(scans, "f4"))
    assert len(phase.running) == 600


# --------------------------------------------------------------------------------------- random programs, by the rules
def results_below(roots: list[Node]) -> list[Result]:
    return [node for node in postorder(roots) if isinstance(node, Result)]


@given(random_programs())
@settings(deadline=None, max_examples=100)
def test_walks_are_as_few_as_reduces_that_wait_for_each_other(case: RandomProgram) -> None:
    along = any(np.ndim(expected) for expected in case.expected)
    assert len(phases(case.program)) == case.depth + along, "and one more for outputs along the line"


@given(random_programs())
@settings(deadline=None, max_examples=100)
def test_no_walk_is_unused_and_no_reduce_comes_twice(case: RandomProgram) -> None:
    complete: set[int] = set()
    for phase in phases(case.program):
        roots = [n for i in phase.outputs for n in components(case.program.outputs[i]).values()]
        expected = {id(n.step) for n in results_below([*roots, *(n for s in phase.steps for n in s.nodes)])}
        assert {id(step) for step in phase.running} <= expected
        reduces = {id(step) for step in phase.reduces}
        assert len(reduces) == len(phase.reduces) and not reduces & complete
        complete |= reduces
    assert complete == {id(step) for step in case.program.steps if step.kind is Kind.REDUCE}


@given(random_programs())
@settings(deadline=None, max_examples=100)
def test_walk_by_walk_is_the_whole_program(case: RandomProgram) -> None:
    """Each walk sees the inputs, what runs along, and what earlier walks reduced; nothing else has a value there."""
    program, n = case.program, case.length
    values = inputs_known(program, case.arrays)
    for phase in phases(program):
        here = dict(values)
        for step in phase.running:
            here |= results_of_step(step, here, n)
        for i in phase.outputs:
            (result,) = values_of([program.outputs[i]], here, n)
            np.testing.assert_array_equal(result[""], case.expected[i])
        for step in phase.reduces:
            values |= results_of_step(step, here, n)
    for value, expected in zip(program.outputs, case.expected, strict=True):
        if not np.ndim(expected):
            assert values_of([value], values, 1)[0][""] == expected


# ------------------------------------------------------------------------------------------------- running, constants
def test_what_runs_along_stops_at_a_reduce() -> None:
    program = program_of(lambda x: SCAN(x - TOP(SCAN(x * 2))), "f4")
    (last,) = [step for step in program.steps if not isinstance(step.nodes[0], Symbol) and step is program.steps[-1]]
    assert running([last.results[""]]) == (last,)


def test_constants_are_the_largest_parts_that_do_not_vary() -> None:
    x, s, t = Symbol("x", F4, varies=True), Symbol("s", F4), Symbol("t", F4)
    inner = s * t + 1
    root = x * inner + s
    assert {id(n) for n in constants([root])} == {id(inner), id(s)}


def test_a_root_that_does_not_vary_is_a_constant_itself() -> None:
    s = Symbol("s", F4)
    root = s + 1
    assert [n is root for n in constants([root])] == [True]


@pytest.mark.parametrize("number", [0.5, np.float32(2), True])
def test_numbers_in_the_formula_are_no_constants(number: Any) -> None:
    x = Symbol("x", F4, varies=True)
    assert constants([x * number, Literal(1.0, F4), index + 1]) == []


def test_a_constant_used_twice_is_found_once() -> None:
    x, s = Symbol("x", F4, varies=True), Symbol("s", F4)
    twice = s + s
    assert [n is twice for n in constants([x * twice, x + twice])] == [True]


def test_what_varies_below_a_where_is_no_constant() -> None:
    x, s = Symbol("x", F4, varies=True), Symbol("s", F4)
    root = apply("where", s > 0, x, s)
    result = constants([root])
    assert sorted(type(n) is Symbol for n in result) == [False, True]
    assert all(not n.varies for n in result)
    assert any(isinstance(n, Apply) and n.function.name == "greater" for n in result)
