"""Wrong or too small budgets, files that become shorter, interrupts: each is an error, without a leak."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same
from support.streamed import LENGTH, LIMIT, call_streamed, floats, softmax, tiles_of

import clmapreduce as cm


@pytest.mark.parametrize("limit", [0, -5, 1.5, True, "", "much", "-1M", "0", "256 bananas", b"1M", [1], float("nan")])
def test_a_budget_that_is_none(limit: Any, context: cm.Context) -> None:
    with pytest.raises(cm.ArgumentError, match="memory_limit is"):
        cm.Context(context.device, memory_limit=limit)


@pytest.mark.parametrize(("limit", "nbytes"), [(5000, 5000), ("256M", 256 << 20), (" 1.5 GiB", 3 << 29), ("4k", 4096)])
def test_budgets(limit: Any, nbytes: int, context: cm.Context) -> None:
    small = cm.Context(context.device, memory_limit=limit)
    assert small.queue.arena.limit == nbytes and context.queue.arena.limit is None
    assert small.queue.arena is not context.queue.arena


def test_a_budget_for_memory_of_others(context: cm.Context) -> None:
    with pytest.raises(cm.ArgumentError, match="cl_context"):
        cm.Context(context.device, cl_context=context.queue.context, memory_limit="1G")


def test_no_room_for_two_tiles(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    tiny = cm.Context(context.device, memory_limit="200K")
    x, out = floats(rng, LENGTH), np.full(LENGTH, 7, "f4")
    with pytest.raises(cm.DeviceMemoryError, match="two of 32768 elements of 8 bytes each at least must fit"):
        cm.Map(lambda a: a + 1)(x, out=out, context=tiny, mode=mode)
    assert (out == 7).all()
    rows = rng.integers(0, 9, (5, 20_000))
    with pytest.raises(cm.DeviceMemoryError, match="two of a row of 160008 bytes"):
        cm.fuse(lambda a: cm.Reduce("sum")(a), batch=True)(rows, context=tiny, mode=mode)
    assert cm.Reduce("sum")(rows[0], context=tiny, mode=mode) == rows[0].sum()


def test_one_item_walks_no_windows(small: cm.Context, rng: np.random.Generator) -> None:
    x = floats(rng, LENGTH)
    for call in (cm.Reduce("sum"), cm.Scan("sum"), softmax):
        with pytest.raises(cm.DeviceMemoryError, match="tiles=1 walks the whole line"):
            call(x, context=small, mode="sequential", tiles=1)


def test_results_that_stay_on_the_device_must_fit(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    k = rng.integers(0, 9, LENGTH)
    with pytest.raises(cm.DeviceMemoryError):
        cm.Partials("sum")(k, context=small, mode=mode)
    assert call_streamed(cm.Reduce("sum"), k, context=small, mode=mode) == k.sum()


def test_a_wrong_setting(context: cm.Context, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    x = floats(rng, 100)
    monkeypatch.setenv("CLMR_MEMORY_LIMIT", "lots")
    for call in (cm.Reduce("sum"), cm.Map(lambda a: a + 1), softmax):
        with pytest.raises(cm.SettingError, match="CLMR_MEMORY_LIMIT is 'lots'"):
            call(x, context=context)


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be truncated")
@pytest.mark.parametrize("during", [False, True])
def test_truncated_files(
    during: bool, small: cm.Context, mode: str, tmp_path: Path, rng: np.random.Generator
) -> None:
    path = tmp_path / "x"
    floats(rng, LENGTH).tofile(path)
    x = np.memmap(path, "f4", "r")

    def truncate(*_: Any) -> None:
        os.truncate(path, 4 * LENGTH - 4096)

    if not during:
        truncate()
    with pytest.raises(cm.ShapeError, match=r"argument 1 is mapped from a file .* truncated"):
        cm.Reduce("sum")(x, context=small, mode=mode, progress=truncate if during else None)
    y = rng.integers(0, 9, LENGTH)
    assert call_streamed(cm.Reduce("sum"), y, context=small, mode=mode) == y.sum()


@pytest.mark.skipif(sys.platform == "win32", reason="a mapped file cannot be truncated")
def test_a_target_whose_file_is_truncated(small: cm.Context, mode: str, tmp_path: Path) -> None:
    out = np.memmap(tmp_path / "y", "i8", "w+", shape=(LENGTH,))
    os.truncate(tmp_path / "y", 4096)
    with pytest.raises(cm.ShapeError, match="out is mapped from a file"):
        cm.Unfold("index")(LENGTH, out=out, context=small, mode=mode)


@pytest.fixture
def little_disk(tmp_path: Path) -> Iterator[Path]:
    """A folder on a disk of a mebibyte."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if sys.platform != "linux" or os.geteuid() or subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("needs to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_without_room_for_the_result(
    little_disk: Path, context: cm.Context, small: cm.Context, rng: np.random.Generator
) -> None:
    """A file with holes, as `w+` makes them: to fill them would end the process. One with room is filled."""
    k = rng.integers(0, 99, LENGTH)
    add = cm.Map(lambda a: a + 1)
    for at in (context, small):
        out = np.memmap(little_disk / "y", "i8", "w+", shape=(LENGTH,))
        with pytest.raises(cm.StorageError, match=r"not on the disk yet.*nothing was computed"):
            add(k, out=out, context=at)
        out = np.memmap(little_disk / "y", "i8", "w+", shape=(1000,))
        assert_same(add(k[:1000], out=out, context=at), k[:1000] + 1)
        del out


