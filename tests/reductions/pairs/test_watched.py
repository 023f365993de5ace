"""Sums under a watch: what their margins are, in tiles and merged, and which sums are sound."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Literal, Record
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.reductions.pairs.sum import BoundPairSum
from clmapreduce.reductions.pairs.watched import Watch, WatchedSum

F4 = np.dtype("f4")


def sum_under(watch: Watch, margins: bool = True) -> WatchedSum:
    plain = PAIR_REDUCTIONS["Sum"].bind(F4, 1, 0, np.dtype("i4"), PairOptions())
    assert isinstance(plain, BoundPairSum)
    return WatchedSum(plain, watch, margins)


def numbers(record: Record) -> dict[str, float]:
    return {name: float(evaluate(node, {})) for name, node in record.items()}


def record(**values: float) -> Record:
    return Record({name: Literal(value, F4) for name, value in values.items()})


COLUMNS: dict[str, tuple[Watch, list[list[float]], float, bool]] = {
    "nothing": (Watch(), [[3.0], [-1.0]], 0.0, True),
    "floors": (Watch(1), [[3.0, 0.5], [-1.0, 0.25]], 2.0 - 0.75, True),
    "floors above terms": (Watch(1), [[3.0, 1.5], [-1.0, 1.0]], 2.0 - 2.5, False),
    "reach": (Watch(1, reach=3.0), [[3.0, -2.5], [-1.0, 0.25]], 2.5, True),
    "beyond": (Watch(1, reach=2.0), [[3.0, -2.5], [-1.0, 0.25]], 2.5, False),
    "weights": (Watch(2, 0.5), [[3.0, 1.0, 3.0], [-1.0, 2.0, 2.0]], 5.0 - 1.5, True),
    "weights above terms": (Watch(2, 2.0), [[3.0, 1.0, 3.0], [-1.0, 2.0, 2.0]], 5.0 - 6.0, False),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_the_margin_of_two_columns(name: str) -> None:
    watch, columns, margin, sound = COLUMNS[name]
    bound = sum_under(watch)
    values: Any = [[Literal(number, F4) for number in column] for column in columns]
    acc = bound.absorb(record(total0=10.0, margin=0.0), values, [])
    assert numbers(acc) == pytest.approx({"total0": 12.0, "margin": margin})
    assert bool(evaluate(bound.sound(acc), {})) == sound


@pytest.mark.parametrize("name", COLUMNS)
def test_margins_merge(name: str) -> None:
    """Sums add up; of largest magnitudes the larger one counts."""
    watch = COLUMNS[name][0]
    merged = sum_under(watch).merge(record(total0=1.0, margin=2.0), record(total0=3.0, margin=1.5))
    assert numbers(merged) == {"total0": 4.0, "margin": 2.0 if watch.reach < np.inf else 3.5}


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_a_number_that_is_none_is_not_sound(number: float) -> None:
    """Where nothing is watched, its sum tells; else a margin that is NaN does."""
    bound = sum_under(Watch(), margins=False)
    assert [c.name for c in bound.components] == ["total0"]
    assert not evaluate(bound.sound(record(total0=number)), {})
    for watch in (Watch(1), Watch(2, 0.5), Watch(1, reach=3.0)):
        assert not evaluate(sum_under(watch).sound(record(total0=1.0, margin=np.nan)), {})
