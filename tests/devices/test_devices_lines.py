"""Map, Reduce and pipelines that several devices share: right, and the same bits on one, two and three."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.device.tile_calls import TileCalls

from .conftest import LIMIT, Several

LENGTHS = (32_768 * 5, 32_768 * 7 + 1, 300_007)
CALLS: dict[str, Any] = {
    "sum": cm.Reduce("sum"),
    "argmin": cm.Reduce("argmin"),
    "logsumexp": cm.Reduce("logsumexp"),
    "map": cm.Map(lambda x: x * x + 1),
    "index": cm.Map(lambda x: x * cm.index),
    "map and reduce": cm.Map(lambda x: abs(x) + cm.index) >> cm.Reduce("argmax"),
    "scan": cm.Scan("sum"),
    "norm": cm.fuse(lambda x: x / cm.math.sqrt(cm.Reduce("sum")(x * x))),
}
ORACLES: dict[str, Any] = {
    "sum": np.sum,
    "argmin": np.argmin,
    "logsumexp": lambda x: np.log(np.sum(np.exp(x))),
    "map": lambda x: x * x + 1,
    "index": lambda x: x * np.arange(len(x)),
    "map and reduce": lambda x: np.argmax(abs(x) + np.arange(len(x))),
    "scan": lambda x: np.cumsum(x, dtype=np.longdouble).astype("f8"),
    "norm": lambda x: x / np.sqrt(np.sum(x * x)),
}


@pytest.mark.drawn
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("name", CALLS)
def test_calls_are_right_on_any_number_of_devices(
    name: str, length: int, mode: str, several: Several, rng: np.random.Generator
) -> None:
    x = rng.uniform(-1, 1, length)
    results = [CALLS[name](x, mode=mode, context=several(count)) for count in (1, 2, 3)]
    np.testing.assert_allclose(results[0], ORACLES[name](x), rtol=1e-11, atol=1e-11)
    for result in results[1:]:
        assert_same(np.asarray(result), np.asarray(results[0]))


@pytest.mark.parametrize("name", ["map", "sum"])
def test_every_device_does_a_part(
    name: str, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no block has ended yet, the next one goes to the device that has fewest."""
    monkeypatch.setattr(TileCalls, "oldest_ended", False)
    team = cm.Context([context.device] * 2, memory_limit=LIMIT, profile=True)
    CALLS[name](rng.random(LENGTHS[-1]), context=team)
    kernels = [sum(label.startswith("cmr_") for _, label, _ in member.queue.log) for member in team.members]
    assert all(kernels), kernels


def test_two_results_and_partly_written_ones(several: Several, rng: np.random.Generator) -> None:
    x = rng.random(LENGTHS[1]).astype("f4")
    low, high = cm.Map(lambda v: (v - 1, v * 2))(x, context=several(2))
    assert_same(low, x - np.float32(1))
    assert_same(high, x * np.float32(2))
    out = np.full(len(x), -1, "f4")
    cm.Map(lambda v: cm.guard(v > 0.5, v))(x, out=out, context=several(2))
    assert_same(out, np.where(x > 0.5, x, np.float32(-1)))


def test_rows_of_a_batch(several: Several, rng: np.random.Generator) -> None:
    x = rng.random((4001, 77))
    pipeline = cm.fuse(lambda v: v / cm.Reduce("maximum")(v))
    one, two = (pipeline(x, batch=True, context=several(count)) for count in (1, 2))
    np.testing.assert_allclose(one, x / x.max(1, keepdims=True), rtol=1e-15)
    assert_same(two, one)


def test_arrays_that_are_read_as_a_whole(several: Several, rng: np.random.Generator) -> None:
    """A number, and a result of an earlier pass, are there on every device."""
    x = rng.random(LENGTHS[-1])
    scaled = cm.Map(lambda v, s: v * s)
    assert_same(scaled(x, 2.5, context=several(2)), x * 2.5)


def test_device_arrays_run_on_the_first_device(several: Several, rng: np.random.Generator) -> None:
    x, context = rng.random(LENGTHS[-1]), several(2)
    on_device = cm.array(x, context)
    result = cm.Map(lambda v: v + 1)(on_device)
    assert result.context is context
    assert_same(result.to_numpy(), x + 1)
    target = cm.array(np.zeros_like(x), context)
    assert cm.Map(lambda v: v + 1)(x, out=target, context=context) is target
    assert_same(target.to_numpy(), x + 1)
