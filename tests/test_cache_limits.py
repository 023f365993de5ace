"""A context keeps the plans and programs used last, and lets go of the kernels of others."""

from __future__ import annotations

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from support.child_processes import with_library
from support.oracles import assert_same

import clmapreduce as cm
import clmapreduce.device.plans.cache
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from hostsched import build
from hostsched.kernels.program import program_bytes

MOST = 3
SOURCE = "__kernel void cmr_k{0}(__global int *out) {{ out[get_global_id(0)] = {0}; }}"


@pytest.fixture
def few(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> cm.Context:
    """A context of its own with room for a few plans and programs."""
    monkeypatch.setattr(clmapreduce.device.plans.cache, "PLANS", MOST)
    monkeypatch.setattr(sys.modules["hostsched.compiler.build"], "_MAX_PROGRAMS", MOST)
    return cm.Context(context.device, cl_context=cl.Context([context.device.cl_device]))


def scale(context: cm.Context, factor: int) -> Any:
    return cm.Map(f"x * {factor}")(np.arange(9), context=context)


def test_plans_and_kernels_beyond_the_last_are_dropped(few: cm.Context) -> None:
    for factor in range(2, 8):
        assert_same(scale(few, factor), np.arange(9) * factor)
    gc.collect()
    assert len(few.caches().plans) == len(few._kernels) == len(few.queue.space.programs) == MOST
    assert_same(scale(few, 2), np.arange(9) * 2)


def test_a_plan_in_use_keeps_its_kernels(few: cm.Context) -> None:
    call = cm.Map("x * 77")._prepare((np.arange(9),), Options("auto", few))
    assert isinstance(call, Prepared)
    for factor in range(2, 8):
        scale(few, factor)
    gc.collect()
    assert len(few._kernels) == MOST + 1
    assert_same(call.run()[0], np.arange(9) * 77)


def test_programs_used_again_are_the_last(few: cm.Context) -> None:
    programs = [build(few.queue, SOURCE.format(k)) for k in range(MOST)]
    assert build(few.queue, SOURCE.format(0)) is programs[0]
    build(few.queue, SOURCE.format(MOST))
    assert build(few.queue, SOURCE.format(0)) is programs[0]
    assert build(few.queue, SOURCE.format(1)) is not programs[1]


def test_threads_that_drop_each_others_plans(few: cm.Context) -> None:
    def work(number: int) -> None:
        for factor in range(number % 3, 6):
            assert_same(scale(few, 2 + factor), np.arange(9) * (2 + factor))

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(6))) == [None] * 6
    gc.collect()
    assert len(few.caches().plans) == MOST and len(few._kernels) <= MOST, "plans of equal formulas share a kernel"


def test_kernels_are_bounded_by_their_bytes(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of plans used last stay; plans of other lengths share a kernel, which counts once."""
    own = cm.Context(context.device, cl_context=cl.Context([context.device.cl_device]))
    one = program_bytes(own.queue.space)
    monkeypatch.setattr(clmapreduce.device.plans.cache, "KERNEL_BYTES", MOST * one)
    monkeypatch.setattr(sys.modules["hostsched.compiler.build"], "_MAX_BYTES", MOST * one)
    for length in range(1, 9):
        cm.Map("x * 2")(np.arange(length), context=own)
    assert len(own.caches().plans) == 8 and own.caches().plans.nbytes == one
    maps = {factor: cm.Map(f"x * {factor}") for factor in range(3, 9)}
    for factor in maps:
        maps[factor](np.arange(9), context=own)
        maps[3](np.arange(9), context=own)
        assert own.caches().plans.nbytes <= MOST * one
        assert len(own.queue.space.programs) <= MOST
    gc.collect()
    keys = set(own._kernels)
    assert len(keys) == MOST
    assert_same(maps[3](np.arange(9), context=own), np.arange(9) * 3)
    assert set(own._kernels) == keys


MEMORY = """
import sys, numpy as np, clmapreduce as cm
def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096
context = cm.Context(cm.devices()[int(sys.argv[1])])
x = np.ones(1000, "f4")
cm.Map("x * 2")(x, context=context)
before = resident()
for k in range(5000):
    cm.Map(f"x * {k + 3}")(x, context=context)
print((resident() - before) >> 20)
"""


@pytest.mark.sweep
def test_5000_formulas_stay_below_400_mib(context: cm.Context) -> None:
    place = str(cm.devices().index(context.device))
    process = subprocess.run(
        [sys.executable, "-c", MEMORY, place], timeout=3600, capture_output=True, text=True, check=True,
        env=with_library(),
    )  # fmt: skip
    mebibytes = int(process.stdout)
    print(f"{context.device.name}: {mebibytes} MiB more")
    assert mebibytes <= 400
