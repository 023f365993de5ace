"""Threads: one context shared by many, one default per thread, and how defaults nest."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.device.context import current_context

pytestmark = pytest.mark.drawn

DEVICES = cm.devices()
THREADS, ROUNDS = 8, 3
LENGTH = 20_011
Job = tuple[Callable[..., Any], Any]


def jobs(seed: int) -> dict[str, Job]:
    """Calls with exact results; every thread has its own numbers."""
    rng = np.random.default_rng(seed)
    x = rng.integers(-100, 100, LENGTH - seed).astype(np.int32)
    y = rng.integers(-9, 9, x.size).astype(np.float32)
    base = np.int64(3 + seed)
    prefix = np.append(0, np.cumsum(x, dtype=np.int64))
    return {
        "map": (lambda **how: cm.Map("x * 3 + b")(x, seed, **how), x * 3 + np.int32(seed)),
        "sum": (lambda **how: cm.Reduce("sum")(x, **how), x.sum(dtype=np.int64)),
        "host": (lambda **how: cm.Reduce("sum")(y, finish="host", **how), y.sum(dtype=np.float32)),
        "argmin": (lambda **how: cm.Reduce("argmin")(x, **how), np.int64(np.argmin(x))),
        "dot": (lambda **how: (cm.Map("x * y") >> cm.Reduce("sum"))(y, y, **how), np.float32(y.astype("f8") @ y)),
        "scan": (lambda **how: cm.Scan("sum")(x, **how), prefix[1:]),
        "before": (lambda **how: cm.Scan("maximum", exclusive=True)(y, **how)[1:], np.maximum.accumulate(y)[:-1]),
        "unfold": (lambda **how: cm.Unfold("sum")(base, 1009, **how), base * np.arange(1, 1010)),
        "index": (lambda **how: cm.Unfold("index")(70_001 + seed, **how), np.arange(70_001 + seed)),
        "prefixes": (lambda **how: cm.Partials("sum")(x, **how).prefix(), prefix),
        "factorials": (lambda **how: cm.series.factorials(9 + seed, dtype="i8", **how),
            np.cumprod([1, *range(1, 10 + seed)])),
        "own kernel": (lambda **how: cm.Map(f"x * {seed + 2}")(x, **how), x * np.int32(seed + 2)),
    }  # fmt: skip


def together(work: Callable[[int], None]) -> None:
    """Runs `work(0) … work(7)` in threads that start at once; raises what any of them raised."""
    start = threading.Barrier(THREADS)

    def run(number: int) -> None:
        start.wait(60)
        work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        for future in [pool.submit(run, number) for number in range(THREADS)]:
            future.result(200)


def test_threads_share_a_context(context: cm.Context, mode: str) -> None:
    fresh = cm.Context(context.device)  # its kernels are built by the threads, at the same time
    on_device = cm.array(np.arange(LENGTH), fresh)

    def work(number: int) -> None:
        mine = jobs(number)
        names = list(mine)
        for turn in range(ROUNDS):
            for name in names[number + turn :] + names[: number + turn]:
                call, expected = mine[name]
                assert_same(call(context=fresh, mode=mode), expected, (name, number))
            total = cm.Reduce("sum")(cm.Map("x + 1")(cm.Scan("sum")(on_device, mode=mode), mode=mode), mode=mode)
            assert int(total) == LENGTH + (LENGTH - 1) * LENGTH * (LENGTH + 1) // 6

    together(work)


def test_threads_have_their_own_default() -> None:
    outside = current_context()

    def work(number: int) -> None:
        device = DEVICES[number % len(DEVICES)]
        cm.use(device)
        home = current_context()
        assert home.device == device
        for name, (call, expected) in jobs(number).items():
            assert_same(call(), expected, (name, number))
            assert current_context() is home
        assert cm.array(np.ones(3)).context is home
        with cm.Context(device) as own:
            assert cm.array(np.ones(3)).context is own
            assert_same(cm.Reduce("sum")(np.arange(LENGTH)), np.int64(LENGTH * (LENGTH - 1) // 2))
        assert current_context() is home

    together(work)
    assert current_context() is outside


def test_results_made_in_one_thread_are_read_in_another(context: cm.Context, mode: str) -> None:
    results: list[Any] = [None] * THREADS
    barrier = threading.Barrier(THREADS)

    def work(number: int) -> None:
        for turn in range(ROUNDS):
            x = cm.array(np.arange(LENGTH, dtype=np.int64) * number + turn, context)
            results[number] = cm.Scan("sum")(x, mode=mode)
            barrier.wait(100)
            other = (number + 1) % THREADS
            assert_same(results[other].to_numpy(), np.cumsum(np.arange(LENGTH) * other + turn))
            barrier.wait(100)

    together(work)


def test_buffers_go_back_to_an_arena_that_all_share(context: cm.Context, mode: str) -> None:
    """Chains of arrays in flight, dropped as soon as the next one is submitted, by eight threads and the collector."""
    step = cm.Map("x * 3 + k")

    def work(number: int) -> None:
        x = np.arange(5003, dtype=np.int32) * (number + 1)
        for k in range(12):
            on_device, expected = cm.array(x, context), x
            for _ in range(5):
                on_device, expected = step(on_device, k, mode=mode), expected * np.int32(3) + np.int32(k)
            assert_same(on_device.to_numpy(), expected, (number, k))
            if number == 0:
                gc.collect()

    together(work)


def test_a_kernel_that_all_threads_need_first(context: cm.Context, mode: str) -> None:
    """Nothing is traced, planned or built when they all begin."""
    fresh = cm.Map(lambda x: x * 3 - cm.index) >> cm.Reduce("maximum")
    x = np.arange(1025) % 7

    def work(number: int) -> None:
        assert_same(fresh(x, context=context, mode=mode), (x * 3 - np.arange(1025)).max())

    together(work)


def test_every_device_at_once() -> None:
    contexts = [cm.Context(device) for device in DEVICES]

    def work(number: int) -> None:
        x = np.arange(5003) + number
        for k in range(12):
            context = contexts[(number + k) % len(contexts)]
            assert_same(cm.Reduce("sum")(x, context=context), x.sum())
            assert_same(cm.Scan("sum")(x, context=context), np.cumsum(x))

    together(work)


def test_defaults_nest() -> None:
    outside = current_context()
    inner, second = cm.Context(DEVICES[0]), cm.Context(DEVICES[-1])
    with cm.use(DEVICES[-1]) as last:
        assert current_context() is last
        with inner:
            assert current_context() is inner
            with cm.use(second), inner, inner:
                assert current_context() is inner
                with second as again:
                    assert again is current_context() is second
                assert current_context() is inner
            assert current_context() is inner
            with pytest.raises(RuntimeError, match="inside"), second:
                raise RuntimeError("inside")
            assert current_context() is inner
            with pytest.raises(cm.DeviceError):
                cm.use("no such device")
            assert current_context() is inner
        assert current_context() is last
    assert current_context() is outside
    default = cm.use(second)
    assert current_context() is second
    with default:
        assert current_context() is second
    assert current_context() is outside, "leaving the block brings back what was before use"


def test_a_context_entered_by_two_threads_gives_each_its_own_default_back() -> None:
    common, former = cm.Context(DEVICES[0]), [cm.Context(DEVICES[0]) for _ in range(2)]
    inside, exit_event = threading.Barrier(2), threading.Event()

    def work(number: int) -> None:
        cm.use(former[number])
        with common:
            inside.wait(60)
            if number == 1:
                exit_event.wait(60)
        assert current_context() is former[number]
        exit_event.set()

    with ThreadPoolExecutor(2) as pool:
        for future in [pool.submit(work, number) for number in range(2)]:
            future.result(100)
