"""A line and its cut into shares."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st
from support.plans import FACTS, MODES, box_for

from clmapreduce.domain.line import NARROW_LIMIT, Line


@given(st.integers(0, 2**40), st.integers(0, 2**24), st.integers(1, 2**16))
@example(0, 1, 1)
@example(1, 10**6, 1)
@example(2**31, 704, 4096)
@example(4097, 2, 4096)
def test_shares_are_whole_tiles_that_cover_the_line_without_an_idle_group(length: int, groups: int, tile: int) -> None:
    count, share = Line(length).shares(groups, tile)
    assert 1 <= count <= max(1, groups)
    assert share % tile == 0 and share > 0
    assert count * share >= length
    assert (count - 1) * share < max(length, 1), "the last group has something to do"


@given(st.integers(1, 2**40), st.integers(1, 2**12), st.integers(1, 2**16))
def test_shares_are_no_larger_than_they_must_be(length: int, groups: int, tile: int) -> None:
    _, share = Line(length).shares(groups, tile)
    assert (share - tile) * groups < length, "one tile less per group would not cover the line"


def test_one_group_takes_it_all() -> None:
    assert Line(0).shares(8, 64) == (1, 64)
    assert Line(63).shares(8, 64) == (1, 64)
    assert Line(65).shares(8, 64) == (2, 64)
    assert Line(10**6).shares(0, 64) == (1, 10**6)
    assert Line(10**6 + 1).shares(1, 64) == (1, 10**6 + 64)


def test_short_lines_have_narrow_indices() -> None:
    assert Line(NARROW_LIMIT - 1).narrow
    assert not Line(NARROW_LIMIT).narrow
    assert not Line(2**31).narrow
    assert not Line(2**40).narrow


def test_the_slack_holds_every_tile_that_a_box_asks_for() -> None:
    """Kernels compare `t + tile` with the end, so one tile beyond the longest narrow line must fit an int."""
    names = ("map", "reduce", "reduce2", "locate", "logsumexp", "scan", "unfold", "upsweep", "prefix", "power_series")
    for facts in FACTS.values():
        for mode in MODES:
            for name in names:
                box = box_for(name, mode, facts)
                assert box.block * 16 * box.unroll * box.streams < 2**31 - NARROW_LIMIT
