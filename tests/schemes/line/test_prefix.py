"""The plan of prefix queries on stored partials."""

from __future__ import annotations

import pytest
from support.plans import FACTS, MODES, SEQUENTIAL, assert_covered, formula_of, prefix_plan, source_of

from clmapreduce.domain.line import NARROW_LIMIT
from clmapreduce.modes import ComputeMode
from clmapreduce.plan import Facts

PLAIN = formula_of(lambda x: x, "f4")


@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
@pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
@pytest.mark.parametrize("length", [0, 1, 100, 100_003, NARROW_LIMIT - 3, NARROW_LIMIT, 2**34])
def test_every_query_is_answered_once(facts: Facts, mode: ComputeMode, length: int) -> None:
    for plan in (
        prefix_plan("sum", PLAIN, length, mode, facts),
        prefix_plan("sum", PLAIN, length, mode, facts, queries=77),
    ):
        (stage,) = plan.stages
        assert_covered(stage)
        assert stage.writes == ("out0",)


def test_queries_are_read_when_there_are_some() -> None:
    every = prefix_plan("sum", PLAIN, 99, SEQUENTIAL, FACTS["intel"]).stages[0]
    some = prefix_plan("sum", PLAIN, 99, SEQUENTIAL, FACTS["intel"], queries=5).stages[0]
    assert (every.reads, some.reads) == (("in0",), ("in0", "in1"))
    assert "const long q = i;" in source_of(every)
    assert "const long q = queries[i];" in source_of(some)


def test_few_queries_into_many_entries_have_wide_indices() -> None:
    """Queries are places among the entries, so the longer of the two decides."""
    assert not prefix_plan("sum", PLAIN, 2**33, SEQUENTIAL, FACTS["intel"], queries=5).narrow
    assert prefix_plan("sum", PLAIN, 10**6, SEQUENTIAL, FACTS["intel"], queries=5).narrow
    assert not prefix_plan("sum", PLAIN, 10, SEQUENTIAL, FACTS["intel"], queries=2**33).narrow


def test_an_entry_as_it_is_needs_no_merge() -> None:
    whole, entry = (prefix_plan("sum", PLAIN, 99, SEQUENTIAL, FACTS["intel"], whole=w) for w in (True, False))
    assert "clz(q" in source_of(whole.stages[0])
    assert "clz(q" not in source_of(entry.stages[0])
