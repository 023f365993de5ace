"""What calls of pipelines take beside vectors: wait_for, out and length; and calls from several threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from support.fused_functions import project
from support.oracles import assert_same, into_poison

import clmapreduce as cm

pytestmark = pytest.mark.drawn


def test_device_arrays_are_not_waited_for(context: cm.Context, mode: str) -> None:
    running = cl.command_execution_status.COMPLETE
    for length in (50, 20_001):
        gate = cl.UserEvent(context.queue.context)
        x = cm.array(np.arange(length, dtype=np.float64), context)
        total, rest = cm.fuse(lambda v: (cm.Reduce("sum")(v), v - cm.Reduce("sum")(v)))(x, mode=mode, wait_for=[gate])
        again = project(rest, rest, mode=mode)
        many = cm.fuse(lambda v: cm.Reduce("maximum")(v), batch=True)(again, mode=mode)
        for each in (total, rest, again, many):
            assert isinstance(each, cm.DeviceArray) and each.event.command_execution_status > running
        gate.set_status(running)
        expected = np.arange(length) - length * (length - 1) / 2
        assert float(total) == length * (length - 1) / 2
        assert_same(rest.to_numpy(), expected)
        np.testing.assert_allclose(again.to_numpy(), expected, rtol=1e-12)
        assert float(many) == again.to_numpy().max()


def test_wait_for_holds_host_calls_too(context: cm.Context, mode: str) -> None:
    gate = cl.UserEvent(context.queue.context)
    timer = threading.Timer(0.2, gate.set_status, [cl.command_execution_status.COMPLETE])
    timer.start()
    x = np.ones(20_001)
    assert_same(project(x, x, context=context, mode=mode, wait_for=[gate, cm.array(x, context)]), x)
    assert gate.command_execution_status == cl.command_execution_status.COMPLETE
    timer.join()
    with pytest.raises(TypeError, match="wait_for"):
        project(x, x, context=context, wait_for=["soon"])


PAIR = cm.fuse(lambda x: (cm.Reduce("sum")(x), cm.Scan("sum")(x) - cm.Reduce("maximum")(x)))


@pytest.mark.parametrize("length", [1, 65, 3000, 20_001])
def test_out_is_written_completely(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, length)
    pipeline = cm.Scan("sum") >> cm.Map("x * 2")
    result = into_poison(lambda out: pipeline(x, out=out, context=context, mode=mode), (length,), np.int64)
    assert_same(result, np.cumsum(x) * 2)
    total = into_poison(
        lambda out: (cm.Map("x") >> cm.Reduce("sum"))(x, out=out, context=context, mode=mode), (), np.int64
    )
    assert_same(total, np.array(x.sum()))
    many = np.stack([x, x + 1, -x])
    result = into_poison(
        lambda out: pipeline(many, out=out, context=context, mode=mode, batch=True), (3, length), np.int64
    )
    assert_same(result, np.cumsum(many, axis=-1) * 2)
    outs = (np.full((), -1), np.full(length, -1))
    assert all(a is b for a, b in zip(PAIR(x, out=outs, context=context, mode=mode), outs, strict=True))
    assert_same(outs[1], np.cumsum(x) - x.max())
    device_array = (cm.array(np.full((), -1), context), cm.array(np.full(length, -1), context))
    assert PAIR(x, out=device_array, context=context, mode=mode)[1] is device_array[1]
    assert_same(device_array[0].to_numpy(), np.array(x.sum()))
    assert_same(device_array[1].to_numpy(), np.cumsum(x) - x.max())
    wider = np.full(2 * length, -1.0)[::2]
    assert pipeline(x, out=wider, context=context, mode=mode) is wider
    assert_same(wider, np.cumsum(x) * 2.0)


@pytest.mark.parametrize("length", [1, 65, 3000, 20_001])
def test_out_may_be_an_input(length: int, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Later walks and launches still read the input after the first elements are ready."""
    for pipeline in (
        cm.fuse(lambda x, y: x - cm.Reduce("sum")(x) + y),
        cm.fuse(lambda x, y: cm.Scan("sum")(x) * cm.Reduce("maximum")(y)),
        cm.fuse(lambda x, y: cm.Scan("sum")(cm.Scan("maximum")(x)) + cm.Reduce("sum")(x) - y),
        cm.fuse(lambda x, y: x * 3 - y),
    ):
        for shape in ((length,), (3, length)):
            how: Any = {"mode": mode, "batch": len(shape) > 1}
            x, y = rng.integers(-9, 9, shape), rng.integers(-9, 9, shape)
            expected = pipeline(x, y, context=context, **how)
            host = x.copy()
            assert_same(pipeline(host, y, out=host, context=context, **how), expected)
            device_array = cm.array(x, context)
            assert pipeline(device_array, y, out=device_array, **how) is device_array
            assert_same(device_array.to_numpy(), expected)
            long = np.concatenate([x.reshape(-1), [0]])
            overlap = long[1:].reshape(shape)  # shares memory, one element on
            assert_same(pipeline(long[:-1].reshape(shape), y, out=overlap, context=context, **how), expected)


