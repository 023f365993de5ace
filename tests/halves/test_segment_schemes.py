"""The schemes of segments that only GPUs take, on float16 that is not computed with, forced by launch boxes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.random_segments import offsets_of

import clmapreduce as cm
from clmapreduce.domain.marked import TILE
from clmapreduce.schemes.segments.boxes import TeamBox
from clmapreduce.schemes.segments.team import Teams
from clmapreduce.segmented import keys as front

pytestmark = pytest.mark.drawn(seldom="pocl")

BOXES = {
    "team": TeamBox(most=4096, join_block=32),
    "striped": TeamBox(most=2100, least=2100, window=1, join_block=8, blocked=False, teams=4),
}


def numbers(rng: np.random.Generator, length: int) -> np.ndarray:
    return (rng.integers(-64, 64, length) / 16).astype(np.float16)


def same(actual: Any, expected: list[Any]) -> None:
    """Asserts the exact results, rounded; few digits leave no room for another rounding."""
    assert actual.dtype == np.float16
    np.testing.assert_array_equal(actual, np.array(expected, np.float64).astype(np.float16))


@pytest.mark.parametrize("box", BOXES)
def test_teams(box: str, poor: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Teams, "default", lambda _: BOXES[box])
    offsets = offsets_of([5, 0, 9000, 1, 64, *rng.integers(0, 60, 200)])
    x, parts = numbers(rng, offsets[-1]), list(pairwise(offsets))
    how: dict[str, Any] = {"context": poor, "mode": "parallel"}
    same(cm.segmented_reduce(x, offsets, "sum", **how), [x[i:j].sum(dtype="f8") for i, j in parts])
    same(cm.segmented_reduce(x, offsets, "maximum", init=1, **how), [max([1, *x[i:j]]) for i, j in parts])
    same(cm.segmented_reduce(x, offsets, "mean", empty=3, **how), [x[i:j].mean(dtype="f8") if j > i else 3 for i, j in parts])
    places = cm.segmented_reduce(x, offsets, "argmin", **how)
    np.testing.assert_array_equal(places, [x[i:j].argmin() if j > i else -1 for i, j in parts])
    columns = rng.integers(0, 300, offsets[-1]).astype(np.int32)
    other = numbers(rng, 300)
    products = x.astype("f8") * other[columns]
    same(cm.spmv((offsets, columns, x), other, **how), [products[i:j].sum() for i, j in parts])


def test_marked_runs(poor: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(front, "marks_box", lambda options: TeamBox(most=2 * TILE, least=TILE, join_block=8))
    lengths = [15, 16, 17, 511, 512, 513, *rng.integers(1, 40, 300), 3000]
    ends = offsets_of(lengths)
    keys, x = np.repeat(np.resize(np.array([0.5, -0.0, 7], np.float16), len(lengths)), lengths), numbers(rng, ends[-1])
    for which, at in (("first", ends[:-1]), ("last", ends[1:] - 1)):
        found, sums = cm.reduce_by_key(keys, x, key=which, context=poor, mode="parallel")
        np.testing.assert_array_equal(found.view("u2"), keys[at].view("u2"))
        same(sums, [x[i:j].sum(dtype="f8") for i, j in pairwise(ends)])
