"""What cannot run is refused before it reaches a driver, and what a driver refuses comes back as our errors."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hostsched import (
    CopyJob,
    Device,
    FillJob,
    JobGraph,
    KernelJob,
    LaunchError,
    MapJob,
    OutOfDeviceMemory,
    Queue,
    ReadJob,
    WriteJob,
    build,
    devices,
)
from hostsched.driver.failures import failure

Axpb = Callable[[Queue], Callable[..., KernelJob]]


def test_buffers_and_kernels_of_another_context_are_refused(axpb: Axpb, queue: Queue, fresh_queue: Queue) -> None:
    mine, theirs = queue.arena.take(64), fresh_queue.arena.take(64)
    job = axpb(queue)
    for wrong in (
        job(theirs, theirs, 1),
        WriteJob(theirs, np.zeros(1)),
        CopyJob(mine, theirs, 1),
        FillJob(theirs, b"\0", 1),
    ):
        with pytest.raises(ValueError, match="another context"):
            JobGraph([wrong]).submit(queue)
    with pytest.raises(ValueError, match="built for another context"):
        JobGraph([job(theirs, theirs, 1)]).submit(fresh_queue)


def test_wrong_kernel_arguments_are_refused(axpb_source: str, queue: Queue) -> None:
    kernel = build(queue, axpb_source).kernel("cmr_axpb")
    a = queue.arena.take(64)
    with pytest.raises(ValueError, match="takes 4 arguments, 3 were given"):
        queue.launch(kernel, 1, 1, (a, a, np.float32(1)))
    with pytest.raises(TypeError, match=r"argument 2 .* is a float"):
        queue.launch(kernel, 1, 1, (a, a, 1.0, np.int32(1)))  # type: ignore[arg-type]
    with pytest.raises(LaunchError, match=r"cmr_axpb.*INVALID_ARG_SIZE"):
        queue.launch(kernel, 1, 1, (a, a, np.float64(1), np.int32(1)))
    with pytest.raises(ValueError, match="groups of at most"):
        queue.launch(kernel, 1, kernel.max_group_size + 1, (a, a, np.float32(1), np.int32(1)))


def test_ranges_outside_a_buffer_are_refused(queue: Queue) -> None:
    a = queue.arena.take(256)
    for job in (ReadJob(a, np.zeros(257, np.uint8)), WriteJob(a, np.zeros(1, np.uint8), 256), CopyJob(a, a, 8, 0, 255)):
        with pytest.raises(ValueError, match="were asked for"):
            JobGraph([job]).submit(queue)
    with pytest.raises(ValueError, match="C-contiguous"):
        JobGraph([ReadJob(a, np.zeros((4, 4), np.uint8)[:, 1:3])]).submit(queue)
    with pytest.raises(ValueError, match="no host array"):
        JobGraph([MapJob(a)]).submit(queue)


def test_a_failed_command_raises_from_wait_and_the_queue_goes_on(device: Device, child: Callable[..., str]) -> None:
    """In a process of its own that does not clean up: Intel's runtime (2026.2) crashes soon after a user event failed,
    whoever made it, so there only the error is looked for."""
    code = f"""
import os
import numpy as np, pyopencl as cl
from hostsched import FillJob, JobGraph, LaunchError, Queue, ReadJob, devices
device = devices()[{devices().index(device)}]
queue = Queue(device)
gate = cl.UserEvent(queue.context)
a, b, out = queue.arena.take(64), queue.arena.take(64), np.zeros(64, np.uint8)
submission = JobGraph([FillJob(a, b"x", 64)]).submit(queue, [gate])
gate.set_status(-9999)
try:
    submission.wait()
except LaunchError as error:
    print(error.code < 0, flush=True)
if device.vendor == "intel":
    os._exit(0)
queue.finish()
JobGraph([FillJob(b, b"y", 64), ReadJob(b, out)]).submit(queue).wait()
assert (out == ord("y")).all()
os._exit(0)
"""
    assert child(code) == "True"


def test_driver_errors_about_memory_become_memory_errors() -> None:
    for code in (-4, -5, -6, -61):
        error = failure(code, "a launch")
        assert isinstance(error, OutOfDeviceMemory) and isinstance(error, MemoryError)
    error = failure(-54, "a launch")
    assert isinstance(error, LaunchError) and error.code == -54 and "INVALID_WORK_GROUP_SIZE" in str(error)
    assert "-9999" in str(failure(-9999, "a launch"))
