"""Every device of this machine, a queue on it, and child processes for steps that a process can do only once."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pyopencl as cl
import pytest

import hostsched

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICES = hostsched.devices()

Child = Callable[..., str]


@pytest.fixture(params=DEVICES, ids=[f"{device.vendor}-{device.kind}-{at}" for at, device in enumerate(DEVICES)])
def device(request: pytest.FixtureRequest) -> hostsched.Device:
    chosen_device: hostsched.Device = request.param
    return chosen_device


@pytest.fixture
def queue(device: hostsched.Device) -> hostsched.Queue:
    return hostsched.Queue(device)


@pytest.fixture
def fresh_queue(device: hostsched.Device) -> hostsched.Queue:
    """A queue in a context of its own, which has built nothing yet."""
    return hostsched.Queue(device, context=cl.Context([device.cl_device]))


@pytest.fixture
def axpb_source() -> str:
    """y = scale * x + add, one element per work-item."""
    return """
__kernel void cmr_axpb(__global const float* x, __global float* y, float scale, int add)
{
    size_t i = get_global_id(0);
    y[i] = scale * x[i] + add;
}
"""


@pytest.fixture
def axpb(axpb_source: str) -> Callable[[hostsched.Queue], Callable[..., hostsched.KernelJob]]:
    """For a queue, what makes jobs of that kernel."""

    def of(queue: hostsched.Queue) -> Callable[..., hostsched.KernelJob]:
        kernel = hostsched.build(queue, axpb_source).kernel("cmr_axpb")

        def job(
            x: hostsched.Buffer, y: hostsched.Buffer, count: int, scale: float = 1, add: int = 0, group: int = 1
        ) -> hostsched.KernelJob:
            args = (x, y, np.float32(scale), np.int32(add))
            return hostsched.KernelJob(kernel, count // group, group, args, (x,), (y,))

        return job

    return of


@pytest.fixture
def same_drivers() -> dict[str, str]:
    """For a child that must find the devices of this process: the setting that names their driver, if there is one."""
    return {name: value for name, value in os.environ.items() if name == "OCL_ICD_VENDORS"}


@pytest.fixture
def child() -> Child:
    """Runs Python code in a process of its own, for 60 s at most, and returns what it printed."""

    def run(code: str, **environment: str) -> str:
        clean = {
            name: value for name, value in os.environ.items() if not name.startswith(("CLMR_", "PYOPENCL_", "OCL_"))
        }
        process = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=clean | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert process.returncode == 0, process.stdout + process.stderr
        return process.stdout.strip()

    return run
