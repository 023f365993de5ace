"""Every device that OpenCL finds here, a queue on it, and processes of their own for what a process can do only once."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pyopencl as cl
import pytest

import hostsched

ROOT = pathlib.Path(__file__).resolve().parents[2]
DEVICES = hostsched.devices()

Child = Callable[..., str]


@pytest.fixture(params=DEVICES, ids=[f"{device.vendor}-{device.kind}-{at}" for at, device in enumerate(DEVICES)])
def device(request: pytest.FixtureRequest) -> hostsched.Device:
    found: hostsched.Device = request.param
    return found


@pytest.fixture
def queue(device: hostsched.Device) -> hostsched.Queue:
    return hostsched.Queue(device)


@pytest.fixture
def fresh_queue(device: hostsched.Device) -> hostsched.Queue:
    """A queue in a context of its own, which has built nothing yet."""
    return hostsched.Queue(device, context=cl.Context([device.cl_device]))


@pytest.fixture
def child() -> Child:
    """Runs Python code in a process of its own, for 60 s at most, and returns what it printed."""

    def run(code: str, **environment: str) -> str:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("CLMR_", "PYOPENCL_", "OCL_"))}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=ROOT,
            env=clean | environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    return run
