"""Dask's arrays on every device: tasks find it by CLMR_DEVICE, as on a worker."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

import clmapreduce as cm
from clmapreduce.device.context import spelled_device

collect_ignore_glob = [] if find_spec("dask") else ["test_*.py"]


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    """Two threads compute all chunks."""
    import dask

    with dask.config.set(scheduler="threads", num_workers=2):
        yield


@pytest.fixture
def here(context: cm.Context, monkeypatch: pytest.MonkeyPatch) -> cm.Context:
    """The context whose device tasks use."""
    monkeypatch.setenv("CLMR_DEVICE", spelled_device(context.device))
    from clmapreduce.dask.home import home

    assert home().device == context.device
    return context
