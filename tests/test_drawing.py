"""Which combinations of parameters are drawn: every value occurs, the rest is chance."""

from __future__ import annotations

import random
from itertools import product

import pytest
from drawing import covering

SIZES = {"context": 2, "mode": 2, "op": 12, "dtype": 7, "size": 3}
CASES = [dict(zip(SIZES, values, strict=True)) for values in product(*map(range, SIZES.values()))]


@pytest.mark.parametrize("whole", [("context", "mode"), ("context",), ("mode", "dtype"), ("absent",)], ids="-".join)
def test_every_value_occurs_beside_every_whole_combination(whole: tuple[str, ...]) -> None:
    cases = [case for case in CASES if (case["op"] + case["dtype"]) % 3]  # some combinations do not exist
    taken = covering(cases, whole, random.Random())
    beside = lambda places, name: {(*(cases[p].get(w) for w in whole), cases[p][name]) for p in places}  # noqa: E731
    for name in SIZES:
        assert beside(taken, name) == beside(range(len(cases)), name), name
    groups = len({tuple(case.get(name) for name in whole) for case in cases})
    largest = max(size for name, size in SIZES.items() if name not in whole)
    assert len(taken) <= 2 * groups * largest, "far more than are needed"


def test_draws_differ_from_seed_to_seed_and_repeat_with_one() -> None:
    draws = [frozenset(covering(CASES, ("context",), random.Random(seed))) for seed in ("a", "a", "b", "c")]
    assert draws[0] == draws[1] and len(set(draws)) == 3


def test_without_other_parameters_everything_runs() -> None:
    cases = [{"context": k, "mode": m} for k, m in product(range(2), range(2))]
    assert covering(cases, ("context", "mode"), random.Random()) == {0, 1, 2, 3}
    assert covering([{}], ("context",), random.Random()) == {0}
