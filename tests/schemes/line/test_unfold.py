"""The plan of an unfold: a tile of powers within local memory, shares that cover the sequence."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.plans import (
    FACTS,
    MATRIX,
    MODES,
    PAIR,
    PARALLEL,
    SEQUENTIAL,
    assert_covered,
    bound_of,
    formula_of,
    source_of,
    unfold_plan,
)

from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.formula.formula import Access
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts

BASE = formula_of(lambda x: x, ("f4", Access.ARGUMENT))
RECORD = formula_of(lambda r: r, (PAIR, Access.SINGLE))
EVERY = pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
BOTH = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)


@EVERY
@BOTH
@pytest.mark.parametrize("length", [1, 2, 63, 64, 65, 100_003, NARROW_LIMIT - 1, NARROW_LIMIT, 2**32])
def test_every_power_is_computed_once(facts: Facts, mode: ComputeMode, length: int) -> None:
    plan = unfold_plan("product", BASE, length, mode, facts)
    (stage,) = plan.stages
    assert_covered(stage)
    assert plan.scope is (Scope.DEVICE if stage.groups > 1 else Scope.GROUP)
    assert not plan.scratch


@EVERY
def test_the_tile_fits_half_of_local_memory(facts: Facts) -> None:
    for memory in (1 << 11, 1 << 14, 1 << 20):
        tight = replace(facts, local_memory=memory)
        for op, formula in (("product", BASE), (MATRIX, RECORD)):
            (stage,) = unfold_plan(op, formula, 10**6, PARALLEL, tight).stages
            numbers = stage.spec.context()
            tile = numbers["block"] * numbers["lanes"] * numbers["rows"]
            assert tile * bound_of(op, formula, tight).layout.itemsize <= memory // 2
            assert tile & (tile - 1) == 0, "doubling needs a power of two"


def test_the_first_power_is_the_identity_or_the_base() -> None:
    zero, one = (unfold_plan("product", BASE, 100, SEQUENTIAL, FACTS["intel"], first_power=p) for p in (0, 1))
    assert zero.stages[0].spec != one.stages[0].spec
    assert "none_total" in source_of(zero.stages[0])
    assert "none_total" not in source_of(one.stages[0])
