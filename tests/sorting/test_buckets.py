"""Sorts by buckets: keys of every distribution, buckets that fit no room, words that two digits leave out of order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.schemes.line.sorting import bucket_sort, line_sort
from clmapreduce.schemes.line.sorting.bucket_boxes import BucketBox
from clmapreduce.sorting import line

pytestmark = pytest.mark.drawn

BOX = BucketBox(bytes=1 << 9, most=32, drawn=16, codes=12, bits=8, groups=2, items=4)
ODD = (0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1.0)
Draw = Callable[[np.random.Generator, np.dtype, int], Any]


def _apart(rng: np.random.Generator, dtype: np.dtype, n: int) -> Any:
    """Many clusters far from each other, whose keys differ in few of the low bits."""
    return rng.choice(rng.integers(0, 2**31 - 2**12, 20), n) + rng.integers(0, 2**12, n)


DISTRIBUTIONS: dict[str, Draw] = {
    "normal": lambda rng, dtype, n: rng.standard_normal(n) * 1e4,
    "of all sizes": lambda rng, dtype, n: np.exp(rng.uniform(-9, 9, n)),
    "whole range": lambda rng, dtype, n: rng.integers(0, 1 << 8 * dtype.itemsize - 1, n),
    "half zeros": lambda rng, dtype, n: np.where(rng.random(n) < 0.5, 0, rng.standard_normal(n) * 1e6),
    "far apart": _apart,
    "few": lambda rng, dtype, n: rng.choice([3, 5, 2**30], n),
    "one": lambda rng, dtype, n: np.full(n, 7),
    "one beyond": lambda rng, dtype, n: np.append(rng.integers(0, 60_000, n - 1), 2**31 - 1),
    "lowest and highest": lambda rng, dtype, n: rng.choice([0, 2**31 - 1], n),
    "sorted": lambda rng, dtype, n: np.arange(n) // 3,
    "reversed": lambda rng, dtype, n: np.arange(n)[::-1] // 3,
}


def drawn(rng: np.random.Generator, name: str, dtype: np.dtype, length: int) -> np.ndarray:
    """Keys of a distribution; of floats some are zeros of both signs, infinities and NaN of both signs."""
    x = np.asarray(DISTRIBUTIONS[name](rng, dtype, length)).astype(dtype)
    return np.where(rng.random(length) < 0.05, rng.choice(ODD, length), x).astype(dtype) if dtype.kind == "f" else x


def use(monkeypatch: pytest.MonkeyPatch, box: BucketBox) -> None:
    """Sorts by buckets of this box, whatever the keys."""
    monkeypatch.setattr(line_sort, "bucket_box", lambda *_: box)


def assert_sorts(x: np.ndarray, context: cm.Context, rng: np.random.Generator, case: Any) -> None:
    """A sort, or an order, or pairs, in one direction, are those of the stable sort, bit by bit."""
    d, down = cm.array(x, context), bool(rng.integers(2))
    ranks = np.unique(x, return_inverse=True)[1]
    order = np.argsort(-ranks if down else ranks, kind="stable")
    options = Options("sequential", context)
    what = ("keys", "places", "pairs")[rng.integers(3)]
    case = (case, what, down)
    if what == "pairs":
        carried = rng.integers(0, 200, len(x)).astype(rng.choice(["u1", "u4", "f8"]))
        prepared = line.sort_pairs(d, cm.array(carried, context), down, options)
        ordered, others = (result.to_numpy() for result in prepared.run())
        assert ordered.tobytes() == x[order].tobytes() and others.tobytes() == carried[order].tobytes(), case
    else:
        prepared = (line.sort_keys if what == "keys" else line.sort_indices)(d, down, options)
        result = prepared.run()[0].to_numpy()
        assert_same(result, x[order] if what == "keys" else order, case)
        bits = f"u{x.dtype.itemsize}"
        assert what != "keys" or np.array_equal(np.sort(result.view(bits)), np.sort(x.view(bits))), "bits are kept"
    assert "buckets" in prepared.executable.plan.why, case


@pytest.mark.parametrize("name", DISTRIBUTIONS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u4", "i8", "u8"])
def test_every_distribution_is_sorted(
    dtype: str, name: str, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, BOX)
    for length in (4_100 + int(rng.integers(64)), 40_009):
        assert_sorts(drawn(rng, name, np.dtype(dtype), length), context, rng, (name, length))


@pytest.mark.parametrize("name", ["whole range", "far apart", "half zeros"])
@pytest.mark.parametrize("room", [0, 3])
def test_buckets_beyond_their_room(
    name: str, room: int, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two buckets of words of 64 bits: two digits of five bits leave most of them out of order."""
    monkeypatch.setattr(bucket_sort, "ROOM", room)
    use(monkeypatch, replace(BOX, most=2, bits=5))
    length = 5_003 + room
    dtype = np.dtype(rng.choice(["i8", "f8", "u4"]))
    for _ in range(3):
        assert_sorts(drawn(rng, name, dtype, length), context, rng, (dtype, name, room))


@pytest.mark.parametrize("codes", [4, 8])
def test_short_codes_are_searched(
    codes: int, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, replace(BOX, codes=codes))
    for name in ("normal", "of all sizes", "far apart", "half zeros"):
        assert_sorts(drawn(rng, name, np.dtype("f4"), 30_001 + codes), context, rng, (name, codes))


def test_the_planner_takes_buckets_for_long_lines(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.standard_normal(1 << 20).astype("f4")
    x[rng.integers(0, len(x), 1000)] = np.nan
    whys = {n: line.sort_keys(cm.array(x[:n], context), False, Options("auto", context)).executable.plan.why for n in (1 << 10, 1 << 20)}
    assert ("buckets" in whys[1 << 20]) == (context.facts.kind == "cpu") and "passes" in whys[1 << 10]
    assert_same(cm.sort(cm.array(x, context)).to_numpy(), np.sort(x))
