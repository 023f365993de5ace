"""Which combinations of parameters are drawn: every value occurs, the rest is chance."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from support.drawing import ONE_IN, covering, mark_the_rest, mark_what_is_not_drawn

SIZES = {"context": 2, "mode": 2, "op": 12, "dtype": 7, "size": 3}
CASES = [dict(zip(SIZES, values, strict=True)) for values in product(*map(range, SIZES.values()))]


@pytest.mark.parametrize("whole", [("context", "mode"), ("context",), ("mode", "dtype"), ("absent",)], ids="-".join)
def test_every_value_occurs_beside_every_whole_combination(whole: tuple[str, ...]) -> None:
    cases = [case for case in CASES if (case["op"] + case["dtype"]) % 3]  # some combinations do not exist
    choice = covering(cases, whole, random.Random())

    def beside(places: Iterable[int], name: str) -> set[tuple[object, ...]]:
        """The values of a parameter, each with the combination it stands beside."""
        return {(*(cases[p].get(w) for w in whole), cases[p][name]) for p in places}

    for name in SIZES:
        assert beside(choice, name) == beside(range(len(cases)), name), name
    groups = len({tuple(case.get(name) for name in whole) for case in cases})
    largest = max(size for name, size in SIZES.items() if name not in whole)
    assert len(choice) <= 2 * groups * largest, "far more than are needed"


def test_draws_differ_from_seed_to_seed_and_repeat_with_one() -> None:
    draws = [frozenset(covering(CASES, ("context",), random.Random(seed))) for seed in ("a", "a", "b", "c")]
    assert draws[0] == draws[1] and len(set(draws)) == 3


def test_slow_cases_are_drawn_more_seldom() -> None:
    slow = {place for place, case in enumerate(CASES) if case["context"] == 1}
    draws = [covering(CASES, (), random.Random(seed), slow) for seed in range(40)]
    share = sum(len(draw & slow) for draw in draws) / sum(map(len, draws))
    assert 0.15 < share < 0.45
    assert all(draw & slow for draw in draws), "every device occurs"


def test_without_other_parameters_everything_runs() -> None:
    cases = [{"context": k, "mode": m} for k, m in product(range(2), range(2))]
    assert covering(cases, ("context", "mode"), random.Random()) == {0, 1, 2, 3}
    assert covering([{}], ("context",), random.Random()) == {0}


class Item:
    """What drawing asks of a test."""

    def __init__(self, kwargs: dict[str, Any], **params: Any) -> None:
        self.nodeid, self.callspec, self.marks = (
            f"t.py::test[{params}]",
            SimpleNamespace(params=params, id=str(params)),
            set(),
        )
        self.get_closest_marker = lambda name: SimpleNamespace(kwargs=kwargs) if name in ("drawn", *self.marks) else None
        marks_of_names = [SimpleNamespace(args=("op, dtype", None), kwargs={})] if "op" in params else []
        marks = {"parametrize": marks_of_names, "drawn": [SimpleNamespace(kwargs=kwargs)]}
        self.iter_markers = lambda name: marks[name]

    def add_marker(self, mark: Any) -> None:
        self.marks.add(mark.name)


def choice_of(
    items: list[Item], markexpr: str = "not sweep", args: tuple[str, ...] = ("tests",), seed: str = "1"
) -> list[dict[str, Any]]:
    config: Any = SimpleNamespace(args=args, option=SimpleNamespace(markexpr=markexpr))
    mark_what_is_not_drawn(items, config, seed)  # type: ignore[arg-type]
    return [item.callspec.params for item in items if not item.marks]


def items(kwargs: dict[str, Any], *more: dict[str, Any]) -> list[Item]:
    return [Item(kwargs, context=c, mode=m, **one) for c in "ab" for m in "sp" for one in more]


def test_parameters_given_together_are_one_value() -> None:
    """Each of three pairs, though two would show every name and every dtype."""
    pairs = [{"op": "x", "dtype": "u"}, {"op": "x", "dtype": "v"}, {"op": "y", "dtype": "v"}]
    for whole, count in (({"whole": ["context"]}, 6), ({"whole": ["context", "mode"]}, 12), ({}, 3)):
        choice = choice_of(items(whole, *pairs))
        assert len(choice) == count
        assert {(t["op"], t["dtype"]) for t in choice} == {(p["op"], p["dtype"]) for p in pairs}


def test_without_parameters_of_its_own_a_test_sees_every_device_and_every_mode() -> None:
    choice = choice_of(items({}, {}))
    assert len(choice) == 2 and {t["context"] for t in choice} == set("ab") and {t["mode"] for t in choice} == set("sp")


def test_what_would_be_skipped_is_not_drawn() -> None:
    pairs = [{"op": op, "dtype": dtype} for op in "xyz" for dtype in "uv"]
    choice = choice_of(items({"unless": lambda params: params["op"] == "x" and params["context"] == "a"}, *pairs))
    assert not any(t["op"] == "x" and t["context"] == "a" for t in choice) and any(t["op"] == "x" for t in choice)


@pytest.mark.parametrize(("kwargs", "share"), [({"seldom": "pocl"}, 1 / 4), ({}, 1 / 3)], ids=["seldom", "slow"])
def test_a_device_runs_in_few_tests_where_a_mark_says_so(kwargs: dict[str, Any], share: float) -> None:
    """In one run of four, the slow one in one of three, and in every run where it is the only one."""

    def items_of(devices: str) -> list[Item]:
        cases = [Item(kwargs, context=c, op="x", dtype=d) for c in devices.split() for d in "uv"]
        for item in cases:
            item.callspec.id = f"{item.callspec.params['context']}-{item.callspec.params['dtype']}"
        return cases

    count = sum(any(t["context"] == "pocl" for t in choice_of(items_of("intel pocl"), seed=str(seed))) for seed in range(300))
    assert abs(count / 300 - share) < 0.12
    assert all(len(choice_of(items_of("intel pocl"), seed=str(seed))) >= 2 for seed in range(20))
    assert all(len(choice_of(items_of("pocl"), seed=str(seed))) == 2 for seed in range(20))


def test_a_text_for_a_device_is_not_on_it() -> None:
    """What names a device without running there is drawn in every run."""
    cases = [Item({}, facts=facts) for facts in ("intel", "pocl")]
    for case in cases:
        case.callspec.id = case.callspec.params["facts"]
    assert all(len(choice_of([*cases], seed=str(seed))) == 2 for seed in range(20))


def test_sweeps_and_tests_run_by_name_are_complete() -> None:
    pairs = [{"op": op, "dtype": "u"} for op in "xyz"]
    swept = items({}, *pairs)
    assert not choice_of(swept, "sweep") and all(item.marks == {"sweep"} for item in swept)
    assert len(choice_of(items({}, *pairs), args=("t.py::test[a-s-x]",))) == 12


@pytest.mark.parametrize("cases", [1, 2, 7, 8, 9, 200])
def test_the_everyday_run_has_one_case_in_eight_and_at_least_one(cases: int) -> None:
    """The same ones for one seed, so that the two runs are the whole; each of them in some run."""

    def everyday(seed: int) -> frozenset[int]:
        every = [Item({}, context="a", op=k) for k in range(cases)]
        mark_the_rest(every, SimpleNamespace(args=("tests",)), str(seed))  # type: ignore[arg-type]
        return frozenset(item.callspec.params["op"] for item in every if "rest" not in item.marks)

    runs = [everyday(seed) for seed in range(120)]
    assert {len(each) for each in runs} == {math.ceil(cases / ONE_IN)}
    assert frozenset.union(*runs) == frozenset(range(cases)) and everyday(7) == runs[7]


def test_a_test_marked_always_runs_whole() -> None:
    every = [Item({}, context="a", op=k) for k in range(40)]
    for item in every[:20]:
        item.add_marker(pytest.mark.always)
    mark_the_rest(every, SimpleNamespace(args=("tests",)), "1")  # type: ignore[arg-type]
    assert not any("rest" in item.marks for item in every[:20]) and any("rest" in item.marks for item in every[20:])


def test_a_case_that_is_named_runs_in_both() -> None:
    every = [Item({}, context="a", op=k) for k in range(8)]
    mark_the_rest(every, SimpleNamespace(args=("tests/test_x.py::test_y[a-3]",)), "1")  # type: ignore[arg-type]
    assert not any(item.marks for item in every)
