"""Fixtures for several files of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyopencl as cl
import pytest

import clmapreduce as cm


@pytest.fixture
def queue(context: cm.Context) -> Iterator[cl.CommandQueue]:
    """A user's own queue in a context of their own. The fixture holds the context: queues of Intel do not."""
    owner = cl.Context([context.device.cl_device])
    yield cl.CommandQueue(owner)
    del owner


@pytest.fixture
def launches(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the kernels launched in this test."""
    names: list[str] = []
    launch = type(context.queue).launch

    def launch_and_count(queue: Any, kernel: Any, *arguments: Any, **keywords: Any) -> Any:
        names.append(kernel.name)
        return launch(queue, kernel, *arguments, **keywords)

    monkeypatch.setattr(type(context.queue), "launch", launch_and_count)
    return names


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Plans that were looked for."""
    seen: list[Any] = []
    plain = cm.Context.executable
    monkeypatch.setattr(cm.Context, "executable", lambda self, *args: (seen.append(args), plain(self, *args))[1])
    return seen
