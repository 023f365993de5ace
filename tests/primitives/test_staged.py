"""Repeated calls on short arrays of the host: results of their own, from many threads, and after a call that failed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.repeat.staged import StagedCall

DTYPES = ["?", "i1", "u2", "i4", "u8", "f4", "f8"]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(1,), (7, 33), (3000,)])
def test_results_are_arrays_of_their_own(dtype: Any, shape: Any, context: cm.Context, rng: np.random.Generator) -> None:
    """Earlier results stay as they are, and arguments too."""
    wide = np.dtype(dtype).itemsize == 8 and np.dtype(dtype).kind == "f"
    if wide and not context.facts.fp64:
        pytest.skip("no float64 here")
    same = cm.Map(lambda a: cm.math.where(a == a, a, a))
    sent, results = [], []
    for _ in range(5):
        sent.append(np.asarray(rng.integers(0, 100, shape)).astype(dtype))
        results.append(same(sent[-1], context=context))
    for values, result in zip(sent, results, strict=True):
        assert np.asarray(result).dtype == values.dtype and np.shape(result) == shape
        np.testing.assert_array_equal(result, values)


def test_calls_of_many_threads_on_arrays_of_the_host(context: cm.Context, rng: np.random.Generator) -> None:
    total = cm.Map(lambda a: a * 2) >> cm.Reduce("sum")
    hosts = [rng.integers(-99, 99, 3000).astype(np.int32) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(20):
            results = pool.map(lambda host: total(host, context=context), hosts)
            assert [int(r) for r in results] == [2 * int(host.sum()) for host in hosts]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, cm.DeviceError])
def test_a_call_that_fails_leaves_later_ones_right(
    failure: Any, context: cm.Context, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kernels may still be at work on its arrays, so that later calls take others."""
    doubled = cm.Map(lambda a: a * 2)
    hosts = [rng.standard_normal(999).astype(np.float32) for _ in range(9)]
    for host in hosts[:3]:
        doubled(host, context=context)
    plain, failed = StagedCall._run, []

    def fails(self: StagedCall, *args: Any) -> None:
        plain(self, *args)
        failed.append(self)
        raise failure

    with monkeypatch.context() as patch:
        patch.setattr(StagedCall, "_run", fails)
        if context.queue.facts.host_pointers:
            with pytest.raises(failure):
                doubled(hosts[3], context=context)
            assert failed[0].is_over
    for host in hosts:
        np.testing.assert_array_equal(doubled(host, context=context), 2 * host)


def test_calls_wait_for_events(context: cm.Context) -> None:
    x = np.arange(50, dtype=np.int32)
    added = cm.Map(lambda a: a + 1)
    for _ in range(4):
        other = cm.array(x, context)
        np.testing.assert_array_equal(added(x, context=context, wait_for=[other]), x + 1)
    with pytest.raises(cm.ClMapReduceError):
        added(x, context=context, wait_for=[3])
    np.testing.assert_array_equal(added(x, context=context), x + 1)
