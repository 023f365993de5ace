"""Chains of random programs: link by link they are the program, in NumPy; and their plans and texts keep the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_rules import assert_rules
from support.line_chains import LENGTH, assert_arrays_are_parameters, assert_room, assert_sound
from support.plans import FACTS, MODES, dtypes_of, source_of
from support.random_programs import (
    NodeValues,
    RandomProgram,
    accumulators,
    finish,
    prefixes,
    random_programs,
    values_of,
)

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.node import components
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Layout
from clmapreduce.program.step import Kind
from clmapreduce.reductions.around.together import BoundTogether
from clmapreduce.schemes.line.chain import Chain, Link


def run(chain: Chain, inputs: dict[str, Any], length: int) -> dict[str, Any]:
    """Every array after the links have run, one after the other, on nothing but what their layouts name."""
    arrays = dict(inputs)
    for link in chain.links:
        assert link.layout is not None
        arrays |= arrays_after(link, link.layout, arrays, length)
    return arrays


def read(formula: Formula, arrays: dict[str, Any]) -> NodeValues:
    return {n: arrays[i.name] for i in formula.inputs for n in components(i.value).values()}


def arrays_after(link: Link, layout: Layout, arrays: dict[str, Any], length: int) -> dict[str, Any]:
    """What a link stores, by name."""
    formula, node_values = layout.formula, read(layout.formula, arrays)
    if link.kind is None:
        values_out = [value[""] for value in values_of(formula.outputs, node_values, 1 if link.ones else length)]
        return {name: f[0] if link.ones else f for name, f in zip(layout.targets, values_out, strict=True)}
    if link.kind is Kind.REDUCE:
        assert link.bound is not None
        if link.powers is not None:
            assert link.base is not None
            powers = link.powers.bound
            elements = prefixes(powers, link.base.formula.outputs, read(link.base.formula, arrays), length, False)
            node_values |= {node: elements[leaf].astype(node.dtype) for leaf, node in link.powers.results.items()}
        *_, last = accumulators(link.bound, formula.outputs, node_values, length)
        results, count = finish(link.bound, last), 1
    else:
        (step,) = link.steps
        results, count = prefixes(step.bound, formula.outputs, node_values, length, step.exclusive), length
    if layout.tail is None:
        (name,) = layout.targets
        return {name: results[""]}
    node_values = read(layout.tail.formula, arrays) | {node: results[leaf] for leaf, node in layout.tail.results.items()}
    values_out = [value[""] for value in values_of(layout.tail.formula.outputs, node_values, count)]
    return {name: f[0] if link.kind is Kind.REDUCE else f for name, f in zip(layout.targets, values_out, strict=True)}


@given(random_programs())
@settings(deadline=None, max_examples=200)
def test_link_by_link_is_the_whole_program(case: RandomProgram) -> None:
    chain = Chain(case.program, dtypes_of(case.program))
    arrays = run(chain, case.arrays, case.length)
    for k, expected in enumerate(case.expected):
        np.testing.assert_array_equal(arrays[f"out{k}"], expected)
    assert set(arrays) == {*case.arrays, *(f"out{k}" for k in range(len(case.expected))), *names(chain)}


def names(chain: Chain) -> list[str]:
    names_of_values = [value.variable.name for value in chain.stored.values()]
    assert len(set(names_of_values)) == len(names_of_values)
    return names_of_values


@given(random_programs(), st.sampled_from(sorted(FACTS)), st.sampled_from(MODES), st.sampled_from([1, 700, 50_001]))
@settings(deadline=None, max_examples=150)
def test_plans_of_random_programs_are_sound(case: RandomProgram, name: str, mode: ComputeMode, length: int) -> None:
    chain = Chain(case.program, dtypes_of(case.program))
    plan = chain.plan(Line(length), mode, FACTS[name], True)
    assert_sound(plan, set(case.arrays), {f"out{k}" for k in range(len(case.expected))})
    assert_room(plan, chain, length)
    longer = chain.plan(Line(length), mode, FACTS[name], True)
    assert [stage.spec for stage in plan.stages] == [stage.spec for stage in longer.stages]


@given(random_programs())
@settings(deadline=None, max_examples=150)
def test_links_obey_the_order_of_what_they_need(case: RandomProgram) -> None:
    """Reduces of one link do not wait for each other, and a step that keeps an order has a link of its own."""
    chain = Chain(case.program, dtypes_of(case.program))
    for link in chain.links:
        if link.kind is not Kind.REDUCE:
            assert len(link.steps) <= 1
        if len(link.steps) > 1:
            assert isinstance(link.bound, BoundTogether)
            assert all(step.bound.commutative for step in link.steps)
    steps = [id(step) for link in chain.links for step in link.steps]
    assert len(set(steps)) == len(steps)
    powers = {id(link.powers) for link in chain.links if link.powers is not None}
    assert {id(step) for step in case.program.steps} <= {*steps, *powers}


@given(random_programs(), st.sampled_from(["pocl", "nvidia", "small"]), st.sampled_from(MODES))
@settings(deadline=None, max_examples=25)
def test_texts_of_random_programs_keep_the_rules(case: RandomProgram, name: str, mode: ComputeMode) -> None:
    chain = Chain(case.program, dtypes_of(case.program))
    for stage in chain.plan(Line(LENGTH), mode, FACTS[name], True).stages:
        source = source_of(stage)
        assert_rules(stage.spec.kernel, stage, source, FACTS[name], mode)
        assert_arrays_are_parameters(source)
