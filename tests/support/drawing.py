"""Some of a test's combinations of parameters, other ones in every run.

A test marked `drawn` runs in a few combinations of its parameters: every value of every one of them occurs, both modes
and every device but one among them. PoCL builds kernels twice as slowly as Intel's runtime: where there are others, it
is drawn more seldom, and left out of two tests of three, other ones in every run. `-m sweep` runs all combinations. A
combination that the command line names always runs.

`mark_the_rest` splits the tests that still run in two: `make test` runs one case in eight of each test, `make test-rest`
the others. Of a test marked `always`, as that of the site's pages, all cases run.

The mark's keywords: `whole`, the names of parameters of which all combinations run, with every value of the others;
`unless`, a function of the parameters' values, by name: True for combinations that the test would skip; `seldom`,
on any mark of the test, the name of a device on which it runs in one of four runs only: tests of what GPUs alone take
have one CPU runtime for their everyday one.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Container, Hashable, Mapping, Sequence
from typing import Any

import pytest

SLOW = "pocl"
ONE_IN = 8
"""`make test` runs one case in so many of each test."""
DEVICES = {"context", "device"}
"""Names of parameters that are devices."""


def covering(
    cases: Sequence[Mapping[str, Hashable]], whole: Sequence[str], rng: random.Random, slow: Container[int] = ()
) -> set[int]:
    """Places of drawn cases: with every combination of the parameters in `whole` that there is, every value of the
    others that occurs beside it. cases: the parameters' values, by the parameters' names. slow: places of cases that
    are drawn half as often as others that do as well.
    """
    groups: defaultdict[tuple[Hashable, ...], list[int]] = defaultdict(list)
    for place, case in enumerate(cases):
        groups[tuple(case.get(name) for name in whole)].append(place)
    places_to_run: set[int] = set()
    for places in groups.values():
        own = {place: {(k, v) for k, v in cases[place].items() if k not in whole} for place in places}
        missing = set().union(*own.values())
        rng.shuffle(places)
        places.sort(key=lambda place: place in slow and rng.random() < 0.5)
        places_to_run |= set() if missing else {places[0]}
        while missing:
            best = max(places, key=lambda place: len(own[place] & missing))
            missing -= own[best]
            places_to_run.add(best)
    return places_to_run


def mark_what_is_not_drawn(items: Sequence[pytest.Item], config: pytest.Config, seed: str) -> None:
    """Marks as `sweep` the cases of tests marked `drawn` that a run leaves out; all of them for a sweep."""
    tests: defaultdict[str, list[Any]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("drawn") is not None and hasattr(item, "callspec"):
            tests[item.nodeid.partition("[")[0]].append(item)
    if any("[" in argument for argument in config.args):
        return
    for name, cases in tests.items():
        options = cases[0].get_closest_marker("drawn").kwargs
        cases_to_run: set[Any] = set()
        if "not sweep" in config.option.markexpr:
            whole = options.get("whole", ())
            possible = [case for case in cases if not options.get("unless", _never)(case.callspec.params)]
            rng = random.Random(f"{seed} {name}")
            possible = _without_seldom(possible, rng)
            slow = {place for place, case in enumerate(possible) if _is_on(SLOW, case)}
            places = covering([_values(case) for case in possible], whole, rng, slow)
            cases_to_run = {possible[place] for place in places}
        for case in cases:
            if case not in cases_to_run:
                case.add_marker(pytest.mark.sweep)


def mark_the_rest(items: Sequence[pytest.Item], config: pytest.Config, seed: str) -> None:
    """Marks as `rest` what `make test` leaves to `make test-rest`: of each test seven cases in eight, other ones
    in every run. A case that the command line names has no mark, nor has one of a test marked `always`.
    """
    if any("[" in argument for argument in config.args):
        return
    tests: defaultdict[str, list[Any]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sweep") is None and item.get_closest_marker("always") is None:
            tests[item.nodeid.partition("[")[0]].append(item)
    for name, cases in tests.items():
        rng = random.Random(f"rest {seed} {name}")
        for case in rng.sample(cases, len(cases) - -(-len(cases) // ONE_IN)):
            case.add_marker(pytest.mark.rest)


def _without_seldom(cases: list[Any], rng: random.Random) -> list[Any]:
    """The cases, two times of three less those on the slow device, and three of four less those on one on which the test
    runs seldom, if others are left.
    """
    marks = cases[0].iter_markers("drawn") if cases else ()
    left_out = {SLOW: 2 / 3, **{mark.kwargs["seldom"]: 3 / 4 for mark in marks if "seldom" in mark.kwargs}}
    absent = [device for device, share in left_out.items() if rng.random() < share]
    return [case for case in cases if not any(_is_on(device, case) for device in absent)] or cases


def _is_on(device: str, case: Any) -> bool:
    """Whether the case runs there, by its name; one without a device may bear a device's name for its text."""
    return not DEVICES.isdisjoint(case.callspec.params) and device in case.callspec.id.split("-")


def _values(case: Any) -> dict[str, Hashable]:
    """What stands for the values of a test's parameters; those of one mark are one."""
    single = {name: id(value) for name, value in case.callspec.params.items()}
    together: dict[str, Hashable] = {}
    for mark in case.iter_markers("parametrize"):
        names = mark.args[0] if isinstance(mark.args[0], str) else ",".join(mark.args[0])
        together[names] = tuple(single.pop(name.strip()) for name in names.split(","))
    return {**single, **together}


def _never(parameters: Mapping[str, Any]) -> bool:
    return False
