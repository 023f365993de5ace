"""The plan of a power series at many points."""

from __future__ import annotations

import pytest
from support.plans import FACTS, MODES, SEQUENTIAL, assert_covered, series_plan, source_of

from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts


@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("length", [1, 100_003, NARROW_LIMIT - 1, NARROW_LIMIT])
def test_every_point_is_computed_once(facts: Facts, mode: ComputeMode, length: int) -> None:
    (stage,) = series_plan("f4", 20, length, mode, facts).stages
    assert_covered(stage)
    assert stage.arguments[:4] == ("in0", "in1", "out0", ("int", 20))
    assert (stage.reads, stage.writes) == (("in0", "in1"), ("out0",))


def test_lanes_follow_from_the_dtype() -> None:
    single, double = (series_plan(code, 5, 1000, SEQUENTIAL, FACTS["intel"]).stages[0] for code in ("f4", "f8"))
    assert "float16 at" in source_of(single)
    assert "double8 at" in source_of(double)
    assert single.spec != double.spec


def test_the_number_of_terms_is_an_argument_not_a_kernel() -> None:
    few, many = (series_plan("f4", terms, 1000, SEQUENTIAL, FACTS["intel"]).stages[0] for terms in (1, 1000))
    assert few.spec == many.spec
    assert few.arguments != many.arguments
