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
