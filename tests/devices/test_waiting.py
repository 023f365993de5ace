"""done, result, await and cm.wait of arrays whose values are on their way."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from support.oracles import assert_same

import clmapreduce as cm

from .conftest import Several

COMPLETE = cl.command_execution_status.COMPLETE


def test_results_are_waited_for(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(-9, 9, 100_003)
    total = cm.Reduce("sum")(cm.array(x, context))
    assert total.result() is total and total.done()
    assert_same(total.to_numpy(), x.sum())
    several = [cm.array(x, context) + k for k in range(3)]
    cm.wait(*several)
    assert all(one.done() for one in several)
    assert cm.empty(3, context=context).done(), "nothing is on its way to memory that nobody writes"
    assert several[0][5:].result().done(), "a part of an array waits for the whole"


def test_a_wait_ends_after_its_timeout(context: cm.Context, mode: str) -> None:
    """The command waits for a gate that nobody opens before."""
    gate, x = cl.UserEvent(context.queue.context), cm.array(np.arange(33.0), context)
    late = cm.Map("x + 1")(x, wait_for=[gate], mode=mode)
    try:
        for seconds in (0, -1, 0.01):
            for wait in (late.result, late.exception, lambda timeout: cm.wait(x, late, timeout=timeout)):
                with pytest.raises(cm.TimedOut, match="has not ended"):
                    wait(seconds)
        with pytest.raises(TimeoutError):
            late.result(timeout=0)
        assert not late.done()
    finally:
        gate.set_status(COMPLETE)
    assert late.result(60) is late and late.exception(60) is None and late.done()
    cm.wait(x, late, timeout=60)
    assert_same(late.to_numpy(), np.arange(1.0, 34))


def test_an_array_in_pieces_is_there_once_all_pieces_are(several: Several, rng: np.random.Generator) -> None:
    home, x = several(2), rng.random(2**23 + 7)
    array = cm.array(x, home) + 1
    array.result(60)
    last = array.pieces[-1]  # type: ignore[attr-defined]
    gate = cl.UserEvent(last.context.queue.context)
    cm.Map("x * 2")(last.array, out=last.array, wait_for=[gate], context=last.context)
    try:
        assert not array.done()
        with pytest.raises(cm.TimedOut):
            array.result(0)
    finally:
        gate.set_status(COMPLETE)
    assert array.result(60) is array and array.done()
    expected = x + 1
    expected[last.first :] *= 2
    assert_same(array.to_numpy(), expected)


@pytest.mark.parametrize("timeout", ["soon", float("nan"), (1,)])
def test_a_timeout_is_a_number_of_seconds(timeout: Any, context: cm.Context) -> None:
    x = cm.array(np.ones(3), context)
    for wait in (x.result, x.exception, lambda timeout: cm.wait(x, timeout=timeout)):
        with pytest.raises(cm.ArgumentError, match="timeout is"):
            wait(timeout)


def test_coroutines_go_on_meanwhile(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.random(10_007)
    turns = []

    async def others() -> None:
        for turn in range(3):
            turns.append(turn)
            await asyncio.sleep(0)

    async def main() -> tuple[cm.DeviceArray, cm.DeviceArray]:
        device = cm.array(x, context)
        first, second, _ = await asyncio.gather(one(device + 1), one(device * 2), others())
        return first, second

    async def one(array: cm.DeviceArray) -> cm.DeviceArray:
        return await array

    first, second = asyncio.run(main())
    assert first.done() and second.done() and turns == [0, 1, 2]
    assert_same(first.to_numpy(), x + 1)
    assert_same(second.to_numpy(), x * 2)


def test_what_is_no_array_of_a_device_is_refused(context: cm.Context) -> None:
    for other in (np.ones(3), 5, None):
        with pytest.raises(cm.ArgumentError, match="wait takes DeviceArrays"):
            cm.wait(cm.array(np.ones(2), context), other)
