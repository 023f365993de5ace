"""Calls that need more memory than the device or the host has say so, and later calls work."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import clmapreduce as cm

ROOT = Path(__file__).resolve().parents[2]


def child(code: str, context: cm.Context, **environment: str) -> str:
    """What Python code prints in a process of its own; drivers may abort when memory runs out."""
    head = f"import numpy as np, clmapreduce as cm\ncontext = cm.Context(cm.devices()[{cm.devices().index(context.device)}])\n"
    process = subprocess.run(
        [sys.executable, "-c", head + code], cwd=ROOT, env=os.environ | environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout.strip()


AFTERWARDS = """
assert float(cm.Reduce("sum")(cm.array(np.ones(1025, np.float32), context))) == 1025
print("works")
"""


def test_more_memory_than_the_device_gives(context: cm.Context) -> None:
    """Results of the host's are streamed where the device has no room for them: these have none on any host."""
    code = f"""
from clmapreduce.device.array import empty
for call in (
    lambda: empty(({context.device.global_memory} * 2,), np.dtype(np.uint8), context),
    lambda: empty((1 << 60,), np.dtype(np.uint8), context),
    lambda: cm.Unfold("index")(1 << 57, context=context),
    lambda: cm.Map(lambda x: x + cm.index)(cm.array(np.array([1]), context), length=1 << 57),
    lambda: (cm.Map(lambda: cm.index) >> cm.Partials("sum"))(length=1 << 57, context=context),
):
    try:
        call()
    except cm.DeviceMemoryError as error:
        assert isinstance(error, MemoryError)
    else:
        raise AssertionError("no DeviceMemoryError")
{AFTERWARDS}"""
    assert child(code, context) == "works"


def test_an_input_larger_than_the_devices_largest_buffer(context: cm.Context) -> None:
    """Pages that are never touched cost nothing, so that the array fits every host. PoCL 5.0 says another largest buffer
    in every process, so that the child's may hold the array: then the result must be right. Where the array is streamed
    the result is right as well; a host may have no room for several of such results.
    """
    calls = 'cm.Reduce("any"), cm.array'
    if context.device.facts.max_allocation < 8 << 30:
        calls += ', cm.Scan("any"), cm.Map(lambda x: x), cm.Partials("any")'
    code = f"""
x = np.zeros({context.device.facts.max_allocation + 4096}, bool)
for call in ({calls}):
    try:
        result = call(x, context=context)
    except cm.DeviceMemoryError:
        pass
    else:
        values = result.prefix(len(x)) if isinstance(result, cm.KeptPartials) else result
        assert not np.asarray(values).any()
{AFTERWARDS}"""
    assert child(code, context) == "works"


def test_a_limit_of_memory(context: cm.Context) -> None:
    code = f"""
numbers = cm.array(np.ones(1 << 20, np.float32), context)
try:
    arrays = [cm.Map(lambda x: x + 1)(numbers) for _ in range(64)]
except cm.DeviceMemoryError as error:
    assert "CLMR_MEMORY_LIMIT" in str(error)
else:
    raise AssertionError("no DeviceMemoryError")
arrays = None
{AFTERWARDS}"""
    assert child(code, context, CLMR_MEMORY_LIMIT="64M") == "works"


def test_memory_comes_back(context: cm.Context) -> None:
    """A limit of 64 MiB is enough for any number of results of 16 MiB, one after the other."""
    code = f"""
numbers = cm.array(np.ones(4 << 20, np.float32), context)
for _ in range(40):
    step = cm.Scan("sum")(numbers)
    total = cm.Reduce("sum")(step)
{AFTERWARDS}"""
    assert child(code, context, CLMR_MEMORY_LIMIT="96M") == "works"


def test_an_array_that_the_host_has_no_room_to_copy(context: cm.Context) -> None:
    """One number that is read 2^42 times. The array is refused before NumPy copies it: where the system promises
    more memory than it has, the copy ends the process.
    """
    huge = np.broadcast_to(np.float32(1), (1 << 42,))
    for call in (cm.Reduce("sum"), cm.Scan("sum"), cm.Map(lambda x: x + 1), cm.Partials("sum"), cm.run_lengths):
        with pytest.raises(cm.DeviceMemoryError, match="repeats its elements"):
            call(huge, context=context)


HUGE = np.broadcast_to(np.int64(1), (1 << 42,))
POINTS = np.broadcast_to(np.float32(1), (1 << 42, 2))
HOST_CALLS: dict[str, Callable[[], object]] = {
    "array": lambda: cm.array(HUGE),
    "cluster_ranges": lambda: cm.cluster.cluster_ranges(HUGE),
    "sort_clusters": lambda: cm.cluster.sort_clusters(POINTS, HUGE),
    "grid_cluster": lambda: cm.cluster.grid_cluster(POINTS, 0.5),
    "from_clusters": lambda: cm.Ranges.from_clusters(HUGE, HUGE, [[True]]),
    "from_mask": lambda: cm.Ranges.from_mask(np.broadcast_to(True, (1 << 20, 1 << 20))),
    "radius": lambda: cm.Ranges.radius(POINTS, None, 1.0, [[0, 9]]),
    "SegmentPlan": lambda: cm.SegmentPlan(HUGE, 1 << 42),
    "KeyPlan": lambda: cm.KeyPlan(HUGE),
    "SpmvPlan": lambda: cm.SpmvPlan(([0, 1 << 42], HUGE, HUGE)),
}


@pytest.mark.parametrize("name", HOST_CALLS)
def test_calls_that_work_on_the_host_refuse_what_it_cannot_hold(name: str) -> None:
    """One number that is read 2^42 times, which NumPy would walk through for hours or have no room to copy."""
    with pytest.raises(cm.DeviceMemoryError, match="repeats its elements"):
        HOST_CALLS[name]()
