"""Chains of random programs: link by link they are the program, in NumPy; and their plans and texts keep the rules."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from support.kernel_rules import assert_rules
from support.line_chains import LENGTH, assert_arrays_are_parameters, assert_room, assert_sound
from support.plans import FACTS, MODES, dtypes_of, source_of
from support.random_programs import Known, RandomProgram, accumulators, finished, prefixes, random_programs, values_of

from clmapreduce.domain.line import Line
from clmapreduce.formula.formula import Formula
from clmapreduce.formula.node import components
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Layout
from clmapreduce.program.step import Kind
from clmapreduce.reductions.together import BoundTogether
from clmapreduce.schemes.line.chain import Chain, Link


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


@given(random_programs())
@settings(deadline=None, max_examples=200)
def test_link_by_link_is_the_whole_program(made: RandomProgram) -> None:
    chain = Chain(made.program, dtypes_of(made.program))
    arrays = run(chain, made.arrays, made.length)
    for k, wanted in enumerate(made.expected):
        np.testing.assert_array_equal(arrays[f"out{k}"], wanted)
    assert set(arrays) == {*made.arrays, *(f"out{k}" for k in range(len(made.expected))), *names(chain)}


def names(chain: Chain) -> list[str]:
    found = [kept.variable.name for kept in chain.stored.values()]
    assert len(set(found)) == len(found)
    return found


@given(random_programs(), st.sampled_from(sorted(FACTS)), st.sampled_from(MODES), st.sampled_from([1, 700, 50_001]))
@settings(deadline=None, max_examples=150)
def test_plans_of_random_programs_are_sound(made: RandomProgram, name: str, mode: ComputeMode, length: int) -> None:
    chain = Chain(made.program, dtypes_of(made.program))
    plan = chain.plan(Line(length), mode, FACTS[name], True)
    assert_sound(plan, set(made.arrays), {f"out{k}" for k in range(len(made.expected))})
    assert_room(plan, chain, length)
    longer = chain.plan(Line(length), mode, FACTS[name], True)
    assert [stage.spec for stage in plan.stages] == [stage.spec for stage in longer.stages]


@given(random_programs())
@settings(deadline=None, max_examples=150)
def test_links_obey_the_order_of_what_they_need(made: RandomProgram) -> None:
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


@given(random_programs(), st.sampled_from(["pocl", "nvidia", "small"]), st.sampled_from(MODES))
@settings(deadline=None, max_examples=25)
def test_texts_of_random_programs_keep_the_rules(made: RandomProgram, name: str, mode: ComputeMode) -> None:
    chain = Chain(made.program, dtypes_of(made.program))
    for stage in chain.plan(Line(LENGTH), mode, FACTS[name], True).stages:
        source = source_of(stage)
        assert_rules(stage.spec.kernel, stage, source, FACTS[name], mode)
        assert_arrays_are_parameters(source)
