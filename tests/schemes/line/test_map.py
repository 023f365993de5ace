"""The plan of a map: one launch whose shares cover the line, vectors as wide as the widest number allows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.plans import (
    FACTS,
    INTEL,
    MODES,
    PARALLEL,
    SEQUENTIAL,
    assert_covered,
    formula_of,
    map_plan,
    sizes,
    source_of,
)

import clmapreduce as cm
from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts

PLAIN = formula_of(lambda x: x * 2 + 1, "f4")
LENGTHS = [1, 2, 15, 16, 17, 127, 128, 129, 4095, 4096, 4097, 100_003, 2**24 + 1, NARROW_LIMIT - 1, NARROW_LIMIT,
           2**31 - 1, 2**31, 2**33 + 7]  # fmt: skip


@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("length", LENGTHS)
def test_every_index_is_computed_once(facts: Facts, mode: ComputeMode, length: int) -> None:
    plan = map_plan(PLAIN, length, mode, facts)
    (stage,) = plan.stages
    assert_covered(stage)
    assert sizes(stage)[0] == length
    assert stage.reads == ("in0",) and stage.writes == ("out0",)
    assert stage.arguments[:2] == ("in0", "out0")
    assert not plan.scratch


@given(st.integers(1, NARROW_LIMIT - 1), st.integers(1, 3000), st.sampled_from([1, 4, 64, 1024]))
@settings(deadline=None, max_examples=60)
def test_no_share_overflows_an_int_however_many_groups_there_are(length: int, units: int, unroll: int) -> None:
    """The last group's begin + share may lie thousands of tiles beyond the line's end."""
    facts = INTEL.__class__(**{**INTEL.__dict__, "compute_units": units})
    assert_covered(map_plan(PLAIN, length, SEQUENTIAL, facts, unroll=unroll, groups=1).stages[0])


def test_a_share_far_beyond_the_end_of_a_narrow_line() -> None:
    """What begin + share would give here is beyond 2^31 by more than any slack."""
    facts = INTEL.__class__(**{**INTEL.__dict__, "compute_units": 500})
    length = NARROW_LIMIT - 1
    (stage,) = map_plan(PLAIN, length, SEQUENTIAL, facts, unroll=512, groups=1).stages
    _, share = sizes(stage)
    assert stage.groups * share > 2**31
    assert_covered(stage)


@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
def test_indices_are_narrow_while_an_int_holds_them(mode: ComputeMode) -> None:
    for length, narrow in ((NARROW_LIMIT - 1, True), (NARROW_LIMIT, False), (2**31, False)):
        plan = map_plan(PLAIN, length, mode, INTEL)
        assert plan.narrow is narrow
        assert f"typedef {'int' if narrow else 'long'} idx;" in source_of(plan.stages[0])


@pytest.mark.parametrize(
    ("function", "codes", "lanes"),
    [
        (lambda x: x, ["f4"], 16), (lambda x: x, ["f8"], 8), (lambda x: x, ["u1"], 16), (lambda x: x, ["i2"], 16),
        (lambda x, y: x + y, ["u1", "f8"], 8), (lambda x: x.astype("f8"), ["u1"], 8), (lambda x: x, ["c8"], 1),
        (lambda x: {"a": x}, ["f4"], 1), (lambda: cm.index, [], 8), (lambda: cm.index.astype("f4"), [], 16),
    ],
)  # fmt: skip
def test_lanes_follow_from_the_widest_number(function: Any, codes: list[str], lanes: int) -> None:
    formula = formula_of(function, *codes)
    (stage,) = map_plan(formula, 10**6, SEQUENTIAL, INTEL).stages
    assert stage.spec.context()["lanes"] == lanes
    (strict,) = map_plan(formula, 10**6, SEQUENTIAL, INTEL, tiles=1).stages
    assert strict.spec.context()["lanes"] == 1
    assert (strict.groups, strict.group_size) == (1, 1)


@pytest.mark.parametrize(
    ("function", "codes", "lanes"),
    [
        (lambda x: x, ["f4"], 4), (lambda x: x, ["u1"], 16), (lambda x: x, ["i2"], 8), (lambda x: x, ["f8"], 2),
        (lambda x, y: x.astype("f4") < y, ["i2", "i2"], 8), (lambda x: x.astype("f4") < 1, ["u1"], 16),
        (lambda x: (x.astype("f8") > 1), ["u1"], 8), (lambda x: x.astype("f4"), ["u1"], 4),
        (lambda x: x.astype("i8").astype("f4"), ["f4"], 2), (lambda x, s: x < s, ["i2", ("f4", Access.ARGUMENT)], 8),
    ],
)  # fmt: skip
def test_short_numbers_fill_vectors_in_memory_on_gpus(function: Any, codes: list[Any], lanes: int) -> None:
    """What is computed of one may take 64 bytes."""
    (stage,) = map_plan(formula_of(function, *codes), 10**6, PARALLEL, FACTS["nvidia"]).stages
    assert stage.spec.context()["lanes"] == lanes


def test_scope_distinguishes_one_group_from_many() -> None:
    assert map_plan(PLAIN, 5, SEQUENTIAL, INTEL).scope is Scope.GROUP
    assert map_plan(PLAIN, 10**7, SEQUENTIAL, INTEL).scope is Scope.DEVICE


def test_every_output_is_an_argument_and_is_written() -> None:
    formula = formula_of(lambda x, y: (x + y, x < y, cm.index), "f4", "f8")
    (stage,) = map_plan(formula, 1000, SEQUENTIAL, INTEL).stages
    assert stage.arguments[:5] == ("in0", "in1", "out0", "out1", "out2")
    assert (stage.reads, stage.writes) == (("in0", "in1"), ("out0", "out1", "out2"))
    source = source_of(stage)
    for kind in ("double", "uchar", "long"):
        assert f"__global {kind} *restrict out" in source


def test_results_stream_past_the_caches_only_on_a_cpu_and_only_in_wide_vectors() -> None:
    for facts in FACTS.values():
        (stage,) = map_plan(PLAIN, 10**7, SEQUENTIAL, facts, streaming=True).stages
        source = source_of(stage)
        assert ("#if 1 && __has_builtin(__builtin_nontemporal_store)" in source) == (facts.kind == "cpu")
    (narrow,) = map_plan(PLAIN, 10**7, SEQUENTIAL, INTEL, streaming=True, bytes=8).stages
    assert "CMR_STREAM(float2" not in source_of(narrow), "8 bytes are no wide vector"
    (records,) = map_plan(formula_of(lambda x: {"a": x}, "f4"), 10**7, SEQUENTIAL, INTEL, streaming=True).stages
    assert np.all([word not in source_of(records).split("{", 1)[1] for word in ("CMR_STREAM(",)])
