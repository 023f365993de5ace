"""`cm.profile`: what it records of known work, that results stay right, and that it leaves the context as it was."""

from __future__ import annotations

import re
import threading
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm


def centred(x: Any) -> Any:
    return x - cm.Reduce("sum")(x) * 0.25


def test_it_counts_launches_builds_and_time(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    exponents = tuple(map(int, rng.integers(3, 65, 4)))  # products that no other test has, for maps that none has built

    def powers(x: Any) -> Any:
        return sum(x**k for k in exponents)

    pipeline = cm.fuse(lambda x: powers(x) - cm.Reduce("sum")(powers(x)))
    x = rng.random(200_003).astype(np.float32)
    with cm.profile(context) as first:
        result = pipeline(x, context=context, mode=mode)
    wide = powers(x.astype(np.float64))
    np.testing.assert_allclose(result, wide - wide.sum(), rtol=1e-5)
    with cm.profile(context) as second:
        pipeline(x, context=context, mode=mode)
    stages = re.findall(r"stage \d+: (\w+),", pipeline.explain(x, context=context, mode=mode))
    for block in (first, second):
        (own,) = block.breakdowns
        assert sorted(record.label for record in own.launches) == sorted(stages)
        assert {total.name: total.count for total in own.by_kernel} == {name: stages.count(name) for name in stages}
        assert sum(own.parts.values()) == pytest.approx(own.wall, rel=1e-6)
        assert own.parts["kernels"] > 0 or context.device.platform == "rusticl"
    assert "cmr_map" in {build.name for build in first.breakdowns[0].builds} <= set(stages)
    assert first.breakdowns[0].parts["compiling"] > 0 and first.breakdowns[0].parts["planning"] > 0
    assert second.breakdowns[0].builds == [] and second.breakdowns[0].parts["planning"] == 0


def test_bytes_of_copies_are_those_of_the_arrays(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, 1_000_003).astype(np.int32)
    small = cm.Context(context.device, memory_limit="2M")
    with cm.profile(small) as block:
        result = cm.Scan("sum")(x, context=small)
    np.testing.assert_array_equal(result, x.cumsum())
    (own,) = block.breakdowns
    assert own.nbytes >= x.nbytes + result.nbytes and own.bytes_per_second > 0
    assert f"{own.nbytes / 1e6:.4g} MB" in block.report()


def test_arrays_pass_its_borders(context: cm.Context, rng: np.random.Generator) -> None:
    """Commands before, inside and behind go to different queues of the driver, and wait for each other."""
    x = rng.integers(0, 99, 2_000_003).astype(np.int64)
    array, expected = cm.array(x, context), x
    steps = cm.fuse(lambda y: cm.Scan("sum")(y) % 97)
    for _ in range(5):
        array, expected = steps(array), expected.cumsum() % 97
        with cm.profile(context):
            array, expected = steps(array), expected.cumsum() % 97
    np.testing.assert_array_equal(array.to_numpy(), expected)


def test_it_leaves_the_context_as_it_was(context: cm.Context) -> None:
    own = cm.Context(context.device)
    with pytest.raises(ZeroDivisionError), cm.profile(own):
        cm.Reduce("sum")(np.ones(5), context=own)
        raise ZeroDivisionError
    assert not own.queue.profile and not own.queue.log
    profiled = cm.Context(context.device, profile=True)
    cm.Reduce("sum")(np.ones(5), context=profiled)
    with cm.profile(profiled) as block:
        cm.Reduce("maximum")(np.ones(5), context=profiled)
    assert profiled.queue.profile and len(profiled.queue.log) > len(block.breakdowns[0].commands) > 0


def test_blocks_inside_blocks_see_their_own_part(context: cm.Context) -> None:
    x = np.ones(5)
    with cm.profile(context) as outer:
        cm.Reduce("sum")(x, context=context)
        with cm.profile(context) as inner:
            cm.Reduce("sum")(x, context=context)
        cm.Reduce("sum")(x, context=context)
    assert len(outer.breakdowns[0].launches) == 3 * len(inner.breakdowns[0].launches) > 0


def test_the_default_context_is_the_threads_own(context: cm.Context) -> None:
    with context, cm.profile() as block:
        cm.Reduce("sum")(np.ones(5))
    assert block.context is context and context.device.name in block.report().splitlines()[0]


def test_calls_of_other_threads_go_on_meanwhile(context: cm.Context, rng: np.random.Generator) -> None:
    x = rng.integers(0, 9, 100_003)
    wrong: list[Any] = []
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            if cm.Reduce("sum")(x, context=context) != x.sum():
                wrong.append(1)

    thread = threading.Thread(target=work)
    thread.start()
    for _ in range(20):
        with cm.profile(context) as block:
            assert cm.Reduce("sum")(x, context=context) == x.sum()
        assert block.breakdowns[0].launches
    done.set()
    thread.join()
    assert not wrong


def test_a_report_is_of_a_whole_block(context: cm.Context) -> None:
    with cm.profile(context) as block, pytest.raises(cm.ModeError, match="behind"):
        block.report()
    assert "under way" not in repr(block) and len(block.report().splitlines()) <= 20
    with pytest.raises(cm.DeviceError), cm.profile("cpu"):  # type: ignore[arg-type]
        pass
