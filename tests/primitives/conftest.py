"""What several files of this folder need."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyopencl as cl
import pytest

import clmapreduce as cm


@pytest.fixture
def queue(context: cm.Context) -> Iterator[cl.CommandQueue]:
    """A user's own queue in a context of their own (kept here: Intel's queues do not keep theirs)."""
    owner = cl.Context([context.device.cl_device])
    yield cl.CommandQueue(owner)
    del owner


@pytest.fixture
def launches(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels launched in this test."""
    names: list[str] = []
    launch = type(context.queue).launch

    def counted(queue: Any, kernel: Any, *arguments: Any, **keywords: Any) -> Any:
        names.append(kernel.name)
        return launch(queue, kernel, *arguments, **keywords)

    monkeypatch.setattr(type(context.queue), "launch", counted)
    return names
