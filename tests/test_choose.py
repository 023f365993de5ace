"""Which mode a call runs in when the caller leaves it open, and at which scope a pipeline runs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.plans import FACTS, INTEL, MODES, PARALLEL, SEQUENTIAL, formula_of, map_plan

from clmapreduce.device.plans.executable import check_groups
from clmapreduce.errors import DeviceError, ModeError
from clmapreduce.modes import ComputeMode, Scope
from clmapreduce.plan import Facts
from clmapreduce.planning.mode import GROUP_LINE_CPU, ITEM_LINE, ITEM_ROW, choose_mode, choose_scope, group_line


def test_cpus_walk_tiles_and_others_work_side_by_side() -> None:
    for facts in FACTS.values():
        assert choose_mode("auto", facts) is (SEQUENTIAL if facts.kind == "cpu" else PARALLEL)


def test_the_callers_word_is_final() -> None:
    for facts in FACTS.values():
        assert choose_mode("sequential", facts) is SEQUENTIAL
        assert choose_mode("parallel", facts) is PARALLEL
        with pytest.raises(ModeError):
            choose_mode("fast", facts)


def test_groups_of_several_items_are_refused_where_the_driver_computes_them_wrongly() -> None:
    facts = replace(FACTS["pocl"], sound_groups=False)
    for word in ("auto", "sequential"):
        assert choose_mode(word, facts) is SEQUENTIAL
    with pytest.raises(DeviceError, match="mode='auto'"):
        choose_mode("parallel", facts)
    with pytest.raises(ModeError):
        choose_mode("fast", facts)


def test_no_plan_with_such_groups_is_launched() -> None:
    class Driver:
        platform, driver, name, sound_groups = "PoCL", "5.0", "a processor", False

    formula = formula_of(lambda x: x + 1, "f4")
    check_groups(map_plan(formula, 1000, SEQUENTIAL, FACTS["pocl"]), Driver)  # type: ignore[arg-type]
    with pytest.raises(DeviceError, match="computes groups of several work-items wrongly"):
        check_groups(map_plan(formula, 1000, PARALLEL, FACTS["pocl"]), Driver)  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------------------------------- scopes
BOTH = pytest.mark.parametrize("mode", MODES, ids=lambda mode: mode.name)
LIMITS = (ITEM_ROW, ITEM_LINE, GROUP_LINE_CPU, *sorted({group_line(facts, False) for facts in FACTS.values()}))
LENGTHS = sorted({0, 1, 10**9, *(length for limit in LIMITS for length in (limit, limit + 1))})


def scope(
    length: int, mode: ComputeMode, launches: int = 3, batch: bool = False, strict: bool = False, facts: Facts = INTEL
) -> Scope:
    return choose_scope(length, launches, batch, strict, mode, group_line(facts, False))[0]


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("launches", [1, 2, 9])
@pytest.mark.parametrize("batch", [False, True])
def test_what_is_strict_is_one_items(length: int, launches: int, batch: bool) -> None:
    assert scope(length, SEQUENTIAL, launches, batch, strict=True) is Scope.ITEM


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("launches", [1, 9])
def test_items_in_order_walk_rows_of_any_length(length: int, launches: int) -> None:
    assert scope(length, SEQUENTIAL, launches, batch=True) is Scope.ITEM


@pytest.mark.parametrize("launches", [1, 9])
def test_groups_walk_the_rows_that_are_long_for_an_item(launches: int) -> None:
    scopes = {length: scope(length, PARALLEL, launches, batch=True) for length in LENGTHS}
    assert scopes == {length: Scope.ITEM if length <= ITEM_ROW else Scope.GROUP for length in LENGTHS}


@BOTH
@pytest.mark.parametrize("length", LENGTHS[1:])
def test_one_launch_is_the_devices_at_any_length(mode: ComputeMode, length: int) -> None:
    assert scope(length, mode, launches=1) is Scope.DEVICE


@pytest.mark.parametrize("facts", FACTS.values(), ids=FACTS)
def test_short_lines_are_walked_in_one_launch_long_ones_by_the_device(facts: Facts) -> None:
    group = group_line(facts, False)
    assert group >= group_line(facts, True) >= min(GROUP_LINE_CPU, 16 * facts.max_group_size)
    for mode, limit, alone in ((SEQUENTIAL, ITEM_LINE, Scope.ITEM), (PARALLEL, group, Scope.GROUP)):
        for length in LENGTHS:
            assert scope(length, mode, facts=facts) is (alone if length <= limit else Scope.DEVICE)


@BOTH
def test_an_empty_line_has_no_chain(mode: ComputeMode) -> None:
    """Reduces of nothing give their identities, which one walk over nothing stores."""
    for launches in (1, 2):
        assert scope(0, mode, launches) is not Scope.DEVICE


@BOTH
@pytest.mark.parametrize("batch", [False, True])
def test_longer_lines_never_get_a_smaller_scope(mode: ComputeMode, batch: bool) -> None:
    order = [Scope.ITEM, Scope.GROUP, Scope.DEVICE]
    ranks = [order.index(scope(length, mode, batch=batch)) for length in LENGTHS]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(("arguments", "words"), [
    ((10, 3, False, True, SEQUENTIAL), "tiles=1: one item walks the whole line"),
    ((10, 3, True, False, PARALLEL), "a batch: each item walks rows of 10 of its own"),
    ((1000, 3, True, False, PARALLEL), "a batch: each group walks rows of 1000, all of its items on one row"),
    ((10, 3, True, False, PARALLEL, 4), "a batch: 4 items walk a row of 10 together"),
    ((10, 3, True, False, SEQUENTIAL, 4), "a batch: each item walks rows of 10 of its own"),
    ((10, 1, False, False, PARALLEL), "one launch computes it at any length"),
    ((10, 3, False, False, SEQUENTIAL), "one item walks 10 elements sooner than 3 launches start"),
    ((10, 3, False, False, PARALLEL), "one group walks 10 elements sooner than 3 launches start"),
    ((10**9, 3, False, False, PARALLEL), "1000000000 elements keep the whole device busy"),
])  # fmt: skip
def test_a_choice_says_why(arguments: tuple[int, int, bool, bool, ComputeMode], words: str) -> None:
    assert choose_scope(*arguments[:5], GROUP_LINE_CPU, *arguments[5:])[1] == words
