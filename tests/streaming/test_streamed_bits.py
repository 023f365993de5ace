"""Tiles are cut by the arrays alone, so that every budget in which two of them fit gives the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same
from support.streamed import LENGTH, below_their_peak, call_streamed, floats, softmax, tiles_of

import clmapreduce as cm
from clmapreduce.calls import windows
from clmapreduce.pairwise.tiles import pair_tiles
from clmapreduce.segmented.streamed import cuts

LIMITS = ("1200K", "1500K", "2M")


@pytest.fixture
def budgets(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[cm.Context]]:
    """Contexts with several budgets, in all of which two tiles fit."""
    monkeypatch.setattr(windows, "TILE", 1 << 18)
    yield [cm.Context(context.device, memory_limit=limit) for limit in LIMITS]


CALLS: dict[str, Any] = {
    "a sum": cm.Reduce("sum"),
    "a log of exponentials": cm.Reduce("logsumexp"),
    "prefix sums": cm.Scan("sum"),
    "a map": cm.Map(lambda x: cm.math.sin(x) * x),
    "softmax": softmax,
    "a scan twice read": below_their_peak,
}


@pytest.mark.parametrize("name", CALLS)
def test_bits_do_not_depend_on_the_budget(
    name: str, budgets: list[cm.Context], mode: str, rng: np.random.Generator
) -> None:
    x, call = floats(rng, LENGTH), CALLS[name]
    results = [call_streamed(call, x, context=context, mode=mode) for context in budgets]
    cuts = {tiles_of(call, x, context=context, mode=mode) for context in budgets}
    assert len(cuts) == 1
    bits = [[np.asarray(part).tobytes() for part in (r if isinstance(r, tuple) else (r,))] for r in results]
    assert bits[1:] == bits[:-1]


ROWS, COLUMNS, ENTRIES = 299_993, 17, LENGTH
OFFSETS = np.append(np.arange(0, ENTRIES - 90_000, 7), ENTRIES)  # the last one is longer than a tile
SQUARES = cm.Genred("Exp(-SqDist(x, y))", ["x = Vi(3)", "y = Vj(3)"], axis=1)
TILED: dict[str, Any] = {
    "segments": lambda x, **k: cm.segmented_reduce(x, OFFSETS, **k),
    "keys": lambda x, **k: cm.reduce_by_key((np.arange(ENTRIES) // 5).astype("i4"), x, **k)[1],
    "a matrix": lambda x, **k: cm.spmv((OFFSETS, np.arange(ENTRIES) % 99, x), x[:99], **k),
    "rows of pairs": lambda x, **k: SQUARES(x[: 3 * ROWS].reshape(ROWS, 3), x[: 3 * COLUMNS].reshape(COLUMNS, 3), **k),
    "columns of pairs": lambda x, **k: SQUARES(x[: 3 * COLUMNS].reshape(-1, 3), x[: 3 * ROWS].reshape(-1, 3), **k),
}  # fmt: skip


@pytest.mark.parametrize("name", TILED)
def test_bits_of_tiles_do_not_depend_on_the_budget(
    name: str, context: cm.Context, mode: str, monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator
) -> None:
    for module in (windows, cuts, pair_tiles):
        monkeypatch.setattr(module, "TILE", 1 << 17)
    x = floats(rng, LENGTH)
    results = set()
    for limit in ("1700K", "2M", "2500K"):
        own = cm.Context(context.device, memory_limit=limit)
        results.add(TILED[name](x, context=own, mode=mode).tobytes())
        assert 0 < own.queue.arena.peak_bytes <= own.queue.arena.limit  # type: ignore[operator]
    assert len(results) == 1


def test_maps_have_the_bits_of_calls_that_are_not_streamed(
    context: cm.Context, small: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    x = floats(rng, LENGTH)
    call = cm.Map(lambda x: x * 3 + cm.index)
    assert_same(call_streamed(call, x, context=small, mode=mode), call(x, context=context, mode=mode))


def test_without_a_limit_cpus_read_host_memory_in_place(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = floats(rng, LENGTH)
    if context.facts.lends_memory:
        assert tiles_of(cm.Reduce("sum"), x, context=context, mode=mode) == (0, 0, 0)


def test_what_fits_is_not_streamed(small: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = floats(rng, 1000)
    assert tiles_of(softmax, x, context=small, mode=mode) == (0, 0, 0)
