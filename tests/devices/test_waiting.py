"""done, result, await and cm.wait of arrays whose values are on their way."""

from __future__ import annotations

import asyncio

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm


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