def test_out_stays_untouched_after_an_error(context: cm.Context, mode: str) -> None:
    x = np.ones(70, np.float32)
    poison = np.full(70, 7, np.float32)
    calls: list[tuple[Any, dict[str, Any]]] = [
        (cm.Scan("sum") >> cm.Unfold("sum"), {}),
        (cm.Map(lambda a, b: a) >> cm.Scan("sum"), {}),
        (cm.Scan("sum") >> cm.Map("x"), {"mode": "fast"}),
        (cm.Scan("sum") >> cm.Map("x"), {"accumulate": "exact"}),
        (cm.Scan("sum") >> cm.Map("x"), {"tiles": 2}),
        (cm.Scan("sum") >> cm.Map("x"), {"length": 71}),
        (cm.Map("x") >> cm.Partials("sum"), {}),
        (cm.Map("x > 0") >> cm.Scan("sum"), {}),  # int64 does not fit
        (PAIR, {}),
    ]
    for out in (poison, cm.array(poison, context)):
        for pipeline, more in calls:
            with pytest.raises(cm.ClMapReduceError):
                pipeline(x, out=out, **{"context": context, "mode": mode, **more})
        for wrong in (np.zeros(69, np.float32), np.zeros((70, 1), np.float32), np.zeros(70, np.int32)):
            with pytest.raises((cm.ShapeError, cm.DTypeError)):
                (cm.Scan("sum") >> cm.Map("x"))(x, out=wrong, context=context, mode=mode)
            assert not wrong.any()
        assert_same(np.asarray(out), np.full(70, 7, np.float32))
    with pytest.raises(cm.ModeError, match=r"Partials takes no out="):
        (cm.Map("x") >> cm.Partials("sum"))(x, out=np.zeros(71, np.float32), context=context)


def test_the_length_of_a_line_without_arrays(context: cm.Context, mode: str) -> None:
    how: Any = {"context": context, "mode": mode}
    squares = cm.Map(lambda: cm.index * cm.index) >> cm.Reduce("sum")
    assert_same(squares(length=300, **how), (np.arange(300) ** 2).sum())
    multiples = cm.fuse(lambda k: cm.Scan("sum")(cm.index * k))
    assert_same(multiples(np.int64(3), length=300, **how), np.cumsum(np.arange(300) * 3))
    assert_same(
        multiples(np.array([[2], [5]]), length=40, batch=True, **how),
        np.cumsum(np.arange(40) * np.array([[2], [5]]), axis=-1),
    )
    for wrong in (-1, 2.0, True, "5"):
        with pytest.raises(cm.ShapeError, match="whole number"):
            squares(length=wrong, **how)
    with pytest.raises(cm.ShapeError, match="do not broadcast"):
        multiples(np.arange(4), length=5, **how)
    with pytest.raises(cm.ModeError, match=r"step 1, Unfold.* given the length 4, and length=5"):
        (cm.Unfold("sum") >> cm.Reduce("sum"))(2, 4, length=5, **how)


def test_eight_threads_share_one_pipeline(context: cm.Context, mode: str) -> None:
    """Nothing is traced, planned or built when they all begin."""
    fresh = cm.fuse(lambda x, k: (cm.Reduce("sum")(x * k), cm.Scan("maximum")(x * k - cm.Reduce("sum")(x))))
    start = threading.Barrier(8)

    def work(number: int) -> None:
        start.wait(60)
        for length in (60, 20_001):
            x = np.arange(length) % (7 + number)
            total, top = fresh(x, number, context=context, mode=mode)
            assert_same(total, (x * number).sum(), number)
            assert_same(top, np.maximum.accumulate(x * number - x.sum()), number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8), timeout=200))
