"""Segments of every shape, and what their reductions must be, one by one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from oracles import assert_near, assert_same, check_reduced, exact_sum, tolerance, unit, wide

RANDOM = settings(
    deadline=None, database=None, print_blob=True, max_examples=25, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
"""Other segments in every run."""

LENGTHS: dict[str, list[int]] = {
    "none": [],
    "one, empty": [0],
    "one of one": [1],
    "all empty": [0] * 5000,
    "ones": [1] * 5003,
    "empty between ones": [0, 1] * 2500,
    "empty at the ends": [0] * 300 + [7] * 300 + [0] * 300,
    "one giant": [20_011],
    "a giant among empties": [0] * 1000 + [15_013] + [0] * 1000,
    "giants beside ones": [1] * 700 + [9001] + [1] * 700 + [9002] + [1],
    "around chunks": [62, 64, 66, 2046, 2048, 2050, 61, 0, 63],
}
"""Segments' lengths on which chunks, tiles and empty segments meet."""


def offsets_of(lengths: Any, dtype: Any = np.int32) -> np.ndarray:
    """(S + 1,) offsets of segments of these lengths."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))]).astype(dtype)


def ragged(rng: np.random.Generator, count: int, mean: float) -> np.ndarray:
    """Lengths that follow a power law, some 0."""
    return np.minimum((rng.pareto(1.2, count) * mean / 4).astype(np.int64), 40 * int(mean) + 1)


@st.composite
def geometries(draw: st.DrawFn) -> np.ndarray:
    """Offsets of stretches of equal, empty, short and long segments, in any order."""
    stretch = st.tuples(
        st.integers(1, 400) | st.sampled_from([31, 32, 33, 63, 64, 65, 1023, 1025]),
        st.sampled_from([0, 0, 1, 2, 3, 7, 16, 17, 31, 33, 61, 62, 63, 64, 65]),
    )
    long = st.tuples(st.just(1), st.integers(100, 6000) | st.sampled_from([509, 511, 512, 513, 2045, 2046, 2047, 2048]))
    parts = draw(st.lists(stretch | long, max_size=8))
    return offsets_of([length for count, length in parts for _ in range(count)])


def slices(offsets: np.ndarray) -> list[slice]:
    """One slice per segment."""
    return [slice(int(a), int(b)) for a, b in pairwise(offsets)]


def summed(x: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sum, sum of magnitudes) of every segment in float64 (int64 and uint64 for integers), in extended precision."""
    kept = np.longdouble if x.dtype.kind == "f" else np.clongdouble if x.dtype.kind == "c" else wide(x.dtype)
    before = [np.concatenate([np.zeros((1, *x.shape[1:]), kept), np.cumsum(v, 0, dtype=kept)]) for v in (x, np.abs(x))]
    return tuple((v[offsets[1:]] - v[offsets[:-1]]) for v in before)  # type: ignore[return-value]


def check_sums(x: np.ndarray, offsets: np.ndarray, got: Any, told: object = "") -> None:
    """Asserts that `got` holds every segment's sum, of the right dtype."""
    got = np.asarray(got)
    if x.dtype.kind not in "fc":
        assert_same(got, summed(x, offsets)[0], told)
        return
    assert got.dtype == x.dtype, (got.dtype, told)
    exact = [exact_sum(x[part]) for part in slices(offsets)]
    totals, sizes = (np.array([e[k] for e in exact], np.clongdouble if k == 0 and x.dtype.kind == "c" else float) for k in (0, 1))
    assert_near(got, totals, tolerance(x.dtype, totals, sizes, 512, "fast"), told)


def check_segments(name: str, x: np.ndarray, offsets: np.ndarray, got: Any, told: object = "") -> None:
    """Asserts that `got` holds every segment's reduction by name; empty segments are looked at elsewhere."""
    got = np.asarray(got)
    assert got.shape == (len(offsets) - 1,), (got.shape, told)
    if name == "sum":
        check_sums(x, offsets, got, told)
        return
    for value, part in zip(got, slices(offsets), strict=True):
        if part.stop == part.start:
            continue
        if name in ("mean", "var", "std"):
            values = x[part].astype(np.float64)
            own = unit(got.dtype)
            scale = np.abs(values).max() ** (2 if name == "var" else 1)
            assert_near(value, getattr(np, name)(values), 64 * own * scale + (own**0.5 * scale if name == "std" else 0), told)
        else:
            check_reduced(name, x[part], value, "fast", True, told)
