"""Runs reduced by marks at their ends, as GPUs do it, with small chunks on every device."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import assert_same, values
from support.random_segments import check_segments, check_sums

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.domain.marked import TILE, marked
from clmapreduce.schemes.segments.boxes import TeamBox
from clmapreduce.segmented import keys as front
from clmapreduce.segmented import run_ends as scheme

pytestmark = pytest.mark.drawn(seldom="pocl")

SMALL = TeamBox(most=2 * TILE, least=TILE, join_block=8)
TWELVE = np.dtype([("a", "f4"), ("b", "i4"), ("c", "u4")])
SHAPES: dict[str, list[int]] = {
    "one": [1],
    "one run": [20_011],
    "ones": [1] * 5003,
    "whole tiles": [512, 512, 1024, 1024, 1024, 511],
    "around tiles": [15, 16, 17, 511, 512, 513, 1, 31, 32, 33, 1023, 1025] * 3,
    "long and short": [1, 4000, 1, 1, 5000, 2, 3, 1],
}
LAST = cm.Operator(lambda a, b: b + 0 * a, 0, dtype="i4", commutative=False, check=False)


@pytest.fixture(autouse=True)
def marks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every call goes by marks, in chunks of two tiles."""
    monkeypatch.setattr(front, "marks_box", lambda options: SMALL)


@pytest.mark.parametrize("shape", [*SHAPES, "random"])
def test_sums_in_every_shape(shape: str, context: cm.Context, rng: np.random.Generator) -> None:
    lengths = SHAPES.get(shape) or rng.integers(1, rng.choice([3, 40, 2000]), 300)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    keys = (np.repeat(np.arange(len(lengths)), lengths) * 7 % 11).astype("i4")
    x = values(rng, "f4", keys.size)
    for key, at in (("first", ends[:-1]), ("last", ends[1:] - 1)):
        keys_of_runs, sums = cm.reduce_by_key(keys, x, key=key, context=context)
        assert_same(keys_of_runs, keys[at])
        check_sums(x, ends, sums)
        plan = cm.KeyPlan(keys, key=key, context=context)
        assert_same(plan.reduce(x)[1], sums)
        padded_keys, padded_sums, count = cm.reduce_by_key(cm.array(keys, context), x, key=key, count="device")
        assert int(count) == len(lengths) and padded_keys.shape == padded_sums.shape == keys.shape
        assert_same(padded_keys.to_numpy()[: len(lengths)], keys_of_runs)
        assert_same(padded_sums.to_numpy()[: len(lengths)], sums)


@pytest.mark.parametrize("dtype", [np.dtype("?"), np.dtype("i8"), TWELVE], ids=["bool", "int64", "record"])
def test_keys_of_every_size(dtype: np.dtype, context: cm.Context, rng: np.random.Generator) -> None:
    lengths = rng.integers(1, 9, 500)
    kinds = np.zeros(2, dtype)
    if dtype.names:
        kinds["c"][1] = 1
    else:
        kinds[1] = 1
    keys = kinds[np.repeat(np.arange(lengths.size) % 2, lengths)]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    for key, at in (("first", ends[:-1]), ("last", ends[1:] - 1)):
        keys_of_runs, counts = cm.reduce_by_key(keys, np.ones(keys.size, "i4"), key=key, context=context)
        assert_same(keys_of_runs, keys[at])
        np.testing.assert_array_equal(counts, lengths)


def test_operators(context: cm.Context, rng: np.random.Generator) -> None:
    """Those that need a run's place or length go another way and agree as well."""
    lengths = rng.integers(1, 700, 60)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    keys, x = np.repeat(np.arange(60) % 7, lengths), rng.standard_normal(ends[-1]).astype("f4")
    plan = cm.KeyPlan(keys, context=context)
    for op in ("maximum", "logsumexp", "mean", "argmin"):
        result = cm.reduce_by_key(keys, x, op, context=context)[1]
        check_segments(op, x, ends, result)
        assert_same(plan.reduce(x, op)[1], result)
    assert_same(
        cm.reduce_by_key(keys, np.arange(keys.size, dtype="i4"), LAST, context=context)[1], ends[1:].astype("i4") - 1
    )
    lengths_found = cm.reduce_by_key(keys, (keys, x), "sum", map="0 * a + 1 + 0 * b", init=5, context=context)[1]
    np.testing.assert_array_equal(lengths_found, lengths + 5)


def test_a_plan_made_in_one_mode_serves_the_other(
    context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Plans of every mode have marks, so that their bits are those of a single call."""
    monkeypatch.setattr(front, "marks_box", lambda options: SMALL if options.mode == "parallel" else None)
    keys = np.repeat(np.arange(300), rng.integers(1, 90, 300))
    x = values(rng, "f4", keys.size)
    plan = cm.KeyPlan(keys, context=context, mode="sequential")
    for mode in ("sequential", "parallel"):
        assert_same(plan.reduce(x, mode=mode)[1], cm.reduce_by_key(keys, x, mode=mode, context=context)[1])


def test_indices_of_64_bits(context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """As for more than 2^31 keys; every launch of a plan counts alike."""
    monkeypatch.setattr("clmapreduce.domain.marked.NARROW_LIMIT", 0)
    lengths = np.concatenate([rng.integers(1, 90, 200), [5000]])
    keys, ends = np.repeat(np.arange(201) % 7, lengths), np.concatenate([[0], np.cumsum(lengths)])
    x = values(rng, "f4", keys.size)
    keys_of_runs, sums = cm.reduce_by_key(keys, x, context=cm.Context(context.device))  # with a cache of plans of its own
    assert_same(keys_of_runs, keys[ends[:-1]])
    check_sums(x, ends, sums)


def test_repeats_give_one_bit_pattern(context: cm.Context, rng: np.random.Generator) -> None:
    keys = np.repeat(np.arange(40), rng.integers(1, 600, 40))
    x = values(rng, "f4", keys.size)
    assert len({cm.reduce_by_key(keys, x, context=context)[1].tobytes() for _ in range(200)}) == 1


def test_chunks_are_whole_tiles_by_the_sizes_alone() -> None:
    for length in (1, 511, 512, 513, 10**6, 1 << 28):
        line = marked(length, TeamBox().share(length))
        assert line.share % TILE == 0 and (line.chunks - 1) * line.share < length <= line.chunks * line.share
        assert line.words * 32 >= length and line.words % (TILE // 32) == 0


def test_cpus_and_the_sequential_mode_go_by_places(context: cm.Context, mode: str) -> None:
    box = scheme.marks_box(Options(mode, context))
    assert (box is not None) == (mode == "parallel" and context.facts.kind != "cpu")
