"""The state after each failing driver call, job by job: an error of ours, no entry and no buffer too many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyopencl as cl
import pytest
from pyopencl._cl import _ErrorRecord
from support.driver_faults import CODES, Driver, error_of, no_leak

from hostsched import (
    CopyJob,
    Device,
    DeviceNotFound,
    FillJob,
    HostSchedError,
    JobGraph,
    LaunchError,
    MapJob,
    OutOfDeviceMemory,
    Queue,
    ReadJob,
    WriteJob,
    build,
    read_back,
)  # fmt: skip
from hostsched.device import choice, usable
from hostsched.driver import opencl, runtimes
from hostsched.driver.waiting import ended, poll
from hostsched.jobs.graph import settle
from hostsched.queue import commands

from .test_pieces import counting, zero_buffer

Work = Callable[[Queue], Any]
N = 1 << 16


def fill(queue: Queue) -> bool:
    """A fill that goes out in several pieces, a copy and a read."""
    a, b, out = queue.arena.take(N), queue.arena.take(N), np.zeros(N, np.uint8)
    JobGraph([FillJob(a, b"x", N), CopyJob(a, b, N), ReadJob(b, out)]).submit(queue).wait()
    queue.arena.give(a)
    queue.arena.give(b)
    return bool((out == ord("x")).all())


def in_place(queue: Queue) -> bool:
    """An array that the device writes in place."""
    out = np.zeros(N, np.uint8)
    if queue.facts.host_pointers:
        memory = cl.Buffer(queue.context, cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR, hostbuf=out)
        a = queue.arena.from_cl(memory, N)
    else:
        a = queue.arena.borrow(out, writable=True)
    b = queue.arena.take(N)
    JobGraph([WriteJob(b, np.ones(N, np.uint8)), CopyJob(b, a, N), MapJob(a)]).submit(queue).wait()
    return bool(out.all())


def long(queue: Queue) -> bool:
    """A launch that goes out in pieces."""
    counter, out = zero_buffer(queue)
    JobGraph([counting(queue, counter), ReadJob(counter, out.view(np.uint8))]).submit(queue).wait()
    return bool((out == 1).all())


@pytest.mark.parametrize("fault", CODES)
@pytest.mark.parametrize("work", [fill, in_place, long])
def test_every_driver_call_of_a_job(queue: Queue, work: Work, fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(commands, "_LONGEST_FILL", N // 4)
    assert work(queue)
    with Driver() as driver:
        assert work(queue)
    errors = 0
    for name, count in driver.counts.items():
        for number in {0, min(5, count - 1)}:
            with no_leak(queue), Driver((name, number), fault) as failing:
                try:
                    assert work(queue)
                except HostSchedError as error:
                    errors += 1
                    assert failing.fired and isinstance(error, MemoryError) == ("out of" in fault), error
            assert work(queue)
    assert errors > 3


@pytest.mark.parametrize("fault", CODES)
def test_pinned_memory(queue: Queue, fault: str) -> None:
    for name in ("new_buffer", "map_buffer"):
        with Driver((name, 0), fault), pytest.raises((LaunchError, OutOfDeviceMemory), match="pinning"):
            queue.pin(4096)
    assert queue.pin(4096).nbytes == 4096
    a = queue.arena.take(16)
    queue.wait(queue.fill(a, b"x", 16))
    out = np.zeros(16, np.uint8)
    read_back(queue, a, out)
    assert (out == ord("x")).all()


def test_a_buffer_that_the_driver_refuses_is_no_memory_error_unless_it_says_so(queue: Queue) -> None:
    size = 3 << 20
    queue.arena.trim()
    with Driver(("new_buffer", 0), "out of host memory"):  # once: what is idle is freed, and it works
        queue.arena.take(size)
    with Driver(("new_buffer", 0), "invalid operation"), pytest.raises(LaunchError, match="INVALID_OPERATION"):
        queue.arena.take(size + (1 << 20))


def test_a_status_that_the_driver_does_not_give(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command counts as running, so that its memory stays, and who waits gets the driver's error."""
    event = queue.fill(queue.arena.take(64), b"\0", 64)
    queue.wait(event)

    def lose(*_: Any) -> int:
        raise error_of("lost device", "clGetEventInfo")

    with monkeypatch.context() as patch:
        patch.setattr(opencl, "status", lose)
        assert not ended(event)
        with pytest.raises(LaunchError, match="the device is lost"):
            queue.wait(event)
        with pytest.raises(LaunchError, match="the device is lost"):
            queue.finish()
    assert ended(event)


