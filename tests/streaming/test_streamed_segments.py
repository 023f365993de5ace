"""Segments, runs of keys and sparse matrices whose arrays have no room in device memory, against NumPy."""

from __future__ import annotations

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same, into_poison, logsumexp
from support.streamed import floats

import clmapreduce as cm
from clmapreduce.device.tile_calls import TileCalls
from clmapreduce.segmented.streamed.cuts import Tile, tiles

COUNT = 600_011


@pytest.fixture
def tile_count(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Grows by the bytes of every tile that is submitted."""
    counts: list[int] = []
    run = TileCalls.run

    def counting(self: TileCalls, sources: Any, target: Any, call: Any) -> None:
        counts.append(sum(values.nbytes for _, values in sources))
        run(self, sources, target, call)

    monkeypatch.setattr(TileCalls, "run", counting)
    return counts


def some_offsets(rng: np.random.Generator, segments: int, count: int = COUNT, dtype: Any = "i8") -> np.ndarray:
    """Offsets with empty segments, one that is longer than a tile, and others."""
    offsets = np.sort(rng.integers(0, count + 1, segments + 1))
    offsets[100:200] = offsets[100]
    offsets[5000:] = np.maximum(offsets[5000:], offsets[4999] + count // 3)
    offsets[0], offsets[-1] = 0, count
    return np.minimum(offsets, count).astype(dtype)


def sums(values: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    before = np.concatenate([np.zeros((1, *values.shape[1:]), values.dtype), np.cumsum(values, axis=0)])
    return np.diff(before[offsets], axis=0)


@pytest.mark.parametrize("dtype", ["i4", "i8"])
def test_sums_of_segments(
    dtype: str, small: cm.Context, mode: str, tile_count: list[int], rng: np.random.Generator
) -> None:
    offsets, values = some_offsets(rng, 20_011, dtype=dtype), rng.integers(-99, 99, COUNT)
    reduce = cm.segmented_reduce
    result = into_poison(lambda out: reduce(values, offsets, out=out, context=small, mode=mode), 20_011, "i8")
    assert_same(result, sums(values, offsets))
    assert_same(reduce(values, offsets, init=5, context=small, mode=mode), sums(values, offsets) + 5)
    assert_same(reduce(values, offsets[:-1], starts=True, context=small, mode=mode), sums(values, offsets))
    assert len(tile_count) > 8 and max(tile_count) < 1 << 20
    assert small.queue.arena.peak_bytes <= small.queue.arena.limit  # type: ignore[operator]


@pytest.mark.parametrize("op", ["argmin", "argmax", "maximum", "mean", "var", "logsumexp"])
def test_other_reductions(
    op: str, small: cm.Context, mode: str, tile_count: list[int], rng: np.random.Generator
) -> None:
    offsets, values = some_offsets(rng, 8011), floats(rng, COUNT, "f8")
    result = cm.segmented_reduce(values, offsets, op, context=small, mode=mode)
    oracle: Any = {"mean": np.mean, "var": np.var, "logsumexp": logsumexp, "maximum": np.max}.get(op, getattr(np, op, None))
    nothing = {"argmin": -1, "argmax": -1, "mean": np.nan, "var": np.nan}.get(op, -np.inf)
    parts = [values[a:b] for a, b in pairwise(offsets)]
    expected = np.array([oracle(part) if part.size else nothing for part in parts])
    assert tile_count
    if op in ("argmin", "argmax", "maximum"):
        assert_same(result, expected.astype(result.dtype))
    else:
        np.testing.assert_allclose(result, expected.astype("f8"), rtol=1e-10, atol=1e-12)


def test_trailing_axes_and_functions(
    small: cm.Context, mode: str, tile_count: list[int], rng: np.random.Generator
) -> None:
    offsets, values = some_offsets(rng, 7001, 200_003), rng.integers(-9, 9, (200_003, 3))
    weights = rng.integers(-9, 9, 200_003)
    result = cm.segmented_reduce(
        (values, weights), offsets, map=lambda v, w: v * w + 1, context=small, mode=mode
    )  # fmt: skip
    assert_same(result, sums(values * weights[:, None] + 1, offsets))
    assert tile_count


def test_records_in_order(small: cm.Context, mode: str, tile_count: list[int], rng: np.random.Generator) -> None:
    pair = np.dtype([("a", "i8"), ("b", "i8")])
    op = cm.Operator(
        lambda f, g: {"a": f["a"] * g["a"], "b": g["a"] * f["b"] + g["b"]}, (1, 0), dtype=pair, commutative=False
    )
    x = np.empty(250_007, pair)
    x["a"], x["b"] = rng.choice([-1, 1], x.size), rng.integers(-50, 50, x.size)
    offsets = some_offsets(rng, 6007, x.size)
    expected = np.empty(6007, pair)
    for i, (begin, end) in enumerate(pairwise(offsets.tolist())):
        a, b = 1, 3
        for first, second in x[begin:end].tolist():
            a, b = a * first, first * b + second
        expected[i] = a, b
    assert_same(cm.segmented_reduce(x, offsets, op, init=(1, 3), context=small, mode=mode), expected)
    assert tile_count


@pytest.mark.parametrize("key", ["first", "last"])
def test_runs_of_keys(
    key: str, small: cm.Context, mode: str, tile_count: list[int], rng: np.random.Generator
) -> None:
    keys = np.sort(rng.integers(0, 5000, COUNT))
    keys[COUNT // 3 : 2 * COUNT // 3] = 7
    values = rng.integers(-99, 99, COUNT)
    begins = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1, [COUNT]])
    result_keys, result = cm.reduce_by_key(keys, values, key=key, context=small, mode=mode)
    assert_same(result_keys, keys[begins[:-1]])
    assert_same(result, sums(values, begins))
    near = cm.reduce_by_key(keys, values, key=key, equal=lambda a, b: a // 2 == b // 2, context=small, mode=mode)
    begins = np.concatenate([[0], np.flatnonzero(np.diff(keys // 2)) + 1, [COUNT]])
    assert_same(near[0], keys[begins[:-1]] if key == "first" else keys[begins[1:] - 1])
    assert_same(near[1], sums(values, begins))
    out = np.empty(len(begins) - 1, keys.dtype), np.empty(len(begins) - 1, "i8")
    results = cm.reduce_by_key(keys // 2, values, out=out, context=small, mode=mode)
    assert results[0] is out[0] and results[1] is out[1]
    assert_same(out[1], sums(values, begins))
    assert tile_count


@pytest.mark.parametrize("trailing", [(), (3,)])
def test_sparse_matrices_by_rows(
    trailing: tuple[int, ...], small: cm.Context, mode: str, tile_count: list[int], rng: np.random.Generator
) -> None:
    offsets = some_offsets(rng, 9001, 400_009, "i4")
    columns, data = rng.integers(0, 3001, 400_009).astype("i4"), rng.integers(-9, 9, 400_009)
    x = rng.integers(-9, 9, (3001, *trailing))
    products = x[columns] * (data[:, None] if trailing else data)
    result = cm.spmv((offsets, columns, data), x, context=small, mode=mode)
    assert_same(result, sums(products, offsets))
    result = cm.spmv((offsets, columns, None), cm.array(x, small).to_numpy(), context=small, mode=mode)
    assert_same(result, sums(x[columns], offsets))
    assert tile_count


def test_a_function_that_sees_the_number_is_not_streamed(
    small: cm.Context, mode: str, tile_count: list[int], rng: np.random.Generator
) -> None:
    offsets, values = some_offsets(rng, 8011), rng.integers(-9, 9, COUNT)
    if not small.facts.lends_memory:
        pytest.skip("its arrays have no room")
    result = cm.segmented_reduce(values, offsets, map=lambda v: v + cm.index, context=small, mode=mode)
    assert_same(result, sums(values + np.arange(COUNT), offsets))
    assert not tile_count


def test_wrong_offsets(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets, values = some_offsets(rng, 8011), rng.integers(-9, 9, COUNT)
    offsets[77] = offsets[78] + 1
    out = np.full(8011, 3)
    with pytest.raises(cm.ShapeError, match=r"offsets\[78\]"):
        cm.segmented_reduce(values, offsets, out=out, context=small, mode=mode)
    assert (out == 3).all()
    offsets[rng.integers(0, 8012, 50)] = rng.integers(-(2**60), 2**60, 50)
    cm.segmented_reduce(values, offsets, validate=False, context=small, mode=mode)  # what it gives is anyone's guess


def test_no_room_for_two_tiles(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    tiny = cm.Context(context.device, memory_limit="200K")
    offsets, values = some_offsets(rng, 8011), rng.integers(-9, 9, COUNT)
    with pytest.raises(cm.DeviceMemoryError, match="two of 65536 bytes at least must fit beside 0"):
        cm.segmented_reduce(values, offsets, context=tiny, mode=mode)


@pytest.mark.skipif(os.name == "nt", reason="a mapped file cannot be truncated")
def test_truncated_files(small: cm.Context, mode: str, tmp_path: Path, rng: np.random.Generator) -> None:
    rng.integers(-9, 9, COUNT).tofile(tmp_path / "x")
    values = np.memmap(tmp_path / "x", "i8", "r")
    os.truncate(tmp_path / "x", 8 * COUNT - 8192)
    with pytest.raises(cm.ShapeError, match="values is mapped from a file"):
        cm.segmented_reduce(values, some_offsets(rng, 8011), context=small, mode=mode)


def test_tiles_have_whole_segments(rng: np.random.Generator) -> None:
    for _ in range(50):
        lengths = rng.integers(0, rng.integers(1, 100), rng.integers(1, 200))
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        tile = int(rng.integers(30, 900))
        pieces: list[Tile] = list(tiles(offsets, 3, 2, tile))
        assert [t.first for t in pieces] == [0, *(t.end for t in pieces[:-1])] and pieces[-1].end == len(lengths)
        for one in pieces:
            nbytes = 3 * (offsets[one.end] - offsets[one.first]) + 2 * (one.end - one.first)
            assert nbytes <= tile or (one.long and one.end == one.first + 1)
