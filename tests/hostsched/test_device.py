"""The facts that planning relies on are those of the device."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyopencl as cl
import pytest

from hostsched import Device, JobGraph, KernelJob, Queue, ReadJob, build
from hostsched.device.device import pocl_version


def test_facts_are_plain_frozen_and_sensible(device: Device) -> None:
    facts = device.facts
    assert facts.vendor in ("nvidia", "amd", "intel", "pocl", "apple", "other")
    assert facts.kind in ("gpu", "cpu", "accelerator")
    assert facts.version.startswith("OpenCL ")
    assert facts.lanes == (16 if facts.kind == "cpu" else 4)
    assert facts.subgroup in (1, 32, 64) and (facts.kind == "gpu" or facts.subgroup == 1)
    assert facts.name == facts.name.strip() and facts.driver and facts.platform and facts.platform_version
    assert not facts.sized_subgroups or device.cl_device.max_num_sub_groups > 0
    for size in (facts.compute_units, facts.max_group_size, facts.local_memory, facts.base_alignment):
        assert type(size) is int and size > 0
    assert 0 < facts.max_allocation <= facts.global_memory
    assert all(
        type(getattr(facts, field.name)).__name__ in ("str", "int", "bool", "tuple")
        for field in dataclasses.fields(facts)
    )
    hash(facts)
    with pytest.raises(dataclasses.FrozenInstanceError):
        facts.lanes = 1  # type: ignore[misc]


def test_a_device_shows_its_facts_in_one_line(device: Device) -> None:
    for name in (
        "name",
        "platform",
        "vendor",
        "kind",
        "version",
        "driver",
        "compute_units",
        "local_memory",
        "global_memory",
    ):
        assert getattr(device, name) == getattr(device.facts, name)
    assert (device.lanes, device.fp16, device.fp64) == (device.facts.lanes, device.facts.fp16, device.facts.fp64)
    assert device.name in repr(device) and "\n" not in repr(device)
    with pytest.raises(AttributeError):
        device.name = "other"  # type: ignore[misc]


def test_the_version_of_pocl_is_known() -> None:
    assert pocl_version("OpenCL 3.0 PoCL 3.0-rc2  Linux, Release, RELOC, LLVM 14.0.6") == (3, 0)
    assert pocl_version("OpenCL 3.0 PoCL 5.0+debian  Linux, None+Asserts, RELOC, SPIR, LLVM 16.0.6") == (5, 0)
    assert pocl_version("OpenCL 3.0 PoCL 10.2  Linux") == (10, 2)
    assert pocl_version("OpenCL 3.0 CUDA 13.0.97") == (0, 0)


def test_the_modes_that_run_follow_from_the_driver(device: Device) -> None:
    old = device.kind != "cpu" or pocl_version(device.facts.platform_version) < (5, 0)
    assert device.sound_groups == old and device.modes == ("sequential", "parallel")[: 1 + old]


def test_devices_are_equal_as_their_cl_devices_are(device: Device) -> None:
    again = Device(device.cl_device)
    assert again == device and hash(again) == hash(device) and len({again, device}) == 1
    assert device != device.cl_device


def test_precisions_that_are_claimed_build_and_run(device: Device) -> None:
    queue = Queue(device)
    for extensions, pragma, word, dtype in (
        (device.fp64, "cl_khr_fp64", "double", np.float64),
        (device.fp16, "cl_khr_fp16", "half", np.float16),
    ):
        if extensions:
            text = f"""#pragma OPENCL EXTENSION {pragma} : enable
__kernel void cmr_k(__global {word}* a) {{ {word} x = ({word})1.5f; a[0] = x * x; }}
"""
            out, a = np.zeros(1, dtype), queue.arena.take(8)
            job = KernelJob(build(queue, text).kernel("cmr_k"), 1, 1, (a,), (), (a,))
            JobGraph([job, ReadJob(a, out)]).submit(queue).wait()
            assert out[0] == 2.25


def test_a_queue_is_out_of_order_where_the_device_offers_it(device: Device) -> None:
    queue = Queue(device)
    properties = queue._queue.properties
    assert bool(properties & cl.command_queue_properties.OUT_OF_ORDER_EXEC_MODE_ENABLE) == device.facts.out_of_order