def test_a_lost_device_leaves_commands_as_they_are(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait in the driver that fails ends ours, although the status never changes."""
    gate = cl.UserEvent(queue.context)

    def lose(*_: Any) -> None:
        raise error_of("lost device", "clWaitForEvents")

    with monkeypatch.context() as patch:
        patch.setattr(opencl, "wait", lose)
        assert poll(gate, in_driver=True) == CODES["lost device"]
    gate.set_status(cl.command_execution_status.COMPLETE)


def test_where_no_marker_can_be_set_the_driver_finishes(queue: Queue) -> None:
    a = queue.arena.take(N)
    with Driver(("marker", 0)) as driver:
        settle(queue, [FillJob(a, b"x", N)])
    assert driver.counts["finish"] == 1


def test_events_of_others_that_the_driver_does_not_know(queue: Queue) -> None:
    event = queue.marker()
    for name in ("queue_of", "context_of"):
        with Driver((name, 0)), pytest.raises(LaunchError, match="wait_for"):
            queue.admit([event] if name == "context_of" else [cl.UserEvent(queue.context)])
    assert queue.admit([event]) == [event]


def test_a_driver_that_fails_to_list_its_devices(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """It hides no others, and the next search tries it again."""
    monkeypatch.setattr(choice, "_ranked", None)
    everything, lists = choice.devices(), opencl.get_devices
    monkeypatch.setattr(choice, "_ranked", None)

    def some(platform: cl.Platform) -> list[cl.Device]:
        if platform == device.cl_device.platform:
            raise error_of("lost device", "clGetDeviceIDs")
        return lists(platform)

    with monkeypatch.context() as patch:
        patch.setattr(opencl, "get_devices", some)
        others = [each for each in everything if each.cl_device.platform != device.cl_device.platform]
        assert choice.devices() == others
    assert choice.devices() == everything


def test_a_driver_that_builds_no_kernel(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its device is left out; the log, `unusable_devices` and the error of a call that names it say why."""
    if device.kind != "cpu":
        pytest.skip("for CPUs")
    monkeypatch.setattr(choice, "_ranked", None)
    monkeypatch.setattr(usable, "_UNKNOWN_PROCESSOR", device.version[-4:])
    assert device in choice.devices(), "its compiler was asked"
    before, build_program = choice.devices(), opencl.build_program

    def fails(program: Any, options: bytes, devices: Any) -> Any:
        if devices == [device.cl_device]:
            raise error_of("build failure", "clBuildProgram")
        return build_program(program, options, devices)

    with monkeypatch.context() as patch:
        patch.setattr(choice, "_ranked", None)
        patch.setattr(opencl, "build_program", fails)
        assert choice.devices() == [other for other in before if other != device]
        (problem,) = (line for line in choice.unusable_devices() if f"{device.platform} {device.driver} is" in line)
        with pytest.raises(DeviceNotFound, match="builds no kernel"):
            choice.select_device(f"{device.platform}:no such name")
    choice._ranked = None
    assert choice.devices() == before and problem not in choice.unusable_devices()


def test_a_loader_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise error_of("out of host memory", "clGetPlatformIDs")

    with monkeypatch.context() as patch:
        patch.setattr(runtimes, "_platforms", None)
        patch.setattr(opencl, "get_platforms", fails)
        with pytest.raises(OutOfDeviceMemory, match="drivers of this machine"):
            runtimes.platforms()


def test_a_program_without_names(queue: Queue, axpb_source: str) -> None:
    program = build(queue, axpb_source)
    with Driver(("program_info", 0)), pytest.raises(LaunchError, match="kernels of a program"):
        program.kernel("cmr_other")
    with pytest.raises(KeyError, match="cmr_axpb"):
        program.kernel("cmr_other")


def test_a_listed_kernel_that_the_driver_does_not_make(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's own words, and not that the program lacks the kernel."""
    program = build(queue, "__kernel void cmr_runs(__global int *x) { x[0] = 1; }")

    def refuse(*_: Any) -> Any:
        code = int(cl.status_code.INVALID_KERNEL_NAME)
        raise cl.LogicError(_ErrorRecord("clCreateKernel failed", code, "clCreateKernel"))

    with monkeypatch.context() as patch:
        patch.setattr(opencl, "new_kernel", refuse)
        with pytest.raises(LaunchError, match=r"making kernel cmr_runs: .*INVALID_KERNEL_NAME"):
            program.kernel("cmr_runs")
        with pytest.raises(KeyError, match="no kernel 'cmr_other'; its kernels: cmr_runs"):
            program.kernel("cmr_other")
    assert program.kernel("cmr_runs").num_args == 1