def test_an_interrupt_ends_the_call_between_two_tiles(
    small: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    k, out = rng.integers(0, 99, LENGTH), np.full(LENGTH, -1)
    call = cm.Map(lambda a: a + 1)
    tiles, length, _ = tiles_of(call, k, context=small, mode=mode)

    def interrupt(*_: Any) -> None:
        signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        call(k, out=out, context=small, mode=mode, progress=interrupt)
    count = np.flatnonzero(out != -1).size
    assert tiles > 3 and count % length == 0 and 0 < count <= 3 * length
    assert_same(out[:count], k[:count] + 1)
    assert_same(call_streamed(call, k, context=small, mode=mode), k + 1)


OFFSETS = np.append(np.arange(0, LENGTH, 9), LENGTH)
SUMS = np.append(np.full(LENGTH // 9, 9), LENGTH % 9)
ONES = np.ones(LENGTH, "f4")
POINTS = ONES[: LENGTH // 3 * 3].reshape(-1, 3)
PRODUCTS = cm.Genred("(x | y)", ["x = Vi(3)", "y = Vj(3)"], axis=1)
TILED: dict[str, tuple[Any, Any]] = {
    "segments": (lambda **k: cm.segmented_reduce(ONES, OFFSETS, **k), SUMS),
    "a long segment": (lambda **k: cm.segmented_reduce(ONES, [0, LENGTH], **k), [LENGTH]),
    "keys": (lambda **k: cm.reduce_by_key(np.arange(LENGTH, dtype="i4") // 9, ONES, **k)[1], SUMS),
    "a matrix": (lambda **k: cm.spmv((OFFSETS, np.zeros(LENGTH, "i4"), ONES), ONES[:1], **k), SUMS),
    "rows of pairs": (lambda **k: PRODUCTS(POINTS, POINTS[:5], **k), np.full((len(POINTS), 1), 15)),
    "columns of pairs": (lambda **k: PRODUCTS(POINTS[:5], POINTS, **k), np.full((5, 1), 3 * len(POINTS))),
}  # fmt: skip


@pytest.mark.parametrize("name", TILED)
def test_an_interrupt_ends_every_call_in_tiles(name: str, small: cm.Context, mode: str) -> None:
    """After some of its tiles; all memory comes back, and the next call is right."""
    call, expected = TILED[name]
    steps: list[tuple[float, float]] = []

    def interrupt(*step: float) -> None:
        steps.append(step)
        if len(steps) == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        call(context=small, mode=mode, progress=interrupt)
    assert len(steps) == 2 and steps[-1][0] < steps[-1][1]
    assert_same(call(context=small, mode=mode), np.asarray(expected, "f4"))
    small.wait()
    arena = small.queue.arena
    assert arena.reserved_bytes - arena.idle_bytes <= 4096, "tables of plans alone"


def test_a_call_is_cancelled_between_two_tiles(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    k = rng.integers(0, 99, LENGTH)
    with pytest.raises(cm.Cancelled, match="between two tiles"):
        cm.Scan("sum")(k, context=small, mode=mode, progress=lambda *_: small.cancel())
    assert_same(call_streamed(cm.Scan("sum"), k, context=small, mode=mode), np.cumsum(k))


def test_memory_comes_back(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    own = cm.Context(context.device, memory_limit=LIMIT)
    k = rng.integers(0, 99, LENGTH)
    for call in (cm.Scan("sum"), cm.Reduce("argmax"), softmax, cm.Map(lambda a: a + 1)):
        call(k.astype("f4"), context=own, mode=mode)
    arena = own.queue.arena
    assert arena.idle_bytes == arena.reserved_bytes <= arena.peak_bytes <= LIMIT
    arena.trim()
    assert arena.reserved_bytes == 0
