"""Segments of every shape, and what their reductions must be, one by one."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from support.oracles import assert_near, assert_same, check_reduced, exact_sum, tolerance, unit, wide

RANDOM = settings(
    deadline=None, database=None, print_blob=True, max_examples=25, phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)  # fmt: skip
"""Other segments in every run."""

Lengths = Callable[[np.random.Generator], Any]

EDGES: dict[str, Lengths] = {
    "none": lambda rng: [],
    "one, empty": lambda rng: [0],
    "one of one": lambda rng: [1],
    "one short array": lambda rng: [3, 0, 2],
    "all empty": lambda rng: [0] * 5000,
    "ones": lambda rng: [1] * 9001,
    "empty between ones": lambda rng: [0, 1] * 2500,
    "empty at the ends": lambda rng: [0] * 300 + [7] * 300 + [0] * 300,
    "one giant": lambda rng: [200_003],
    "a giant among empties": lambda rng: [0] * 1000 + [15_013] + [0] * 1000,
    "giants beside ones": lambda rng: [1] * 700 + [9001] + [1] * 700 + [9002] + [1],
    "around chunks": lambda rng: [62, 64, 66, 2046, 2048, 2050, 61, 0, 63],
}
"""Segments' lengths on which empty, short and long segments meet."""

CHUNKS: dict[str, Lengths] = {
    "eights": lambda rng: [8] * 3000,
    "one tile each": lambda rng: [512] * 40,
    "one more than a tile": lambda rng: [513] * 40,
    "0 to 2": lambda rng: rng.integers(0, 3, 20_000),
    "1 to 40": lambda rng: rng.integers(1, 41, 2000),
    "1 to 4000": lambda rng: rng.integers(1, 4001, 40),
    "power law": lambda rng: random_lengths(rng, 3000, 20),
    "a giant among ones": lambda rng: [1] * 500 + [60_000] + [1] * 700,
    "empty ones, then one": lambda rng: [0] * 40_000 + [5000],
    "one, then empty ones": lambda rng: [5000] + [0] * 40_000,
    "empty ones between": lambda rng: [1] * 3000 + [0] * 9000 + [7] * 300,
    "at the ends of chunks": lambda rng: [4094, 0, 0, 4096, 1] * 6,
}
"""Those on which many chunks, tiles and segments meet."""

BATCHES: dict[str, Lengths] = {
    **{f"all of {n}": lambda rng, n=n: [n] * (20_011 // n) + [20_011 % n] for n in (1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 32, 33, 63, 64, 65)},
    "16 of 16": lambda rng: [16] * 16,
    "17 of 16": lambda rng: [16] * 17,
    "1 to 8": lambda rng: rng.integers(1, 9, 5000),
    "0 to 40": lambda rng: rng.integers(0, 41, 3000),
    "1 to 200": lambda rng: rng.integers(1, 201, 500),
    "900 to 5000": lambda rng: rng.integers(900, 5001, 40),
    "half empty": lambda rng: rng.integers(1, 17, 5000) * rng.integers(0, 2, 5000),
    "short ones at the very end": lambda rng: [5000] + [1] * 40,
    "empty ones at the very end": lambda rng: [5000] + [1] * 7 + [0] * 50,
    "one long one per batch": lambda rng: [70 if s % 16 == 5 else 3 for s in range(3000)],
    "blocks": lambda rng: [1023, 1024, 1025, 2047, 2048, 2049, 1087, 1088, 1089],
}  # fmt: skip
"""Those on which batches of as many segments as a vector has lanes meet."""

SHAPES = {**EDGES, **CHUNKS, **BATCHES}


def offsets_in_shape(name: str, rng: np.random.Generator, dtype: Any = np.int32) -> np.ndarray:
    """Offsets of the segments of that shape."""
    return offsets_of(SHAPES[name](rng), dtype)


def offsets_of(lengths: Any, dtype: Any = np.int32) -> np.ndarray:
    """(S + 1,) offsets of segments of these lengths."""
    return np.concatenate([[0], np.cumsum(np.asarray(lengths, np.int64))]).astype(dtype)


def random_lengths(rng: np.random.Generator, count: int, mean: float) -> np.ndarray:
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


def sums_of(x: np.ndarray, offsets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(sum, sum of magnitudes) of every segment in float64 (int64 and uint64 for integers), in extended precision."""
    wide_dtype = np.longdouble if x.dtype.kind == "f" else np.clongdouble if x.dtype.kind == "c" else wide(x.dtype)
    before = [np.concatenate([np.zeros((1, *x.shape[1:]), wide_dtype), np.cumsum(v, 0, dtype=wide_dtype)]) for v in (x, np.abs(x))]
    return tuple((v[offsets[1:]] - v[offsets[:-1]]) for v in before)  # type: ignore[return-value]


def check_sums(x: np.ndarray, offsets: np.ndarray, actual: Any, case: object = "") -> None:
    """Asserts that `actual` holds every segment's sum, of the right dtype."""
    actual = np.asarray(actual)
    if x.dtype.kind not in "fc":
        assert_same(actual, sums_of(x, offsets)[0], case)
        return
    assert actual.dtype == x.dtype, (actual.dtype, case)
    exact = [exact_sum(x[part]) for part in slices(offsets)]
    totals, sizes = (np.array([e[k] for e in exact], np.clongdouble if k == 0 and x.dtype.kind == "c" else float) for k in (0, 1))
    assert_near(actual, totals, tolerance(x.dtype, totals, sizes, 512, "fast"), case)


def check_segments(name: str, x: np.ndarray, offsets: np.ndarray, actual: Any, case: object = "", fp64: bool = True) -> None:
    """Asserts that `actual` holds every segment's reduction by name; empty segments are looked at elsewhere."""
    actual = np.asarray(actual)
    assert actual.shape == (len(offsets) - 1,), (actual.shape, case)
    if name == "sum":
        check_sums(x, offsets, actual, case)
        return
    for value, part in zip(actual, slices(offsets), strict=True):
        if part.stop == part.start:
            continue
        if name in ("mean", "var", "std"):
            values = x[part].astype(np.float64)
            own = unit(actual.dtype)
            scale = np.abs(values).max() ** (2 if name == "var" else 1)
            assert_near(value, getattr(np, name)(values), 64 * own * scale + (own**0.5 * scale if name == "std" else 0), case)
        else:
            check_reduced(name, x[part], value, "fast", fp64, case)
