"""A fixture for tests whose program runs in a process of its own."""

from __future__ import annotations

from functools import partial

import pytest
from support.child_processes import DEVICES, Program, run_on


@pytest.fixture(params=range(len(DEVICES)), ids=[f"{device.vendor}-{at}" for at, device in enumerate(DEVICES)])
def program(request: pytest.FixtureRequest) -> Program:
    """Runs some lines of Python on one device, in a process of its own; see support.child_processes.run_on."""
    return partial(run_on, request.param)
