"""The constructor of a kernel job refuses arguments from which no waits follow."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from hostsched import CopyJob, FillJob, KernelJob, MapJob, Queue, ReadJob, WriteJob, build

SOURCE = "__kernel void cmr_k(__global float* a, float s) { a[get_global_id(0)] = s; }"


def test_a_buffer_argument_must_be_read_or_written(queue: Queue) -> None:
    kernel = build(queue, SOURCE).kernel("cmr_k")
    a = queue.arena.take(64)
    with pytest.raises(ValueError, match="argument 0 of cmr_k"):
        KernelJob(kernel, 1, 1, (a, np.float32(1)), (), ())
    job = KernelJob(kernel, 1, 1, (a, np.float32(1)), (), (a,))
    with pytest.raises(dataclasses.FrozenInstanceError):
        job.groups = 2  # type: ignore[misc]


def test_what_jobs_read_and_write(queue: Queue) -> None:
    a, b = queue.arena.take(64), queue.arena.take(64)
    array = np.zeros(4)
    assert (ReadJob(a, array).reads, ReadJob(a, array).writes) == ((a,), ())
    assert (WriteJob(a, array).reads, WriteJob(a, array).writes) == ((), (a,))
    assert (CopyJob(a, b, 8).reads, CopyJob(a, b, 8).writes) == ((a,), (b,))
    assert (FillJob(a, b"\0", 8).reads, FillJob(a, b"\0", 8).writes) == ((), (a,))
    assert (MapJob(a).reads, MapJob(a).writes) == ((a,), ())
