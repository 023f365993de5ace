"""What several files of this folder need."""

from __future__ import annotations

from collections.abc import Iterator

import pyopencl as cl
import pytest

import clmapreduce as cm


@pytest.fixture
def queue(context: cm.Context) -> Iterator[cl.CommandQueue]:
    """A user's own queue in a context of their own (kept here: Intel's queues do not keep theirs)."""
    owner = cl.Context([context.device.cl_device])
    yield cl.CommandQueue(owner)
    del owner
