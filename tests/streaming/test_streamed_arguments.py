"""Everything that a call may take beside plain arrays: targets, files, buffers, broadcasts, arrays on the device."""

from __future__ import annotations

import array
import gc
import mmap
import os
from pathlib import Path

import numpy as np
import pytest
from support.oracles import assert_same
from support.streamed import LENGTH, call_streamed, floats

import clmapreduce as cm


def test_files_are_read_and_written(small: cm.Context, mode: str, tmp_path: Path, rng: np.random.Generator) -> None:
    values = floats(rng, LENGTH + 5)
    values.tofile(tmp_path / "x")
    x = np.memmap(tmp_path / "x", "f4", "r", offset=20)
    out = np.memmap(tmp_path / "y", "f4", "w+", shape=(LENGTH,))
    assert call_streamed(cm.Map(lambda a: a + 1), x, out=out, context=small, mode=mode) is out
    out.flush()
    assert_same(np.fromfile(tmp_path / "y", "f4"), values[5:] + 1)
    assert call_streamed(cm.Reduce("maximum"), x[1000:], context=small, mode=mode) == values[1005:].max()


def test_other_buffers(small: cm.Context, mode: str, tmp_path: Path, rng: np.random.Generator) -> None:
    k = rng.integers(-1000, 1000, LENGTH)
    expected = k.sum()
    for buffer in (array.array("q", k.tolist()), memoryview(k), k.tolist()):
        assert call_streamed(cm.Reduce("sum"), buffer, context=small, mode=mode) == expected
    k.tofile(tmp_path / "k")
    with open(tmp_path / "k", "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapping:
        x = np.frombuffer(mapping, "i8")
        assert call_streamed(cm.Reduce("sum"), x, context=small, mode=mode) == expected
        del x
    anonymous = mmap.mmap(-1, k.nbytes)
    x = np.frombuffer(anonymous, "i8")
    x[:] = k
    assert call_streamed(cm.Reduce("sum"), x, context=small, mode=mode) == expected


def test_layouts_and_byte_orders(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    k = rng.integers(-1000, 1000, 2 * LENGTH).astype(">i4")
    assert call_streamed(cm.Reduce("sum"), k[::-2], context=small, mode=mode) == k[::-2].sum()
    grid = rng.integers(-1000, 1000, (LENGTH // 100, 100))
    double = cm.Map(lambda a: a + a)
    assert_same(call_streamed(double, grid.T, context=small, mode=mode), 2 * grid.T)


def test_broadcasts(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    grid, row = rng.integers(-99, 99, (3001, 307)), rng.integers(-99, 99, 307)
    column = rng.integers(-99, 99, (3001, 1))
    add = cm.Map(lambda a, b, c, d: a * b + c - d)
    assert_same(call_streamed(add, grid, row, column, 3, context=small, mode=mode), grid * row + column - 3)
    outer = cm.Map(lambda a, b: a * b)
    assert_same(call_streamed(outer, column, row, context=small, mode=mode), column * row)


def test_arrays_on_the_device_stay_there(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    k, near = rng.integers(-99, 99, 400_009).astype("i1"), rng.integers(-99, 99, 400_009)
    resident = cm.array(k, small)
    total = cm.Map(lambda a, b: a * b) >> cm.Reduce("sum")
    result = call_streamed(total, near, resident, context=small, mode=mode)
    assert isinstance(result, cm.DeviceArray) and int(result) == (near * k).sum()
    out = cm.array(k, small)
    narrow = cm.Map(lambda a, b: a.astype("i1") + b)
    assert call_streamed(narrow, near, resident, out=out, context=small, mode=mode) is out
    assert_same(out.to_numpy(), near.astype("i1") + k)


def test_results_may_take_the_place_of_arguments(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    k = rng.integers(-99, 99, LENGTH)
    expected = np.cumsum(3 * k + 1)
    cm.Map(lambda a: 3 * a + 1)(k, out=k, context=small, mode=mode)
    cm.Scan("sum")(k, out=k, context=small, mode=mode)
    assert_same(k, expected)
    numbers = rng.integers(-99, 99, LENGTH + 1)
    expected = numbers[:-1] + 1
    cm.Map(lambda a: a + 1)(numbers[:-1], out=numbers[1:], context=small, mode=mode)
    assert_same(numbers[1:], expected)


def test_targets_of_another_layout_or_dtype(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = floats(rng, LENGTH)
    out = np.zeros(2 * LENGTH)[::2]
    assert call_streamed(cm.Map(lambda a: a + a), x, out=out, context=small, mode=mode) is out
    assert_same(out, (x + x).astype("f8"))


def test_guards_leave_the_rest(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, out = floats(rng, LENGTH), floats(rng, LENGTH)
    expected = np.where(x > 0, 2 * x, out)
    call_streamed(cm.Map(lambda a: cm.guard(a > 0, 2 * a)), x, out=out, context=small, mode=mode)
    assert_same(out, expected)


def test_every_step_is_reported(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    steps: list[tuple[float, float]] = []
    x = floats(rng, LENGTH)
    cm.Reduce("sum")(x, context=small, mode=mode, progress=lambda work, total: steps.append((work, total)))
    assert len(steps) > 3 and steps[-1][0] == steps[-1][1]
    assert [work for work, _ in steps] == sorted(work for work, _ in steps)


def test_the_limit_of_the_environment_counts_too(
    context: cm.Context, mode: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    x = rng.integers(-99, 99, LENGTH)
    context.wait()
    gc.collect()
    context.queue.arena.trim()  # memory that other tests freed may serve again
    monkeypatch.setenv("CLMR_MEMORY_LIMIT", str(context.queue.arena.reserved_bytes + (3 << 20)))
    assert "streamed" in cm.Scan("sum").explain(x, context=context, mode=mode)
    assert_same(cm.Scan("sum")(x, context=context, mode=mode), np.cumsum(x))
    assert context.queue.arena.reserved_bytes <= int(os.environ["CLMR_MEMORY_LIMIT"])
