"""The plan of a recurrence: stretches that cover the line once, and begin in other places of a cache."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.plans import FACTS, MODES, PARALLEL, SEQUENTIAL, iterate_plan, recurrence_plan, source_of

from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts, Stage
from clmapreduce.schemes.line.recurrences.recurrence import APART

EVERY = pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
BOTH = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
LENGTHS = [1, 2, 15, 16, 127, 129, 1025, 100_003, 2**24, NARROW_LIMIT - 1, NARROW_LIMIT, 2**32]


def sizes(stage: Stage) -> dict[str, int]:
    """The last two numbers among a launch's arguments."""
    length, share = [size for size in stage.arguments if not isinstance(size, str)][-2:]
    return {"length": length[1], "share": share[1]}


@EVERY
@pytest.mark.parametrize("name", ["linear 1", "linear 2 steady"])
@pytest.mark.parametrize("length", LENGTHS)
def test_stretches_cover_the_line_once(facts: Facts, length: int, name: str) -> None:
    plan = recurrence_plan(name, length, SEQUENTIAL, facts)
    last = plan.stages[-1]
    streams, share = last.spec.context()["streams"], sizes(last)["share"]
    assert (last.groups - 1) * streams * share < length <= last.groups * streams * share
    assert plan.narrow == last.spec.narrow and (plan.narrow or length + streams * share >= NARROW_LIMIT)
    if len(plan.stages) == 1:
        assert last.groups == streams == 1 and plan.scope is Scope.ITEM
        return
    first = plan.stages[0]
    assert sizes(first)["share"] == share
    stretches = -(-length // share)
    assert plan.scratch["scratch0"] == 8 * stretches
    assert first.groups == (last.groups if "steady" in name else stretches)
    assert share * 4 % APART == 0 and share * 4 // APART % 2 == 1


@EVERY
def test_one_item_walks_the_line_where_it_must(facts: Facts) -> None:
    plan = recurrence_plan("linear 2", 10**6, SEQUENTIAL, facts, tiles=1)
    assert len(plan.stages) == plan.stages[0].groups == 1 and plan.scope is Scope.ITEM


@EVERY
def test_maps_of_plain_numbers_fill_vectors(facts: Facts) -> None:
    first, second = recurrence_plan("maximum", 10**6, PARALLEL, replace(facts, groups_progress=False)).stages
    assert second.spec.context()["lanes"] == 4
    assert first.spec.context()["lanes"] == (4 if facts.exchange_width > 1 else 1)


@EVERY
@BOTH
def test_iterates_round_every_step(facts: Facts, mode: ComputeMode) -> None:
    (stage,) = iterate_plan(lambda a: 3.5 * a * (1 - a), "f4", 9, 1000, mode, facts).stages
    assert "FP_CONTRACT OFF" in source_of(stage)
    (wide,) = iterate_plan(lambda a: a + np.float32(1), "f4", 2**20, 2**12, mode, facts).stages
    assert not wide.spec.narrow
