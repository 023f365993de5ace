"""Programs that several threads build at once: each text once, errors as from one thread."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyopencl as cl
import pytest

import clmapreduce as cm
from clmapreduce.errors import BuildError
from hostsched import ProgramBuildError, build

SOURCES = [f"__kernel void add(__global int *x) {{ x[get_global_id(0)] += {k}; }}" for k in range(6)]


@pytest.fixture
def at_once(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> cm.Context:
    """A context of a driver that may build several programs at once; Intel's may not."""
    if context.device.vendor == "intel":
        pytest.skip("Intel's compiler may not run twice at once")
    traits = replace(context.device.facts.traits, compiles_at_once=True)
    monkeypatch.setattr("hostsched.device.traits._TRAITS", {context.device.vendor: traits})
    monkeypatch.setenv("CLMR_NO_CACHE", "1")
    return cm.Context(context.device, cl_context=cl.Context([context.device.cl_device]))


def test_threads_that_build_the_same_texts(at_once: cm.Context) -> None:
    assert at_once.device.facts.traits.compiles_at_once
    with ThreadPoolExecutor(4) as pool:
        programs = list(pool.map(lambda k: build(at_once.queue, SOURCES[k % 6]), range(24)))
    for k in range(24):
        assert programs[k] is build(at_once.queue, SOURCES[k % 6])


def test_a_call_of_several_kernels(at_once: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three launches or more: their kernels go to threads."""
    pools: list[int] = []

    class Counted(ThreadPoolExecutor):
        def __init__(self, most: int) -> None:
            pools.append(most)
            super().__init__(most)

    monkeypatch.setattr("clmapreduce.device.runtime.ThreadPoolExecutor", Counted)
    monkeypatch.setattr("clmapreduce.device.runtime.FEW_KERNELS", 0)
    with at_once:
        assert cm.Reduce("sum")(list(range(100))) == 4950
        assert cm.Scan("sum")([1, 2, 3])[-1] == 6
    assert len(pools) == 2


def test_one_of_several_kernels_that_does_not_build(at_once: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> None:
        raise ProgramBuildError("no such thing", "text", "a device")

    monkeypatch.setattr("clmapreduce.device.runtime.hostsched.build", refuse)
    monkeypatch.setattr("clmapreduce.device.runtime.FEW_KERNELS", 0)
    with at_once, pytest.raises(BuildError, match="no such thing"):
        cm.Reduce("sum")([1.0, 2.0])
    monkeypatch.undo()
    with at_once:
        assert cm.Reduce("sum")([1.0, 2.0]) == 3.0
