"""Numbers in several floats in segments, runs of keys, compiled calls, and lines longer than device memory."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.extended import DTYPES, numbers, unit

import clmapreduce as cm

pytestmark = pytest.mark.drawn


@pytest.fixture(params=["dd", "qd"])
def dtype(request: pytest.FixtureRequest) -> Any:
    return DTYPES[request.param]


def check(results: Any, parts: list[Any]) -> None:
    """Each result is the sum of a part, within what docs/guides/precision.md states of sums."""
    dtype = results.dtype
    for result, part in zip(np.atleast_1d(cm.exact(results)), parts, strict=True):
        bound = (8 * len(part) + 500) * unit(dtype) ** len(dtype)
        assert abs(result - sum(part)) <= bound * sum(map(abs, part), Fraction(0))


def test_segments_and_runs(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any) -> None:
    x = numbers(rng, 3001, dtype, powers=8)
    exact = cm.exact(x)
    ends = np.sort(rng.integers(0, 3002, 40))
    offsets = np.concatenate([[0], ends, [3001]])
    parts = [list(exact[first:last]) for first, last in pairwise(offsets.tolist())]
    check(cm.segmented_reduce(x, offsets, context=context, mode=mode), parts)
    keys = np.repeat(np.arange(len(parts)), np.diff(offsets))
    _, sums = cm.reduce_by_key(keys, x, context=context, mode=mode)
    check(sums, [part for part in parts if part])
    least = cm.segmented_reduce(x, [0, 7, 3001], "minimum", context=context, mode=mode)
    assert list(cm.exact(least)) == [min(exact[:7]), min(exact[7:])]


def test_compiled_calls(context: cm.Context, mode: str, rng: np.random.Generator, dtype: Any) -> None:
    pipeline = cm.Map(lambda a, b: a * 2 + b) >> cm.Reduce("sum")
    compiled = pipeline.compile([(777,), (777,)], [dtype, dtype], context=context, mode=mode)
    a, b = numbers(rng, 777, dtype, powers=8), numbers(rng, 777, dtype, powers=8)
    check(compiled(a, b), [[*(2 * cm.exact(a)), *cm.exact(b)]])


def test_lines_longer_than_memory(context: cm.Context, rng: np.random.Generator) -> None:
    """Window by window; words are whole numbers, so that sums are exact."""
    limited = cm.Context(context.device, memory_limit="4M")
    x = np.zeros(300_007, cm.dd)
    x["hi"] = rng.integers(-(2**40), 2**40, len(x))
    x["lo"] = rng.integers(-8, 8, len(x)) * 2.0**-20
    first, second = x["hi"].astype("i8"), (x["lo"] * 2.0**20).astype("i8")
    sums = [Fraction(int(f)) + Fraction(int(s), 2**20) for f, s in zip(np.cumsum(first), np.cumsum(second), strict=True)]
    assert cm.exact(cm.Reduce("sum")(x, context=limited)) == sums[-1]
    prefixes = cm.Scan("sum")(x, context=limited)
    places = rng.integers(0, len(x), 300)
    assert list(cm.exact(prefixes[places])) == [sums[place] for place in places]
    twice = cm.Map("a * 2")(x, context=limited)
    assert list(cm.exact(twice[places])) == [2 * value for value in cm.exact(x[places])]
    assert cm.exact(cm.Reduce("sum")(x["hi"].copy(), dtype=cm.dd, context=limited)) == int(first.sum())
